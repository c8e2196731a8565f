// Shardings through reshapes.
//
// A tiled dimension cuts the row-major order of its elements at the major end,
// so each source dimension of size n and t tiles is two digits of that order:
// a sharded one of size t, then an uncut one of size n / t. Target dimensions
// take the digits in order, and may take sharded digits only before uncut
// ones. Digits that find no place become replicas.
#include <cstdint>
#include <deque>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/hlo/utils/hlo_sharding_util_internal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

using internal::Retile;
using internal::SubgroupTypes;
using internal::TiledForm;

// A part of the tiles of a source dimension, and where it goes (-1: replicas).
struct Piece {
  int64_t size;
  int64_t target_dim;
};

struct Digit {
  int64_t size;
  bool sharded;
};

// Follows tiles through a reshape. A reshape matches runs of source dimensions
// with runs of target dimensions of equal product. Within a run, the source is
// read as a sequence of digits, major to minor: for each dimension its tiles
// (sharded) followed by the elements of one tile (unsharded). The target
// dimensions consume this sequence from the major end. Sharded digits can be
// kept in a target dimension only as long as no unsharded digit has been
// consumed for it ("closed"), since tiles must be the major part of a
// dimension. What cannot be kept becomes replicas and makes the result inexact.
//
// A digit of negative size stands for tiles beyond the greatest common divisor
// with the dimension; it covers no elements of the target.
class ReshapeMatcher {
 public:
  ReshapeMatcher(const Shape& source, const Shape& target,
                 const HloSharding& sharding)
      : source_(source.dimensions()),
        target_(target.dimensions()),
        sharding_(sharding) {}

  // Fills pieces(). O(rank * log(size)).
  void Run() {
    int64_t i = 0;
    int64_t j = 0;
    const int64_t n = source_.size();
    const int64_t m = target_.size();
    while (i < n || j < m) {
      if (i < n && j < m && source_[i] == target_[j]) {
        AddPiece(sharding_.dimension(i++), j++);
        continue;
      }
      if (i < n && source_[i] == 1) {
        AddPiece(sharding_.dimension(i++), -1);
        continue;
      }
      if (j < m && target_[j] == 1) {
        ++j;
        continue;
      }
      // The shortest runs of dimensions with equal products.
      int64_t i_end = i;
      int64_t j_end = j;
      int64_t source_size = 1;
      int64_t target_size = 1;
      do {
        if (source_size <= target_size && i_end < n) {
          source_size *= source_[i_end++];
        } else if (j_end < m) {
          target_size *= target_[j_end++];
        } else {
          // Only for different numbers of elements: nothing fits any more.
          while (i < n) AddPiece(sharding_.dimension(i++), -1);
          return;
        }
      } while (source_size != target_size);
      MatchRun(i, i_end, j, j_end);
      i = i_end;
      j = j_end;
    }
  }

  const std::vector<Piece>& pieces() const { return pieces_; }
  // True if no tiles were given up.
  bool exact() const { return exact_; }

 private:
  void AddPiece(int64_t size, int64_t target_dim) {
    if (size == 1) return;
    exact_ = exact_ && target_dim >= 0;
    pieces_.push_back({size, target_dim});
  }

  void PushUncut(int64_t size) {
    if (size == 1) return;
    if (!digits_.empty() && !digits_.front().sharded) {
      digits_.front().size *= size;
    } else {
      digits_.push_front({size, false});
    }
  }

  void MatchRun(int64_t i, int64_t i_end, int64_t j, int64_t j_end) {
    digits_.clear();
    for (; i < i_end; ++i) {
      const int64_t tiles = sharding_.dimension(i);
      const int64_t kept = std::gcd(tiles, source_[i]);
      if (kept > 1) digits_.push_back({kept, true});
      if (tiles > kept) digits_.push_back({-(tiles / kept), true});
      const int64_t rest = source_[i] / kept;
      if (rest > 1) digits_.push_back({rest, false});
    }
    for (; j < j_end; ++j) FillTargetDim(j);
    CHECK(digits_.empty() || digits_.front().size < 0);
    for (const Digit& digit : digits_) AddPiece(-digit.size, -1);
    digits_.clear();
  }

  void FillTargetDim(int64_t target_dim) {
    int64_t left = target_[target_dim];
    bool closed = false;
    while (left > 1) {
      const Digit digit = digits_.front();
      digits_.pop_front();
      if (digit.size < 0) {
        // Tiles beyond what divides the dimension.
        AddPiece(-digit.size, -1);
        continue;
      }
      if (!digit.sharded) {
        TakeUncut(digit.size, &left);
        closed = true;
        continue;
      }
      const int64_t fits = closed ? 1 : std::gcd(digit.size, left);
      if (fits > 1) AddPiece(fits, target_dim);
      left /= fits;
      const int64_t rest = digit.size / fits;
      if (rest == 1) continue;
      if (left == 1) {
        digits_.push_front({rest, true});
      } else {
        AddPiece(rest, -1);
        PushUncut(rest);
      }
    }
  }

  // Takes `left` elements from an uncut digit, or the digit from them.
  void TakeUncut(int64_t size, int64_t* left) {
    // Uncut digits in a row act as one; where the two sizes do not divide each
    // other, the tiles that follow have to be given up to go on.
    while (*left % size != 0 && size % *left != 0) {
      CHECK(!digits_.empty());
      const Digit next = digits_.front();
      digits_.pop_front();
      if (next.size < 0) {
        AddPiece(-next.size, -1);
        continue;
      }
      if (next.sharded) AddPiece(next.size, -1);
      size *= next.size;
    }
    if (*left % size == 0) {
      *left /= size;
    } else {
      size /= *left;
      *left = 1;
      PushUncut(size);
    }
  }

  absl::Span<const int64_t> source_;
  absl::Span<const int64_t> target_;
  const HloSharding& sharding_;
  std::deque<Digit> digits_;
  std::vector<Piece> pieces_;
  bool exact_ = true;
};

HloSharding Apply(const HloSharding& sharding, absl::Span<const Piece> pieces,
                  int64_t target_rank) {
  std::vector<OpSharding::Type> types = SubgroupTypes(sharding);
  std::vector<int64_t> split;
  for (const Piece& piece : pieces) split.push_back(piece.size);
  for (int64_t d = sharding.TiledDataRank(); d < sharding.num_dimensions();
       ++d) {
    split.push_back(sharding.dimension(d));
  }
  std::vector<int> perm;
  std::vector<int64_t> dims(target_rank, 1);
  const int count = static_cast<int>(pieces.size());
  for (int p = 0; p < count; ++p) {
    if (pieces[p].target_dim < 0) continue;
    perm.push_back(p);
    dims[pieces[p].target_dim] *= pieces[p].size;
  }
  for (int p = count; p < static_cast<int>(split.size()); ++p) {
    perm.push_back(p);
    dims.push_back(split[p]);
  }
  for (int p = 0; p < count; ++p) {
    if (pieces[p].target_dim >= 0) continue;
    perm.push_back(p);
    dims.push_back(pieces[p].size);
    types.push_back(OpSharding::REPLICATED);
  }
  return Retile(
      sharding,
      sharding.tile_assignment().Reshape(split).Transpose(perm).Reshape(dims),
      types);
}

bool HasNoElements(const Shape& shape) {
  for (int64_t size : shape.dimensions()) {
    if (size == 0) return true;
  }
  return false;
}

}  // namespace

std::optional<HloSharding> ReshapeSharding(const Shape& source_shape,
                                           const Shape& target_shape,
                                           const HloSharding& source_sharding) {
  const HloSharding tiled = TiledForm(source_sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  if (HasNoElements(source_shape)) return std::nullopt;
  ReshapeMatcher matcher(source_shape, target_shape, tiled);
  matcher.Run();
  if (!matcher.exact()) return std::nullopt;
  return Apply(tiled, matcher.pieces(), target_shape.dimensions().size());
}

HloSharding PropagateShardingThroughReshape(const Shape& source_shape,
                                            const Shape& target_shape,
                                            const HloSharding& sharding) {
  const HloSharding tiled = TiledForm(sharding);
  if (!tiled.IsTiledLeaf()) return tiled;
  if (HasNoElements(source_shape)) {
    return ReplicateAllDataDims(tiled, target_shape.dimensions().size());
  }
  ReshapeMatcher matcher(source_shape, target_shape, tiled);
  matcher.Run();
  return Apply(tiled, matcher.pieces(), target_shape.dimensions().size());
}

}  // namespace hlo_sharding_util
}  // namespace xla

#include "xla/backends/gpu/lowering/transpose_lowering.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/reduction_results.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using kir::Operand;

// Places along each side of a tile. A warp reads and writes 128 bytes at once
// where elements have four, and of narrower ones two rows of a large tile;
// small arrays are cut smaller, into a tile for each multiprocessor and more.
int64_t TileOf(const TransposeGroup& group) {
  constexpr int64_t kSmall = 32, kLarge = 64, kMinTiles = 512;
  const Shape& shape = group.heroes[0]->shape();
  int64_t tiles = 1;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.dimensions().size());
       ++d) {
    const bool is_tiled = d == group.read_fast || d == group.write_fast;
    if (is_tiled && shape.dimensions(d) < kLarge) return kSmall;
    tiles *= is_tiled ? CeilOfRatio(shape.dimensions(d), kLarge)
                      : shape.dimensions(d);
  }
  const bool is_narrow =
      absl::c_all_of(group.heroes, [](const HloInstruction* hero) {
        return ShapeUtil::ByteSizeOfPrimitiveType(
                   hero->shape().element_type()) < 4;
      });
  // Each has a tile of its own.
  constexpr size_t kMostHeroes = 4;
  return is_narrow && tiles >= kMinTiles && group.heroes.size() <= kMostHeroes
             ? kLarge
             : kSmall;
}

class TransposeEmitter {
 public:
  TransposeEmitter(const TransposeGroup& group, KernelFrame* frame)
      : group_(group),
        frame_(*frame),
        builder_(frame->builder()),
        emitter_(frame->emitter()),
        shape_(group.heroes[0]->shape()),
        tile_(TileOf(group)),
        levels_(frame->body(), group.heroes) {}

  absl::Status Emit();

 private:
  // Calls `body` with the places of this thread: `fast` and `slow` places from
  // the corner of the tile, neighbors being neighbors in `fast`.
  absl::Status Rounds(absl::FunctionRef<absl::Status(const AffineExpr& fast,
                                                     const AffineExpr& slow)>
                          body);
  // Names for indices; then `body`.
  absl::Status Named(const Indices& values,
                     absl::FunctionRef<absl::Status(const Indices&)> body);
  absl::Status Read(const HloInstruction& hero, kir::BufferId tile);
  absl::Status Write();
  AffineExpr Corner(int64_t dim) const {
    return corner_[dim] * AffineExpr(tile_);
  }
  static Operand At(kir::BufferId buffer, const AffineExpr& row,
                    const AffineExpr& column) {
    Operand place;
    place.buffer = buffer;
    place.indices = {row, column};
    return place;
  }

  const TransposeGroup& group_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  const Shape& shape_;
  const int64_t tile_;
  const ReductionLevels levels_;
  std::vector<kir::BufferId> tiles_;  // of the heroes
  AffineExpr thread_;
  Indices corner_;  // of the block: in tiles along the two dimensions
};

absl::Status TransposeEmitter::Rounds(
    absl::FunctionRef<absl::Status(const AffineExpr&, const AffineExpr&)>
        body) {
  const int64_t threads = frame_.threads();
  const int64_t places = tile_ * tile_;
  const auto round = [&](const AffineExpr& index) {
    const AffineExpr number = index * AffineExpr(threads) + thread_;
    return emitter_.InScope([&] {
      return body(AffineExpr::Mod(number, AffineExpr(tile_))
                      .SimplifyIn(builder_.ranges()),
                  AffineExpr::FloorDiv(number, AffineExpr(tile_))
                      .SimplifyIn(builder_.ranges()));
    });
  };
  if (threads > places) {
    return frame_.Where(Inside(thread_, places, builder_.ranges()),
                        [&] { return round(0); });
  }
  if (threads == places) return round(0);
  return builder_.Loop("u", kir::LoopKind::kUnroll, 0, places / threads, round);
}

absl::Status TransposeEmitter::Named(
    const Indices& values,
    absl::FunctionRef<absl::Status(const Indices&)> body) {
  Indices names;
  const std::function<absl::Status()> next = [&]() -> absl::Status {
    if (names.size() == values.size()) return body(names);
    const size_t d = names.size();
    return builder_.Let("i", values[d].SimplifyIn(builder_.ranges()),
                        shape_.dimensions(d), [&](const AffineExpr& index) {
                          names.push_back(index);
                          const absl::Status status = next();
                          names.pop_back();
                          return status;
                        });
  };
  return next();
}

absl::Status TransposeEmitter::Read(const HloInstruction& hero,
                                    kir::BufferId tile) {
  return Rounds([&](const AffineExpr& fast,
                    const AffineExpr& slow) -> absl::Status {
    Indices places = corner_;
    const auto place = [&](int64_t d, const AffineExpr& offset) {
      places[d] = AffineExpr::Min(Corner(d) + offset,
                                  AffineExpr(shape_.dimensions(d) - 1));
    };
    place(group_.read_fast, fast);
    place(group_.write_fast, slow);
    return Named(places, [&](const Indices& indices) -> absl::Status {
      ASSIGN_OR_RETURN(
          const Operand value,
          emitter_.Element(*hero.operand(0),
                           MapIndices(hero, 0, indices, builder_.ranges())));
      builder_.EmitTo(At(tile, slow, fast), "copy", {value});
      return absl::OkStatus();
    });
  });
}

absl::Status TransposeEmitter::Write() {
  for (const HloInstruction* hero : group_.heroes) emitter_.Forbid(hero);
  const absl::Cleanup allow = [this] { emitter_.AllowAll(); };
  return Rounds([&](const AffineExpr& fast,
                    const AffineExpr& slow) -> absl::Status {
    Indices places = corner_;
    places[group_.read_fast] = Corner(group_.read_fast) + slow;
    places[group_.write_fast] = Corner(group_.write_fast) + fast;
    AffineExpr inside = 1;
    for (int64_t d : {group_.read_fast, group_.write_fast}) {
      inside = AffineExpr::Min(
          inside, Inside(places[d], shape_.dimensions(d), builder_.ranges()));
    }
    const auto write = [&](const Indices& indices) -> absl::Status {
      for (size_t h = 0; h < group_.heroes.size(); ++h) {
        const Operand place = At(tiles_[h], fast, slow);
        emitter_.Remember(
            *group_.heroes[h], indices,
            {builder_.Emit("copy", builder_.TypeOf(place), {place})});
      }
      for (int64_t k : group_.results) {
        const KernelFrame::Result& result = frame_.results()[k];
        const std::optional<ResultWay> way =
            FindElementWay(result, shape_, levels_);
        if (!way.has_value()) {
          return NotLowered(*result.hlo, "of another shape");
        }
        RETURN_IF_ERROR(frame_.Store(
            result, way->Follow(indices, result.shape, builder_.ranges())));
      }
      return absl::OkStatus();
    };
    return frame_.Where(inside, [&] {
      return Named(places, [&](const Indices& indices) {
        return emitter_.InScope([&] { return write(indices); });
      });
    });
  });
}

absl::Status TransposeEmitter::Emit() {
  for (const HloInstruction* hero : group_.heroes) {
    ASSIGN_OR_RETURN(const kir::ElementType type,
                     KernelType(hero->shape().element_type()));
    // Rows are apart by one bank more than there are.
    const int64_t padding = std::max<int64_t>(1, 4 / kir::ElementBytes(type));
    tiles_.push_back(builder_.AddShared("s", type, {tile_, tile_ + padding}));
  }
  std::vector<int64_t> extents;
  int64_t blocks = 1;
  for (int64_t d = 0; d < static_cast<int64_t>(shape_.dimensions().size());
       ++d) {
    const bool tiled = d == group_.read_fast || d == group_.write_fast;
    extents.push_back(tiled ? CeilOfRatio(shape_.dimensions(d), tile_)
                            : shape_.dimensions(d));
    blocks *= extents.back();
  }
  return frame_.Blocks(
      blocks,
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        thread_ = thread;
        corner_ = Delinearize(block, extents, builder_.ranges());
        for (size_t h = 0; h < tiles_.size(); ++h) {
          RETURN_IF_ERROR(Read(*group_.heroes[h], tiles_[h]));
        }
        builder_.EmitSync(kir::SyncScope::kBlock);
        return Write();
      });
}

// The dimensions, where the instruction is one to be tiled.
std::optional<TransposeGroup> GroupOf(
    const HloInstruction& hlo, absl::Span<const HloInstruction* const> body,
    int64_t min_extent) {
  if (hlo.opcode() != HloOpcode::kTranspose &&
      hlo.opcode() != HloOpcode::kCopy) {
    return std::nullopt;
  }
  if (!hlo.shape().IsArray()) return std::nullopt;
  TransposeGroup group;
  int64_t fast = FastDimension(*hlo.operand(0), body);
  if (fast >= 0 && hlo.opcode() == HloOpcode::kTranspose) {
    const absl::Span<const int64_t> from = hlo.dimensions();
    fast = absl::c_find(from, fast) - from.begin();
  }
  group.read_fast = fast;
  group.write_fast = -1;
  for (int64_t d : MemoryOrder(hlo.shape())) {
    if (hlo.shape().dimensions(d) > 1) group.write_fast = d;
  }
  if (group.read_fast < 0 || group.write_fast < 0 ||
      group.read_fast == group.write_fast ||
      std::min(hlo.shape().dimensions(group.read_fast),
               hlo.shape().dimensions(group.write_fast)) < min_extent) {
    return std::nullopt;
  }
  group.heroes = {&hlo};
  return group;
}

bool SameTiles(const TransposeGroup& a, const TransposeGroup& b) {
  return a.read_fast == b.read_fast && a.write_fast == b.write_fast &&
         a.heroes[0]->shape().dimensions() == b.heroes[0]->shape().dimensions();
}

// Transposes on the way to a result; nothing where a reduction is on it.
std::set<const HloInstruction*> HeroesOf(
    const HloInstruction& result, absl::Span<const HloInstruction* const> body,
    int64_t min_extent) {
  const std::set<const HloInstruction*> inside(body.begin(), body.end());
  std::set<const HloInstruction*> heroes, seen;
  std::vector<const HloInstruction*> queue = {&result};
  while (!queue.empty()) {
    const HloInstruction* hlo = queue.back();
    queue.pop_back();
    if (inside.count(hlo) == 0 || !seen.insert(hlo).second) continue;
    if (hlo->opcode() == HloOpcode::kReduce) return {};
    if (GroupOf(*hlo, body, min_extent).has_value()) {
      heroes.insert(hlo);
      continue;
    }
    queue.insert(queue.end(), hlo->operands().begin(), hlo->operands().end());
  }
  return heroes;
}

}  // namespace

std::vector<TransposeGroup> FindTransposeGroups(
    const KernelFrame& frame, int64_t min_extent,
    const std::vector<bool>& taken) {
  std::vector<TransposeGroup> groups;
  for (size_t k = 0; k < frame.results().size(); ++k) {
    if (taken[k]) continue;
    const KernelFrame::Result& result = frame.results()[k];
    const std::set<const HloInstruction*> found =
        HeroesOf(*result.hlo, frame.body(), min_extent);
    if (found.empty()) continue;
    std::optional<TransposeGroup> group;
    bool same = true;
    for (const HloInstruction* hlo : frame.body()) {
      if (found.count(hlo) == 0) continue;
      const auto own = GroupOf(*hlo, frame.body(), min_extent);
      if (!group.has_value()) {
        group = own;
      } else {
        same = same && SameTiles(*group, *own);
        group->heroes.push_back(hlo);
      }
    }
    const ReductionLevels levels(frame.body(), group->heroes);
    same = same && absl::c_all_of(group->heroes, [&](const auto* hero) {
             return levels.OfOperands(*hero) == 0;
           });
    if (!same || !FindElementWay(result, group->heroes[0]->shape(), levels)) {
      continue;
    }
    const auto known = absl::c_find_if(groups, [&](const TransposeGroup& g) {
      return g.heroes == group->heroes;
    });
    if (known != groups.end()) {
      known->results.push_back(k);
    } else {
      group->results = {static_cast<int64_t>(k)};
      groups.push_back(*std::move(group));
    }
  }
  return groups;
}

absl::Status EmitTransposes(const TransposeGroup& group, KernelFrame* frame) {
  return TransposeEmitter(group, frame).Emit();
}

}  // namespace xla::gpu

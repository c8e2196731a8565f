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

constexpr int64_t kSmallTile = 32, kLargeTile = 64;
constexpr int64_t kBankBytes = 4;  // of shared memory

int64_t WidestHero(const TransposeGroup& group) {
  int64_t bytes = 1;
  for (const HloInstruction* hero : group.heroes) {
    bytes = std::max(bytes, ShapeUtil::ByteSizeOfPrimitiveType(
                                hero->shape().element_type()));
  }
  return bytes;
}

// Places along each side of a tile. A large one has more loads on the way, and
// rows of narrow elements that are as long as a warp reads or writes at once;
// small arrays are cut smaller, into several tiles for each multiprocessor.
int64_t TileOf(const TransposeGroup& group, const KernelFrame& frame) {
  // Each hero has a tile of its own.
  constexpr size_t kMostNarrow = 4, kMostHeroes = 2;
  const Shape& shape = group.heroes[0]->shape();
  int64_t tiles = 1;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.dimensions().size());
       ++d) {
    const bool is_tiled = d == group.read_fast || d == group.write_fast;
    if (is_tiled && shape.dimensions(d) < kLargeTile) return kSmallTile;
    tiles *= is_tiled ? CeilOfRatio(shape.dimensions(d), kLargeTile)
                      : shape.dimensions(d);
  }
  const int64_t bytes = WidestHero(group);
  const bool is_narrow = bytes < kBankBytes;
  const int64_t threads = tiles * frame.threads() * (is_narrow ? 2 : 1);
  return bytes <= kBankBytes && threads >= frame.device_threads() &&
                 group.heroes.size() <= (is_narrow ? kMostNarrow : kMostHeroes)
             ? kLargeTile
             : kSmallTile;
}

// How many neighbors of narrow elements a thread reads, and writes, at once:
// as many as make up a word of a bank of shared memory.
int64_t NeighborsOf(const TransposeGroup& group, int64_t tile) {
  if (tile < kLargeTile) return 1;
  int64_t width = kBankBytes / WidestHero(group);
  const Shape& shape = group.heroes[0]->shape();
  for (int64_t d : {group.read_fast, group.write_fast}) {
    while (shape.dimensions(d) % width != 0) width /= 2;
  }
  return width;
}

class TransposeEmitter {
 public:
  TransposeEmitter(const TransposeGroup& group, KernelFrame* frame)
      : group_(group),
        frame_(*frame),
        builder_(frame->builder()),
        emitter_(frame->emitter()),
        shape_(group.heroes[0]->shape()),
        tile_(TileOf(group, *frame)),
        width_(NeighborsOf(group, tile_)),
        levels_(frame->body(), group.heroes) {}

  absl::Status Emit();

 private:
  // Calls `body` with the places of this thread, `width_` neighbors at once:
  // `first * width_ + neighbor` and `slow` places from the corner of the tile,
  // threads next to each other being so in `first`.
  using Place = absl::FunctionRef<absl::Status(const AffineExpr& first,
                                               const AffineExpr& neighbor,
                                               const AffineExpr& slow)>;
  absl::Status Rounds(Place body);
  // Names for indices; then `body`.
  absl::Status Named(const Indices& values,
                     absl::FunctionRef<absl::Status(const Indices&)> body);
  absl::Status Read(const HloInstruction& hero, kir::BufferId tile);
  // Writes what is computed from the values of the first hero's operand.
  absl::Status Pass(const Indices& indices, const AffineExpr& inside);
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
  const int64_t width_;
  const ReductionLevels levels_;
  std::vector<kir::BufferId> tiles_;  // of the heroes
  AffineExpr thread_;
  Indices corner_;  // of the block: in tiles along the two dimensions
};

absl::Status TransposeEmitter::Rounds(Place body) {
  const int64_t threads = frame_.threads();
  const int64_t row = tile_ / width_, places = row * tile_;
  const auto round = [&](const AffineExpr& index) {
    const AffineExpr number = index * AffineExpr(threads) + thread_;
    const AffineExpr first = AffineExpr::Mod(number, AffineExpr(row));
    const AffineExpr slow = AffineExpr::FloorDiv(number, AffineExpr(row));
    return builder_.Vector(width_, [&](const AffineExpr& neighbor) {
      return emitter_.InScope([&] {
        return body(first.SimplifyIn(builder_.ranges()), neighbor,
                    slow.SimplifyIn(builder_.ranges()));
      });
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

// Element [a][b] of the tile is `a` places along write_fast and `b` along
// read_fast from the corner: threads side by side differ in b here, and in a
// when Write() reads the tile. Vectors are in bounds as a whole or not at all,
// since width_ divides both extents (NeighborsOf).
absl::Status TransposeEmitter::Read(const HloInstruction& hero,
                                    kir::BufferId tile) {
  return Rounds([&](const AffineExpr& first, const AffineExpr& neighbor,
                    const AffineExpr& slow) -> absl::Status {
    Indices places = corner_;
    // Beyond the last one, it is that one again.
    const auto place = [&](int64_t d, const AffineExpr& offset, int64_t width) {
      return AffineExpr::Min(corner_[d] * AffineExpr(tile_ / width) + offset,
                             AffineExpr(shape_.dimensions(d) / width - 1)) *
             AffineExpr(width);
    };
    places[group_.read_fast] =
        place(group_.read_fast, first, width_) + neighbor;
    places[group_.write_fast] = place(group_.write_fast, slow, 1);
    return Named(places, [&](const Indices& indices) -> absl::Status {
      ASSIGN_OR_RETURN(
          const Operand value,
          emitter_.Element(*hero.operand(0),
                           MapIndices(hero, 0, indices, builder_.ranges())));
      builder_.EmitTo(At(tile, slow, first * AffineExpr(width_) + neighbor),
                      "copy", {value});
      if (group_.passed.empty() || &hero != group_.heroes[0]) {
        return absl::OkStatus();
      }
      const auto inside = [&](int64_t d, const AffineExpr& offset,
                              int64_t width) {
        return Inside(corner_[d] * AffineExpr(tile_ / width) + offset,
                      shape_.dimensions(d) / width, builder_.ranges());
      };
      return Pass(indices,
                  AffineExpr::Min(inside(group_.read_fast, first, width_),
                                  inside(group_.write_fast, slow, 1)));
    });
  });
}

absl::Status TransposeEmitter::Pass(const Indices& indices,
                                    const AffineExpr& inside) {
  const HloInstruction& hero = *group_.heroes[0];
  const Indices places = MapIndices(hero, 0, indices, builder_.ranges());
  return frame_.Where(inside, [&]() -> absl::Status {
    for (int64_t k : group_.passed) {
      const KernelFrame::Result& result = frame_.results()[k];
      const std::optional<ResultWay> way =
          FindElementWay(result, hero.operand(0)->shape(), levels_);
      if (!way.has_value()) return NotLowered(*result.hlo, "of another shape");
      RETURN_IF_ERROR(frame_.Store(
          result, way->Follow(places, result.shape, builder_.ranges())));
    }
    return absl::OkStatus();
  });
}

absl::Status TransposeEmitter::Write() {
  for (const HloInstruction* hero : group_.heroes) emitter_.Forbid(hero);
  const absl::Cleanup allow = [this] { emitter_.AllowAll(); };
  return Rounds([&](const AffineExpr& first, const AffineExpr& neighbor,
                    const AffineExpr& slow) -> absl::Status {
    const AffineExpr fast = first * AffineExpr(width_) + neighbor;
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
    // The names are in bounds where the condition holds.
    return Named(places, [&](const Indices& indices) {
      return frame_.Where(inside, [&] { return write(indices); });
    });
  });
}

absl::Status TransposeEmitter::Emit() {
  for (const HloInstruction* hero : group_.heroes) {
    ASSIGN_OR_RETURN(const kir::ElementType type,
                     KernelType(hero->shape().element_type()));
    // Rows are apart by one bank more than there are; or, where a thread takes
    // a bank's word of neighbors, one of each row, by one element more.
    const int64_t padding =
        width_ > 1 ? 1
                   : std::max<int64_t>(1, kBankBytes / kir::ElementBytes(type));
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

// The arrays from outside of the kernel, of as many elements, that a value is
// computed from; none where a reduction is on the way.
std::set<const HloInstruction*> ArraysBehind(const HloInstruction& value,
                                             const KernelFrame& frame) {
  const std::set<const HloInstruction*> inside(frame.body().begin(),
                                               frame.body().end());
  std::set<const HloInstruction*> arrays, seen;
  std::vector<const HloInstruction*> queue = {&value};
  while (!queue.empty()) {
    const HloInstruction* hlo = queue.back();
    queue.pop_back();
    if (!seen.insert(hlo).second) continue;
    if (hlo->opcode() == HloOpcode::kReduce) return {};
    if (inside.count(hlo) == 0 || hlo->opcode() == HloOpcode::kParameter) {
      if (hlo->shape().IsArray() && ShapeUtil::ElementsIn(hlo->shape()) ==
                                        ShapeUtil::ElementsIn(value.shape())) {
        arrays.insert(hlo);
      }
      continue;
    }
    queue.insert(queue.end(), hlo->operands().begin(), hlo->operands().end());
  }
  return arrays;
}

// Whether neighbors along that dimension of the place lie next to each other in
// the result: those of a tile's row, in the first row and in another.
//
// It tries three addresses in two rows rather than proving it for all: a wrong
// answer makes writes slow and nothing else, because where elements go is
// ResultWay's decision.
bool KeepsNeighbors(const ResultWay& way, const Shape& place, int64_t dim,
                    const Shape& result) {
  const auto address = [&](bool is_first, int64_t offset) {
    Indices indices;
    for (int64_t d = 0; d < static_cast<int64_t>(place.dimensions().size());
         ++d) {
      indices.push_back(AffineExpr(d == dim   ? offset
                                   : is_first ? 0
                                              : place.dimensions(d) / 2));
    }
    return Linearize(way.Follow(std::move(indices), result, {}),
                     MemoryStrides(result))
        .AsConstant();
  };
  const int64_t last = std::min(place.dimensions(dim), kSmallTile) - 1;
  for (const bool is_first : {true, false}) {
    const auto from = address(is_first, 0), next = address(is_first, 1),
               to = address(is_first, last);
    if (!from.has_value() || next != *from + 1 || to != *from + last) {
      return false;
    }
  }
  return true;
}

// Whether the result can be written where the group's first hero is read, which
// is computed from the arrays `read`, as the result is from `needed`.
bool IsPassed(const KernelFrame::Result& result, const TransposeGroup& group,
              const KernelFrame& frame,
              const std::set<const HloInstruction*>& read,
              const std::set<const HloInstruction*>& needed) {
  if (!absl::c_any_of(needed,
                      [&](const auto* array) { return read.count(array); })) {
    return false;
  }
  const HloInstruction& hero = *group.heroes[0];
  const Shape& place = hero.operand(0)->shape();
  if (result.part >= 0 || PackedBits(result.shape) > 0 ||
      !result.hlo->shape().IsArray()) {
    return false;
  }
  const ReductionLevels levels(frame.body(), group.heroes);
  if (levels.Of(*result.hlo) > 0) return false;
  const std::optional<ResultWay> way = FindElementWay(result, place, levels);
  if (!way.has_value()) return false;
  const int64_t dim = hero.opcode() == HloOpcode::kTranspose
                          ? hero.dimensions(group.read_fast)
                          : group.read_fast;
  return KeepsNeighbors(*way, place, dim, result.shape);
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
  std::vector<std::set<const HloInstruction*>> read;
  for (const TransposeGroup& group : groups) {
    read.push_back(ArraysBehind(*group.heroes[0]->operand(0), frame));
  }
  for (size_t k = 0; k < frame.results().size() && !groups.empty(); ++k) {
    const int64_t number = static_cast<int64_t>(k);
    if (taken[k] || absl::c_any_of(groups, [&](const TransposeGroup& g) {
          return absl::c_linear_search(g.results, number);
        })) {
      continue;
    }
    const KernelFrame::Result& result = frame.results()[k];
    const std::set<const HloInstruction*> needed =
        ArraysBehind(*result.hlo, frame);
    for (size_t g = 0; g < groups.size(); ++g) {
      if (!IsPassed(result, groups[g], frame, read[g], needed)) continue;
      groups[g].passed.push_back(number);
      break;
    }
  }
  return groups;
}

absl::Status EmitTransposes(const TransposeGroup& group, KernelFrame* frame) {
  return TransposeEmitter(group, frame).Emit();
}

}  // namespace xla::gpu

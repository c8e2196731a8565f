#include "xla/backends/gpu/lowering/dot_lowering.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/dot_results.h"
#include "xla/backends/gpu/lowering/dot_shape.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/matrix_lowering.h"
#include "xla/backends/gpu/lowering/reduction_results.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

using kir::ElementType;
using kir::Operand;

// Fewer places than that in a product: threads would wait for each other.
constexpr int64_t kMinPlaces = 16;

bool IsTile(const HloInstruction& dot, const DotShape& shape,
            int64_t min_depth) {
  return shape.Count(DotShape::kDepth) >= std::max<int64_t>(min_depth, 2) &&
         shape.Count(DotShape::kRow) * shape.Count(DotShape::kColumn) >=
             kMinPlaces;
}

class DotEmitter {
 public:
  DotEmitter(const DotGroup& group, KernelFrame* frame)
      : group_(group),
        frame_(*frame),
        builder_(frame->builder()),
        emitter_(frame->emitter()) {}

  absl::Status Emit();

 private:
  struct Hero {
    const HloInstruction* hlo;
    DotShape shape;
    ElementType sum_type;
    kir::BufferId sums;
  };

  // Names for the indices that the numbers of these roles stand for, in the
  // array with these dimensions.
  absl::Status Named(const Hero& hero,
                     absl::Span<const DotShape::Dimension> dims,
                     const std::array<AffineExpr, 4>& numbers,
                     absl::FunctionRef<absl::Status(const Indices&)> body);
  absl::Status EmitHero(const Hero& hero);
  // All threads fill the tile of an operand, `fast` places of it next to each
  // other in memory.
  absl::Status Load(const Hero& hero, int side, kir::BufferId tile,
                    const AffineExpr& step);
  absl::Status Multiply(const Hero& hero, const std::array<kir::BufferId, 2>&);
  absl::Status JoinSlices(const Hero& hero);
  absl::Status Write();
  // Calls `body` with each place of the thread, in its own tile.
  absl::Status Places(
      absl::FunctionRef<absl::Status(const AffineExpr&, const AffineExpr&)>
          body);
  absl::Status Each(int64_t count,
                    absl::FunctionRef<absl::Status(const AffineExpr&)> body) {
    if (count == 1) return body(0);
    return builder_.Loop("u", kir::LoopKind::kUnroll, 0, count, body);
  }
  absl::Status IfTakesPart(absl::FunctionRef<absl::Status()> body) {
    return frame_.Where(Inside(slice_, tile_.slices, builder_.ranges()), body);
  }
  Operand At(kir::BufferId buffer, Indices indices) const {
    Operand place;
    place.buffer = buffer;
    place.indices = std::move(indices);
    return place;
  }

  const DotGroup& group_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  std::vector<Hero> heroes_;
  DotTile tile_;
  AffineExpr thread_, batch_, first_row_, first_column_;
  // Coordinates of this thread in its tile; threads beyond the last slice idle.
  AffineExpr down_, across_, slice_;
};

absl::Status DotEmitter::Named(
    const Hero& hero, absl::Span<const DotShape::Dimension> dims,
    const std::array<AffineExpr, 4>& numbers,
    absl::FunctionRef<absl::Status(const Indices&)> body) {
  return NamePlaces(hero.shape, dims,
                    hero.shape.Parts(numbers, builder_.ranges()), &builder_,
                    body);
}

// Rows and columns past the end are those of the last, whose sums nobody
// writes; that keeps reads in bounds without a branch. Contracted places past
// the end take part in every sum, so they are zeros, and on both sides: 0 times
// an infinity would be NaN.
absl::Status DotEmitter::Load(const Hero& hero, int side, kir::BufferId tile,
                              const AffineExpr& step) {
  const int64_t wide = side == 0 ? tile_.rows : tile_.columns;
  const int64_t free = side == 0 ? group_.rows : group_.columns;
  const int64_t depth = hero.shape.Count(DotShape::kDepth);
  const int64_t count = wide * tile_.depth;
  const bool depth_first = hero.shape.depth_is_fast[side];
  const AffineExpr apart(depth_first ? tile_.depth : wide);
  const ElementType type = builder_.TypeOf(At(tile, {}));
  const auto load = [&](const AffineExpr& round) -> absl::Status {
    const AffineExpr number = round * AffineExpr(frame_.threads()) + thread_;
    const AffineExpr fast =
        AffineExpr::Mod(number, apart).SimplifyIn(builder_.ranges());
    const AffineExpr slow =
        AffineExpr::FloorDiv(number, apart).SimplifyIn(builder_.ranges());
    const AffineExpr& k = depth_first ? fast : slow;
    const AffineExpr& place = depth_first ? slow : fast;
    const AffineExpr contracted = step * AffineExpr(tile_.depth) + k;
    const AffineExpr first = side == 0 ? first_row_ : first_column_;
    std::array<AffineExpr, 4> numbers;
    numbers[DotShape::kBatch] = batch_;
    numbers[side == 0 ? DotShape::kRow : DotShape::kColumn] =
        AffineExpr::Min(first + place, AffineExpr(free - 1));
    numbers[DotShape::kDepth] = contracted;
    const Operand value = builder_.Emit("full", type, {0.0});
    RETURN_IF_ERROR(frame_.Where(
        Inside(contracted, depth, builder_.ranges()), [&]() -> absl::Status {
          return Named(
              hero, hero.shape.sides[side], numbers,
              [&](const Indices& values) -> absl::Status {
                const HloInstruction& operand = *hero.hlo->operand(side);
                const ConditionalIndices where = hero.shape.Element(
                    side, operand.shape(), values, builder_.ranges());
                return frame_.Where(where.condition, [&]() -> absl::Status {
                  ASSIGN_OR_RETURN(const Operand element,
                                   emitter_.Element(operand, where.indices));
                  builder_.EmitTo(value, "copy", {element});
                  return absl::OkStatus();
                });
              });
        }));
    builder_.EmitTo(At(tile, {k, place}), "copy", {value});
    return absl::OkStatus();
  };
  const auto scoped = [&](const AffineExpr& round) {
    return emitter_.InScope([&] { return load(round); });
  };
  if (count < frame_.threads()) {
    return frame_.Where(Inside(thread_, count, builder_.ranges()),
                        [&] { return scoped(0); });
  }
  return Each(count / frame_.threads(), scoped);
}

absl::Status DotEmitter::Places(
    absl::FunctionRef<absl::Status(const AffineExpr&, const AffineExpr&)>
        body) {
  return Each(tile_.thread_rows, [&](const AffineExpr& i) {
    return Each(tile_.thread_columns,
                [&](const AffineExpr& j) { return body(i, j); });
  });
}

absl::Status DotEmitter::Multiply(const Hero& hero,
                                  const std::array<kir::BufferId, 2>& tiles) {
  const std::array<kir::BufferId, 2> factors = {
      builder_.AddLocal(hero.sum_type, {tile_.thread_rows}),
      builder_.AddLocal(hero.sum_type, {tile_.thread_columns})};
  const bool is_pred = hero.hlo->shape().element_type() == PRED;
  return builder_.Loop(
      "k", kir::LoopKind::kSerial, 0, tile_.depth / tile_.slices,
      [&](const AffineExpr& step) -> absl::Status {
        const AffineExpr k = step * AffineExpr(tile_.slices) + slice_;
        for (int side : {0, 1}) {
          const AffineExpr apart(side == 0 ? tile_.threads_down()
                                           : tile_.threads_across());
          RETURN_IF_ERROR(
              Each(side == 0 ? tile_.thread_rows : tile_.thread_columns,
                   [&](const AffineExpr& i) -> absl::Status {
                     const Operand place =
                         At(tiles[side],
                            {k, i * apart + (side == 0 ? down_ : across_)});
                     const bool same = builder_.TypeOf(place) == hero.sum_type;
                     builder_.EmitTo(At(factors[side], {i}),
                                     same ? "copy" : "cast", {place});
                     return absl::OkStatus();
                   }));
        }
        return Places([&](const AffineExpr& i, const AffineExpr& j) {
          const Operand sum = At(hero.sums, {i, j});
          const Operand product = builder_.Emit(
              "mul", hero.sum_type, {At(factors[0], {i}), At(factors[1], {j})});
          builder_.EmitTo(sum, is_pred ? "or" : "add", {sum, product});
          return absl::OkStatus();
        });
      });
}

// With slices, each thread has one place: thread_rows and thread_columns grow
// only while the tile has more places than there are threads, which leaves more
// than half of the threads busy and thus one slice. The last barrier keeps the
// next product from writing over partial sums that are still being read, if it
// gets the same memory.
absl::Status DotEmitter::JoinSlices(const Hero& hero) {
  if (tile_.slices == 1) return absl::OkStatus();
  const bool is_pred = hero.hlo->shape().element_type() == PRED;
  const int64_t places = tile_.rows * tile_.columns;
  const kir::BufferId partial =
      builder_.AddShared("s", hero.sum_type, {tile_.slices * places});
  const Operand sum = At(hero.sums, {0, 0});
  RETURN_IF_ERROR(IfTakesPart([&] {
    builder_.EmitTo(At(partial, {thread_}), "copy", {sum});
    return absl::OkStatus();
  }));
  builder_.EmitSync(kir::SyncScope::kBlock);
  RETURN_IF_ERROR(
      frame_.Where(Inside(slice_, 1, builder_.ranges()), [&]() -> absl::Status {
        return builder_.Loop(
            "k", kir::LoopKind::kSerial, 1, tile_.slices,
            [&](const AffineExpr& slice) {
              const Operand other = builder_.Emit(
                  "copy", hero.sum_type,
                  {At(partial, {slice * AffineExpr(places) + thread_})});
              builder_.EmitTo(sum, is_pred ? "or" : "add", {sum, other});
              return absl::OkStatus();
            });
      }));
  builder_.EmitSync(kir::SyncScope::kBlock);
  return absl::OkStatus();
}

absl::Status DotEmitter::EmitHero(const Hero& hero) {
  std::array<kir::BufferId, 2> tiles;
  for (int side : {0, 1}) {
    ASSIGN_OR_RETURN(
        const ElementType type,
        KernelType(hero.hlo->operand(side)->shape().element_type()));
    // Extents of a tile are powers of two. Threads that read along the depth
    // write down a column of the tile, each a row further: all in one bank if
    // rows were that long. One element more spreads them.
    const int64_t padding = hero.shape.depth_is_fast[side] ? 1 : 0;
    tiles[side] = builder_.AddShared(
        "s", type,
        {tile_.depth, (side == 0 ? tile_.rows : tile_.columns) + padding});
  }
  RETURN_IF_ERROR(Places([&](const AffineExpr& i, const AffineExpr& j) {
    builder_.EmitTo(At(hero.sums, {i, j}), "full", {0.0});
    return absl::OkStatus();
  }));
  const int64_t steps =
      CeilOfRatio(hero.shape.Count(DotShape::kDepth), tile_.depth);
  const auto step = [&](const AffineExpr& index) -> absl::Status {
    for (int side : {0, 1}) {
      RETURN_IF_ERROR(Load(hero, side, tiles[side], index));
    }
    builder_.EmitSync(kir::SyncScope::kBlock);
    RETURN_IF_ERROR(IfTakesPart([&] { return Multiply(hero, tiles); }));
    builder_.EmitSync(kir::SyncScope::kBlock);
    return absl::OkStatus();
  };
  if (steps == 1) {
    RETURN_IF_ERROR(step(0));
  } else {
    RETURN_IF_ERROR(builder_.Loop("k", kir::LoopKind::kSerial, 0, steps, step));
  }
  return JoinSlices(hero);
}

absl::Status DotEmitter::Write() {
  DotResults results(group_, &frame_);
  return Places([&](const AffineExpr& i, const AffineExpr& j) {
    const AffineExpr row =
        first_row_ + i * AffineExpr(tile_.threads_down()) + down_;
    const AffineExpr column =
        first_column_ + j * AffineExpr(tile_.threads_across()) + across_;
    const AffineExpr inside = AffineExpr::Min(
        Inside(slice_, 1, builder_.ranges()),
        AffineExpr::Min(Inside(row, group_.rows, builder_.ranges()),
                        Inside(column, group_.columns, builder_.ranges())));
    return frame_.Where(inside, [&] {
      return Named(heroes_[0], heroes_[0].shape.result,
                   {batch_, row, column, 0}, [&](const Indices& indices) {
                     std::vector<Operand> sums;
                     for (const Hero& hero : heroes_) {
                       sums.push_back(At(hero.sums, {i, j}));
                     }
                     return results.Write(
                         heroes_[0].shape.ResultElement(indices), sums);
                   });
    });
  });
}

absl::Status DotEmitter::Emit() {
  int64_t depth = 1;
  for (const HloInstruction* hlo : group_.heroes) {
    Hero hero{hlo, MakeDotShape(*hlo, frame_.body()), ElementType::kF32, -1};
    depth = std::max(depth, hero.shape.Count(DotShape::kDepth));
    const PrimitiveType type = hlo->shape().element_type();
    if (!primitive_util::IsFloatingPointType(type) ||
        primitive_util::BitWidth(type) >= 32) {
      ASSIGN_OR_RETURN(hero.sum_type, KernelType(type));
    }
    heroes_.push_back(std::move(hero));
  }
  tile_ = ChooseDotTile(group_.batch, group_.rows, group_.columns, depth,
                        frame_.threads());
  const int64_t down = CeilOfRatio(group_.rows, tile_.rows);
  const int64_t across = CeilOfRatio(group_.columns, tile_.columns);
  return frame_.Blocks(
      group_.batch * down * across,
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        const Indices tile =
            Delinearize(block, {group_.batch, down, across}, builder_.ranges());
        thread_ = thread;
        batch_ = tile[0];
        first_row_ = tile[1] * AffineExpr(tile_.rows);
        first_column_ = tile[2] * AffineExpr(tile_.columns);
        // Neighbors write neighbors.
        const bool row_is_fast = heroes_[0].shape.row_is_fast;
        const AffineExpr apart(row_is_fast ? tile_.threads_down()
                                           : tile_.threads_across());
        const AffineExpr places(tile_.threads_down() * tile_.threads_across());
        const auto& ranges = builder_.ranges();
        slice_ = AffineExpr::FloorDiv(thread, places).SimplifyIn(ranges);
        const AffineExpr place =
            AffineExpr::Mod(thread, places).SimplifyIn(ranges);
        const AffineExpr fast =
            AffineExpr::Mod(place, apart).SimplifyIn(ranges);
        const AffineExpr slow =
            AffineExpr::FloorDiv(place, apart).SimplifyIn(ranges);
        down_ = row_is_fast ? fast : slow;
        across_ = row_is_fast ? slow : fast;
        for (Hero& hero : heroes_) {
          hero.sums = builder_.AddLocal(
              hero.sum_type, {tile_.thread_rows, tile_.thread_columns});
          RETURN_IF_ERROR(EmitHero(hero));
        }
        return Write();
      });
}

// Whether the instruction is computed from one of these, without a reduction on
// the way.
struct Reached {
  std::set<const HloInstruction*> dots;
  bool reduction = false;
};
Reached ReachDots(const HloInstruction& result,
                  absl::Span<const HloInstruction* const> body,
                  const std::set<const HloInstruction*>& dots) {
  const std::set<const HloInstruction*> inside(body.begin(), body.end());
  Reached reached;
  std::set<const HloInstruction*> seen;
  std::vector<const HloInstruction*> queue = {&result};
  while (!queue.empty()) {
    const HloInstruction* hlo = queue.back();
    queue.pop_back();
    if (inside.count(hlo) == 0 || !seen.insert(hlo).second) continue;
    if (dots.count(hlo) > 0) {
      reached.dots.insert(hlo);
      continue;
    }
    reached.reduction |= hlo->opcode() == HloOpcode::kReduce;
    queue.insert(queue.end(), hlo->operands().begin(), hlo->operands().end());
  }
  return reached;
}

bool SameExtents(const DotShape& a, const DotShape& b) {
  for (int role : {DotShape::kBatch, DotShape::kRow, DotShape::kColumn}) {
    if (a.extents[role] != b.extents[role]) return false;
  }
  return std::equal(a.result.begin(), a.result.end(), b.result.begin(),
                    b.result.end(), [](const auto& x, const auto& y) {
                      return x.role == y.role && x.part == y.part;
                    });
}

}  // namespace

std::vector<DotGroup> FindDotGroups(const KernelFrame& frame, int64_t min_depth,
                                    const std::vector<bool>& taken) {
  std::set<const HloInstruction*> dots;
  for (const HloInstruction* hlo : frame.body()) {
    if (HasDotShape(*hlo) &&
        IsTile(*hlo, MakeDotShape(*hlo, frame.body()), min_depth)) {
      dots.insert(hlo);
    }
  }
  std::vector<DotGroup> groups;
  if (dots.empty()) return groups;
  for (size_t k = 0; k < frame.results().size(); ++k) {
    if (taken[k]) continue;
    const KernelFrame::Result& result = frame.results()[k];
    const Reached reached = ReachDots(*result.hlo, frame.body(), dots);
    if (reached.dots.empty() || reached.reduction) continue;
    DotGroup group;
    for (const HloInstruction* hlo : frame.body()) {
      if (reached.dots.count(hlo) > 0) group.heroes.push_back(hlo);
    }
    const HloInstruction& first = *group.heroes[0];
    const DotShape shape = MakeDotShape(first, frame.body());
    const ReductionLevels levels(frame.body(), group.heroes);
    if (!FindElementWay(result, first.shape(), levels).has_value() ||
        absl::c_any_of(group.heroes, [&](const HloInstruction* hero) {
          return levels.OfOperands(*hero) > 0 ||
                 !SameExtents(shape, MakeDotShape(*hero, frame.body()));
        })) {
      continue;
    }
    const auto known = absl::c_find_if(groups, [&](const DotGroup& other) {
      return other.heroes == group.heroes;
    });
    if (known != groups.end()) {
      known->results.push_back(k);
      continue;
    }
    group.batch = shape.Count(DotShape::kBatch);
    group.rows = shape.Count(DotShape::kRow);
    group.columns = shape.Count(DotShape::kColumn);
    group.results.push_back(k);
    groups.push_back(std::move(group));
  }
  return groups;
}

absl::Status EmitDots(const DotGroup& group, int64_t shared_bytes,
                      KernelFrame* frame) {
  if (const std::optional<MatrixTile> tile = FindMatrixTile(group, *frame)) {
    return EmitMatrixProducts(group, *tile, shared_bytes, frame);
  }
  return DotEmitter(group, frame).Emit();
}

}  // namespace xla::gpu

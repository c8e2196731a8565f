#include "xla/backends/gpu/lowering/column_lowering.h"

#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/reduction_emitter.h"
#include "xla/backends/gpu/lowering/reduction_results.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using kir::Operand;

// Each has sums in registers for all rows of a thread.
constexpr size_t kMostSums = 4;
// Threads next to each other read so many bytes of neighbors, or a warp does.
constexpr int64_t kLeastBytes = 128;

class ColumnEmitter {
 public:
  ColumnEmitter(const ReductionGroup& group, const ColumnTile& tile,
                KernelFrame* frame)
      : group_(group),
        tile_(tile),
        frame_(*frame),
        builder_(frame->builder()),
        emitter_(frame->emitter()),
        input_(group.heroes[0]->operand(0)->shape()),
        levels_(frame->body(), group.heroes) {
    for (int64_t d : MemoryOrder(input_)) {
      const bool reduced =
          absl::c_linear_search(group.heroes[0]->dimensions(), d);
      (reduced ? reduced_ : kept_).push_back(d);
    }
  }

  absl::Status Emit();

 private:
  absl::Status Begin();
  absl::Status Sums(const AffineExpr& rows, const AffineExpr& lane);
  absl::Status Accumulate(const AffineExpr& rows, const AffineExpr& column);
  // Writes what is computed from the sums of a row.
  absl::Status Results(
      const AffineExpr& row,
      absl::FunctionRef<absl::StatusOr<Operand>(size_t hero)> sum_of);
  absl::Status Join(const AffineExpr& block, const AffineExpr& thread,
                    const AffineExpr& place, const AffineExpr& lane);

  const ReductionGroup& group_;
  const ColumnTile tile_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  const Shape& input_;
  const ReductionLevels levels_;
  std::vector<int64_t> kept_, reduced_;  // dimensions, the slowest first
  std::vector<kir::BufferId> sums_;      // of each hero, for rows of a thread
};

Operand Place(kir::BufferId buffer, Indices indices) {
  Operand place;
  place.buffer = buffer;
  place.indices = std::move(indices);
  return place;
}

// Each lane starts from the initial value, and so does the sum over lanes in
// Join(): it is taken more than once, which is why only initial values that
// change nothing are accepted.
absl::Status ColumnEmitter::Begin() {
  for (const HloInstruction* hero : group_.heroes) {
    ASSIGN_OR_RETURN(const kir::ElementType type,
                     KernelType(hero->operand(1)->shape().element_type()));
    sums_.push_back(builder_.AddLocal(type, {tile_.width}));
  }
  return builder_.Loop(
      "j", kir::LoopKind::kUnroll, 0, tile_.width, [&](const AffineExpr& j) {
        return emitter_.InScope([&]() -> absl::Status {
          for (size_t h = 0; h < sums_.size(); ++h) {
            ASSIGN_OR_RETURN(const std::vector<Operand> initial,
                             emitter_.BeginReduction(*group_.heroes[h]));
            builder_.EmitTo(Place(sums_[h], {j}), "copy", {initial[0]});
          }
          return absl::OkStatus();
        });
      });
}

absl::Status ColumnEmitter::Accumulate(const AffineExpr& rows,
                                       const AffineExpr& column) {
  Indices places(input_.dimensions().size());
  return frame_.Named(input_, reduced_, column, &places, [&] {
    return builder_.Vector(tile_.width, [&](const AffineExpr& j) {
      return emitter_.InScope([&] {
        const AffineExpr row = rows * AffineExpr(tile_.width) + j;
        return frame_.Named(input_, kept_, row, &places, [&]() -> absl::Status {
          for (size_t h = 0; h < sums_.size(); ++h) {
            const HloInstruction& hero = *group_.heroes[h];
            const HloInstruction& operand = *hero.operand(0);
            ASSIGN_OR_RETURN(
                const Operand value,
                emitter_.Element(operand,
                                 SameNumber(places, input_.dimensions(),
                                            operand.shape().dimensions(),
                                            builder_.ranges())));
            RETURN_IF_ERROR(
                emitter_.Accumulate(hero, {Place(sums_[h], {j})}, {value}));
          }
          return absl::OkStatus();
        });
      });
    });
  });
}

// The last step may be that of some lanes only.
absl::Status ColumnEmitter::Sums(const AffineExpr& rows,
                                 const AffineExpr& lane) {
  const int64_t whole = group_.columns / tile_.lanes;
  const auto step = [&](const AffineExpr& index) {
    const AffineExpr column =
        (index * AffineExpr(tile_.lanes) + lane).SimplifyIn(builder_.ranges());
    return frame_.Where(Inside(column, group_.columns, builder_.ranges()),
                        [&] { return Accumulate(rows, column); });
  };
  if (whole == 1) {
    RETURN_IF_ERROR(step(0));
  } else {
    RETURN_IF_ERROR(builder_.Loop("k", kir::LoopKind::kSerial, 0, whole, step));
  }
  return group_.columns % tile_.lanes == 0 ? absl::OkStatus() : step(whole);
}

absl::Status ColumnEmitter::Results(
    const AffineExpr& row,
    absl::FunctionRef<absl::StatusOr<Operand>(size_t)> sum_of) {
  Indices places(input_.dimensions().size());
  return frame_.Named(input_, kept_, row, &places, [&]() -> absl::Status {
    Indices indices;
    for (size_t d = 0; d < places.size(); ++d) {
      if (absl::c_linear_search(kept_, static_cast<int64_t>(d))) {
        indices.push_back(places[d]);
      }
    }
    for (size_t h = 0; h < sums_.size(); ++h) {
      const HloInstruction& hero = *group_.heroes[h];
      ASSIGN_OR_RETURN(const Operand sum, sum_of(h));
      ASSIGN_OR_RETURN(std::vector<Operand> value,
                       emitter_.EndReduction(hero, {sum}));
      emitter_.Remember(hero,
                        SameNumber(indices, KeptExtents(*group_.heroes[0]),
                                   KeptExtents(hero), builder_.ranges()),
                        std::move(value));
    }
    for (int64_t k : group_.results) {
      const KernelFrame::Result& result = frame_.results()[k];
      const std::optional<ResultWay> way =
          FindResultWay(result, *group_.heroes[0], levels_);
      if (!way.has_value()) return NotLowered(*result.hlo, "of another shape");
      RETURN_IF_ERROR(frame_.Store(
          result, way->Follow(indices, result.shape, builder_.ranges())));
    }
    return absl::OkStatus();
  });
}

// Threads of a warp write shared memory in words next to each other.
absl::Status ColumnEmitter::Join(const AffineExpr& block,
                                 const AffineExpr& thread,
                                 const AffineExpr& place,
                                 const AffineExpr& lane) {
  const int64_t rows = tile_.across * tile_.width;
  std::vector<kir::BufferId> shared;
  for (kir::BufferId sum : sums_) {
    shared.push_back(
        builder_.AddShared("s", builder_.TypeOf(Place(sum, {0})),
                           {tile_.lanes, tile_.width, tile_.across}));
  }
  RETURN_IF_ERROR(builder_.Loop(
      "j", kir::LoopKind::kUnroll, 0, tile_.width, [&](const AffineExpr& j) {
        for (size_t h = 0; h < sums_.size(); ++h) {
          builder_.EmitTo(Place(shared[h], {lane, j, place}), "copy",
                          {Place(sums_[h], {j})});
        }
        return absl::OkStatus();
      }));
  builder_.EmitSync(kir::SyncScope::kBlock);
  const auto row = [&](const AffineExpr& index) -> absl::Status {
    const auto& ranges = builder_.ranges();
    const AffineExpr number = AffineExpr::FloorDiv(index, tile_.width);
    const AffineExpr j = AffineExpr::Mod(index, tile_.width);
    return Results(
        block * AffineExpr(rows) + index,
        [&](size_t h) -> absl::StatusOr<Operand> {
          const HloInstruction& hero = *group_.heroes[h];
          ASSIGN_OR_RETURN(const std::vector<Operand> total,
                           emitter_.BeginReduction(hero));
          RETURN_IF_ERROR(builder_.Loop(
              "l", kir::LoopKind::kSerial, 0, tile_.lanes,
              [&](const AffineExpr& l) {
                return emitter_.InScope([&] {
                  const Operand part = builder_.Emit(
                      "copy", builder_.TypeOf(total[0]),
                      {Place(shared[h], {l, j.SimplifyIn(ranges),
                                         number.SimplifyIn(ranges)})});
                  return emitter_.Accumulate(hero, total, {part});
                });
              }));
          return total[0];
        });
  };
  const int64_t threads = frame_.threads();
  const auto round = [&](const AffineExpr& index) {
    const AffineExpr of_tile = index * AffineExpr(threads) + thread;
    return frame_.Where(Inside(of_tile, rows, builder_.ranges()), [&] {
      return builder_.Let("r", of_tile, rows, [&](const AffineExpr& name) {
        return frame_.Where(Inside(block * AffineExpr(rows) + name, group_.rows,
                                   builder_.ranges()),
                            [&] { return row(name); });
      });
    });
  };
  if (rows <= threads) return round(0);
  return builder_.Loop("u", kir::LoopKind::kUnroll, 0,
                       CeilOfRatio(rows, threads), round);
}

absl::Status ColumnEmitter::Emit() {
  for (const HloInstruction* hero : group_.heroes) emitter_.Forbid(hero);
  const absl::Cleanup allow = [this] { emitter_.AllowAll(); };
  // Threads beyond the last rows take those rows again instead of leaving: all
  // threads have to meet the barrier of Join(), and reads stay in bounds
  // without a branch. What they compute is not written.
  const int64_t vectors = group_.rows / tile_.width;
  return frame_.Blocks(
      CeilOfRatio(vectors, tile_.across),
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        const AffineExpr place =
            AffineExpr::Mod(thread, AffineExpr(tile_.across))
                .SimplifyIn(builder_.ranges());
        const AffineExpr lane =
            AffineExpr::FloorDiv(thread, AffineExpr(tile_.across))
                .SimplifyIn(builder_.ranges());
        const AffineExpr raw = block * AffineExpr(tile_.across) + place;
        const AffineExpr last = AffineExpr::Min(raw, AffineExpr(vectors - 1))
                                    .SimplifyIn(builder_.ranges());
        RETURN_IF_ERROR(Begin());
        RETURN_IF_ERROR(builder_.Let(
            "v", last, vectors, [&](const AffineExpr& rows) -> absl::Status {
              return Sums(rows, lane);
            }));
        if (tile_.lanes > 1) return Join(block, thread, place, lane);
        return frame_.Where(Inside(raw, vectors, builder_.ranges()), [&] {
          return builder_.Vector(tile_.width, [&](const AffineExpr& j) {
            return emitter_.InScope([&] {
              return Results(raw * AffineExpr(tile_.width) + j, [&](size_t h) {
                return absl::StatusOr<Operand>(Place(sums_[h], {j}));
              });
            });
          });
        });
      });
}

}  // namespace

std::optional<ColumnTile> FindColumnTile(const ReductionGroup& group,
                                         KernelFrame& frame) {
  if (group.row || group.heroes.size() > kMostSums) return std::nullopt;
  const ReductionLevels levels(frame.body(), group.heroes);
  for (const HloInstruction* hero : group.heroes) {
    if (!IsNeutral(*hero) || levels.OfOperands(*hero) > 0) return std::nullopt;
  }
  for (int64_t k : group.results) {
    const auto way =
        FindResultWay(frame.results()[k], *group.heroes[0], levels);
    if (!way.has_value() || way->full) return std::nullopt;
  }
  const int64_t bytes = WidestAlongRows(group, frame);
  ColumnTile tile;
  tile.width = NeighborsAlongRows(group, bytes);
  if (tile.width == 1) return std::nullopt;
  // Starts from a warp of threads side by side, at most what the rows can use.
  // Then gives up width of access for more blocks while the device has idle
  // threads, down to 128 bytes per access. The rest of the block becomes lanes,
  // a power of two of them, and at last `across` grows again to use all
  // threads.
  const int64_t threads = frame.threads();
  const int64_t vectors = group.rows / tile.width;
  tile.across = std::min<int64_t>(threads, kir::kWarpThreads);
  while (tile.across > 1 && tile.across / 2 >= vectors) tile.across /= 2;
  while (tile.across * tile.width * bytes > kLeastBytes &&
         CeilOfRatio(vectors, tile.across) * threads < frame.device_threads()) {
    tile.across /= 2;
  }
  while (tile.lanes * 2 <= std::min(group.columns, threads / tile.across)) {
    tile.lanes *= 2;
  }
  tile.across = threads / tile.lanes;
  return tile;
}

absl::Status EmitColumns(const ReductionGroup& group, const ColumnTile& tile,
                         KernelFrame* frame) {
  return ColumnEmitter(group, tile, frame).Emit();
}

}  // namespace xla::gpu

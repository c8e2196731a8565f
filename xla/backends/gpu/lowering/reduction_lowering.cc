#include "xla/backends/gpu/lowering/reduction_lowering.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/lowering/column_lowering.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/reduction_emitter.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {

using kir::Operand;

ReductionEmitter::ReductionEmitter(const ReductionGroup& group,
                                   int64_t min_vector_columns,
                                   KernelFrame* frame)
    : group_(group),
      frame_(*frame),
      builder_(frame->builder()),
      emitter_(frame->emitter()),
      input_(group.heroes[0]->operand(0)->shape()),
      levels_(frame->body(), group.heroes) {
  for (int64_t d : MemoryOrder(input_)) {
    const bool reduced =
        absl::c_linear_search(group.heroes[0]->dimensions(), d);
    (reduced ? reduced_ : kept_dims_).push_back(d);
  }
  ChooseWidth(min_vector_columns);
}

// Threads of a row beyond the last one work on the last row again. They must
// not leave, since the lanes of a block meet at barriers when they join their
// sums, and reads at clamped places are in bounds; Write() drops what they
// compute.
absl::Status ReductionEmitter::InRow(
    absl::FunctionRef<absl::Status(const Indices&)> body) {
  const AffineExpr row = AffineExpr::Min(raw_row_, AffineExpr(group_.rows - 1))
                             .SimplifyIn(builder_.ranges());
  return emitter_.InScope([&]() -> absl::Status {
    Indices places(input_.dimensions().size());
    return frame_.Named(
        input_, kept_dims_, row, &places, [&]() -> absl::Status {
          Indices indices;
          for (size_t d = 0; d < places.size(); ++d) {
            if (absl::c_linear_search(kept_dims_, static_cast<int64_t>(d))) {
              indices.push_back(places[d]);
            }
          }
          for (const Hero& hero : heroes_) {
            if (!hero.result.empty()) {
              emitter_.Remember(
                  *hero.hlo,
                  SameNumber(indices, KeptExtents(*group_.heroes[0]),
                             KeptExtents(*hero.hlo), builder_.ranges()),
                  hero.result);
            }
          }
          return body(indices);
        });
  });
}

absl::Status ReductionEmitter::Write(const Output& output,
                                     const Indices& places) {
  return frame_.Where(
      Inside(raw_row_, group_.rows, builder_.ranges()), [&]() -> absl::Status {
        return frame_.Store(
            *output.result,
            output.way.Follow(places, output.result->shape, builder_.ranges()));
      });
}

// Whether the value has an element for each row, computed from what is known of
// that row: where dimensions change places, the one with a row's number is that
// of another row.
bool ReductionEmitter::IsOfRows(const HloInstruction& value) const {
  const auto is_hero = [&](const HloInstruction* hlo) {
    return absl::c_linear_search(group_.heroes, hlo);
  };
  std::vector<const HloInstruction*> stack = {&value};
  std::set<const HloInstruction*> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    const HloInstruction* hlo = stack.back();
    stack.pop_back();
    if (levels_.Of(*hlo) == 0 || is_hero(hlo) ||
        (hlo->opcode() == HloOpcode::kGetTupleElement &&
         is_hero(hlo->operand(0)))) {
      continue;
    }
    if (!KeepsNumbers(*hlo) || !hlo->shape().IsArray() ||
        ShapeUtil::ElementsIn(hlo->shape()) != group_.rows) {
      return false;
    }
    for (const HloInstruction* operand : hlo->operands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return true;
}

// The element of a value of a row that the broadcast spreads along the row's
// columns; nothing for other broadcasts.
std::optional<Indices> ReductionEmitter::SpreadPlaces(
    const HloInstruction& broadcast, const Indices& row) const {
  const Shape& value = broadcast.operand(0)->shape();
  if (!absl::c_is_sorted(broadcast.dimensions()) ||
      !IsOfRows(*broadcast.operand(0))) {
    return std::nullopt;
  }
  if (broadcast.shape().dimensions() == input_.dimensions()) {
    if (value.dimensions().size() == kept_dims_.size() &&
        absl::c_none_of(reduced_, [&](int64_t d) {
          return absl::c_linear_search(broadcast.dimensions(), d);
        })) {
      return row;
    }
    return std::nullopt;
  }
  // By number: the columns are what comes after the dimensions of the value.
  int64_t columns = 1;
  for (int64_t d = broadcast.shape().dimensions().size() - 1;
       d >= 0 && !absl::c_linear_search(broadcast.dimensions(), d); --d) {
    columns *= broadcast.shape().dimensions(d);
  }
  if (columns != group_.columns ||
      ShapeUtil::ElementsIn(value) != group_.rows ||
      ShapeUtil::ElementsIn(broadcast.shape()) !=
          group_.rows * group_.columns ||
      (!kept_dims_.empty() &&
       *absl::c_max_element(kept_dims_) > *absl::c_min_element(reduced_))) {
    return std::nullopt;
  }
  return SameNumber(row, KeptExtents(*group_.heroes[0]), value.dimensions(),
                    builder_.ranges());
}

// Computes values derived from results of reductions before they are broadcast
// along columns, if the stage reads them there.
absl::Status ReductionEmitter::Hoist(int level, const Indices& row) {
  if (level == 0) return absl::OkStatus();
  const std::set<const HloInstruction*> read = ReadBy(level);
  for (const HloInstruction* hlo : frame_.body()) {
    if (hlo->opcode() != HloOpcode::kBroadcast || levels_.Of(*hlo) == 0 ||
        read.count(hlo) == 0) {
      continue;
    }
    if (const auto places = SpreadPlaces(*hlo, row)) {
      RETURN_IF_ERROR(emitter_.Element(*hlo->operand(0), *places).status());
    }
  }
  return absl::OkStatus();
}

Indices ReductionEmitter::PlacesIn(const HloInstruction& hlo,
                                   const Indices& places) const {
  return SameNumber(places, input_.dimensions(), hlo.shape().dimensions(),
                    builder_.ranges());
}

// What earlier levels have kept is made known first, so that the inputs of this
// one find it in registers. What this level keeps is stored last: its inputs
// have computed it by then, and the scope has its register.
absl::Status ReductionEmitter::Column(int level, const Indices& row,
                                      const AffineExpr& column,
                                      const AffineExpr& slot, bool first) {
  Indices places(input_.dimensions().size());
  size_t next = 0;
  for (size_t d = 0; d < places.size(); ++d) {
    if (absl::c_linear_search(kept_dims_, static_cast<int64_t>(d))) {
      places[d] = row[next++];
    }
  }
  return emitter_.InScope([&] {
    return frame_.Named(
        input_, reduced_, column, &places, [&]() -> absl::Status {
          for (const Kept& kept : kept_) {
            if (kept.IsReadAt(level)) {
              emitter_.Remember(*kept.hlo, PlacesIn(*kept.hlo, places),
                                {Element(kept.elements, slot)});
            }
          }
          for (Hero* hero : Heroes(level)) {
            std::vector<Operand> values;
            for (size_t k = 0; k < hero->accumulators.size(); ++k) {
              const HloInstruction& operand = *hero->hlo->operand(k);
              ASSIGN_OR_RETURN(
                  Operand value,
                  emitter_.Element(operand, PlacesIn(operand, places)));
              values.push_back(value);
            }
            if (!first) {
              RETURN_IF_ERROR(
                  emitter_.Accumulate(*hero->hlo, hero->accumulators, values));
              continue;
            }
            for (size_t k = 0; k < values.size(); ++k) {
              builder_.EmitTo(hero->accumulators[k], "copy", {values[k]});
            }
          }
          for (const Kept& kept : kept_) {
            if (kept.level != level) continue;
            ASSIGN_OR_RETURN(
                const Operand value,
                emitter_.Element(*kept.hlo, PlacesIn(*kept.hlo, places)));
            builder_.EmitTo(Element(kept.elements, slot), "copy", {value});
          }
          for (const Output& output : outputs_) {
            if (output.level == level && output.way.full) {
              RETURN_IF_ERROR(Write(output, places));
            }
          }
          return absl::OkStatus();
        });
  });
}

// Each lane accumulates columns lane, lane + lanes, lane + 2 * lanes, and so
// on, or vectors of them. If the initial value is not neutral, accumulators
// start from the first column instead, and the initial value enters once, at
// the end.
absl::Status ReductionEmitter::Columns(int level, const Indices& row) {
  bool first = false;
  for (Hero* hero : Heroes(level)) first |= !hero->neutral;
  for (Hero* hero : Heroes(level)) {
    if (!first) {
      ASSIGN_OR_RETURN(hero->accumulators, emitter_.BeginReduction(*hero->hlo));
      continue;
    }
    hero->neutral = false;
    const int64_t inputs = hero->hlo->operand_count() / 2;
    for (int64_t k = 0; k < inputs; ++k) {
      // Sums of narrow numbers can be wide.
      ASSIGN_OR_RETURN(
          const kir::ElementType type,
          KernelType(hero->hlo->operand(inputs + k)->shape().element_type()));
      hero->accumulators.push_back(builder_.AddRegister(type));
    }
  }
  // Each lane has a first column.
  if (first) {
    RETURN_IF_ERROR(Column(level, row, lane_, 0, true));
  }
  const int64_t vectors = group_.columns / width_;
  const int64_t steps = CeilOfRatio(vectors, lanes_);
  const auto step = [&](const AffineExpr& index) {
    const AffineExpr vector =
        (index * AffineExpr(lanes_) + lane_).SimplifyIn(builder_.ranges());
    return frame_.Where(Inside(vector, vectors, builder_.ranges()), [&] {
      return builder_.Vector(width_, [&](const AffineExpr& neighbor) {
        return Column(level, row, vector * AffineExpr(width_) + neighbor,
                      index * AffineExpr(width_) + neighbor, false);
      });
    });
  };
  // The last step may be that of some lanes only. What is kept has to stay in
  // registers, which nothing indexes at run time.
  const kir::LoopKind kind =
      kept_.empty() ? kir::LoopKind::kSerial : kir::LoopKind::kUnroll;
  const int64_t begin = first ? 1 : 0, whole = vectors / lanes_;
  if (begin + 1 == whole) {
    RETURN_IF_ERROR(step(begin));
  } else if (begin < whole) {
    RETURN_IF_ERROR(builder_.Loop("k", kind, begin, whole, step));
  }
  return whole < steps ? step(whole) : absl::OkStatus();
}

absl::Status ReductionEmitter::AddKept() {
  const int64_t steps = CeilOfRatio(group_.columns / width_, lanes_);
  for (Kept& kept : kept_) {
    ASSIGN_OR_RETURN(const kir::ElementType type,
                     KernelType(kept.hlo->shape().element_type()));
    kept.elements = builder_.AddLocal(type, {steps * width_});
  }
  return absl::OkStatus();
}

absl::Status ReductionEmitter::EmitStage(int level) {
  const bool writes = absl::c_any_of(outputs_, [&](const Output& output) {
    return output.level == level && output.way.full;
  });
  if (!writes && Heroes(level).empty()) return absl::OkStatus();
  RETURN_IF_ERROR(InRow([&](const Indices& row) -> absl::Status {
    RETURN_IF_ERROR(Hoist(level, row));
    return Columns(level, row);
  }));
  return Combine(level);
}

absl::Status ReductionEmitter::WriteRows() {
  if (absl::c_all_of(outputs_,
                     [](const Output& output) { return output.way.full; })) {
    return absl::OkStatus();
  }
  return frame_.Where(Inside(lane_, 1, builder_.ranges()),
                      [&]() -> absl::Status {
                        return InRow([&](const Indices& row) -> absl::Status {
                          for (const Output& output : outputs_) {
                            if (output.way.full) continue;
                            RETURN_IF_ERROR(Write(output, row));
                          }
                          return absl::OkStatus();
                        });
                      });
}

// Reductions that depend on one another run in stages, one pass over the
// columns for each level. Softmax: the maximum at level 0, the sum of exp(x -
// maximum) at level 1, the quotients are written at level 2. A row stays with
// its lanes throughout, so what one stage leaves for the next is in registers,
// and no stage waits for another block.
absl::Status ReductionEmitter::Emit() {
  int last = 0;
  for (const HloInstruction* hlo : group_.heroes) {
    const int level = levels_.OfOperands(*hlo);
    last = std::max(last, level);
    heroes_.push_back({hlo, level, IsNeutral(*hlo), {}, {}});
    emitter_.Forbid(hlo);
  }
  const absl::Cleanup allow = [this] { emitter_.AllowAll(); };
  for (int64_t k : group_.results) {
    const KernelFrame::Result& result = frame_.results()[k];
    const std::optional<ResultWay> way =
        FindResultWay(result, *group_.heroes[0], levels_);
    if (!way.has_value()) return NotLowered(*result.hlo, "of another shape");
    const int level = levels_.Of(*result.hlo);
    if (way->full) last = std::max(last, level);
    outputs_.push_back({&result, level, *way});
  }
  FindKept(last);
  ChooseThreads();
  RETURN_IF_ERROR(AddKept());
  return frame_.Blocks(
      CeilOfRatio(group_.rows, rows_per_block_),
      [&](const AffineExpr& block, const AffineExpr& thread) -> absl::Status {
        thread_ = thread;
        const AffineExpr apart(group_.row ? lanes_ : rows_per_block_);
        const AffineExpr fast =
            AffineExpr::Mod(thread, apart).SimplifyIn(builder_.ranges());
        const AffineExpr slow =
            AffineExpr::FloorDiv(thread, apart).SimplifyIn(builder_.ranges());
        lane_ = group_.row ? fast : slow;
        raw_row_ =
            (block * AffineExpr(rows_per_block_) + (group_.row ? slow : fast))
                .SimplifyIn(builder_.ranges());
        for (int level = 0; level <= last; ++level) {
          RETURN_IF_ERROR(EmitStage(level));
        }
        return WriteRows();
      });
}

absl::Status EmitReductions(const ReductionGroup& group,
                            int64_t min_vector_columns, KernelFrame* frame) {
  if (const auto tile = FindColumnTile(group, *frame)) {
    return EmitColumns(group, *tile, frame);
  }
  return ReductionEmitter(group, min_vector_columns, frame).Emit();
}

}  // namespace xla::gpu

#include "xla/backends/gpu/lowering/reduction_lowering.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"
#include "xla/backends/gpu/lowering/index_maps.h"
#include "xla/backends/gpu/lowering/reduction_results.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using kir::Operand;

constexpr int64_t kWarp = 32;

int64_t PowerOfTwoUpTo(int64_t number) {
  int64_t power = 1;
  while (power * 2 <= number) power *= 2;
  return power;
}

// Whether the initial value may be taken any number of times.
bool IsNeutral(const HloInstruction& reduce) {
  const HloInstruction& root = *reduce.to_apply()->root_instruction();
  const HloInstruction& init = *reduce.operand(reduce.operand_count() - 1);
  if (reduce.operand_count() != 2 || root.operand_count() != 2 ||
      root.operand(0)->opcode() != HloOpcode::kParameter ||
      root.operand(1)->opcode() != HloOpcode::kParameter ||
      root.operand(0) == root.operand(1) ||
      init.opcode() != HloOpcode::kConstant || init.literal().is_elided()) {
    return false;
  }
  const PrimitiveType type = init.shape().element_type();
  switch (root.opcode()) {
    case HloOpcode::kAdd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return init.literal().IsAll(0);
    case HloOpcode::kMultiply:
      return init.literal().IsAll(1);
    case HloOpcode::kMaximum:
      return init.literal().IsAll(LiteralUtil::MinValue(type));
    case HloOpcode::kMinimum:
      return init.literal().IsAll(LiteralUtil::MaxValue(type));
    default:  // No known neutral element.
      return false;
  }
}

// Emits one kernel for a group of reductions over the same dimensions of arrays
// of one shape, together with the element-wise code around them.
//
// The input is a matrix: kept dimensions number its rows, reduced dimensions
// its columns. A team of `lanes_` threads (a power of two) handles a row, and a
// block holds `rows_per_block_` rows. Row reductions (the reduced dimensions
// vary fastest in memory) put neighbouring threads on neighbouring columns;
// column reductions put them on neighbouring rows. In both cases the threads of
// a warp read neighbouring addresses.
//
// Reductions may depend on each other's results (as in softmax: maximum, then
// sum of exponentials). They are emitted level by level: at each level every
// thread loops over its columns and accumulates in registers, then the lanes of
// a row combine their partial results in a tree through shared memory, after
// which the results are known to all lanes for the next level. Rows are clamped
// to the last one rather than skipped, so that every thread reaches every
// barrier; only stores are predicated.
class ReductionEmitter {
 public:
  ReductionEmitter(const ReductionGroup& group, int64_t min_vector_columns,
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
      (reduced ? reduced_ : kept_).push_back(d);
    }
    ChooseWidth(min_vector_columns);
    ChooseThreads();
  }

  absl::Status Emit();

 private:
  struct Hero {
    const HloInstruction* hlo;
    int level;  // of its operands
    bool neutral;
    std::vector<Operand> accumulators;
    std::vector<Operand> result;  // once it is known
  };
  struct Output {
    const KernelFrame::Result* result;
    int level;
    ResultWay way;
  };

  void ChooseWidth(int64_t min_vector_columns);
  void ChooseThreads();
  absl::Status EmitStage(int level);
  absl::Status Hoist(int level, const Indices& row);
  absl::Status Columns(int level, const Indices& row);
  absl::Status Column(int level, const Indices& row, const AffineExpr& column,
                      bool first);
  absl::Status Combine(int level);
  absl::Status Halve(int level, int64_t distance);
  // How "warp" combines the hero's partial results; empty: it does not.
  static std::string WarpOp(const Hero& hero, kir::ElementType type);
  // The lanes of a row, 32 or more, join through shuffles, and their warps in
  // shared memory. False where some hero's values combine otherwise.
  absl::StatusOr<bool> JoinByWarps(const std::vector<Hero*>& heroes);
  absl::Status WriteRows();
  absl::Status Write(const Output& output, const Indices& places);

  // Calls `body` with indices into the reductions' results.
  absl::Status InRow(absl::FunctionRef<absl::Status(const Indices&)> body);
  // Names for the indices that a number stands for along `dims`; they are set
  // in `places`.
  absl::Status Named(absl::Span<const int64_t> dims, const AffineExpr& number,
                     Indices* places, absl::FunctionRef<absl::Status()> body);
  Operand Partial(int id, const AffineExpr& thread) const {
    Operand place;
    place.buffer = id;
    place.indices = {thread};
    return place;
  }
  std::vector<Hero*> Heroes(int level) {
    std::vector<Hero*> result;
    for (Hero& hero : heroes_) {
      if (hero.level == level) result.push_back(&hero);
    }
    return result;
  }
  void Join(int64_t distance);

  const ReductionGroup& group_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  const Shape& input_;
  const ReductionLevels levels_;
  std::vector<int64_t> kept_, reduced_;  // dimensions, the slowest first
  int64_t width_ = 1;                    // columns that a lane takes at once
  int64_t lanes_ = 1;                    // threads of a row
  int64_t rows_per_block_ = 1;
  // This thread, its lane, and its row before it is clamped to the last.
  AffineExpr thread_, lane_, raw_row_;
  std::vector<Hero> heroes_;
  std::vector<Output> outputs_;
  std::map<const Hero*, std::vector<kir::BufferId>> partials_;
};

// By the widest array of a whole row that is read or written. A lane that
// begins with its first column takes columns one by one.
void ReductionEmitter::ChooseWidth(int64_t min_vector_columns) {
  if (!group_.row || group_.columns < min_vector_columns ||
      !absl::c_all_of(group_.heroes, [](const HloInstruction* hero) {
        return IsNeutral(*hero);
      })) {
    return;
  }
  const int64_t elements = ShapeUtil::ElementsIn(input_);
  int64_t bytes = 1;
  const auto look = [&](const Shape& shape) {
    if (ShapeUtil::ElementsIn(shape) != elements) return;
    bytes = std::max(bytes,
                     ShapeUtil::ByteSizeOfPrimitiveType(shape.element_type()));
  };
  std::vector<const HloInstruction*> stack(group_.heroes.begin(),
                                           group_.heroes.end());
  for (int64_t k : group_.results) {
    look(frame_.results()[k].shape);
    stack.push_back(frame_.results()[k].hlo);
  }
  std::set<const HloInstruction*> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    const HloInstruction* hlo = stack.back();
    stack.pop_back();
    if (emitter_.FindInput(*hlo) >= 0) {
      look(hlo->shape());
      continue;
    }
    for (const HloInstruction* operand : hlo->operands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  width_ = kir::NeighborsOfThread(bytes, input_.dimensions(reduced_.back()));
}

// The number of lanes trades work for each thread against the depth of the tree
// and the number of idle threads.
void ReductionEmitter::ChooseThreads() {
  const int64_t threads = frame_.threads();
  const int64_t columns = group_.columns / width_;
  const int64_t most = std::min(threads, PowerOfTwoUpTo(columns));
  if (group_.row) {
    // A few columns for each lane, but a warp for each row if it has so many;
    // more where there are too few rows for a block.
    lanes_ = most;
    while (lanes_ > kWarp && lanes_ * 4 > columns) lanes_ /= 2;
    while (lanes_ < most && threads / lanes_ > group_.rows) lanes_ *= 2;
  } else {
    int64_t rows = std::min(threads, kWarp);
    while (rows > 1 && rows / 2 >= group_.rows) rows /= 2;
    lanes_ = std::min(most, threads / rows);
  }
  rows_per_block_ = threads / lanes_;
}

absl::Status ReductionEmitter::Named(absl::Span<const int64_t> dims,
                                     const AffineExpr& number, Indices* places,
                                     absl::FunctionRef<absl::Status()> body) {
  std::vector<int64_t> extents;
  for (int64_t d : dims) extents.push_back(input_.dimensions(d));
  const Indices indices = Delinearize(number, extents, builder_.ranges());
  const std::function<absl::Status(size_t)> name =
      [&](size_t k) -> absl::Status {
    if (k == dims.size()) return body();
    return builder_.Let("i", indices[k], extents[k],
                        [&](const AffineExpr& index) {
                          (*places)[dims[k]] = index;
                          return name(k + 1);
                        });
  };
  return name(0);
}

absl::Status ReductionEmitter::InRow(
    absl::FunctionRef<absl::Status(const Indices&)> body) {
  const AffineExpr row = AffineExpr::Min(raw_row_, AffineExpr(group_.rows - 1))
                             .SimplifyIn(builder_.ranges());
  return emitter_.InScope([&]() -> absl::Status {
    Indices places(input_.dimensions().size());
    return Named(kept_, row, &places, [&]() -> absl::Status {
      Indices indices;
      for (size_t d = 0; d < places.size(); ++d) {
        if (absl::c_linear_search(kept_, static_cast<int64_t>(d))) {
          indices.push_back(places[d]);
        }
      }
      for (const Hero& hero : heroes_) {
        if (!hero.result.empty()) {
          emitter_.Remember(*hero.hlo, indices, hero.result);
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

// Computes values derived from results of reductions before they are broadcast
// along columns.
absl::Status ReductionEmitter::Hoist(int level, const Indices& row) {
  if (level == 0) return absl::OkStatus();
  for (const HloInstruction* hlo : frame_.body()) {
    if (hlo->opcode() != HloOpcode::kBroadcast || levels_.Of(*hlo) != level ||
        hlo->shape().dimensions() != input_.dimensions() ||
        hlo->operand(0)->shape().dimensions().size() != kept_.size() ||
        !absl::c_is_sorted(hlo->dimensions()) ||
        absl::c_any_of(reduced_, [&](int64_t d) {
          return absl::c_linear_search(hlo->dimensions(), d);
        })) {
      continue;
    }
    RETURN_IF_ERROR(emitter_.Element(*hlo->operand(0), row).status());
  }
  return absl::OkStatus();
}

absl::Status ReductionEmitter::Column(int level, const Indices& row,
                                      const AffineExpr& column, bool first) {
  Indices places(input_.dimensions().size());
  size_t next = 0;
  for (size_t d = 0; d < places.size(); ++d) {
    if (absl::c_linear_search(kept_, static_cast<int64_t>(d))) {
      places[d] = row[next++];
    }
  }
  return emitter_.InScope([&] {
    return Named(reduced_, column, &places, [&]() -> absl::Status {
      for (Hero* hero : Heroes(level)) {
        std::vector<Operand> values;
        for (size_t k = 0; k < hero->accumulators.size(); ++k) {
          ASSIGN_OR_RETURN(Operand value,
                           emitter_.Element(*hero->hlo->operand(k), places));
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
    RETURN_IF_ERROR(Column(level, row, lane_, true));
  }
  const int64_t begin = first ? 1 : 0;
  const int64_t vectors = group_.columns / width_;
  const int64_t steps = CeilOfRatio(vectors, lanes_);
  const auto step = [&](const AffineExpr& index) {
    const AffineExpr vector =
        (index * AffineExpr(lanes_) + lane_).SimplifyIn(builder_.ranges());
    return frame_.Where(Inside(vector, vectors, builder_.ranges()), [&] {
      return builder_.Vector(width_, [&](const AffineExpr& neighbor) {
        return Column(level, row, vector * AffineExpr(width_) + neighbor,
                      false);
      });
    });
  };
  if (begin == steps) return absl::OkStatus();
  if (begin + 1 == steps) return step(begin);
  return builder_.Loop("k", kir::LoopKind::kSerial, begin, steps, step);
}

void ReductionEmitter::Join(int64_t distance) {
  const bool warp = group_.row && distance * 2 <= kWarp;
  builder_.EmitSync(warp ? kir::SyncScope::kWarp : kir::SyncScope::kBlock);
}

// One level of the tree: the first `distance` lanes of each row take in the
// partial results of the lanes `distance` further on.
absl::Status ReductionEmitter::Halve(int level, int64_t distance) {
  const AffineExpr other =
      thread_ + AffineExpr(group_.row ? distance : distance * rows_per_block_);
  return frame_.Where(
      Inside(lane_, distance, builder_.ranges()), [&]() -> absl::Status {
        for (Hero* hero : Heroes(level)) {
          const std::vector<kir::BufferId>& partials = partials_[hero];
          std::vector<Operand> values;
          for (size_t k = 0; k < partials.size(); ++k) {
            values.push_back(
                builder_.Emit("copy", builder_.TypeOf(hero->accumulators[k]),
                              {Partial(partials[k], other)}));
          }
          RETURN_IF_ERROR(
              emitter_.Accumulate(*hero->hlo, hero->accumulators, values));
          for (size_t k = 0; k < partials.size(); ++k) {
            builder_.EmitTo(Partial(partials[k], thread_), "copy",
                            {hero->accumulators[k]});
          }
        }
        return absl::OkStatus();
      });
}

std::string ReductionEmitter::WarpOp(const Hero& hero, kir::ElementType type) {
  const HloInstruction& root = *hero.hlo->to_apply()->root_instruction();
  if (hero.accumulators.size() != 1 || root.operand_count() != 2 ||
      root.operand(0)->opcode() != HloOpcode::kParameter ||
      root.operand(1)->opcode() != HloOpcode::kParameter ||
      root.operand(0) == root.operand(1) || type != kir::ElementType::kF32) {
    return "";
  }
  switch (root.opcode()) {
    case HloOpcode::kAdd:
      return "add";
    case HloOpcode::kMultiply:
      return "mul";
    case HloOpcode::kMaximum:
      return "max";
    case HloOpcode::kMinimum:
      return "min";
    default:  // No such operation of a warp.
      return "";
  }
}

absl::StatusOr<bool> ReductionEmitter::JoinByWarps(
    const std::vector<Hero*>& heroes) {
  if (!group_.row || lanes_ < kWarp) return false;
  for (const Hero* hero : heroes) {
    if (WarpOp(*hero, builder_.TypeOf(hero->accumulators[0])).empty()) {
      return false;
    }
  }
  const int64_t warps = lanes_ / kWarp;
  for (Hero* hero : heroes) {
    const kir::ElementType type = builder_.TypeOf(hero->accumulators[0]);
    const std::string op = WarpOp(*hero, type);
    hero->accumulators = {builder_.Emit(absl::StrCat("warp_reduce.", op), type,
                                        {hero->accumulators[0]})};
  }
  if (warps == 1) return true;
  const auto& ranges = builder_.ranges();
  const AffineExpr warp =
      AffineExpr::FloorDiv(thread_, AffineExpr(kWarp)).SimplifyIn(ranges);
  for (Hero* hero : heroes) {
    partials_[hero] = {
        builder_.AddShared("s", builder_.TypeOf(hero->accumulators[0]),
                           {frame_.threads() / kWarp})};
  }
  RETURN_IF_ERROR(frame_.Where(
      Inside(AffineExpr::Mod(thread_, kWarp).SimplifyIn(ranges), 1, ranges),
      [&] {
        for (Hero* hero : heroes) {
          builder_.EmitTo(Partial(partials_[hero][0], warp), "copy",
                          {hero->accumulators[0]});
        }
        return absl::OkStatus();
      }));
  builder_.EmitSync(kir::SyncScope::kBlock);
  const AffineExpr first =
      (AffineExpr::FloorDiv(thread_, AffineExpr(lanes_)) * AffineExpr(warps))
          .SimplifyIn(ranges);
  for (Hero* hero : heroes) {
    const kir::ElementType type = builder_.TypeOf(hero->accumulators[0]);
    const std::string op = WarpOp(*hero, type);
    Operand all;
    for (int64_t w = 0; w < warps; ++w) {
      const Operand part = builder_.Emit(
          "copy", type, {Partial(partials_[hero][0], first + AffineExpr(w))});
      all = w == 0 ? part : builder_.Emit(op, type, {all, part});
    }
    hero->accumulators = {all};
  }
  return true;
}

absl::Status ReductionEmitter::Combine(int level) {
  const std::vector<Hero*> heroes = Heroes(level);
  if (heroes.empty()) return absl::OkStatus();
  bool joined = lanes_ == 1;
  if (!joined) {
    ASSIGN_OR_RETURN(joined, JoinByWarps(heroes));
  }
  if (!joined) {
    for (Hero* hero : heroes) {
      for (const Operand& value : hero->accumulators) {
        const kir::BufferId id =
            builder_.AddShared("s", builder_.TypeOf(value), {frame_.threads()});
        partials_[hero].push_back(id);
        builder_.EmitTo(Partial(id, thread_), "copy", {value});
      }
    }
    for (int64_t distance = lanes_ / 2; distance > 0; distance /= 2) {
      Join(distance);
      RETURN_IF_ERROR(Halve(level, distance));
    }
    Join(lanes_ / 2);
    const AffineExpr first =
        (group_.row ? thread_ - lane_
                    : AffineExpr::Mod(thread_, rows_per_block_))
            .SimplifyIn(builder_.ranges());
    for (Hero* hero : heroes) {
      for (size_t k = 0; k < hero->accumulators.size(); ++k) {
        hero->accumulators[k] =
            builder_.Emit("copy", builder_.TypeOf(hero->accumulators[k]),
                          {Partial(partials_[hero][k], first)});
      }
    }
  }
  for (Hero* hero : heroes) {
    if (!hero->neutral) {
      ASSIGN_OR_RETURN(const std::vector<Operand> initial,
                       emitter_.BeginReduction(*hero->hlo));
      RETURN_IF_ERROR(
          emitter_.Accumulate(*hero->hlo, initial, hero->accumulators));
      hero->accumulators = initial;
    }
    ASSIGN_OR_RETURN(hero->result,
                     emitter_.EndReduction(*hero->hlo, hero->accumulators));
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

}  // namespace

absl::Status EmitReductions(const ReductionGroup& group,
                            int64_t min_vector_columns, KernelFrame* frame) {
  return ReductionEmitter(group, min_vector_columns, frame).Emit();
}

}  // namespace xla::gpu

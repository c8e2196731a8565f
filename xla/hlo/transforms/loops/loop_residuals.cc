#include "xla/hlo/transforms/loops/loop_residuals.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/loops/counted_loop.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/hlo/transforms/loops/remat_device.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// In training, a forward loop over layers stacks intermediate values
// (residuals) of each trip into large arrays, and the backward loop reads them
// slice by slice. Such a stack often dominates peak memory. This file replaces
// the reads of a stack: the backward body recomputes the value from other
// stacks, invariants of the forward loop and the trip number.
//
// A stack qualifies if it is written with one dynamic-update-slice at the trip
// number in every trip, read nowhere else in the loop, and passed only to one
// backward loop that only takes slices of single places. The index of the
// backward read is then the trip of the forward loop whose value is needed.

namespace xla::remat_plan {
namespace {

constexpr int kMaxIndexDepth = 16;
constexpr size_t kMaxChain = 4096;

// The stacks of a loop: what is written in each trip, by element.
absl::flat_hash_map<int64_t, HloInstruction*> FindStacks(
    const CountedLoop& loop) {
  absl::flat_hash_map<int64_t, HloInstruction*> stacks;
  HloInstruction* root = loop.state.body_root();
  for (int64_t k = 0; k < root->operand_count(); ++k) {
    const HloInstruction* write = root->operand(k);
    if (write->opcode() != HloOpcode::kDynamicUpdateSlice) continue;
    if (LoopState::ElementOf(write->operand(0), loop.state.body_state()) != k ||
        write->user_count() != 1 || loop.state.IsShared(k) ||
        loop.state.ConditionReads(k)) {
      continue;
    }
    const std::vector<HloInstruction*> readers = loop.state.BodyReaders(k);
    if (readers.size() != 1 || readers.front() != write) continue;
    const Shape& stack = write->shape();
    if (!TakesOnePlace(write, stack, write->operand(1)->shape()) ||
        stack.dimensions(0) != loop.trips ||
        FunctionOfTrip(write->operand(2), loop) != TripFunction{1, 0}) {
      continue;
    }
    stacks[k] = root->mutable_operand(k);
  }
  return stacks;
}

// The loop that alone reads an element of another one's result, by one place
// at a time, and its element.
std::optional<std::pair<HloInstruction*, int64_t>> FindReader(
    const CountedLoop& forward, int64_t element) {
  HloInstruction* backward = nullptr;
  int64_t place = -1;
  for (const HloInstruction* reader : forward.state.ResultReaders(element)) {
    if (reader->opcode() != HloOpcode::kTuple || reader->user_count() != 1 ||
        reader->users().front()->opcode() != HloOpcode::kWhile ||
        backward != nullptr) {
      return std::nullopt;
    }
    backward = reader->users().front();
    for (int64_t i = 0; i < reader->operand_count(); ++i) {
      if (LoopState::ElementOf(reader->operand(i), forward.state.loop()) !=
          element) {
        continue;
      }
      if (place >= 0) return std::nullopt;
      place = i;
    }
  }
  if (backward == nullptr || place < 0) return std::nullopt;
  std::optional<LoopState> state = LoopState::Match(backward);
  if (!state.has_value() || !state->IsInvariant(place) ||
      state->IsShared(place) || state->ConditionReads(place) ||
      !state->ResultReaders(place).empty()) {
    return std::nullopt;
  }
  for (const HloInstruction* reader : state->BodyReaders(place)) {
    if (reader->opcode() != HloOpcode::kDynamicSlice ||
        LoopState::ElementOf(reader->operand(0), state->body_state()) !=
            place ||
        !TakesOnePlace(reader, reader->operand(0)->shape(), reader->shape())) {
      return std::nullopt;
    }
  }
  return std::make_pair(backward, place);
}

// Whether the result has the operand's elements in the operand's order.
bool OnlyReshapes(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
      return true;
    case HloOpcode::kBroadcast:
      return ShapeUtil::ElementsIn(inst.shape()) ==
                 ShapeUtil::ElementsIn(inst.operand(0)->shape()) &&
             std::is_sorted(inst.dimensions().begin(), inst.dimensions().end());
    default:  // Computes, or moves elements.
      return false;
  }
}

// Where the values of one forward loop can come from in a backward loop.
class Sources {
 public:
  // Stacks in `dropped` (elements of the forward loop) are gone.
  Sources(const CountedLoop& forward,
          const absl::flat_hash_map<int64_t, HloInstruction*>& stacks,
          const absl::flat_hash_set<int64_t>& dropped)
      : forward_(forward) {
    std::vector<int64_t> elements;
    for (const auto& [element, write] : stacks) elements.push_back(element);
    std::sort(elements.begin(), elements.end());
    for (int64_t element : elements) {
      if (dropped.contains(element)) continue;
      const HloInstruction* value = stacks.at(element)->operand(1);
      stacked_.try_emplace(value, element);
      while (OnlyReshapes(*value)) {
        value = value->operand(0);
        stacked_.try_emplace(value, element);
      }
    }
  }

  // The stack that holds a value of the forward body; -1: none.
  int64_t StackOf(const HloInstruction* inst) const {
    auto it = stacked_.find(inst);
    return it == stacked_.end() ? -1 : it->second;
  }

  bool IsCounter(const HloInstruction* inst) const {
    return LoopState::ElementOf(inst, forward_.state.body_state()) ==
           forward_.counter;
  }

  // The instructions to run again for `value`, operands first; nullopt if it
  // depends on what is not there.
  std::optional<std::vector<HloInstruction*>> Chain(
      HloInstruction* value) const {
    std::vector<HloInstruction*> chain;
    absl::flat_hash_set<const HloInstruction*> done;
    std::vector<std::pair<HloInstruction*, bool>> stack = {{value, false}};
    while (!stack.empty()) {
      auto [inst, operands_done] = stack.back();
      stack.pop_back();
      if (operands_done) {
        chain.push_back(inst);
        continue;
      }
      if (!done.insert(inst).second || StackOf(inst) >= 0) continue;
      std::optional<int64_t> element =
          LoopState::ElementOf(inst, forward_.state.body_state());
      if (element.has_value()) {
        if (*element != forward_.counter &&
            !forward_.state.IsInvariant(*element)) {
          return std::nullopt;
        }
        continue;
      }
      const bool renames = inst->opcode() == HloOpcode::kBitcast ||
                           inst->opcode() == HloOpcode::kTuple ||
                           inst->opcode() == HloOpcode::kGetTupleElement;
      // What orders the forward body has no meaning in the backward body.
      if (RunsComputations(*inst) ||
          (!renames && !IsRecomputableElsewhere(*inst)) ||
          done.size() > kMaxChain) {
        return std::nullopt;
      }
      stack.emplace_back(inst, true);
      for (HloInstruction* operand : inst->operands()) {
        stack.emplace_back(operand, false);
      }
    }
    return chain;
  }

 private:
  const CountedLoop& forward_;
  absl::flat_hash_map<const HloInstruction*, int64_t> stacked_;
};

// Writes values of a forward body into a backward body.
class ResidualWriter {
 public:
  ResidualWriter(const CountedLoop& forward, LoopState backward,
                 const Sources& sources)
      : forward_(forward), backward_(backward), sources_(sources) {}

  // Replaces one read of a stack by what was written into it.
  absl::Status Replace(HloInstruction* read, HloInstruction* written) {
    std::optional<std::vector<HloInstruction*>> chain = sources_.Chain(written);
    if (!chain.has_value()) {
      return absl::InternalError(
          absl::StrCat(written->name(), " cannot be computed again"));
    }
    Known& known = known_[IndexKey(read->operand(1))];
    if (known.index == nullptr) known.index = read->mutable_operand(1);
    for (HloInstruction* inst : *chain) {
      if (known.values.contains(inst)) continue;
      std::vector<HloInstruction*> operands;
      for (HloInstruction* operand : inst->operands()) {
        TF_ASSIGN_OR_RETURN(HloInstruction * now, Value(operand, &known));
        operands.push_back(now);
      }
      HloInstruction* clone = backward_.body()->AddInstruction(
          inst->CloneWithNewOperands(inst->shape(), operands, "remat"));
      clone->set_frontend_attribute(kRematerializedAttribute, "true");
      known.values[inst] = clone;
    }
    TF_ASSIGN_OR_RETURN(HloInstruction * value, Value(written, &known));
    if (!ShapeUtil::Compatible(value->shape(), read->shape())) {
      return absl::InternalError(absl::StrCat(written->name(), " is not what ",
                                              read->name(), " reads"));
    }
    TF_RETURN_IF_ERROR(read->ReplaceAllUsesWithDifferentShape(value));
    TF_RETURN_IF_ERROR(read->SafelyDropAllControlDependencies());
    return backward_.body()->RemoveInstruction(read);
  }

 private:
  // Values that are there for one trip of the forward loop.
  struct Known {
    HloInstruction* index = nullptr;
    HloInstruction* trip = nullptr;
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> values;
  };

  // Equal for indices that are computed in the same way.
  std::string IndexKey(const HloInstruction* index, int depth = 0) const {
    if (index->opcode() == HloOpcode::kConstant &&
        ShapeUtil::IsEffectiveScalar(index->shape())) {
      return index->literal().ToStringOneline();
    }
    std::optional<int64_t> element =
        LoopState::ElementOf(index, backward_.body_state());
    if (element.has_value()) return absl::StrCat("state", *element);
    if (depth > kMaxIndexDepth || index->operand_count() == 0 ||
        !index->IsElementwise()) {
      return std::string(index->name());
    }
    std::string key(HloOpcodeString(index->opcode()));
    if (index->opcode() == HloOpcode::kCompare) {
      absl::StrAppend(&key, static_cast<int>(index->comparison_direction()));
    }
    for (const HloInstruction* operand : index->operands()) {
      absl::StrAppend(&key, "(", IndexKey(operand, depth + 1), ")");
    }
    return key;
  }

  HloInstruction* Constant(const Shape& like, int64_t value) {
    return backward_.body()->AddInstruction(HloInstruction::CreateConstant(
        LiteralUtil::CreateR0(like.element_type(), value)));
  }

  // The number of the trip: the index, as the slice takes it.
  absl::StatusOr<HloInstruction*> Trip(const Shape& shape, Known* known) {
    if (known->trip != nullptr) return known->trip;
    HloComputation* body = backward_.body();
    HloInstruction* index = known->index;
    const Shape scalar =
        ShapeUtil::MakeShape(index->shape().element_type(), {});
    HloInstruction* trip = body->AddInstruction(HloInstruction::CreateTernary(
        scalar, HloOpcode::kClamp, Constant(scalar, 0), index,
        Constant(scalar, forward_.trips - 1)));
    if (scalar.element_type() != shape.element_type()) {
      trip = body->AddInstruction(HloInstruction::CreateConvert(shape, trip));
    }
    known->trip = trip;
    return trip;
  }

  absl::StatusOr<HloInstruction*> Value(HloInstruction* inst, Known* known) {
    auto it = known->values.find(inst);
    if (it != known->values.end()) return it->second;
    HloInstruction* value = nullptr;
    const int64_t stack = sources_.StackOf(inst);
    if (stack >= 0) {
      TF_ASSIGN_OR_RETURN(value, ReadStack(stack, inst->shape(), known));
    } else if (sources_.IsCounter(inst)) {
      TF_ASSIGN_OR_RETURN(value, Trip(inst->shape(), known));
    } else {
      std::optional<int64_t> element =
          LoopState::ElementOf(inst, forward_.state.body_state());
      if (!element.has_value()) {
        return absl::InternalError(absl::StrCat(inst->name(), " is not there"));
      }
      TF_ASSIGN_OR_RETURN(
          int64_t place,
          backward_.Append(forward_.state.init()->mutable_operand(*element)));
      value = backward_.BodyElement(place);
    }
    known->values[inst] = value;
    return value;
  }

  // One place of another stack, in the shape that is asked for.
  absl::StatusOr<HloInstruction*> ReadStack(int64_t element, const Shape& shape,
                                            Known* known) {
    HloInstruction* result = nullptr;
    for (HloInstruction* user : forward_.state.loop()->users()) {
      if (user->tuple_index() == element) result = user;
    }
    if (result == nullptr) {
      result = forward_.state.loop()->parent()->AddInstruction(
          HloInstruction::CreateGetTupleElement(forward_.state.loop(),
                                                element));
    }
    TF_ASSIGN_OR_RETURN(int64_t place, backward_.Append(result));
    HloInstruction* stack = backward_.BodyElement(place);
    Shape slice = stack->shape();
    slice.set_dimensions(0, 1);
    std::vector<HloInstruction*> start = {known->index};
    while (start.size() < slice.dimensions().size()) {
      start.push_back(Constant(known->index->shape(), 0));
    }
    HloInstruction* read =
        backward_.body()->AddInstruction(HloInstruction::CreateDynamicSlice(
            slice, stack, start, slice.dimensions()));
    if (ShapeUtil::Compatible(slice, shape)) return read;
    return backward_.body()->AddInstruction(
        HloInstruction::CreateReshape(shape, read));
  }

  const CountedLoop& forward_;
  LoopState backward_;
  const Sources& sources_;
  absl::flat_hash_map<std::string, Known> known_;
};

absl::flat_hash_set<int64_t> ElementsOf(
    absl::Span<const LoopResidual> residuals, absl::Span<const int> drops,
    const HloInstruction* forward) {
  absl::flat_hash_set<int64_t> elements;
  for (int drop : drops) {
    if (residuals[drop].forward == forward) {
      elements.insert(residuals[drop].forward_element);
    }
  }
  return elements;
}

}  // namespace

std::vector<LoopResidual> FindLoopResiduals(const HloModule& module) {
  std::vector<LoopResidual> residuals;
  for (const HloComputation* computation : ComputationsThatRun(module)) {
    if (!module.schedule().is_computation_scheduled(computation)) continue;
    for (HloInstruction* inst :
         module.schedule().sequence(computation).instructions()) {
      if (inst->opcode() != HloOpcode::kWhile) continue;
      std::optional<CountedLoop> forward = MatchCounted(inst);
      if (!forward.has_value()) continue;
      const auto stacks = FindStacks(*forward);
      std::vector<int64_t> elements;
      for (const auto& [element, write] : stacks) elements.push_back(element);
      std::sort(elements.begin(), elements.end());
      for (int64_t element : elements) {
        auto reader = FindReader(*forward, element);
        if (!reader.has_value()) continue;
        residuals.push_back(
            {inst, reader->first, element, reader->second,
             ShapeUtil::ByteSizeOf(stacks.at(element)->shape(), 8)});
      }
    }
  }
  return residuals;
}

// Greedy order by price: seconds of recomputation per byte of the stack. The
// price of a stack depends on those dropped before it, since what could be read
// from them has to be recomputed too, and since what is recomputed for them is
// there already; it is therefore determined again in each round, as what the
// stack adds to the drops of the same loop. Quadratic in the number of stacks,
// times the length of chains.
std::vector<int> OrderOfDrops(
    absl::Span<const LoopResidual> residuals,
    absl::FunctionRef<double(const HloInstruction&)> seconds) {
  std::vector<int> order;
  std::vector<bool> taken(residuals.size(), false);
  // Seconds of all drops so far, by forward loop.
  absl::flat_hash_map<const HloInstruction*, double> spent;
  while (true) {
    int best = -1;
    double best_price = std::numeric_limits<double>::infinity();
    double best_total = 0;
    for (size_t i = 0; i < residuals.size(); ++i) {
      if (taken[i]) continue;
      const LoopResidual& residual = residuals[i];
      std::optional<CountedLoop> forward = MatchCounted(residual.forward);
      const auto stacks = FindStacks(*forward);
      std::vector<int> drops = order;
      drops.push_back(static_cast<int>(i));
      const absl::flat_hash_set<int64_t> dropped =
          ElementsOf(residuals, drops, residual.forward);
      const Sources sources(*forward, stacks, dropped);
      // All that goes must still follow from what stays. Seconds are added up
      // in one order: sums of others may differ in their last bits.
      absl::flat_hash_set<const HloInstruction*> runs;
      double total = 0;
      bool possible = true;
      for (int drop : drops) {
        if (residuals[drop].forward != residual.forward) continue;
        auto chain = sources.Chain(
            stacks.at(residuals[drop].forward_element)->mutable_operand(1));
        possible = possible && chain.has_value();
        if (!possible) break;
        for (const HloInstruction* run : *chain) {
          if (runs.insert(run).second) total += seconds(*run);
        }
      }
      if (!possible) continue;
      total *= static_cast<double>(forward->trips);
      const auto before = spent.find(residual.forward);
      const double added =
          before == spent.end() ? total : total - before->second;
      const double price = added / static_cast<double>(residual.bytes + 1);
      if (price < best_price) {
        best_price = price;
        best_total = total;
        best = static_cast<int>(i);
      }
    }
    if (best < 0) return order;
    taken[best] = true;
    spent[residuals[best].forward] = best_total;
    order.push_back(best);
  }
}

absl::StatusOr<std::vector<int>> OrderOfDrops(
    const HloModule& module, const HloCostAnalysis::Options& device) {
  const std::vector<LoopResidual> residuals = FindLoopResiduals(module);
  if (residuals.empty()) return std::vector<int>();
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<HloCostAnalysis> cost,
                      CostOfModule(module, device));
  return OrderOfDrops(residuals, [&](const HloInstruction& inst) {
    return cost->optimal_seconds(inst);
  });
}

// All reads are rewritten before any stack is removed, because chains of other
// stacks refer to the forward body as it was.
absl::Status DropLoopResiduals(absl::Span<const int> drops, HloModule* module) {
  const std::vector<LoopResidual> residuals = FindLoopResiduals(*module);
  std::vector<HloInstruction*> loops;
  for (int drop : drops) {
    HloInstruction* loop = residuals[drop].forward;
    if (std::find(loops.begin(), loops.end(), loop) == loops.end()) {
      loops.push_back(loop);
    }
  }
  for (HloInstruction* loop : loops) {
    std::optional<CountedLoop> forward = MatchCounted(loop);
    TF_RET_CHECK(forward.has_value());
    const auto stacks = FindStacks(*forward);
    const Sources sources(*forward, stacks, ElementsOf(residuals, drops, loop));
    absl::flat_hash_map<HloInstruction*, std::unique_ptr<ResidualWriter>>
        writers;
    for (int drop : drops) {
      const LoopResidual& residual = residuals[drop];
      if (residual.forward != loop) continue;
      std::optional<LoopState> backward = LoopState::Match(residual.backward);
      TF_RET_CHECK(backward.has_value());
      std::unique_ptr<ResidualWriter>& writer = writers[residual.backward];
      if (writer == nullptr) {
        writer = std::make_unique<ResidualWriter>(*forward, *backward, sources);
      }
      HloInstruction* write = stacks.at(residual.forward_element);
      for (HloInstruction* read :
           backward->BodyReaders(residual.backward_element)) {
        TF_RETURN_IF_ERROR(writer->Replace(read, write->mutable_operand(1)));
      }
    }
    for (int drop : drops) {
      const LoopResidual& residual = residuals[drop];
      if (residual.forward != loop) continue;
      std::optional<LoopState> backward = LoopState::Match(residual.backward);
      TF_RETURN_IF_ERROR(backward->Blank(residual.backward_element));
      HloInstruction* write = stacks.at(residual.forward_element);
      TF_RETURN_IF_ERROR(forward->state.PassOn(residual.forward_element));
      TF_RETURN_IF_ERROR(write->SafelyDropAllControlDependencies());
      TF_RETURN_IF_ERROR(
          forward->state.body()->RemoveInstructionAndUnusedOperands(write));
      TF_RETURN_IF_ERROR(forward->state.Blank(residual.forward_element));
    }
  }
  TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  return module->schedule().Update();
}

}  // namespace xla::remat_plan

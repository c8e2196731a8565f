#include "xla/hlo/analysis/hlo_dataflow_analysis.h"

#include <algorithm>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/dataflow_builder.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<std::unique_ptr<HloDataflowAnalysis>> HloDataflowAnalysis::Run(
    const HloModule& module, bool ssa_form, bool bitcast_defines_value,
    absl::flat_hash_set<absl::string_view> execution_threads,
    bool propagate_through_calls) {
  std::unique_ptr<HloDataflowAnalysis> analysis(
      new HloDataflowAnalysis(module));
  analysis->call_graph_ = CallGraph::Build(&module, execution_threads);
  DataflowBuilder builder(
      analysis.get(), {ssa_form, bitcast_defines_value, propagate_through_calls,
                       std::move(execution_threads)});
  RETURN_IF_ERROR(builder.Build());
  return analysis;
}

bool HloDataflowAnalysis::ValueIsDefinedAt(const HloInstruction* instruction,
                                           const ShapeIndex& index) const {
  const std::vector<const HloValue*>& values =
      GetValueSet(instruction, index).values();
  return values.size() == 1 &&
         values[0]->defining_instruction() == instruction &&
         values[0]->defining_index() == index;
}

const HloValue& HloDataflowAnalysis::GetValueDefinedAt(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  CHECK(ValueIsDefinedAt(instruction, index))
      << instruction->name() << " defines nothing at " << index.ToString();
  return GetUniqueValueAt(instruction, index);
}

HloValue& HloDataflowAnalysis::GetValueDefinedAt(
    const HloInstruction* instruction, const ShapeIndex& index) {
  const HloDataflowAnalysis& self = *this;
  return GetValue(self.GetValueDefinedAt(instruction, index).id());
}

const InstructionValueSet& HloDataflowAnalysis::GetInstructionValueSet(
    const HloInstruction* instruction) const {
  return *value_sets_[slots_[instruction]];
}

InstructionValueSet& HloDataflowAnalysis::GetInstructionValueSet(
    const HloInstruction* instruction) {
  return *value_sets_[slots_[instruction]];
}

HloValueSet HloDataflowAnalysis::GetFlattenedValueSet(
    const HloInstruction* instruction) const {
  HloValueSet flattened;
  std::vector<const HloValueSet*> all;
  for (const auto& [index, set] : GetInstructionValueSet(instruction)) {
    all.push_back(&set);
  }
  flattened.AssignUnionOf(all);
  return flattened;
}

const HloValueSet& HloDataflowAnalysis::GetValueSet(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  return GetInstructionValueSet(instruction).element(index);
}

const HloValueSet& HloDataflowAnalysis::GetValueSet(
    const HloPosition& position) const {
  return GetValueSet(position.instruction, position.index);
}

std::string HloDataflowAnalysis::ToString() const {
  std::string out = absl::StrCat("dataflow of module ", module_.name(), ":\n");
  for (const HloComputation* computation : module_.computations()) {
    if (slots_.FirstSlot(computation) < 0) continue;
    absl::StrAppend(&out, computation->name(), ":\n");
    for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (slots_.Find(inst) < 0) continue;
      absl::StrAppend(&out, "  ", inst->name(), " ",
                      GetInstructionValueSet(inst).ToString(), "\n");
    }
  }
  for (const HloValue* value : values_) {
    absl::StrAppend(&out, value->ToString(/*indent=*/2));
  }
  return out;
}

absl::Status HloDataflowAnalysis::Verify() const {
  // Every value is in the sets of all its positions.
  int64_t positions = 0;
  for (const HloValue* value : values_) {
    for (const HloPosition& position : value->positions()) {
      const std::vector<const HloValue*>& there =
          GetValueSet(position).values();
      if (std::find(there.begin(), there.end(), value) == there.end()) {
        return absl::InternalError(absl::StrCat(
            value->ToShortString(), " is not at ", position.ToString()));
      }
      ++positions;
    }
  }
  // Sets have room for nothing else if their entries number as many as the
  // positions, each of which has just been found in its set.
  for (int32_t slot = 0; slot < slots_.size(); ++slot) {
    if (!value_sets_[slot].has_value()) continue;
    for (const auto& [index, set] : *value_sets_[slot]) {
      positions -= static_cast<int64_t>(set.values().size());
      if (set.values().empty()) {
        return absl::InternalError(
            absl::StrCat("no value at ", slots_.instruction(slot)->name(), " ",
                         index.ToString()));
      }
    }
  }
  if (positions == 0) return absl::OkStatus();
  return absl::InternalError(
      "value sets contain values without a position there");
}

bool HloDataflowAnalysis::IsAsynchronousOperationStart(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kAllGatherStart, HloOpcode::kAllReduceStart,
      HloOpcode::kAsyncStart, HloOpcode::kCollectivePermuteStart,
      HloOpcode::kCopyStart, HloOpcode::kRecv, HloOpcode::kSend>(opcode);
}

bool HloDataflowAnalysis::IsAsynchronousOperationDone(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kAllGatherDone, HloOpcode::kAllReduceDone,
      HloOpcode::kAsyncDone, HloOpcode::kCollectivePermuteDone,
      HloOpcode::kCopyDone, HloOpcode::kRecvDone, HloOpcode::kSendDone>(opcode);
}

std::vector<std::pair<HloOperandIndex, ShapeIndex>>
HloDataflowAnalysis::GetInPlaceInputOutputPairs(
    const HloInstruction* instruction) {
  return AliasInfo().GetInPlaceInputOutputPairs(instruction);
}

}  // namespace xla

// Schedules to protos and back.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/service/hlo.pb.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<HloScheduleProto> HloSchedule::ToProto() const {
  TF_RETURN_IF_ERROR(Verify());
  HloScheduleProto proto;
  for (const auto& [computation_id, sequence] : sequences_) {
    HloScheduleProto::InstructionSequence& sequence_proto =
        (*proto.mutable_sequences())[computation_id];
    for (const HloInstruction* instruction : sequence.instructions()) {
      sequence_proto.add_instruction_ids(instruction->unique_id());
    }
  }
  return proto;
}

absl::StatusOr<HloSchedule> HloSchedule::CreateFromProto(
    const HloModule* module, const HloScheduleProto& proto,
    const absl::flat_hash_map<int64_t, absl::flat_hash_map<int64_t, int64_t>>*
        computation_id_to_instruction_id_remap) {
  HloSchedule schedule(module);
  absl::flat_hash_map<int64_t, HloComputation*> computations;
  for (HloComputation* computation :
       const_cast<HloModule*>(module)->computations()) {
    computations[computation->unique_id()] = computation;
  }
  // The order of the map is of no consequence but for which of several errors
  // is reported.
  for (const auto& [computation_id, sequence_proto] : proto.sequences()) {
    auto found = computations.find(computation_id);
    if (found == computations.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("schedule: no computation has the id ", computation_id));
    }
    HloComputation* computation = found->second;
    const absl::flat_hash_map<int64_t, int64_t>* remap = nullptr;
    if (computation_id_to_instruction_id_remap != nullptr) {
      auto it = computation_id_to_instruction_id_remap->find(computation_id);
      if (it != computation_id_to_instruction_id_remap->end()) {
        remap = &it->second;
      }
    }
    std::vector<HloInstruction*> sequence;
    sequence.reserve(sequence_proto.instruction_ids_size());
    for (int64_t id : sequence_proto.instruction_ids()) {
      HloInstruction* instruction = nullptr;
      if (remap == nullptr) {
        instruction = computation->GetInstructionWithLocalId(
            HloInstruction::CalculateLocalId(id));
      } else if (auto it = remap->find(id); it != remap->end()) {
        instruction = computation->GetInstructionWithLocalId(
            HloInstruction::CalculateLocalId(it->second));
      }
      if (instruction == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("schedule: no instruction of computation '",
                         computation->name(), "' has the id ", id));
      }
      sequence.push_back(instruction);
    }
    schedule.set_sequence(computation, sequence);
  }
  return schedule;
}

}  // namespace xla

// Computations to protos and back.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/proto/id_spellings.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Ids above this many times the number of instructions are not kept: slots are
// an array indexed by id.
constexpr int64_t kMaxSlotsPerInstruction = 16;
constexpr int64_t kMinSlots = 1024;

template <typename... Args>
absl::Status ComputationError(const HloComputationProto& proto,
                              const Args&... args) {
  return absl::InvalidArgumentError(
      absl::StrCat("computation '", proto.name(), "': ", args...));
}

// Parameters are numbered 0..n-1, names are unique. Returns n.
absl::StatusOr<int64_t> CheckParametersAndNames(
    const HloComputationProto& proto,
    absl::Span<const std::unique_ptr<HloInstruction>> instructions) {
  std::vector<bool> seen;
  int64_t count = 0;
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(instructions.size());
  for (const auto& instruction : instructions) {
    if (!names.insert(instruction->name()).second) {
      return ComputationError(proto, "two instructions are named '",
                              instruction->name(), "'");
    }
    if (instruction->opcode() != HloOpcode::kParameter) continue;
    ++count;
    const int64_t number = instruction->parameter_number();
    if (number >= static_cast<int64_t>(instructions.size())) {
      return ComputationError(proto, "parameter number ", number,
                              " is too large");
    }
    if (number >= static_cast<int64_t>(seen.size())) seen.resize(number + 1);
    if (seen[number]) {
      return ComputationError(proto, "parameter ", number, " is there twice");
    }
    seen[number] = true;
  }
  if (count != static_cast<int64_t>(seen.size())) {
    return ComputationError(proto, "parameters are not numbered 0 to ",
                            count - 1);
  }
  return count;
}

// The local ids that the proto's ids hold. Empty if they are not worth keeping:
// ids of another numbering, or far too sparse.
std::vector<int32_t> LocalIdsToKeep(const HloComputationProto& proto) {
  std::vector<int32_t> local_ids;
  local_ids.reserve(proto.instructions_size());
  const int64_t limit =
      kMinSlots + kMaxSlotsPerInstruction * proto.instructions_size();
  for (const HloInstructionProto& instruction : proto.instructions()) {
    const int64_t id = instruction.id();
    const int32_t local_id = HloInstruction::CalculateLocalId(id);
    if (HloInstruction::CalculateParentId(id) != proto.id() || local_id < 0 ||
        local_id >= limit) {
      return {};
    }
    local_ids.push_back(local_id);
  }
  return local_ids;
}

}  // namespace

void HloComputation::ToProto(HloComputationProto* proto,
                             HloProtoOptions options) const {
  CHECK_NE(unique_id_, -1) << "computation " << name_ << " is in no module";
  proto->set_id(unique_id_);
  proto->set_name(name_);
  for (const HloInstruction* instruction : MakeInstructionPostOrder()) {
    instruction->ToProto(proto->add_instructions(), options);
  }
  proto->set_root_id(root_instruction_->unique_id());
  *proto->mutable_program_shape() = ComputeProgramShape().ToProto();
  proto->set_is_fusion_computation(IsFusionComputation());
  if (!IsMainThread()) {
    proto->set_execution_thread(std::string(execution_thread_));
  }
}

absl::StatusOr<std::unique_ptr<HloComputation>> HloComputation::CreateFromProto(
    const HloComputationProto& proto,
    const absl::flat_hash_map<int64_t, HloComputation*>& computation_map,
    bool prohibit_empty_literal, bool preserve_instruction_ids,
    absl::flat_hash_map<int64_t, int64_t>* id_remap_map,
    absl::Span<const std::shared_ptr<BackendConfigWrapper>> backend_configs) {
  if (proto.name().empty()) return ComputationError(proto, "no name");
  std::vector<std::unique_ptr<HloInstruction>> instructions;
  instructions.reserve(proto.instructions_size());
  absl::flat_hash_map<int64_t, HloInstruction*> instruction_map;
  instruction_map.reserve(proto.instructions_size());
  const auto spellings = hlo_proto_internal::OtherSpellings(proto);
  const auto for_each_spelling = [&](int64_t id, auto function) {
    if (auto others = spellings.find(id); others != spellings.end()) {
      for (int64_t other : others->second) function(other);
    }
  };
  // Instructions know only those before them, so that there are no cycles.
  for (const HloInstructionProto& instruction_proto : proto.instructions()) {
    absl::StatusOr<std::unique_ptr<HloInstruction>> instruction =
        HloInstruction::CreateFromProto(instruction_proto, instruction_map,
                                        computation_map, prohibit_empty_literal,
                                        backend_configs);
    if (!instruction.ok()) {
      return absl::Status(instruction.status().code(),
                          absl::StrCat("computation '", proto.name(),
                                       "': ", instruction.status().message()));
    }
    if (!instruction_map.try_emplace(instruction_proto.id(), instruction->get())
             .second) {
      return ComputationError(proto, "two instructions have the id ",
                              instruction_proto.id());
    }
    for_each_spelling(instruction_proto.id(), [&](int64_t other) {
      instruction_map.emplace(other, instruction->get());
    });
    instructions.push_back(*std::move(instruction));
  }
  auto root = instruction_map.find(proto.root_id());
  if (root == instruction_map.end()) {
    return ComputationError(proto, "no instruction has the root's id ",
                            proto.root_id());
  }
  TF_ASSIGN_OR_RETURN(int64_t parameter_count,
                      CheckParametersAndNames(proto, instructions));

  std::vector<HloInstruction*> in_proto_order;
  in_proto_order.reserve(instructions.size());
  for (const auto& instruction : instructions) {
    in_proto_order.push_back(instruction.get());
  }
  auto computation = absl::WrapUnique(
      new HloComputation(proto.name(), static_cast<int>(parameter_count),
                         &instructions, root->second));
  if (!proto.execution_thread().empty()) {
    computation->SetExecutionThread(proto.execution_thread());
  }
  if (preserve_instruction_ids) {
    const std::vector<int32_t> local_ids = LocalIdsToKeep(proto);
    if (!local_ids.empty()) {
      HloInstructionList slots(
          *std::max_element(local_ids.begin(), local_ids.end()) + 1);
      for (size_t i = 0; i < local_ids.size(); ++i) {
        in_proto_order[i]->SetLocalId(local_ids[i]);
        slots[local_ids[i]] = HloInstructionInfo(in_proto_order[i]);
      }
      computation->instructions_ = std::move(slots);
    }
  }
  if (id_remap_map != nullptr) {
    id_remap_map->reserve(in_proto_order.size());
    for (int i = 0; i < proto.instructions_size(); ++i) {
      const int64_t id = proto.instructions(i).id();
      const int64_t local_id = in_proto_order[i]->local_id();
      id_remap_map->emplace(id, local_id);
      for_each_spelling(
          id, [&](int64_t other) { id_remap_map->emplace(other, local_id); });
    }
  }
  return computation;
}

}  // namespace xla

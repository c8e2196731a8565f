#include "xla/hlo/ir/hlo_module.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "xla/fingerprint.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/shape_layout.h"
#include "xla/status_macros.h"

namespace xla {

HloModule::HloModule(const std::string& name,
                     std::shared_ptr<const HloModuleConfig> config,
                     std::unique_ptr<CompilationEnvironments> comp_envs)
    : name_(NameUniquer::GetSanitizedName(name)),
      config_(std::move(config)),
      unique_id_(GetNextUniqueModuleId()),
      comp_envs_(comp_envs != nullptr
                     ? std::move(comp_envs)
                     : std::make_unique<CompilationEnvironments>()) {
  metadata_.set_canonical_module_id(unique_id_);
}

HloModule::HloModule(const std::string& name, HloModuleConfig config,
                     std::unique_ptr<CompilationEnvironments> comp_envs)
    : HloModule(name, std::make_shared<HloModuleConfig>(std::move(config)),
                std::move(comp_envs)) {}

HloModule::HloModule(const std::string& name, HloModuleConfig config)
    : HloModule(name, std::move(config), /*comp_envs=*/nullptr) {}

HloModule::~HloModule() {
  // Callers and callees are told of each other's end unless they all go.
  for (auto* list : {&computations_, &to_be_deleted_computations_}) {
    for (const std::unique_ptr<HloComputation>& computation : *list) {
      if (computation == nullptr) continue;
      computation->callers_.clear();
      computation->callees_.clear();
    }
  }
}

int HloModule::GetNextUniqueModuleId() {
  static std::atomic<int> next{1};
  return next.fetch_add(1);
}

HloModuleConfig& HloModule::mutable_config() {
  if (config_.use_count() > 1) {
    config_ = std::make_shared<HloModuleConfig>(*config_);
  }
  // The object is this module's alone, and was made non-const.
  return const_cast<HloModuleConfig&>(*config_);
}

// --- Lookup
// --------------------------------------------------------------------

HloComputation* HloModule::GetComputationWithName(
    absl::string_view name) const {
  for (HloComputation* computation : computations()) {
    if (computation->name() == name) return computation;
  }
  return nullptr;
}

int64_t HloModule::instruction_count() const {
  int64_t count = 0;
  for (const HloComputation* computation : computations()) {
    count += computation->instruction_count();
  }
  return count;
}

std::function<bool(const HloComputation*)> HloModule::ThreadFilter(
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (execution_threads.empty()) return &IsLive;
  return [threads = std::vector<std::string>(execution_threads.begin(),
                                             execution_threads.end())](
             const HloComputation* computation) {
    return computation != nullptr &&
           std::find(threads.begin(), threads.end(),
                     computation->execution_thread()) != threads.end();
  };
}

// --- Cleanup
// -------------------------------------------------------------------

void HloModule::CleanupComputations() {
  if (to_be_deleted_computations_.empty()) return;
  to_be_deleted_computations_.clear();
  computations_.erase(
      std::remove(computations_.begin(), computations_.end(), nullptr),
      computations_.end());
  for (size_t i = 0; i < computations_.size(); ++i) {
    computations_[i]->position_in_module_ = static_cast<int32_t>(i);
  }
}

void HloModule::Cleanup() {
  CleanupComputations();
  for (HloComputation* computation : computations()) computation->Cleanup();
}

void HloModule::CanonicalizeComputationLocalIds() {
  for (HloComputation* computation : computations()) {
    computation->CanonicalizeLocalIds();
  }
}

void HloModule::Finalize() {
  Cleanup();
  computations_.shrink_to_fit();
  to_be_deleted_computations_.shrink_to_fit();
  for (HloComputation* computation : computations()) {
    computation->instructions_.shrink_to_fit();
  }
}

// --- Names and ids
// ---------------------------------------------------------------

NameUniquer& HloModule::instruction_name_uniquer() {
  if (!has_unregistered_names_) return instruction_name_uniquer_;
  has_unregistered_names_ = false;
  std::vector<const std::string*> names;
  names.reserve(instruction_count());
  for (HloComputation* computation : computations()) {
    if (computation->names_are_registered_) continue;
    computation->names_are_registered_ = true;
    for (const HloInstruction* instruction : computation->instructions()) {
      names.push_back(&instruction->name_);
    }
  }
  // Names lie apart in memory, and what long ones hold apart from them: both
  // are fetched ahead.
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i + 2 * kAhead < names.size()) {
      __builtin_prefetch(names[i + 2 * kAhead]);
    }
    if (i + kAhead < names.size()) {
      __builtin_prefetch(names[i + kAhead]->data());
    }
    instruction_name_uniquer_.RegisterName(*names[i]);
  }
  return instruction_name_uniquer_;
}

void HloModule::SetAndUniquifyInstrName(HloInstruction* instr,
                                        absl::string_view name) {
  instr->SetAndSanitizeName(name);
  instr->UniquifyName(this);
}

void HloModule::SetAndUniquifyComputationName(HloComputation* computation,
                                              absl::string_view name) {
  computation->SetAndSanitizeName(name);
  computation->UniquifyName(this);
}

absl::Status HloModule::CheckUniqueNamesAndIdsForComputationsAndInstructions()
    const {
  absl::flat_hash_set<absl::string_view> computation_names;
  absl::flat_hash_set<int64_t> computation_ids;
  absl::flat_hash_set<absl::string_view> instruction_names;
  for (const HloComputation* computation : computations()) {
    TF_RET_CHECK(computation_names.insert(computation->name()).second)
        << "computation name " << computation->name() << " is not unique";
    TF_RET_CHECK(computation->unique_id() >= 0 &&
                 computation_ids.insert(computation->unique_id()).second)
        << "computation " << computation->name() << " has id "
        << computation->unique_id() << ", which is not valid or not unique";
    // Ids of instructions are slots, hence unique with their computation's.
    for (const HloInstruction* instruction : computation->instructions()) {
      TF_RET_CHECK(instruction_names.insert(instruction->name()).second)
          << "instruction name " << instruction->name() << " is not unique";
    }
  }
  return absl::OkStatus();
}

int64_t HloModule::NextChannelId() const {
  int64_t next = 1;
  for (const HloComputation* computation : computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      const auto* channel = DynCast<HloChannelInstruction>(instruction);
      if (channel == nullptr) continue;
      const std::optional<int64_t> id = channel->channel_id();
      if (id.has_value()) next = std::max(next, *id + 1);
    }
  }
  return next;
}

uint64_t HloModule::RandomNew64() const {
  absl::MutexLock lock(&rng_mutex_);
  return rng_();
}

std::string HloModule::GetFingerprint128(const HloPrintOptions& options) const {
  const std::string text = ToString(options);
  const uint64_t low = Fingerprint64(text);
  // The second half comes from other bytes: the text behind a prefix.
  Fingerprinter high;
  high.Update("HloModule fingerprint, second half");
  high.Update(text);
  return absl::StrFormat("%016x%016x", high.Finish(), low);
}

// --- Schedule, aliases and the like
// ----------------------------------------------

void HloModule::set_config(HloModuleConfig config) {
  config_ = std::make_shared<HloModuleConfig>(std::move(config));
}

absl::Status HloModule::set_schedule(HloSchedule schedule) {
  TF_RET_CHECK(schedule.module() == this)
      << "the schedule is for another module than " << name_;
  TF_RETURN_IF_ERROR(schedule.Verify());
  schedule_ = std::move(schedule);
  return absl::OkStatus();
}

void HloModule::MoveMetadataToModule(HloModule* module) {
  HloModuleMetadata moved = std::move(metadata_);
  metadata_ = HloModuleMetadata();
  metadata_.set_canonical_module_id(unique_id_);
  module->metadata_ = std::move(moved);
}

void HloModule::EntryParameterRemoved(int64_t param_no) {
  auto shifted = [&](int64_t number) {
    return number > param_no ? number - 1 : number;
  };
  if (config().has_entry_computation_layout()) {
    const ComputationLayout& old_layout = entry_computation_layout();
    ComputationLayout layout(old_layout.result_layout());
    for (int64_t i = 0; i < old_layout.parameter_count(); ++i) {
      if (i != param_no) {
        layout.add_parameter_layout(old_layout.parameter_layout(i));
      }
    }
    *mutable_entry_computation_layout() = std::move(layout);
  }
  HloInputOutputAliasConfig aliases(input_output_alias_config_.shape());
  input_output_alias_config_.ForEachAlias(
      [&](const ShapeIndex& output_index,
          const HloInputOutputAliasConfig::Alias& alias) {
        if (alias.parameter_number == param_no) return;
        absl::Status status =
            aliases.SetUpAlias(output_index, shifted(alias.parameter_number),
                               alias.parameter_index, alias.kind);
        CHECK(status.ok()) << status;
      });
  input_output_alias_config_ = std::move(aliases);
  HloBufferDonorConfig donors;
  for (const auto& donor : buffer_donor_config_.buffer_donor()) {
    if (donor.param_number == param_no) continue;
    absl::Status status =
        donors.AddBufferDonor(shifted(donor.param_number), donor.param_index);
    CHECK(status.ok()) << status;
  }
  buffer_donor_config_ = std::move(donors);
}

void HloModule::CanonicalizeStackFrameIds(
    const StackFrameIndexProto& index_proto) {
  absl::StatusOr<StackFrames> source =
      StackFrames::FromProtoWithRepeats(index_proto);
  // Frames of the other table by id; each is added once, parents first.
  absl::flat_hash_map<int, int> new_ids;
  auto canonical = [&](int id) {
    if (!source.ok()) return 0;
    std::vector<int> path;
    int frame = id;
    while (frame > 0 && frame <= source->size() && !new_ids.contains(frame)) {
      path.push_back(frame);
      frame = source->GetStackFrame(StackFrameId{frame}).parent_frame_id.value;
    }
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      HloStackFrame to_add = source->GetStackFrame(StackFrameId{*it});
      to_add.parent_frame_id.value =
          new_ids.contains(to_add.parent_frame_id.value)
              ? new_ids[to_add.parent_frame_id.value]
              : 0;
      new_ids[*it] = stack_frames_.AddStackFrame(to_add).value;
    }
    auto found = new_ids.find(id);
    return found == new_ids.end() ? 0 : found->second;
  };
  for (HloComputation* computation : computations()) {
    for (HloInstruction* instruction : computation->instructions()) {
      const int old_id = instruction->metadata().stack_frame_id();
      if (old_id == 0) continue;
      const int new_id = canonical(old_id);
      if (new_id != old_id) {
        instruction->mutable_metadata().set_stack_frame_id(new_id);
      }
    }
  }
}

}  // namespace xla

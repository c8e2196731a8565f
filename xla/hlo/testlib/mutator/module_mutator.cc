#include "xla/hlo/testlib/mutator/module_mutator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/testlib/mutator/module_detours.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using module_mutator_internal::AsyncStateHolders;
using module_mutator_internal::Detour;
using module_mutator_internal::Picker;

constexpr std::pair<absl::string_view, absl::string_view> kAttributes[] = {
    {"of_nobody", "1"},
    {"inlineable", "false"},
    {"inlineable", "xla_late"},
    {"xla_disable_while_loop_dce", "true"},
    {"_xla_compute_type", "host"},
    {"_scheduling_group_id", "1"},
    {"_xla_stream_annotation", "1"},
    {"_xla_collective_matmul", "lhs_all_gather"},
    {"_xla_send_recv_source_target_pairs", "{{0,1}}"},
    {"_xla_pad_value", "x"},
    {"_xla_sharding_strategy", "mod"},
    {"xla.sdy.sharding", "#sdy.sharding<@mesh, [{}]>"},
    {"xla.sdy.sharding", "nonsense"},
    {"xla.sdy.sharding_group_id", "0"},
    {"xla.sdy.meshes", "{mesh = #sdy.mesh<[\"a\"=2, \"b\"=2]>}"},
    {"must_fuse", ""},
};

constexpr absl::string_view kBackendConfigs[] = {"", "{}", "{\"a\":1}",
                                                 "no json", "[1]"};

class Mutator {
 public:
  Mutator(uint64_t seed, HloModule* module)
      : random_(seed), module_(module), pick_(random_) {}

  void Mutate() {
    const bool was_scheduled = module_->has_schedule();
    for (int n = 1 + pick_.Below(5); n > 0; --n) ChangeOne();
    if (was_scheduled || pick_.OneIn(12)) Schedule();
  }

 private:
  void ChangeOne();
  void AddControlDependency();
  void AddDeadInstruction();
  void RepeatOperand();
  void Annotate();
  void Shard();
  void AddDetour();
  void AddReader();
  void GrowRoot();
  void ChangeDevices();
  void MoveEntry();
  void Schedule();

  // A computation, larger ones more often; `order_` becomes its instructions,
  // each of which may depend on all before it.
  void PickComputation();
  HloInstruction* PickInstruction();

  bool HoldsAsyncState(const HloInstruction* inst) const {
    return state_holders_.contains(inst);
  }
  bool ReadsAsyncState(const HloInstruction* inst) const {
    return absl::c_any_of(inst->operands(), [&](const HloInstruction* operand) {
      return HoldsAsyncState(operand);
    });
  }

  std::mt19937_64 random_;
  HloModule* const module_;
  Picker pick_;
  // Before the change that is being made.
  absl::flat_hash_set<const HloInstruction*> state_holders_;
  std::vector<HloInstruction*> order_;
};

void Mutator::PickComputation() {
  const std::vector<HloComputation*> all = module_->MakeComputationPostOrder();
  HloComputation* computation = pick_.From(all);
  for (int i = 0; i < 2; ++i) {
    HloComputation* other = pick_.From(all);
    if (other->instruction_count() > computation->instruction_count()) {
      computation = other;
    }
  }
  order_ = computation->MakeInstructionPostOrder();
}

HloInstruction* Mutator::PickInstruction() {
  PickComputation();
  return pick_.From(order_);
}

void Mutator::ChangeOne() {
  constexpr void (Mutator::*kChanges[])() = {
      &Mutator::AddControlDependency,
      &Mutator::AddControlDependency,
      &Mutator::AddControlDependency,
      &Mutator::AddDeadInstruction,
      &Mutator::RepeatOperand,
      &Mutator::Annotate,
      &Mutator::Shard,
      &Mutator::AddDetour,
      &Mutator::AddDetour,
      &Mutator::AddDetour,
      &Mutator::AddReader,
      &Mutator::AddReader,
      &Mutator::GrowRoot,
      &Mutator::ChangeDevices,
      &Mutator::MoveEntry,
  };
  state_holders_ = AsyncStateHolders(*module_);
  (this->*kChanges[pick_.Below(std::size(kChanges))])();
}

void Mutator::AddControlDependency() {
  PickComputation();
  const size_t size = order_.size();
  if (size < 2) return;
  const size_t first = pick_.Below(size - 1);
  // Near ones meet in one rewrite more often than distant ones.
  const size_t reach =
      pick_.OneIn(2) ? size - first - 1 : std::min<size_t>(3, size - first - 1);
  CHECK_OK(order_[first]->AddControlDependencyTo(
      order_[first + 1 + pick_.Below(reach)]));
}

void Mutator::AddDeadInstruction() {
  HloInstruction* inst = PickInstruction();
  if (inst->opcode() == HloOpcode::kParameter || ReadsAsyncState(inst) ||
      HoldsAsyncState(inst)) {
    return;
  }
  HloInstruction* copy = inst->parent()->AddInstruction(inst->Clone());
  if (pick_.OneIn(3)) CHECK_OK(inst->AddControlDependencyTo(copy));
}

void Mutator::RepeatOperand() {
  HloInstruction* inst = PickInstruction();
  if (inst->operand_count() == 0 || ReadsAsyncState(inst)) return;
  const int64_t number = pick_.Below(inst->operand_count());
  // Mostly one of its own: f(a, b) becomes f(a, a).
  std::vector<HloInstruction*> others;
  for (HloInstruction* other : order_) {
    if (other == inst) break;
    if (other != inst->operand(number) &&
        other->shape() == inst->operand(number)->shape() &&
        !HoldsAsyncState(other) && (inst->IsUserOf(other) || pick_.OneIn(4))) {
      others.push_back(other);
    }
  }
  if (others.empty()) return;
  CHECK_OK(inst->ReplaceOperandWith(number, pick_.From(others)));
}

void Mutator::Annotate() {
  HloInstruction* inst = PickInstruction();
  switch (pick_.Below(5)) {
    case 0: {
      OpMetadata metadata;
      metadata.set_op_name(pick_.OneIn(2) ? "jit(f)/while/body/layer_1" : "");
      metadata.set_op_type("odd");
      metadata.set_source_file("no file");
      inst->set_metadata(metadata);
      return;
    }
    case 1:
      inst->set_raw_backend_config_string(std::string(
          kBackendConfigs[pick_.Below(std::size(kBackendConfigs))]));
      return;
    default: {
      const auto& [key, value] =
          kAttributes[pick_.Below(std::size(kAttributes))];
      inst->set_frontend_attribute(key, value);
      return;
    }
  }
}

void Mutator::Shard() {
  HloInstruction* inst = PickInstruction();
  inst->set_sharding(
      module_mutator_internal::RandomSharding(inst->shape(), pick_));
}

// Some readers of a value, or the result of its computation, take it through
// other instructions.
void Mutator::AddDetour() {
  HloInstruction* inst = PickInstruction();
  // Not the detour itself.
  const std::vector<HloInstruction*> users(inst->users().begin(),
                                           inst->users().end());
  HloInstruction* other = Detour(inst, HoldsAsyncState(inst), pick_);
  if (other == nullptr) return;
  HloComputation* computation = inst->parent();
  const bool was_root = inst->IsRoot();
  for (HloInstruction* user : users) {
    if (pick_.OneIn(2)) {
      CHECK_OK(inst->ReplaceUseWithDifferentShape(user, other));
    }
  }
  if (was_root && pick_.OneIn(2)) {
    computation->set_root_instruction(other, /*accept_different_shape=*/true);
  }
}

// Something odd reads a value; nobody reads that, or what may have effects.
void Mutator::AddReader() {
  HloInstruction* inst = PickInstruction();
  if (HoldsAsyncState(inst)) return;
  HloInstruction* reader = module_mutator_internal::OddReader(inst, pick_);
  if (reader == nullptr || pick_.OneIn(3)) return;
  const Shape shape = module_mutator_internal::OddShape(pick_);
  HloInstruction* sink =
      inst->parent()->AddInstruction(HloInstruction::CreateCustomCall(
          shape, {reader, inst, reader}, "of_nobody"));
  Cast<HloCustomCallInstruction>(sink)->set_custom_call_has_side_effect(
      !pick_.OneIn(4));
  if (pick_.OneIn(2)) module_mutator_internal::OddReader(sink, pick_);
}

// ROOT r   →   ROOT (r, x, r, (…))
void Mutator::GrowRoot() {
  HloComputation* entry = module_->entry_computation();
  order_ = entry->MakeInstructionPostOrder();
  HloInstruction* root = entry->root_instruction();
  std::vector<HloInstruction*> parts = {root};
  for (int n = 1 + pick_.Below(3); n > 0; --n) {
    HloInstruction* part = pick_.From(order_);
    if (pick_.OneIn(3) && !HoldsAsyncState(part)) {
      HloInstruction* reader = module_mutator_internal::OddReader(part, pick_);
      if (reader != nullptr) part = reader;
    }
    parts.push_back(part);
  }
  HloInstruction* tuple =
      entry->AddInstruction(HloInstruction::CreateTuple(parts));
  entry->set_root_instruction(tuple, /*accept_different_shape=*/true);
  *module_->mutable_entry_computation_layout() =
      ComputationLayout(entry->ComputeProgramShape());
}

// The entry computation becomes one that a new one calls, or starts on another
// thread.
void Mutator::MoveEntry() {
  // Not too deep.
  if (!pick_.OneIn(4)) return;
  HloComputation* inner = module_->entry_computation();
  const ComputationLayout layout = module_->entry_computation_layout();
  HloComputation::Builder builder("odd_entry");
  std::vector<HloInstruction*> parameters;
  for (const HloInstruction* parameter : inner->parameter_instructions()) {
    parameters.push_back(builder.AddInstruction(HloInstruction::CreateParameter(
        parameter->parameter_number(), parameter->shape(), parameter->name())));
  }
  const Shape& shape = inner->root_instruction()->shape();
  HloInstruction* call = builder.AddInstruction(
      HloInstruction::CreateCall(shape, parameters, inner));
  module_->ReplaceEntryComputation(
      module_->AddEmbeddedComputation(builder.Build()));
  *module_->mutable_entry_computation_layout() = layout;
  if (!pick_.OneIn(2)) return;
  CHECK_OK(call->parent()
               ->CreateAsyncInstructions(
                   call, {ShapeUtil::MakeShape(U32, {})},
                   pick_.OneIn(2) ? "odd_thread"
                                  : HloInstruction::kMainExecutionThread)
               .status());
}

void Mutator::ChangeDevices() {
  HloModuleConfig& config = module_->mutable_config();
  constexpr int64_t kCounts[] = {1, 2, 3, 4, 8};
  config.set_num_partitions(kCounts[pick_.Below(std::size(kCounts))]);
  if (pick_.OneIn(3)) {
    config.set_replica_count(kCounts[pick_.Below(std::size(kCounts))]);
  }
  if (pick_.OneIn(2)) config.set_use_spmd_partitioning(true);
}

void Mutator::Schedule() {
  HloSchedule schedule(module_);
  for (HloComputation* computation : module_->computations()) {
    if (computation->IsFusionComputation()) continue;
    schedule.set_sequence(computation, computation->MakeInstructionPostOrder());
  }
  module_->clear_schedule();
  // One that does not fit is none.
  module_->set_schedule(std::move(schedule)).IgnoreError();
}

}  // namespace

void MutateModule(uint64_t seed, HloModule* module) {
  Mutator(seed, module).Mutate();
}

}  // namespace xla

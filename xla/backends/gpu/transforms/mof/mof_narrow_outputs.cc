#include "xla/backends/gpu/transforms/mof/mof_narrow_outputs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/lowering/check_lowered.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/transforms/mof/mof_narrow_hosts.h"
#include "xla/backends/gpu/transforms/mof/mof_narrow_parts.h"
#include "xla/backends/gpu/transforms/mof/mof_outputs.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// The rewrite for one output: make a small kernel that computes the value
// (MakeKernel), compare the cost of host and readers before and after with the
// performance model (Compare), let the readers read the value (ReadValue) and
// merge the small kernel into the host as another output (Merge). If it does
// not pay, the small kernel is removed again and nothing has changed.
//
// Which kernel writes it: mof_narrow_hosts.h.
//
// A round collects candidates once and applies them best first. Candidates that
// an earlier rewrite of the round has touched are skipped; the next round finds
// them again. Parts of kernels that did not change are cached across rounds
// (PartsOf).

namespace xla::gpu {
namespace {

// Equal values that share an output.
constexpr size_t kMaxReaders = 64;

double Bytes(const HloInstruction& value) {
  return static_cast<double>(
      ShapeUtil::ByteSizeOfElementsRecursive(value.shape()));
}

class Narrower {
 public:
  Narrower(HloComputation* computation, const MofContext& context,
           std::vector<FusionGroup>* groups)
      : computation_(computation),
        context_(context),
        groups_(groups),
        hosts_(context) {}

  absl::StatusOr<int64_t> Run() {
    int64_t outputs = 0;
    for (int round = 0; round < kMaxNarrowRounds; ++round) {
      TF_ASSIGN_OR_RETURN(const int64_t added, RunRound());
      outputs += added;
      if (added == 0) break;
    }
    return outputs;
  }

 private:
  absl::StatusOr<int64_t> RunRound();
  // Some other kernel may make or read `value`, an operand of `kernel`.
  static bool IsAtHand(const HloInstruction* value,
                       const HloInstruction* kernel);
  // Those of the last round, unless the kernel or what it reads has changed.
  const std::vector<NarrowPart>& PartsOf(HloInstruction* kernel);
  std::vector<NarrowOutput> FindOutputs();

  bool IsThere(const HloInstruction* kernel) const {
    return !computation_->IsMarkedAsDead(kernel);
  }

  // --- Prices and rewrites --------------------------------------------------

  absl::StatusOr<bool> Apply(NarrowOutput* output);
  // A kernel that computes the value of the part alone.
  HloInstruction* MakeKernel(const NarrowPart& part);
  absl::Status RemoveKernel(HloInstruction* kernel);
  KernelCostWithOperands CostOfReader(const NarrowPart& part,
                                      const HloInstruction* value) const;
  // Fills in the record's figures; whether it is worth while.
  FusionDecision Compare(const NarrowOutput& output,
                         const HloInstruction* value,
                         FusionRecord* record) const;
  absl::Status ReadValue(const NarrowPart& part, HloInstruction* value);
  absl::StatusOr<HloInstruction*> Merge(HloInstruction* host,
                                        HloInstruction* value);
  void Replaced(const HloInstruction* from, HloInstruction* to);
  void Forget(const HloInstruction* kernel) {
    context_.model->Invalidate(*kernel);
    context_.cache->Invalidate(kernel);
    hosts_.Forget(kernel);
    parts_.erase(kernel);
  }

  HloComputation* computation_;
  const MofContext& context_;
  std::vector<FusionGroup>* groups_;
  NarrowHosts hosts_;
  struct KnownParts {
    std::vector<const HloInstruction*> operands;
    std::vector<bool> at_hand;
    std::vector<NarrowPart> parts;
  };
  absl::node_hash_map<const HloInstruction*, KnownParts> parts_;
};

bool Narrower::IsAtHand(const HloInstruction* value,
                        const HloInstruction* kernel) {
  if (!value->shape().IsArray()) return false;
  if (NarrowHosts::MayRunMore(*MakerOfNarrowed(value))) return true;
  return absl::c_any_of(value->users(), [&](const HloInstruction* user) {
    return user != kernel && NarrowHosts::MayRunMore(*user);
  });
}

const std::vector<NarrowPart>& Narrower::PartsOf(HloInstruction* kernel) {
  std::vector<const HloInstruction*> operands;
  std::vector<bool> at_hand;
  for (const HloInstruction* operand : kernel->operands()) {
    operands.push_back(operand);
    at_hand.push_back(IsAtHand(operand, kernel));
  }
  auto [it, is_new] = parts_.try_emplace(kernel);
  KnownParts& known = it->second;
  if (is_new || known.operands != operands || known.at_hand != at_hand) {
    known.parts =
        FindNarrowParts(kernel, context_.model->costs().Get(*kernel), at_hand);
    known.operands = std::move(operands);
    known.at_hand = std::move(at_hand);
  }
  return known.parts;
}

// Collects the parts of all fusions and groups equal ones by hash, then by
// comparison.
std::vector<NarrowOutput> Narrower::FindOutputs() {
  std::vector<NarrowOutput> outputs;
  absl::flat_hash_map<size_t, std::vector<size_t>> by_hash;
  const std::vector<HloInstruction*> order =
      computation_->MakeInstructionPostOrder();
  hosts_.SetOrder(order);
  for (HloInstruction* kernel : order) {
    if (kernel->opcode() != HloOpcode::kFusion || kernel->IsCustomFusion() ||
        context_.banned->contains(kernel->name())) {
      continue;
    }
    for (const NarrowPart& part : PartsOf(kernel)) {
      std::vector<size_t>& alike = by_hash[part.hash];
      auto it = absl::c_find_if(alike, [&](size_t i) {
        return AreEqualParts(outputs[i].parts.front(), part);
      });
      if (it == alike.end()) {
        alike.push_back(outputs.size());
        outputs.emplace_back().parts.push_back(part);
      } else if (outputs[*it].parts.size() < kMaxReaders) {
        outputs[*it].parts.push_back(part);
      }
    }
  }
  return outputs;
}

// --- Prices and rewrites ----------------------------------------------------

HloInstruction* Narrower::MakeKernel(const NarrowPart& part) {
  HloComputation::Builder builder("narrow_computation");
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> clones;
  std::vector<HloInstruction*> operands;
  for (const auto* parameters : {&part.large, &part.small}) {
    for (const HloInstruction* parameter : *parameters) {
      const int64_t number = static_cast<int64_t>(operands.size());
      operands.push_back(OperandOf(part, parameter));
      clones[parameter] =
          builder.AddInstruction(HloInstruction::CreateParameter(
              number, parameter->shape(), absl::StrCat("param_", number)));
    }
  }
  HloInstruction* last = nullptr;
  for (const NarrowPart::Step& step : part.chain) {
    std::vector<HloInstruction*> values;
    for (const HloInstruction* operand : step.operands) {
      values.push_back(clones.at(operand));
    }
    last = builder.AddInstruction(step.instruction->CloneWithNewOperands(
        step.instruction->shape(), values));
    clones[step.instruction] = last;
  }
  HloComputation* body =
      computation_->parent()->AddEmbeddedComputation(builder.Build(last));
  body->SetExecutionThread(computation_->execution_thread());
  HloInstruction* kernel =
      computation_->AddInstruction(HloInstruction::CreateFusion(
          last->shape(), HloInstruction::FusionKind::kLoop, operands, body));
  kernel->set_metadata_ptr(part.values.front()->metadata_ptr());
  return kernel;
}

absl::Status Narrower::RemoveKernel(HloInstruction* kernel) {
  Forget(kernel);
  HloComputation* body = kernel->fused_instructions_computation();
  TF_RETURN_IF_ERROR(computation_->RemoveInstruction(kernel));
  return computation_->parent()->RemoveEmbeddedComputation(body);
}

// The cost of a reader after the rewrite: without the absorbed operands, with
// the value instead.
KernelCostWithOperands Narrower::CostOfReader(
    const NarrowPart& part, const HloInstruction* value) const {
  KernelCostWithOperands cost = context_.model->costs().Unique(*part.kernel);
  for (const HloInstruction* parameter : part.absorbed) {
    auto it = absl::c_find(cost.operands, OperandOf(part, parameter));
    cost.cost.operands.erase(cost.cost.operands.begin() +
                             (it - cost.operands.begin()));
    cost.operands.erase(it);
  }
  cost.operands.push_back(value);
  cost.cost.operands.push_back(part.reads);
  return cost;
}

FusionDecision Narrower::Compare(const NarrowOutput& output,
                                 const HloInstruction* value,
                                 FusionRecord* record) const {
  GpuPerformanceModel& model = *context_.model;
  KernelCostWithOperands merged = model.CostOfMerged(*output.host, *value);
  const HloInstruction* unread =
      hosts_.UnreadResult(*output.host, output, value);
  if (unread != nullptr) {
    merged.cost.bytes_written = std::max<int64_t>(
        0, merged.cost.bytes_written - static_cast<int64_t>(Bytes(*unread)));
  }
  const EstimateRunTimeData& before = model.EstimateRunTime(*output.host);
  const EstimateRunTimeData after = model.Estimate(merged);
  double saved = before.bytes() - after.bytes();
  absl::Duration old_time = before.time;
  absl::Duration new_time = after.time;
  for (const NarrowPart& part : output.parts) {
    const EstimateRunTimeData& reader = model.EstimateRunTime(*part.kernel);
    const EstimateRunTimeData narrow =
        model.Estimate(CostOfReader(part, value));
    saved += reader.bytes() - narrow.bytes();
    old_time += reader.time;
    new_time += narrow.time;
    record->consumers.emplace_back(part.kernel->name());
  }
  record->saved_bytes = static_cast<int64_t>(saved);
  record->unfused_seconds = absl::ToDoubleSeconds(old_time);
  record->fused_seconds = absl::ToDoubleSeconds(new_time);
  if (saved <= 0) return FusionDecision::Forbid("saves no bytes");
  if (context_.kernels_for == KernelTarget::kOwn) {
    // It would leave the host without a lowering, too.
    const absl::Status lowered = CheckIsLowered(*value);
    if (!lowered.ok()) return FusionDecision::Forbid(lowered.message());
  }
  if (new_time > old_time) {
    return FusionDecision::Forbid(absl::StrFormat(
        "slower by %.1f %%: %.2f > %.2f us", 100 * (new_time / old_time - 1),
        absl::ToDoubleMicroseconds(new_time),
        absl::ToDoubleMicroseconds(old_time)));
  }
  return FusionDecision::Allow();
}

absl::Status Narrower::ReadValue(const NarrowPart& part,
                                 HloInstruction* value) {
  Forget(part.kernel);
  HloComputation* body = part.kernel->fused_instructions_computation();
  HloInstruction* read = part.kernel->AddFusionOperand(value);
  for (HloInstruction* equal : part.values) {
    TF_RETURN_IF_ERROR(equal->ReplaceAllUsesWith(read));
    TF_RETURN_IF_ERROR(body->RemoveInstructionAndUnusedOperands(
        equal, /*cleanup=*/std::nullopt, /*ignore_control_dependencies=*/true));
  }
  return body->RemoveUnusedParametersFromFusedComputation();
}

void Narrower::Replaced(const HloInstruction* from, HloInstruction* to) {
  hosts_.Replace(from, to);
  if (groups_ == nullptr) return;
  for (FusionGroup& group : *groups_) {
    if (group.fusion == from) group.fusion = to;
  }
}

absl::StatusOr<HloInstruction*> Narrower::Merge(HloInstruction* host,
                                                HloInstruction* value) {
  Forget(host);
  Forget(value);
  using FusionKind = HloInstruction::FusionKind;
  const FusionKind kind =
      host->opcode() == HloOpcode::kFusion      ? host->fusion_kind()
      : IsInputFusible(*host, *context_.device) ? FusionKind::kInput
                                                : FusionKind::kLoop;
  if (host->opcode() != HloOpcode::kFusion) {
    HloInstruction* plain = host;
    host = computation_->AddInstruction(
        HloInstruction::CreateFusion(plain->shape(), kind, plain));
    Replaced(plain, host);
    TF_RETURN_IF_ERROR(plain->ReplaceAllUsesWith(host));
    TF_RETURN_IF_ERROR(computation_->RemoveInstruction(plain));
  }
  const bool reads_result =
      absl::c_any_of(value->operands(), [&](const HloInstruction* operand) {
        return MakerOfNarrowed(operand) == host;
      });
  if (!reads_result) {
    host->MergeFusionInstructionIntoMultiOutput(value);
    return host;
  }
  value->set_fusion_kind(kind);
  value->set_metadata_ptr(host->metadata_ptr());
  Replaced(host, value);
  value->MergeFusionInstructionIntoMultiOutput(host);
  return value;
}

absl::StatusOr<bool> Narrower::Apply(NarrowOutput* output) {
  // Changes since then are found again in the next round.
  for (const NarrowPart& part : output->parts) {
    if (!IsThere(part.kernel)) return false;
    const HloComputation* body = part.kernel->fused_instructions_computation();
    const auto is_gone = [&](const HloInstruction* inst) {
      return body->IsMarkedAsDead(inst);
    };
    if (absl::c_any_of(part.values, is_gone) ||
        absl::c_any_of(part.large, is_gone) ||
        absl::c_any_of(part.small, is_gone) ||
        absl::c_any_of(part.chain, [&](const NarrowPart::Step& step) {
          return is_gone(step.instruction);
        })) {
      return false;
    }
  }
  hosts_.Choose(output);
  if (output->host == nullptr) return false;
  output->parts.erase(std::remove_if(output->parts.begin(), output->parts.end(),
                                     [&](const NarrowPart& part) {
                                       return !hosts_.IsServedBy(*output->host,
                                                                 part);
                                     }),
                      output->parts.end());

  const NarrowPart& first = output->parts.front();
  FusionRecord record;
  record.kind = FusionRecord::Kind::kNarrowOutput;
  record.computation = std::string(computation_->name());
  record.producer = std::string(output->host->name());
  HloInstruction* value = MakeKernel(first);
  const FusionDecision decision = Compare(*output, value, &record);
  record.fused = decision.CanFuse();
  record.reason =
      decision ? ShapeUtil::HumanString(value->shape()) : decision.Explain();
  if (context_.explanation != nullptr) {
    context_.explanation->Record(std::move(record));
  }
  if (!decision) {
    TF_RETURN_IF_ERROR(RemoveKernel(value));
    return false;
  }
  for (const NarrowPart& part : output->parts) {
    TF_RETURN_IF_ERROR(ReadValue(part, value));
  }
  TF_ASSIGN_OR_RETURN(HloInstruction * fusion, Merge(output->host, value));
  TF_RETURN_IF_ERROR(RemoveDuplicateOutputs(fusion).status());
  if (groups_ != nullptr) groups_->push_back({fusion, {kNarrowOutputs}});
  return true;
}

absl::StatusOr<int64_t> Narrower::RunRound() {
  std::vector<NarrowOutput> outputs = FindOutputs();
  std::vector<size_t> order;
  for (size_t i = 0; i < outputs.size(); ++i) {
    hosts_.Choose(&outputs[i]);
    if (outputs[i].host != nullptr) order.push_back(i);
  }
  absl::c_stable_sort(order, [&](size_t a, size_t b) {
    return outputs[a].saved_bytes > outputs[b].saved_bytes;
  });
  int64_t added = 0;
  for (size_t i : order) {
    TF_ASSIGN_OR_RETURN(const bool done, Apply(&outputs[i]));
    added += done;
  }
  return added;
}

}  // namespace

absl::StatusOr<int64_t> AddNarrowOutputs(HloComputation* computation,
                                         const MofContext& context,
                                         std::vector<FusionGroup>* groups) {
  if (context.banned->contains(kNarrowOutputs)) return 0;
  return Narrower(computation, context, groups).Run();
}

}  // namespace xla::gpu

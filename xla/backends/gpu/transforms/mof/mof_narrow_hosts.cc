#include "xla/backends/gpu/transforms/mof/mof_narrow_hosts.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "xla/backends/gpu/lowering/check_lowered.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// Readers of a value that are looked at as the kernel to write more.
constexpr size_t kMaxHosts = 8;
constexpr size_t kMaxUsers = 256;

double BytesOf(const HloInstruction& value) {
  return static_cast<double>(
      ShapeUtil::ByteSizeOfElementsRecursive(value.shape()));
}

// Operands of `host` and its results are at hand there.
bool HasAtHand(const HloInstruction& host, const HloInstruction* value) {
  return host.IsUserOf(value) || MakerOfNarrowed(value) == &host;
}

}  // namespace

const HloInstruction* MakerOfNarrowed(const HloInstruction* value) {
  return value->opcode() == HloOpcode::kGetTupleElement ? value->operand(0)
                                                        : value;
}

void NarrowHosts::SetOrder(const std::vector<HloInstruction*>& order) {
  positions_.clear();
  heroes_.clear();
  for (const HloInstruction* instruction : order) {
    positions_[instruction] = static_cast<int64_t>(positions_.size());
  }
}

int64_t NarrowHosts::Position(const HloInstruction* instruction) const {
  if (instruction->opcode() == HloOpcode::kGetTupleElement) {
    auto it = positions_.find(instruction->operand(0));
    if (it != positions_.end() &&
        instruction->operand(0)->opcode() == HloOpcode::kFusion) {
      return it->second;
    }
  }
  return positions_.at(instruction);
}

bool NarrowHosts::MayRunMore(const HloInstruction& kernel) {
  switch (kernel.opcode()) {
    case HloOpcode::kFusion:
      return !kernel.IsCustomFusion();
    case HloOpcode::kReduce:
    case HloOpcode::kTranspose:
      return true;
    default:  // Elementwise kernels alone.
      return kernel.IsElementwise() && kernel.operand_count() > 0;
  }
}

bool NarrowHosts::MayHost(const HloInstruction& host) const {
  if (host.HasControlDependencies() || host.IsRoot() ||
      host.user_count() == 0 || context_.banned->contains(host.name()) ||
      !IsFusibleAsMultiOutputFusionRoot(host, *context_.device) ||
      IsNestableVariadicReduction(host, *context_.device) ||
      !context_.alias_info->GetInPlaceInputOutputPairs(&host).empty() ||
      (context_.kernels_for == KernelTarget::kOwn &&
       !CheckIsLowered(host).ok())) {
    return false;
  }
  if (host.shape().IsTuple() &&
      (host.opcode() != HloOpcode::kFusion ||
       host.fused_expression_root()->opcode() != HloOpcode::kTuple ||
       !absl::c_all_of(host.users(), [](const HloInstruction* user) {
         return user->opcode() == HloOpcode::kGetTupleElement &&
                !user->HasControlDependencies();
       }))) {
    return false;
  }
  return host.opcode() != HloOpcode::kFusion ||
         Cast<HloFusionInstruction>(&host)
             ->output_to_operand_aliasing()
             .empty();
}

const HloInstruction* NarrowHosts::HeroOfHost(const HloInstruction& host) {
  auto [it, is_new] = heroes_.try_emplace(&host, nullptr);
  if (is_new && MayHost(host)) {
    it->second = GetRealHeroForMultiOutputFusion(host, *context_.device);
  }
  return it->second;
}

// Legality of one more output: all large operands are read or produced by the
// host, small ones come before it, its hero runs over the same elements, and
// the result stays within the limits for operands and code size.
FusionDecision NarrowHosts::CanHost(const HloInstruction& host,
                                    const HloInstruction& hero,
                                    const NarrowPart& part) const {
  for (const HloInstruction* parameter : part.large) {
    const HloInstruction* operand = OperandOf(part, parameter);
    if (!HasAtHand(host, operand)) {
      return FusionDecision::Forbid("a large operand is not available there");
    }
    if (MakerOfNarrowed(operand) != &host) continue;
    const HloInstruction* result =
        host.opcode() != HloOpcode::kFusion ? &host
        : operand == &host
            ? host.fused_expression_root()
            : host.fused_expression_root()->operand(operand->tuple_index());
    if (IsOutputOfHero(*result, *context_.device)) {
      return FusionDecision::Forbid(
          "it is computed from a reduction or a transpose");
    }
  }
  RETURN_IF_NOT_FUSIBLE(CanWriteTogether(
      KindsOfOutputs(host, *context_.device),
      {/*reshaped_reduction=*/false, /*loop=*/true}, context_.kernels_for));
  int64_t added = 1;  // the output
  for (const HloInstruction* parameter : part.small) {
    const HloInstruction* operand = OperandOf(part, parameter);
    if (host.IsUserOf(operand)) continue;
    ++added;
    if (operand->opcode() == HloOpcode::kParameter ||
        operand->opcode() == HloOpcode::kConstant) {
      continue;
    }
    if (Position(operand) >= Position(&host)) {
      return FusionDecision::Forbid("a small operand is computed too late");
    }
  }
  RETURN_IF_NOT_FUSIBLE(HeroesRunAlike(hero, *part.values.front(),
                                       *context_.device,
                                       /*rows_join_tiles=*/false));
  const int64_t arguments = host.operand_count() +
                            static_cast<int64_t>(GetOutputSizeOfFusible(host)) +
                            added;
  if (arguments > MaxOperandsAndOutputsPerFusion()) {
    return FusionDecision::Forbid(
        absl::StrFormat("operands and outputs %d > %d", arguments,
                        MaxOperandsAndOutputsPerFusion()));
  }
  const double ir_size = context_.model->costs().Get(host).ir_size +
                         static_cast<double>(part.chain.size());
  if (ir_size > GpuPerformanceModel::kMaxIrSize) {
    return FusionDecision::Forbid(
        absl::StrFormat("too large: %.0f > %.0f instructions emitted", ir_size,
                        GpuPerformanceModel::kMaxIrSize));
  }
  return FusionDecision::Allow();
}

// Candidates are the producer of a large operand and its other readers, in post
// order; the search is bounded for values with many readers.
std::vector<HloInstruction*> NarrowHosts::FindHosts(
    const NarrowOutput& output) {
  const NarrowPart& part = output.parts.front();
  HloInstruction* value = OperandOf(part, part.large.front());
  std::vector<HloInstruction*> hosts = {
      value->opcode() == HloOpcode::kGetTupleElement ? value->mutable_operand(0)
                                                     : value};
  const int64_t last = Position(output.parts.back().kernel);
  size_t looked_at = 0;
  for (HloInstruction* user : value->users()) {
    if (++looked_at > kMaxUsers) break;
    if (positions_.contains(user) && Position(user) < last) {
      hosts.push_back(user);
    }
  }
  absl::c_stable_sort(hosts,
                      [&](const HloInstruction* a, const HloInstruction* b) {
                        return Position(a) < Position(b);
                      });
  std::vector<HloInstruction*> found;
  for (HloInstruction* host : hosts) {
    const HloInstruction* hero = HeroOfHost(*host);
    if (hero != nullptr && CanHost(*host, *hero, part)) found.push_back(host);
    if (found.size() == kMaxHosts) break;
  }
  return found;
}

// If all remaining readers of one of the host's results switch to the narrow
// value, the host need not write that result any more.
const HloInstruction* NarrowHosts::UnreadResult(
    const HloInstruction& host, const NarrowOutput& output,
    const HloInstruction* value) const {
  const auto absorbs = [&](const NarrowPart& part,
                           const HloInstruction* result) {
    return IsServedBy(host, part) &&
           absl::c_any_of(part.absorbed, [&](const HloInstruction* absorbed) {
             return OperandOf(part, absorbed) == result;
           });
  };
  for (const HloInstruction* parameter : output.parts.front().large) {
    const HloInstruction* result = OperandOf(output.parts.front(), parameter);
    if (MakerOfNarrowed(result) != &host || result->IsRoot() ||
        result->user_count() > static_cast<int64_t>(output.parts.size()) + 1) {
      continue;
    }
    if (absl::c_all_of(result->users(), [&](const HloInstruction* user) {
          return user == value ||
                 absl::c_any_of(output.parts, [&](const NarrowPart& part) {
                   return part.kernel == user && absorbs(part, result);
                 });
        })) {
      return result;
    }
  }
  return nullptr;
}

// Chooses by an estimate in bytes. Readers that come before the host cannot be
// served by it, which is why different hosts save different amounts.
void NarrowHosts::Choose(NarrowOutput* output) {
  output->host = nullptr;
  output->saved_bytes = 0;
  const NarrowPart& first = output->parts.front();
  const double written = BytesOf(*first.values.front());
  // Not counting what no host could save.
  double most = -written;
  for (const NarrowPart& part : output->parts) most += part.saved_bytes;
  for (const HloInstruction* parameter : first.large) {
    // As a result that is not read any more.
    if (OperandOf(first, parameter)->user_count() <=
        static_cast<int64_t>(output->parts.size())) {
      most += BytesOf(*parameter);
    }
  }
  if (most <= 0) return;
  for (HloInstruction* host : FindHosts(*output)) {
    double saved = -written;
    for (const NarrowPart& part : output->parts) {
      if (IsServedBy(*host, part)) saved += part.saved_bytes;
    }
    const HloInstruction* unread = UnreadResult(*host, *output, nullptr);
    if (unread != nullptr) saved += BytesOf(*unread);
    if (saved <= output->saved_bytes) continue;
    output->host = host;
    output->saved_bytes = saved;
  }
}

}  // namespace xla::gpu

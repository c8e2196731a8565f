#include "xla/backends/gpu/transforms/horizontal/horizontal_fusion.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/analysis/hlo_dfs_reachability.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Kernels that are tried with the first one of a set.
constexpr size_t kWindow = 32;
// Instructions of a kernel that is merged: each is emitted once more.
constexpr int64_t kMaxInstructions = 60;

int64_t BytesOf(const HloInstruction& kernel) {
  int64_t bytes = ShapeUtil::ByteSizeOf(kernel.shape());
  for (const HloInstruction* operand : kernel.unique_operands()) {
    bytes += ShapeUtil::ByteSizeOf(operand->shape(), 8);
  }
  return bytes;
}

// Results that lie where a parameter does wait for its other readers.
bool UpdatesInPlace(const HloInstruction& kernel) {
  return !Cast<HloFusionInstruction>(&kernel)
              ->output_to_operand_aliasing()
              .empty() ||
         absl::c_any_of(
             kernel.fused_instructions(), [](const HloInstruction* inst) {
               return inst->opcode() == HloOpcode::kDynamicUpdateSlice ||
                      inst->opcode() == HloOpcode::kScatter;
             });
}

// Small kernels of one computation, and their sets.
class Sets {
 public:
  Sets(const HorizontalFusionOptions& options,
       const se::DeviceDescription& device, HloInstruction::FusionKind kind,
       HloComputation* computation)
      : options_(options),
        device_(device),
        kind_(kind),
        computation_(computation) {}

  int64_t MergeAll() {
    std::map<std::string, std::vector<HloInstruction*>> by_shape;
    for (HloInstruction* inst : computation_->MakeInstructionPostOrder()) {
      if (IsCandidate(*inst)) by_shape[KeyOf(*inst)].push_back(inst);
    }
    int64_t merged = 0;
    for (auto& [key, kernels] : by_shape) {
      size_t first = 0;
      while (first + 1 < kernels.size()) {
        const std::vector<HloInstruction*> set = SetFrom(kernels, first);
        if (set.size() > 1) {
          Merge(set);
          merged += static_cast<int64_t>(set.size()) - 1;
          reachability_ = nullptr;
        }
        do {
          ++first;
        } while (first < kernels.size() && taken_.contains(kernels[first]));
      }
    }
    return merged;
  }

 private:
  bool IsCandidate(const HloInstruction& inst) const {
    if (inst.opcode() != HloOpcode::kFusion || inst.fusion_kind() != kind_ ||
        !inst.shape().IsArray() || inst.user_count() == 0 ||
        inst.HasControlDependencies() || inst.IsRoot() ||
        BytesOf(inst) > options_.max_bytes || UpdatesInPlace(inst) ||
        inst.fused_instructions_computation()->instruction_count() >
            kMaxInstructions) {
      return false;
    }
    return static_cast<bool>(IsFusibleAsMultiOutputFusionRoot(inst, device_)) &&
           !IsNestableVariadicReduction(inst, device_);
  }

  // Kernels with equal keys may join: the shape of a loop's result; for
  // reductions also the shape that is reduced.
  std::string KeyOf(const HloInstruction& kernel) const {
    const HloInstruction* hero =
        GetRealHeroForMultiOutputFusion(kernel, device_);
    std::string key;
    for (int64_t size : kernel.shape().dimensions()) {
      absl::StrAppend(&key, size, ",");
    }
    if (hero->opcode() == HloOpcode::kReduce) {
      absl::StrAppend(&key, "of ");
      for (int64_t size : hero->operand(0)->shape().dimensions()) {
        absl::StrAppend(&key, size, ",");
      }
    }
    return key;
  }

  // Kernels from `first` on that can be one with it, in their order.
  //
  // Greedy. Members must be pairwise independent; then no cycle appears, as one
  // through the merged kernel would need a path from one member to another.
  std::vector<HloInstruction*> SetFrom(
      const std::vector<HloInstruction*>& kernels, size_t first) {
    std::vector<HloInstruction*> set = {kernels[first]};
    // Has the set's sums for its first member, which stands for all of them
    // where the budget is asked: the set is merged only in the end.
    FusionInfoCache cache(device_);
    taken_.insert(kernels[first]);
    int64_t parameters = 1 + kernels[first]->operand_count();
    const size_t end = std::min(kernels.size(), first + kWindow);
    for (size_t i = first + 1; i < end; ++i) {
      HloInstruction* kernel = kernels[i];
      const int64_t more = 1 + kernel->operand_count();
      if (static_cast<int64_t>(set.size()) >= options_.max_kernels) break;
      if (taken_.contains(kernel) ||
          parameters + more > MaxOperandsAndOutputsPerFusion() ||
          !ShapesCompatibleForMultiOutputFusion(*set[0], *kernel, device_) ||
          !FusionFitsInBudget(*set[0], *kernel, device_,
                              /*is_consumer_producer_fusion=*/false, &cache) ||
          !AreIndependent(set, kernel)) {
        continue;
      }
      cache.Set(set[0],
                cache.GetSharedMemoryUsage(*set[0]) +
                    cache.GetSharedMemoryUsage(*kernel),
                cache.GetNumUnnestedReductions(*set[0]) +
                    cache.GetNumUnnestedReductions(*kernel));
      set.push_back(kernel);
      taken_.insert(kernel);
      parameters += more;
    }
    return set;
  }

  bool AreIndependent(const std::vector<HloInstruction*>& set,
                      const HloInstruction* kernel) {
    if (reachability_ == nullptr) {
      reachability_ = HloDfsReachability::Build(computation_);
    }
    return absl::c_none_of(set, [&](const HloInstruction* other) {
      return reachability_->IsConnected(other, kernel);
    });
  }

  static void Merge(const std::vector<HloInstruction*>& set) {
    for (size_t i = 1; i < set.size(); ++i) {
      set[0]->MergeFusionInstructionIntoMultiOutput(set[i]);
    }
  }

  const HorizontalFusionOptions& options_;
  const se::DeviceDescription& device_;
  HloInstruction::FusionKind kind_;
  HloComputation* computation_;
  // Reachability in the current graph; reset whenever the graph changes.
  std::unique_ptr<HloDfsReachability> reachability_;
  absl::flat_hash_set<const HloInstruction*> taken_;
};

}  // namespace

absl::StatusOr<bool> HorizontalFusion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_ASSIGN_OR_RETURN(const se::DeviceDescription device,
                      GivenOrLoadedGpuDevice(device_, options_.device));
  int64_t merged = 0;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    merged += Sets(options_, device, kind_, computation).MergeAll();
  }
  SetKVMetric(module, "merged", merged);
  if (merged > 0 && module->has_schedule()) module->clear_schedule();
  return merged > 0;
}

}  // namespace xla::gpu

// Limits of a fusion.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "xla/backends/gpu/model/fusion_hero.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace gpu {
namespace {

// Warps of a block, each of which leaves one partial result.
constexpr int64_t kRowReductionElements = 32;
// A tile with one column more, so that columns do not share banks; four columns
// to a thread.
constexpr int64_t kColumnReductionElements = 32 * (4 * 32 + 1);

// 12,345,678
std::string WithSeparators(int64_t number) {
  std::string digits = absl::StrCat(number);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(i, ",");
  }
  return digits;
}

// Calls `add` with each instruction: in the fusion, if it is one.
template <typename Fn>
void ForEachInside(const HloInstruction& instr, const Fn& fn) {
  if (instr.opcode() != HloOpcode::kFusion) {
    fn(instr);
    return;
  }
  for (const HloInstruction* inner : instr.fused_instructions()) fn(*inner);
}

int64_t SharedMemoryOfReduction(const HloInstruction& reduce,
                                const se::DeviceDescription& device_info) {
  if (!IsReductionFromOrToContiguousDimensions(reduce, device_info)) return 0;
  int64_t bytes = 0;
  for (int64_t i = reduce.operand_count() / 2; i < reduce.operand_count();
       ++i) {
    const Shape& init = reduce.operand(i)->shape();
    if (!init.IsArray()) continue;
    bytes += ShapeUtil::ByteSizeOfPrimitiveType(init.element_type());
  }
  return bytes * (ReductionDimensionsOf(reduce)->is_row_reduction
                      ? kRowReductionElements
                      : kColumnReductionElements);
}

int64_t NumUnnestedReductions(const HloInstruction& instr,
                              const se::DeviceDescription& device_info) {
  int64_t count = 0;
  ForEachInside(instr, [&](const HloInstruction& hlo) {
    count += IsReductionFromOrToContiguousDimensions(hlo, device_info);
  });
  return count;
}

}  // namespace

void FusionInfoCache::Invalidate(const HloInstruction* instr) {
  absl::MutexLock lock(&mutex_);
  shared_memory_usage_.erase(instr);
  num_unnested_reductions_.erase(instr);
}

void FusionInfoCache::Set(const HloInstruction* instr,
                          int64_t shared_memory_usage,
                          int64_t num_unnested_reductions) {
  absl::MutexLock lock(&mutex_);
  shared_memory_usage_[instr] = shared_memory_usage;
  num_unnested_reductions_[instr] = num_unnested_reductions;
}

int64_t FusionInfoCache::GetSharedMemoryUsage(const HloInstruction& instr) {
  {
    absl::MutexLock lock(&mutex_);
    auto it = shared_memory_usage_.find(&instr);
    if (it != shared_memory_usage_.end()) return it->second;
  }
  const int64_t bytes = SharedMemoryUsage(instr, device_info_);
  absl::MutexLock lock(&mutex_);
  shared_memory_usage_[&instr] = bytes;
  return bytes;
}

int64_t FusionInfoCache::GetNumUnnestedReductions(const HloInstruction& instr) {
  {
    absl::MutexLock lock(&mutex_);
    auto it = num_unnested_reductions_.find(&instr);
    if (it != num_unnested_reductions_.end()) return it->second;
  }
  const int64_t count = NumUnnestedReductions(instr, device_info_);
  absl::MutexLock lock(&mutex_);
  num_unnested_reductions_[&instr] = count;
  return count;
}

int64_t MaxOperandsAndOutputsPerFusion() {
  return kMaxOperandsAndOutputsPerFusion;
}

int64_t SharedMemoryUsage(const HloInstruction& instr,
                          const se::DeviceDescription& device_info) {
  int64_t bytes = 0;
  ForEachInside(instr, [&](const HloInstruction& hlo) {
    if (hlo.opcode() == HloOpcode::kReduce) {
      bytes += SharedMemoryOfReduction(hlo, device_info);
    } else if (auto transpose = GetDescriptionForTiledTransposeEmitter(hlo)) {
      bytes += transpose->shmem_usage;
    }
  });
  return bytes;
}

// First bounds that need no sets; the exact count of distinct operands is made
// only if these fail. A consumer that takes in its producer without gaining
// operands is always accepted: with at most one operand of its own, which takes
// the producer's place, that is certain.
FusionDecision FusionFitsInParameterLimit(const HloInstruction& instr1,
                                          const HloInstruction& instr2,
                                          bool is_consumer_producer_fusion) {
  const int64_t outputs = static_cast<int64_t>(GetOutputSizeOfFusible(instr1) +
                                               GetOutputSizeOfFusible(instr2));
  // Either they share an operand or one of them is an operand of the other.
  if (instr1.operand_count() + instr2.operand_count() - 1 + outputs <=
      kMaxOperandsAndOutputsPerFusion) {
    return FusionDecision::Allow();
  }
  if (is_consumer_producer_fusion && instr2.operand_count() <= 1) {
    return FusionDecision::Allow();
  }
  absl::flat_hash_set<const HloInstruction*> operands(instr1.operands().begin(),
                                                      instr1.operands().end());
  operands.insert(instr2.operands().begin(), instr2.operands().end());
  operands.erase(&instr1);
  operands.erase(&instr2);
  const int64_t after = static_cast<int64_t>(operands.size());
  if (is_consumer_producer_fusion && after <= instr1.operand_count()) {
    return FusionDecision::Allow();
  }
  if (after + outputs > kMaxOperandsAndOutputsPerFusion) {
    return FusionDecision::Forbid(
        absl::StrCat("operands and outputs ", after + outputs, " > ",
                     kMaxOperandsAndOutputsPerFusion));
  }
  return FusionDecision::Allow();
}

FusionDecision FusionFitsInBudget(const HloInstruction& instr1,
                                  const HloInstruction& instr2,
                                  const se::DeviceDescription& device_info,
                                  bool is_consumer_producer_fusion,
                                  FusionInfoCache* cache) {
  auto shared_memory = [&](const HloInstruction& instr) {
    return cache != nullptr ? cache->GetSharedMemoryUsage(instr)
                            : SharedMemoryUsage(instr, device_info);
  };
  const int64_t bytes = shared_memory(instr1) + shared_memory(instr2);
  if (bytes > device_info.shared_memory_per_block()) {
    return FusionDecision::Forbid(absl::StrCat(
        "shared memory ", WithSeparators(bytes), " > ",
        WithSeparators(device_info.shared_memory_per_block()), " B"));
  }
  auto reductions = [&](const HloInstruction& instr) {
    return cache != nullptr ? cache->GetNumUnnestedReductions(instr)
                            : NumUnnestedReductions(instr, device_info);
  };
  const int64_t count = reductions(instr1) + reductions(instr2);
  if (count > kMaxUnnestedReductionsPerFusion) {
    return FusionDecision::Forbid(absl::StrCat(
        count, " unnested reductions > ", kMaxUnnestedReductionsPerFusion));
  }
  return FusionFitsInParameterLimit(instr1, instr2,
                                    is_consumer_producer_fusion);
}

}  // namespace gpu
}  // namespace xla

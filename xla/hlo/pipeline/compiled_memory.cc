#include "xla/hlo/pipeline/compiled_memory.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/limit/memory_accounting.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::string_view kPipeline = "xla-gpu";
// Before the number of an instruction, where metadata names what it is from.
constexpr absl::string_view kOrigin = "origin:";

absl::Status Compile(const PassRegistry& registry, HloModule* module) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> pipeline,
                      MakeNamedPipeline(registry, kPipeline));
  return pipeline->Run(module).status();
}

absl::StatusOr<CompiledMemory::Bytes> BytesAfter(const PassRegistry& registry,
                                                 const HloModule& module) {
  const std::unique_ptr<HloModule> copy = module.Clone("");
  TF_RETURN_IF_ERROR(Compile(registry, copy.get()));
  CompiledMemory::Bytes bytes;
  TF_ASSIGN_OR_RETURN(bytes.allocated,
                      ScheduledPeakBytes(*copy, MemoryAccounting::kAllocated));
  TF_ASSIGN_OR_RETURN(bytes.live,
                      ScheduledPeakBytes(*copy, MemoryAccounting::kOurs));
  return bytes;
}

// Whether an instruction may be computed inside of those that read it. What
// kernels of their own make is in a buffer whatever became of its metadata.
bool MayBeFused(const HloInstruction& inst) {
  return inst.shape().IsArray() && inst.IsFusible() &&
         !HloPredicateIsOp<HloOpcode::kConstant, HloOpcode::kConvolution,
                           HloOpcode::kDot, HloOpcode::kFusion,
                           HloOpcode::kParameter, HloOpcode::kScatter,
                           HloOpcode::kSort>(&inst);
}

// Calls `visit` with each instruction whose result is in a buffer of its own,
// or the instruction of a fusion that is.
template <typename Visit>
void ForEachInBuffer(const HloModule& module, Visit visit) {
  for (const HloComputation* computation : ComputationsThatRun(module)) {
    for (const HloInstruction* inst : computation->instructions()) {
      if (inst->opcode() != HloOpcode::kFusion) {
        visit(*inst);
        continue;
      }
      const HloInstruction* root = inst->fused_expression_root();
      if (root->opcode() != HloOpcode::kTuple) {
        visit(*root);
        continue;
      }
      for (const HloInstruction* result : root->operands()) visit(*result);
    }
  }
}

absl::StatusOr<absl::flat_hash_set<std::string>> FusedAfter(
    const PassRegistry& registry, const HloModule& module) {
  const std::unique_ptr<HloModule> copy = module.Clone("");
  absl::flat_hash_map<std::string, std::string> name_of;
  for (HloComputation* computation : ComputationsThatRun(*copy)) {
    for (HloInstruction* inst : computation->instructions()) {
      if (!MayBeFused(*inst)) continue;
      const std::string origin = absl::StrCat(kOrigin, name_of.size());
      name_of[origin] = std::string(inst->name());
      inst->set_metadata_op_name(origin);
    }
  }
  TF_RETURN_IF_ERROR(Compile(registry, copy.get()));
  ForEachInBuffer(*copy, [&](const HloInstruction& inst) {
    name_of.erase(inst.metadata().op_name());
  });
  absl::flat_hash_set<std::string> fused;
  for (const auto& [origin, name] : name_of) fused.insert(name);
  return fused;
}

}  // namespace

CompiledMemory MemoryAfterXlaGpu(const PassRegistry& registry) {
  CompiledMemory memory;
  memory.bytes = [&registry](const HloModule& module) {
    return BytesAfter(registry, module);
  };
  memory.fused = [&registry](const HloModule& module) {
    return FusedAfter(registry, module);
  };
  return memory;
}

}  // namespace xla

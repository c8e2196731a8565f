#include "xla/hlo/memory/limit/memory_accounting.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

namespace xla {
namespace {

// Alignment of offsets in the allocation of temporaries, in bytes.
constexpr int64_t kAllocationAlignment = 256;

// OpenXLA asks only of a fusion's operands whether its output may be where they
// are, and elements of tuples are defined elsewhere: results of library calls,
// which come with their workspaces, are not written over in the heap. (In the
// memory of results they are, see AllocatedBytes; plans do not count on it.)
class AllocatingAliasInfo : public gpu::GpuAliasInfo {
 public:
  std::optional<bool> MayAlias(const HloInstruction* operand,
                               const ShapeIndex& operand_index,
                               const HloInstruction* user,
                               const ShapeIndex& user_index) const override {
    const HloInstruction* from = operand;
    while (from->opcode() == HloOpcode::kBitcast) from = from->operand(0);
    if (user->opcode() == HloOpcode::kFusion &&
        from->opcode() == HloOpcode::kGetTupleElement) {
      return false;
    }
    return GpuAliasInfo::MayAlias(operand, operand_index, user, user_index);
  }
};

}  // namespace

bool IsCompiledForCpu(const HloModule& module) {
  if (!module.config().device_type().empty()) {
    return module.config().device_type() == "cpu";
  }
  return absl::c_any_of(
      ComputationsThatRun(module), [](const HloComputation* computation) {
        return absl::c_any_of(
            computation->instructions(), [](const HloInstruction* inst) {
              const std::string& config = inst->raw_backend_config_string();
              return absl::StrContains(config,
                                       "\"outer_dimension_partitions\"") ||
                     absl::StrContains(config, "\"__ynn_fusion\"") ||
                     absl::StrContains(config, "\"__xnn_fusion\"");
            });
      });
}

namespace {

absl::StatusOr<int64_t> AllocatedBytes(const HloModule& module,
                                       const RematSizeOptions& sizes) {
  // XLA:CPU has no rules of its own: its all-reduce keeps the operand.
  const AliasInfo cpu_alias_info;
  const gpu::GpuAliasInfo gpu_alias_info;
  const AliasInfo& alias_info =
      IsCompiledForCpu(module) ? cpu_alias_info : gpu_alias_info;
  // A better packing than the compiler's own would be a promise that it breaks.
  BufferAssigner::Options as_compiler;
  as_compiler.buffer_assignment_algorithm = buffer_assignment::
      BufferAssignmentAlgorithmProto::BEST_OF_SPATIAL_TEMPORAL;
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<BufferAssignment> assignment,
      BufferAssigner::Run(
          &module, std::make_unique<SequentialHloOrdering>(module.schedule()),
          [&sizes](const BufferValue& value) {
            return sizes.SizeOf(value.shape());
          },
          &alias_info, [](BufferValue::Color) { return kAllocationAlignment; },
          std::move(as_compiler)));
  int64_t bytes = 0;
  // Temporaries, and then their tables of pointers, the largest last, end up in
  // one allocation.
  int64_t temp_bytes = 0;
  std::vector<int64_t> tables;
  for (const BufferAllocation& allocation : assignment->Allocations()) {
    if (allocation.is_constant() || allocation.is_thread_local()) continue;
    if (allocation.IsPreallocatedTempBuffer() && allocation.is_tuple()) {
      tables.push_back(allocation.size());
    } else if (allocation.IsPreallocatedTempBuffer()) {
      temp_bytes += allocation.size();
    } else {
      bytes += allocation.size();
    }
  }
  absl::c_sort(tables);
  for (const int64_t table : tables) {
    temp_bytes = RoundUpTo(temp_bytes, kAllocationAlignment) + table;
  }
  return bytes + temp_bytes;
}

// Whether an argument's memory holds something until the end: what takes its
// place is computed directly from what was there.
bool IsNeverFree(const HloBuffer& buffer, const HloDataflowAnalysis& dataflow) {
  const absl::flat_hash_set<const HloValue*> values(buffer.values().begin(),
                                                    buffer.values().end());
  return absl::c_all_of(values, [&](const HloValue* value) {
    const HloInstruction* inst = value->defining_instruction();
    if (inst->opcode() == HloOpcode::kParameter) return true;
    return absl::c_any_of(inst->operands(), [&](const HloInstruction* operand) {
      return operand->shape().IsArray() &&
             absl::c_any_of(
                 dataflow.GetValueSet(operand).values(),
                 [&](const HloValue* read) { return values.contains(read); });
    });
  });
}

// Instructions looked at on the way back from a result.
constexpr size_t kMaxOnTheWay = 64;

// Finds arrays, each computed from the one before, that lead from an argument
// to the result that takes its memory and are at least as large. The last run
// of each of them reads a run of the one before, and so back to the argument:
// at any time one of them is there, or the argument, or the result. Their
// buffers are their own, so that nothing counts them elsewhere.
class WayFinder {
 public:
  WayFinder(const HloAliasAnalysis& alias_analysis,
            const RematSizeOptions& sizes)
      : alias_analysis_(alias_analysis), sizes_(sizes) {}

  // None of them is part of a way found before. Empty: there is none.
  std::vector<const HloInstruction*> Find(const HloBuffer& buffer) {
    if (buffer.values().size() != 2) return {};
    const HloValue* argument = buffer.values()[0];
    const HloValue* result = buffer.values()[1];
    if (result->instruction()->opcode() == HloOpcode::kParameter) {
      std::swap(argument, result);
    }
    const HloInstruction* last = result->instruction();
    if (last->parent() != argument->instruction()->parent()) return {};
    const int64_t bytes = sizes_.SizeOf(argument->shape());
    // Breadth first; by instruction: its reader on the way.
    absl::flat_hash_map<const HloInstruction*, const HloInstruction*> next;
    std::vector<const HloInstruction*> queue = {last};
    for (size_t i = 0; i < queue.size() && i < kMaxOnTheWay; ++i) {
      for (const HloInstruction* operand : queue[i]->operands()) {
        if (!operand->shape().IsArray()) continue;
        const HloValueSet& values =
            alias_analysis_.dataflow_analysis().GetValueSet(operand);
        if (values.values().size() != 1) continue;
        const HloValue* value = values.values().front();
        if (value == argument) return Claim(queue[i], last, next);
        const HloInstruction* inst = value->instruction();
        if (inst->parent() == last->parent() && CanHold(*value, bytes) &&
            !claimed_.contains(inst) && inst != last &&
            next.emplace(inst, queue[i]).second) {
          queue.push_back(inst);
        }
      }
    }
    return {};
  }

 private:
  bool CanHold(const HloValue& value, int64_t bytes) const {
    const HloInstruction& inst = *value.instruction();
    if (!inst.shape().IsArray() ||
        HloPredicateIsOp<HloOpcode::kConstant, HloOpcode::kParameter>(&inst) ||
        sizes_.SizeOf(inst.shape()) < bytes) {
      return false;
    }
    const HloBuffer& buffer = alias_analysis_.GetBufferContainingValue(value);
    return buffer.values().size() == 1 &&
           !alias_analysis_.BufferLivesOut(buffer);
  }

  std::vector<const HloInstruction*> Claim(
      const HloInstruction* first, const HloInstruction* last,
      const absl::flat_hash_map<const HloInstruction*, const HloInstruction*>&
          next) {
    std::vector<const HloInstruction*> way;
    for (const HloInstruction* at = first; at != last; at = next.at(at)) {
      way.push_back(at);
      claimed_.insert(at);
    }
    return way;
  }

  const HloAliasAnalysis& alias_analysis_;
  const RematSizeOptions& sizes_;
  absl::flat_hash_set<const HloInstruction*> claimed_;
};

constexpr char kFusedByPlan[] = "fused_by_plan";

std::string MarkOf(const HloInstruction& fusion) {
  const HloComputation* body = fusion.fused_instructions_computation();
  return absl::StrCat(body->instruction_count() - body->num_parameters());
}

}  // namespace

bool AbslParseFlag(absl::string_view text, MemoryAccounting* accounting,
                   std::string* error) {
  for (const auto candidate :
       {MemoryAccounting::kAuto, MemoryAccounting::kOurs,
        MemoryAccounting::kUpstream, MemoryAccounting::kAllocated}) {
    if (text == AbslUnparseFlag(candidate)) {
      *accounting = candidate;
      return true;
    }
  }
  *error = absl::StrCat("'", text,
                        "' is not one of auto, ours, upstream and allocated");
  return false;
}

std::string AbslUnparseFlag(MemoryAccounting accounting) {
  switch (accounting) {
    case MemoryAccounting::kAuto:
      return "auto";
    case MemoryAccounting::kOurs:
      return "ours";
    case MemoryAccounting::kUpstream:
      return "upstream";
    case MemoryAccounting::kAllocated:
      return "allocated";
  }
  return "";
}

void MarkFusedByPlan(HloModule* module) {
  for (HloInstruction* inst : module->entry_computation()->instructions()) {
    if (inst->opcode() == HloOpcode::kFusion) {
      inst->set_frontend_attribute(kFusedByPlan, MarkOf(*inst));
    }
  }
}

bool IsFusedByCompiler(const HloModule& module) {
  return absl::c_any_of(module.entry_computation()->instructions(),
                        [](const HloInstruction* inst) {
                          return inst->opcode() == HloOpcode::kFusion &&
                                 inst->get_frontend_attribute(kFusedByPlan) !=
                                     MarkOf(*inst);
                        });
}

MemoryAccounting AccountingOf(MemoryAccounting accounting,
                              const HloModule& module) {
  if (accounting != MemoryAccounting::kAuto) return accounting;
  return IsFusedByCompiler(module) ? MemoryAccounting::kAllocated
                                   : MemoryAccounting::kOurs;
}

std::unique_ptr<AliasInfo> MakeAliasInfo(MemoryAccounting accounting,
                                         const HloModule& module) {
  switch (AccountingOf(accounting, module)) {
    case MemoryAccounting::kAuto:
    case MemoryAccounting::kOurs:
      return std::make_unique<AliasInfo>();
    case MemoryAccounting::kUpstream:
      return nullptr;
    case MemoryAccounting::kAllocated:
      if (IsCompiledForCpu(module)) return std::make_unique<AliasInfo>();
      return std::make_unique<AllocatingAliasInfo>();
  }
  return nullptr;
}

absl::StatusOr<int64_t> ScheduledPeakBytes(
    const HloModule& module, MemoryAccounting accounting,
    const RematSizeOptions& sizes,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  accounting = AccountingOf(accounting, module);
  if (accounting == MemoryAccounting::kUpstream) {
    TF_ASSIGN_OR_RETURN(
        const RematPeak peak,
        ComputeRematPeak(module, module.schedule(), sizes, execution_threads));
    return peak.bytes;
  }
  if (accounting == MemoryAccounting::kAllocated) {
    return AllocatedBytes(module, sizes);
  }
  AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(&module, &alias_info));
  return PeakOfSchedule(module.schedule(), *alias_analysis, &alias_info,
                        [&sizes](const BufferValue& value) {
                          return sizes.SizeOf(value.shape());
                        });
}

absl::StatusOr<MemoryAlwaysThere> BytesAlwaysThere(
    const HloModule& module, MemoryAccounting accounting,
    const RematSizeOptions& sizes) {
  MemoryAlwaysThere there;
  if (accounting == MemoryAccounting::kUpstream) {
    there.total_bytes = there.throughout_bytes =
        RematOutputBytes(module, sizes);
    return there;
  }
  AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> alias_analysis,
                      HloAliasAnalysis::Run(&module, &alias_info));
  const HloDataflowAnalysis& dataflow = alias_analysis->dataflow_analysis();
  WayFinder ways(*alias_analysis, sizes);
  for (const HloBuffer& buffer : alias_analysis->buffers()) {
    int64_t bytes = 0;
    bool argument = false, constant = false;
    for (const HloValue* value : buffer.values()) {
      const HloInstruction* inst = value->defining_instruction();
      bytes = std::max(bytes, sizes.SizeOf(value->shape()));
      constant |= inst->opcode() == HloOpcode::kConstant;
      argument |= inst->opcode() == HloOpcode::kParameter &&
                  inst->parent() == module.entry_computation();
    }
    const bool result = alias_analysis->BufferLivesOut(buffer);
    // Constants take no memory.
    if (constant || (!argument && !result)) continue;
    there.total_bytes += bytes;
    if (argument) there.argument_bytes += bytes;
    if (!argument) continue;
    if (!result || IsNeverFree(buffer, dataflow)) {
      there.throughout_bytes += bytes;
      continue;
    }
    const std::vector<const HloInstruction*> way = ways.Find(buffer);
    if (way.empty()) continue;
    there.throughout_bytes += bytes;
    absl::c_copy(way, std::back_inserter(there.in_between));
  }
  return there;
}

}  // namespace xla

#include "xla/hlo/memory/limit/memory_accounting.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/status_macros.h"

namespace xla {

bool AbslParseFlag(absl::string_view text, MemoryAccounting* accounting,
                   std::string* error) {
  for (const auto candidate :
       {MemoryAccounting::kOurs, MemoryAccounting::kUpstream}) {
    if (text == AbslUnparseFlag(candidate)) {
      *accounting = candidate;
      return true;
    }
  }
  *error = absl::StrCat("'", text, "' is neither ours nor upstream");
  return false;
}

std::string AbslUnparseFlag(MemoryAccounting accounting) {
  switch (accounting) {
    case MemoryAccounting::kOurs:
      return "ours";
    case MemoryAccounting::kUpstream:
      return "upstream";
  }
  return "";
}

absl::StatusOr<int64_t> ScheduledPeakBytes(
    const HloModule& module, MemoryAccounting accounting,
    const RematSizeOptions& sizes,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (accounting == MemoryAccounting::kUpstream) {
    TF_ASSIGN_OR_RETURN(
        const RematPeak peak,
        ComputeRematPeak(module, module.schedule(), sizes, execution_threads));
    return peak.bytes;
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
    if (argument && !result) there.throughout_bytes += bytes;
  }
  return there;
}

}  // namespace xla

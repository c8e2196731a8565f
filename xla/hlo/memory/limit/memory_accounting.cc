#include "xla/hlo/memory/limit/memory_accounting.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
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

}  // namespace xla

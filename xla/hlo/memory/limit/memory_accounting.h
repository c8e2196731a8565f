#ifndef XLA_HLO_MEMORY_LIMIT_MEMORY_ACCOUNTING_H_
#define XLA_HLO_MEMORY_LIMIT_MEMORY_ACCOUNTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"

namespace xla {

// How the bytes compared with a limit are counted. `auto` is the default
// everywhere.
enum class MemoryAccounting {
  // What the module itself calls for: see AccountingOf().
  kAuto,
  // As schedulers and the memory report do (schedule_memory.h): arguments live
  // until their last reader, results may reuse operands.
  kOurs,
  // As OpenXLA's rematerialization does (remat_accounting.h): arguments are not
  // counted, the module's result is live at all times.
  kUpstream,
  // As OpenXLA's GPU compiler then allocates for the module as it stands:
  // temporaries packed by best fit, arguments and results all the time, what
  // these two share once, outputs in the memory of operands where its kernels
  // write in place (gpu_alias_info.h). XLA:CPU's modules (IsCompiledForCpu())
  // follow the rules of AliasInfo alone, as that compiler does.
  kAllocated,
};

// auto, ours, upstream, allocated.
bool AbslParseFlag(absl::string_view text, MemoryAccounting* accounting,
                   std::string* error);
std::string AbslUnparseFlag(MemoryAccounting accounting);

// Marks all fusions of the entry as those of a memory plan, which has put them
// into a module without others: frontend attribute fused_by_plan="3" of one
// with three instructions that are no parameters. Whatever fuses more into it
// makes the mark void; passes and other compilers need not know of it.
void MarkFusedByPlan(HloModule* module);

// Whether a compiler has fused the module: its entry has a fusion without a
// mark that holds.
bool IsFusedByCompiler(const HloModule& module);

// Whether the module is XLA:CPU's: by the device type of its config (read from
// the name of a dump, or set by --as), else by backend configs that divide
// loops among threads or choose the library of a fusion as no other backend
// does (outer_dimension_partitions, ynn, xnn).
bool IsCompiledForCpu(const HloModule& module);

// The accounting that `auto` stands for: kAllocated for modules that a compiler
// has fused, which backends take as they are, else kOurs. A plan for a module
// does not change it, so that all who count agree before and after. Others
// stand for themselves.
MemoryAccounting AccountingOf(MemoryAccounting accounting,
                              const HloModule& module);

// Which results take the memory of operands without later readers, as
// ScheduledPeakBytes counts; null for upstream's, which knows of none.
std::unique_ptr<AliasInfo> MakeAliasInfo(MemoryAccounting accounting,
                                         const HloModule& module);

// The peak of a scheduled module, in bytes. `execution_threads` matter to
// upstream's accounting only. InvalidArgument where the schedule is not one of
// the module; errors of alias analysis, and for kAllocated of BufferAssigner.
absl::StatusOr<int64_t> ScheduledPeakBytes(
    const HloModule& module, MemoryAccounting accounting,
    const RematSizeOptions& sizes = {},
    const absl::flat_hash_set<absl::string_view>& execution_threads = {});

// The bytes that no schedule and no rewrite inside the module can save.
//
//   p = param; q = param; a = f(p, q); ROOT t = (a, q)
//   → ours: arguments p + q, total p + q + a + table, throughout p
struct MemoryAlwaysThere {
  int64_t argument_bytes = 0;
  // Arguments and results together; those that share memory count once.
  int64_t total_bytes = 0;
  // The part of it that is live at all times: arguments, except those whose
  // memory results reuse without an array of their size being needed in
  // between.
  int64_t throughout_bytes = 0;
  // The arrays needed in between, where a result is not computed directly from
  // the argument whose memory it reuses: one of these is live at some time in
  // any order, even with recomputation, in addition to the argument.
  //
  //   m = param; a = multiply(m, s); ROOT r = add(a, b), in m's memory → a
  std::vector<const HloInstruction*> in_between;
};

// In the upstream accounting, arguments are not counted, and results are live
// at all times. Linear in positions; errors of alias analysis.
absl::StatusOr<MemoryAlwaysThere> BytesAlwaysThere(
    const HloModule& module, MemoryAccounting accounting,
    const RematSizeOptions& sizes = {});

}  // namespace xla

#endif  // XLA_HLO_MEMORY_LIMIT_MEMORY_ACCOUNTING_H_

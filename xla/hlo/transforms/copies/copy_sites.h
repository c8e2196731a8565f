#ifndef XLA_HLO_TRANSFORMS_COPIES_COPY_SITES_H_
#define XLA_HLO_TRANSFORMS_COPIES_COPY_SITES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_operand_index.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

// A place where a copy of an array can make two values independent that the
// alias rules put into one buffer. With a copy at every site no two values of a
// buffer interfere; most are not needed.
//
//   kOperand    w = while(t), u = dynamic-update-slice(x, ...): the part of the
//               operand that is updated in place, copied right before; what
//               it holds in the state of an operation that runs is copied
//               before that starts: s = send(x, k), w = while(s)
//   kResult     what a body, a branch or the entry returns where something else
//               is to be, copied at the end of the computation
//   kParameter  state of a body, an aliased entry parameter: copied at the
//               start of the computation, for all its readers; the result of
//               an operation that runs when the body starts, right after its
//               done: s = parameter(0), d = recv-done(s)
//   kExisting   a copy that the module has already
struct CopySite {
  enum class Kind { kParameter, kOperand, kResult, kExisting };

  Kind kind;
  // The parameter or done, the reader, the copy; null for kResult.
  HloInstruction* instruction;
  HloComputation* computation;
  int64_t operand_number = 0;
  // Index of an array in the operand, the result, the parameter or the done.
  ShapeIndex index;
  // Whether `instruction` starts an operation whose state hands the copy on,
  // and the loop that takes the state; null if the computation returns it.
  bool is_in_state = false;
  const HloInstruction* taker = nullptr;
  // Nodes (see CopySites): what is copied, and the copy.
  int32_t source = -1;
  int32_t copy = -1;
  // The copy of the source that is made before the start of the asynchronous
  // operation that the site is in, and read instead; -1: none.
  int32_t start_copy = -1;
  // When the copy reads and writes; set by ExecutionLine.
  int64_t read = -1;
  int64_t write = -1;
};

// The sites of a module, and what shares memory in any case.
//
// Nodes are what lives in memory: those below `num_values` are the values of
// the dataflow analysis by id, then comes one for each site. That of a kOperand
// or kResult site is the copy; that of a kParameter site is what arrives at the
// computation, while the value itself is what its readers read.
struct CopySites {
  int32_t num_values = 0;
  std::vector<CopySite> sites;
  // Pairs of nodes that share a buffer in any case.
  std::vector<std::pair<int32_t, int32_t>> united;

  // Sites by where they are, each list in the order of execution.
  absl::flat_hash_map<const HloInstruction*, std::vector<int32_t>> before;
  absl::flat_hash_map<const HloInstruction*, std::vector<int32_t>> after;
  absl::flat_hash_map<const HloComputation*, std::vector<int32_t>> at_start;
  absl::flat_hash_map<const HloComputation*, std::vector<int32_t>> at_end;
  // The kParameter sites by value, the others by use and by position.
  absl::flat_hash_map<const HloValue*, int32_t> of_parameter;
  absl::flat_hash_map<HloUse, int32_t> of_use;
  absl::flat_hash_map<HloPosition, int32_t> of_root;

  int32_t num_nodes() const {
    return num_values + static_cast<int32_t>(sites.size());
  }
  int32_t NodeOf(int32_t site) const { return num_values + site; }
};

// Whether `value` has come to the computation of `link`, an update or a done,
// in the state that this takes: as part of a parameter, or of what a loop or a
// conditional returns.
bool ArrivesInState(const HloDataflowAnalysis& dataflow, const HloValue& value,
                    const HloInstruction& link);

// Whether an update reads a context, which is the chain's own and which it may
// overwrite by the next one.
bool ReadsContext(const HloUse& use);

// Where a copy of what is updated in place at `use`, in an operation that runs
// asynchronously, is made: before its start. The use itself if that is in none,
// or in one that reads its operand elsewhere, too, or computes it; null if
// there is no place.
std::optional<HloUse> UseToCopyFor(HloUse use);

// Finds the sites of the computations of `execution_threads` (empty: all) that
// the entry reaches through control flow. Without `with_new`, only kExisting
// ones; what the others would separate is united. `dataflow` is in SSA form,
// the call graph flat. Linear in leaves of whiles, conditionals, aliases and
// updates in place.
CopySites FindCopySites(
    const HloDataflowAnalysis& dataflow, const AliasInfo& alias_info,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    bool with_new);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_COPY_SITES_H_

#ifndef XLA_HLO_PIPELINE_DIFF_MODULE_DIFF_H_
#define XLA_HLO_PIPELINE_DIFF_MODULE_DIFF_H_

#include <string>

#include "absl/status/statusor.h"
#include "xla/hlo/memory/report/memory_report_builder.h"
#include "xla/hlo/pipeline/diff/module_matching.h"
#include "xla/hlo/pipeline/page/memory_page.pb.h"
#include "xla/hlo/pipeline/page/module_diff.pb.h"
#include "xla/hlo/pipeline/prepared_module.h"

namespace xla {

// A module with what is known of its memory and its kernels.
struct DiffSide {
  std::string file;
  PreparedModule prepared;
  BuiltMemoryReport memory;
  MemoryPage page;
};

// Compares two modules: `as_given` matches them before anything ran, which is
// what equality and the lists of instructions are of; memory, kernels and
// collectives are those of the prepared ones. O(instructions log) and
// deterministic.
ModuleDiff BuildModuleDiff(const ModuleMatching& as_given,
                           const std::vector<std::string>& header,
                           const DiffSide& before, const DiffSide& after);

// Fields of module headers that differ, as "name: before -> after".
std::vector<std::string> HeaderDifferences(const HloModule& before,
                                           const HloModule& after);

// Text answers first, at most `max_rows` rows a table:
//
//   a.hlo -> b.hlo: different
//     peak    1.80 MiB ->  1.40 MiB    -0.40 MiB  -22.3 %
//     ...
//   why the peak changed
//     -256.0 KiB  temporary  8 x -> 4 x  layers/*/mlp  lives shorter
std::string ModuleDiffToText(const ModuleDiff& diff, int max_rows);
absl::StatusOr<std::string> ModuleDiffToJson(const ModuleDiff& diff);

// The page of `after` (memory_page.h) with what `before` was over it, and with
// `diff` but for what is behind the first 2,000 rows of a list, and for all but
// the first difference of a long line of the header.
MemoryPage ModuleDiffPage(const ModuleDiff& diff, const DiffSide& before,
                          const DiffSide& after);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_DIFF_MODULE_DIFF_H_

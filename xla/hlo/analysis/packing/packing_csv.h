#ifndef XLA_HLO_ANALYSIS_PACKING_PACKING_CSV_H_
#define XLA_HLO_ANALYSIS_PACKING_PACKING_CSV_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla::packing {

// Reads buffers in the format of the public benchmarks, one a line, live in
// [lower, upper), size in bytes:
//
//   id,lower,upper,size
//   b1,0,3,4
//
// The header names the columns, in any order; `alignment` and `group` (buffers
// of one group >= 0 get one offset) are optional. Other columns are errors.
// Empty lines are skipped. InvalidArgument with file:line:col, the line and a
// caret.
absl::StatusOr<PackingProblem> ParsePackingCsv(absl::string_view text,
                                               absl::string_view file_name);

// The format that ParsePackingCsv reads. Ids are made unique by appending
// positions.
std::string PackingProblemToCsv(const PackingProblem& problem);

// Columns id, lower, upper, size and `offset`, in bytes, in the order of the
// problem.
std::string PackingToCsv(const PackingProblem& problem,
                         const PackingSolution& solution);

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_PACKING_CSV_H_

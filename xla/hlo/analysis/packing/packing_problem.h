#ifndef XLA_HLO_ANALYSIS_PACKING_PACKING_PROBLEM_H_
#define XLA_HLO_ANALYSIS_PACKING_PACKING_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace xla::packing {

// One block of memory that is live over [lower, upper) of some time line.
struct PackingBuffer {
  std::string id;         // for messages and CSV files; may be empty
  int64_t lower = 0;      // first time at which it is live
  int64_t upper = 0;      // first time at which it no longer is
  int64_t size = 0;       // bytes
  int64_t alignment = 1;  // divides the offset, in bytes
  std::optional<int64_t> fixed_offset;  // bytes; else the planner chooses
  // Buffers of one group (>= 0) get the same offset. They do not overlap in
  // time. Negative: a group of its own.
  int64_t colocation = -1;
};

// Offsets to find: buffers that are live at the same time must not overlap in
// memory. This is dynamic storage allocation, which is strongly NP-hard.
//
//   a: [0, 2) 4 bytes, b: [1, 3) 4 bytes, c: [2, 3) 4 bytes
//   → a: 0, b: 4, c: 0; height 8
struct PackingProblem {
  std::vector<PackingBuffer> buffers;
};

// offsets[i] is that of buffers[i], in bytes.
struct PackingSolution {
  std::vector<int64_t> offsets;
  int64_t height = 0;  // the largest offset + size
};

// InvalidArgument, naming the buffer, for an interval that is empty or runs
// backwards, a negative size or offset, an alignment that is not positive,
// sizes whose sum exceeds 2^62, or members of a colocation group that overlap
// in time or have different fixed offsets.
absl::Status ValidatePackingProblem(const PackingProblem& problem);

// The most bytes that are live at one time: no packing is lower. O(n log n).
int64_t MaxLoad(const PackingProblem& problem);

// The largest offset + size.
int64_t HeightOf(const PackingProblem& problem,
                 const std::vector<int64_t>& offsets);

// The name of a buffer in messages: its id, or its position.
std::string BufferName(const PackingProblem& problem, int64_t index);

}  // namespace xla::packing

#endif  // XLA_HLO_ANALYSIS_PACKING_PACKING_PROBLEM_H_

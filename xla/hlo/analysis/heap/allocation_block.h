#ifndef XLA_HLO_ANALYSIS_HEAP_ALLOCATION_BLOCK_H_
#define XLA_HLO_ANALYSIS_HEAP_ALLOCATION_BLOCK_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace xla {

// A block of memory with a lifetime and nothing of HLO about it: what heap
// algorithms place that are not run on a module.
struct AllocationBlock {
  int64_t inclusive_start_time = 0;
  int64_t end_time = 0;
  int64_t size = 0;             // bytes
  int64_t offset = -1;          // bytes; where it is now
  int64_t initial_offset = -1;  // bytes; where it was, if anywhere
  int64_t id = 0;
  // The next of a ring of blocks that must have one offset; null: alone.
  AllocationBlock* next_colocated = nullptr;

  std::string ToString() const {
    return absl::StrCat("block ", id, ": time [", inclusive_start_time, ", ",
                        end_time, "], ", size, " bytes at ", offset);
  }

  // By id.
  bool operator<(const AllocationBlock& other) const { return id < other.id; }
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_ALLOCATION_BLOCK_H_

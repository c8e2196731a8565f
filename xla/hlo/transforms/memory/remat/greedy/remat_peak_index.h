#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_PEAK_INDEX_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_PEAK_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_computation.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_memory_tracker.h"

namespace xla {

// Where a computation needs the most memory, while it is rewritten.
//
//   bytes at an item = Σ of the items before (opened - closed)
//                      + opened + inside
//
// opened: what it defines; closed: what dies after it; inside: the computations
// that run in it. A buffer is opened by its definer and closed by its last
// reader, so that a rewrite changes few items. Items are kept in chunks of
// about √n, each with its sum and its highest prefix; what a rewrite has
// touched is recounted at the next query.
//
// Building takes O(n), a query O(√n) for each buffer and item touched since the
// last one, and O(√n).
class RematPeakIndex {
 public:
  // `inside` returns the bytes of the computations that an item runs; it is
  // called only for items that run any. The computation must outlive the index.
  RematPeakIndex(RematComputation* state,
                 absl::FunctionRef<int64_t(const HloInstruction&)> inside);
  ~RematPeakIndex();
  RematPeakIndex(const RematPeakIndex&) = delete;
  RematPeakIndex& operator=(const RematPeakIndex&) = delete;

  // The bytes inside of items have changed.
  void UpdateInside(absl::FunctionRef<int64_t(const HloInstruction&)> inside);

  // The first item with the highest need, and its bytes; kNoRematItem and 0 if
  // no item needs any.
  RematItemId Highest(int64_t* bytes);

 private:
  // In use from `from` to `to`.
  struct Life {
    RematItemId from = kNoRematItem;
    RematItemId to = kNoRematItem;
  };
  struct Needs {
    int64_t opened = 0;
    int64_t closed = 0;
    int64_t inside = 0;
    int32_t chunk = -1;
  };
  struct Chunk {
    std::vector<RematItemId> items;
    bool counted = false;
    int64_t sum = 0;      // of opened - closed
    int64_t highest = 0;  // bytes at an item, from the begin of the chunk
  };

  void TakeRewrites();
  void UpdateLife(RematBufferId buffer);
  void Touch(RematItemId item);
  void Insert(RematItemId item);
  void InsertAfter(RematItemId item, RematItemId before);
  void Remove(RematItemId item);
  void Split(int32_t chunk);
  void Count(Chunk& chunk);

  RematComputation& state_;
  size_t chunk_size_;
  RematMemoryTracker::Rewrites rewrites_;
  std::vector<Life> lives_;   // per buffer
  std::vector<Needs> needs_;  // per item
  std::vector<Chunk> chunks_;
  std::vector<int32_t> order_;  // of the chunks
  std::vector<RematItemId> callers_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_PEAK_INDEX_H_

#include "xla/hlo/analysis/buffers/buffer_reuse.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/hlo_buffer.h"

namespace xla {
namespace {

constexpr int64_t kMaxReuseTries = 256;
constexpr int64_t kMaxFastReuseTries = 16;

// Best fit among the existing allocations: the smallest one that is large
// enough and whose values do not conflict. Ties go to the youngest allocation
// (indices are negated). Allocations that hold results are tried first, for
// buffers of exactly their size. The number of attempts is limited, which keeps
// the assignment of n buffers at O(n log n) plus n times a constant number of
// conflict tests.
class BufferReuse
    : public BufferAllocationsManagerForComputationsWithoutOrdering {
 public:
  BufferReuse(BufferAssignment* assignment, TryAllocation try_allocation,
              bool fast)
      : assignment_(*assignment),
        try_allocation_(std::move(try_allocation)),
        max_tries_(fast ? kMaxFastReuseTries : kMaxReuseTries) {}

  void RegisterAliasedEntryParameterAllocation(
      BufferAllocation::Index index) override {
    Register(index);
  }

  void RegisterNewAllocation(const HloBuffer* hlo_buffer,
                             BufferAllocation::Index index) override {
    Register(index);
  }

  absl::StatusOr<bool> TryAssignToExistingAllocation(
      const HloBuffer* hlo_buffer, int64_t required_size) override {
    int64_t tries_left = max_tries_;
    const auto first =
        std::make_pair(required_size, std::numeric_limits<int64_t>::min());
    for (auto it = live_out_.lower_bound(first);
         it != live_out_.end() && it->first == required_size && tries_left > 0;
         ++it, --tries_left) {
      absl::StatusOr<bool> assigned = Try(-it->second, *hlo_buffer);
      if (!assigned.ok() || *assigned) return assigned;
    }
    auto it = by_size_.lower_bound(first);
    while (it != by_size_.end() && tries_left > 0) {
      // Buffers that were put there later may live out.
      if (assignment_.GetAllocation(-it->second).maybe_live_out()) {
        live_out_.insert(*it);
        it = by_size_.erase(it);
        continue;
      }
      absl::StatusOr<bool> assigned = Try(-it->second, *hlo_buffer);
      if (!assigned.ok() || *assigned) return assigned;
      ++it;
      --tries_left;
    }
    return false;
  }

 private:
  using BySize = std::set<std::pair<int64_t, int64_t>>;  // size, index negated

  void Register(BufferAllocation::Index index) {
    const BufferAllocation& allocation = assignment_.GetAllocation(index);
    if (!allocation.is_reusable()) return;
    (allocation.maybe_live_out() ? live_out_ : by_size_)
        .insert({allocation.size(), -index});
  }

  absl::StatusOr<bool> Try(BufferAllocation::Index index,
                           const HloBuffer& buffer) {
    return try_allocation_(assignment_.GetMutableAllocation(index), buffer);
  }

  BufferAssignment& assignment_;
  TryAllocation try_allocation_;
  const int64_t max_tries_;
  BySize by_size_;
  // Those that hold results take only buffers of their own size.
  BySize live_out_;
};

}  // namespace

std::unique_ptr<BufferAllocationsManagerForComputationsWithoutOrdering>
CreateBufferReuse(BufferAssignment* assignment, TryAllocation try_allocation,
                  bool fast) {
  return std::make_unique<BufferReuse>(assignment, std::move(try_allocation),
                                       fast);
}

}  // namespace xla

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

constexpr int64_t kMaxFastTries = 16;

class BufferReuse
    : public BufferAllocationsManagerForComputationsWithoutOrdering {
 public:
  BufferReuse(BufferAssignment* assignment, TryAllocation try_allocation,
              bool fast)
      : assignment_(*assignment),
        try_allocation_(std::move(try_allocation)),
        fast_(fast),
        max_tries_(fast ? kMaxFastTries : std::numeric_limits<int64_t>::max()) {
  }

  void RegisterAliasedEntryParameterAllocation(
      BufferAllocation::Index index) override {
    by_size_.insert({assignment_.GetAllocation(index).size(), -index});
  }

  void RegisterNewAllocation(const HloBuffer* hlo_buffer,
                             BufferAllocation::Index index) override {
    by_size_.insert({assignment_.GetAllocation(index).size(), -index});
  }

  absl::StatusOr<bool> TryAssignToExistingAllocation(
      const HloBuffer* hlo_buffer, int64_t required_size) override {
    int64_t tries_left = max_tries_;
    auto it = by_size_.lower_bound(
        {required_size, std::numeric_limits<int64_t>::min()});
    while (it != by_size_.end() && tries_left > 0) {
      BufferAllocation* allocation =
          assignment_.GetMutableAllocation(-it->second);
      if (fast_ &&
          allocation->assigned_buffers().size() > kMaxValuesOfFastReuse) {
        it = by_size_.erase(it);
        continue;
      }
      absl::StatusOr<bool> assigned = try_allocation_(allocation, *hlo_buffer);
      if (!assigned.ok() || *assigned) return assigned;
      ++it;
      --tries_left;
    }
    return false;
  }

 private:
  BufferAssignment& assignment_;
  TryAllocation try_allocation_;
  const bool fast_;
  const int64_t max_tries_;
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, index negated
};

}  // namespace

std::unique_ptr<BufferAllocationsManagerForComputationsWithoutOrdering>
CreateBufferReuse(BufferAssignment* assignment, TryAllocation try_allocation,
                  bool fast) {
  return std::make_unique<BufferReuse>(assignment, std::move(try_allocation),
                                       fast);
}

}  // namespace xla

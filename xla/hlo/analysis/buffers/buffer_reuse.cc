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
              int64_t max_tries)
      : assignment_(*assignment),
        try_allocation_(std::move(try_allocation)),
        max_tries_(max_tries) {}

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
    for (auto it = by_size_.lower_bound(
             {required_size, std::numeric_limits<int64_t>::min()});
         it != by_size_.end() && tries_left > 0; ++it, --tries_left) {
      absl::StatusOr<bool> assigned = try_allocation_(
          assignment_.GetMutableAllocation(-it->second), *hlo_buffer);
      if (!assigned.ok() || *assigned) return assigned;
    }
    return false;
  }

 private:
  BufferAssignment& assignment_;
  TryAllocation try_allocation_;
  const int64_t max_tries_;
  std::set<std::pair<int64_t, int64_t>> by_size_;  // size, index negated
};

}  // namespace

std::unique_ptr<BufferAllocationsManagerForComputationsWithoutOrdering>
CreateBufferReuse(BufferAssignment* assignment, TryAllocation try_allocation,
                  bool fast) {
  return std::make_unique<BufferReuse>(
      assignment, std::move(try_allocation),
      fast ? kMaxFastTries : std::numeric_limits<int64_t>::max());
}

}  // namespace xla

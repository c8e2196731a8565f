#include "xla/hlo/analysis/heap/allocation_repacker.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/allocation_block.h"
#include "xla/hlo/analysis/heap/buffer_interval_tree.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"
#include "xla/hlo/analysis/heap/sliced_allocation_finder.h"
#include "xla/hlo/analysis/packing/offset_planner.h"
#include "xla/hlo/analysis/packing/packing_problem.h"

namespace xla {
namespace {

// Blocks with one offset.
struct Group {
  std::vector<AllocationBlock*> blocks;
  AllocationBlock* sliced = nullptr;
  int64_t size = 0;      // bytes, of the largest
  int64_t duration = 0;  // from the first start to the last end
  // The result.
  int64_t offset = -1;
  std::optional<SlicedAllocationData> slices;
};

absl::Status Bad(const AllocationBlock& block, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("repacking: ", block.ToString(), " ", what));
}

absl::Status CheckBlock(const AllocationBlock& block) {
  if (block.end_time < block.inclusive_start_time) {
    return Bad(block, "ends before it starts");
  }
  if (block.size < 0) return Bad(block, "has a negative size");
  if (!block.original_slice_data.has_value()) return absl::OkStatus();
  int64_t total = 0;
  for (const AllocatedSlice& slice :
       block.original_slice_data->slices_sorted_by_offset) {
    if (slice.size < 0) return Bad(block, "has a slice of negative size");
    if (slice.inclusive_start_time < block.inclusive_start_time ||
        slice.inclusive_start_time > block.end_time) {
      return Bad(block, "has a slice that starts outside its live range");
    }
    total += slice.size;
  }
  if (total == block.size) return absl::OkStatus();
  return Bad(block, "has slices that do not make up its size");
}

// Collects rings of colocated blocks. Rings come from the caller and are
// checked: closed, complete, and with one sliced member at most.
absl::StatusOr<std::vector<Group>> MakeGroups(
    absl::Span<AllocationBlock* const> blocks) {
  const absl::flat_hash_set<const AllocationBlock*> known(blocks.begin(),
                                                          blocks.end());
  absl::flat_hash_set<const AllocationBlock*> grouped;
  std::vector<Group> groups;
  for (AllocationBlock* first : blocks) {
    absl::Status status = CheckBlock(*first);
    if (!status.ok()) return status;
    if (grouped.contains(first)) continue;
    Group& group = groups.emplace_back();
    int64_t start = first->inclusive_start_time;
    int64_t end = first->end_time;
    AllocationBlock* block = first;
    do {
      if (!known.contains(block)) {
        return Bad(*first, "shares its offset with a block that is not given");
      }
      if (!grouped.insert(block).second) {
        return Bad(*first, "is not part of a closed ring of colocations");
      }
      group.blocks.push_back(block);
      group.size = std::max(group.size, block->size);
      start = std::min(start, block->inclusive_start_time);
      end = std::max(end, block->end_time);
      if (block->original_slice_data.has_value()) {
        if (group.sliced != nullptr) {
          return absl::UnimplementedError(
              absl::StrCat("repacking: ", block->ToString(), " and ",
                           group.sliced->ToString(),
                           " share an offset and both have slices"));
        }
        group.sliced = block;
      }
      block = block->next_colocated;
    } while (block != nullptr && block != first);
    if (block == nullptr && group.blocks.size() > 1) {
      return Bad(*first, "is not part of a closed ring of colocations");
    }
    group.duration = end - start;
  }
  return groups;
}

// Groups without slices are an ordinary packing problem. Members of a group
// that overlap in time are merged into one lifetime, because they have the same
// offset.
absl::StatusOr<bool> PackWithoutSlices(std::vector<Group>& groups,
                                       int64_t max_size, int64_t alignment) {
  packing::PackingProblem problem;
  for (int64_t g = 0; g < groups.size(); ++g) {
    // Members may live at the same time, which is one life to the planner.
    std::vector<std::pair<int64_t, int64_t>> lives;
    for (const AllocationBlock* block : groups[g].blocks) {
      lives.emplace_back(block->inclusive_start_time, block->end_time + 1);
    }
    std::sort(lives.begin(), lives.end());
    packing::PackingBuffer buffer;
    buffer.size = groups[g].size;
    buffer.alignment = alignment;
    buffer.colocation = g;
    for (int64_t i = 0; i < lives.size(); ++i) {
      if (i > 0 && lives[i].first < buffer.upper) {
        buffer.upper = std::max(buffer.upper, lives[i].second);
        problem.buffers.back() = buffer;
        continue;
      }
      std::tie(buffer.lower, buffer.upper) = lives[i];
      problem.buffers.push_back(buffer);
    }
  }
  packing::OffsetPlannerOptions options;
  options.capacity = max_size;
  absl::StatusOr<packing::OffsetPlan> plan =
      packing::PlanOffsets(problem, options);
  if (!plan.ok()) return plan.status();
  for (int64_t b = 0; b < problem.buffers.size(); ++b) {
    groups[problem.buffers[b].colocation].offset = plan->solution.offsets[b];
  }
  return plan->solution.height <= max_size;
}

// Groups with slices are not for the offset planner: which slice starts when is
// part of what is looked for, so that their lives are not known before they
// have a place.
//
// Best fit of groups in the given order, where the slices of a sliced group may
// start at different times. The finder returns one chunk per slice, and
// possibly an empty one on top for colocated blocks that are larger.
class SlicedPacker {
 public:
  SlicedPacker(int64_t max_size, int64_t alignment,
               SliceTimePermutationIterator::Ty permutations)
      : max_size_(max_size),
        alignment_(alignment),
        permutations_(permutations) {}

  // Whether all found a place.
  bool Pack(std::vector<Group*> order) {
    for (Group* group : order) {
      if (!Place(*group)) return false;
    }
    return true;
  }

 private:
  using Finder = SlicedAllocationFinder;

  // What is free depends on when a slice starts, so there is a list of free
  // chunks for each start time, up to the end of the block. The other blocks of
  // the group get the same offset but live at other times: what is taken in any
  // of their lives counts as taken for all slices, as it is not known yet which
  // of the slices comes to lie there.
  bool Place(Group& group) {
    const AllocationBlock* main =
        group.sliced != nullptr ? group.sliced : group.blocks[0];
    std::vector<int64_t> sizes = {main->size};
    std::vector<int64_t> times = {main->inclusive_start_time};
    const SlicedAllocationData* original = nullptr;
    if (group.sliced != nullptr) {
      original = &*group.sliced->original_slice_data;
      sizes = original->SizesSortedByOffset();
      times = original->SortedInclusiveStartTimes();
    }
    std::vector<Finder::FreeChunks> free;
    for (int64_t time : times) {
      std::vector<HeapChunk> taken =
          tree_.ChunksOverlappingInTime(time, main->end_time);
      for (const AllocationBlock* block : group.blocks) {
        if (block == main) continue;
        for (const HeapChunk& chunk : tree_.ChunksOverlappingInTime(
                 block->inclusive_start_time, block->end_time)) {
          taken.push_back(chunk);
        }
      }
      free.push_back(FreeChunksBetween(
          std::move(taken), *std::min_element(sizes.begin(), sizes.end()),
          alignment_, /*room_on_top=*/0, max_size_));
    }
    const std::vector<HeapChunk> chunks =
        Finder(free, sizes, group.size, /*preferred_offset=*/-1, alignment_,
               SliceTimePermutationIterator::CreateForRepack(permutations_,
                                                             original))
            .Find();
    if (chunks.empty()) return false;
    Take(group, main, times, chunks);
    return true;
  }

  void Take(Group& group, const AllocationBlock* main,
            const std::vector<int64_t>& times,
            const std::vector<HeapChunk>& chunks) {
    SlicedAllocationData slices;
    group.offset = chunks.back().offset;
    for (int64_t i = 0; i < times.size(); ++i) {
      tree_.Add(times[i], main->end_time, chunks[i]);
      group.offset = std::min(group.offset, chunks[i].offset);
      slices.slices_sorted_by_offset.push_back(
          {chunks[i].size, chunks[i].offset, times[i]});
    }
    std::sort(slices.slices_sorted_by_offset.begin(),
              slices.slices_sorted_by_offset.end(),
              [](const AllocatedSlice& a, const AllocatedSlice& b) {
                return a.offset < b.offset;
              });
    if (group.sliced != nullptr) group.slices = std::move(slices);
    for (const AllocationBlock* block : group.blocks) {
      if (block == main) continue;
      tree_.Add(block->inclusive_start_time, block->end_time,
                HeapChunk::FromOffsetSize(group.offset, block->size));
    }
  }

  const int64_t max_size_;
  const int64_t alignment_;
  const SliceTimePermutationIterator::Ty permutations_;
  BufferIntervalTree tree_;
};

}  // namespace

absl::StatusOr<bool> RepackAllocationBlocks(
    absl::Span<AllocationBlock* const> blocks, int64_t max_size,
    int64_t alignment, SliceTimePermutationIterator::Ty permutations) {
  if (alignment <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("repacking: alignment ", alignment, " is not positive"));
  }
  absl::StatusOr<std::vector<Group>> groups = MakeGroups(blocks);
  if (!groups.ok()) return groups.status();
  bool fits = false;
  const bool any_sliced =
      std::any_of(groups->begin(), groups->end(),
                  [](const Group& group) { return group.sliced != nullptr; });
  if (!any_sliced) {
    absl::StatusOr<bool> packed =
        PackWithoutSlices(*groups, max_size, alignment);
    if (!packed.ok()) return packed.status();
    fits = *packed;
  }
  for (bool by_size : {true, false}) {
    if (fits || !any_sliced) break;
    std::vector<Group*> order;
    for (Group& group : *groups) order.push_back(&group);
    std::stable_sort(order.begin(), order.end(), [&](Group* a, Group* b) {
      return by_size ? std::tie(a->size, a->duration) >
                           std::tie(b->size, b->duration)
                     : std::tie(a->duration, a->size) >
                           std::tie(b->duration, b->size);
    });
    fits = SlicedPacker(max_size, alignment, permutations).Pack(order);
  }
  if (!fits) return false;
  for (const Group& group : *groups) {
    for (AllocationBlock* block : group.blocks) block->offset = group.offset;
    if (group.sliced != nullptr)
      group.sliced->repacked_slice_data = group.slices;
  }
  return true;
}

}  // namespace xla

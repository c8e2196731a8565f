#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/allocation_block.h"

// Enumerates the orders in which the slices of a sliced allocation may become
// live, as permutations of slices by offset. Either all distinct permutations
// are visited in lexicographic order, or only a few preferred ones: ascending,
// descending, and from the middle to the ends. Permutations that only swap
// slices of equal start time and size are the same allocation and are skipped.

namespace xla {
namespace {

std::vector<int64_t> Identity(int64_t count) {
  std::vector<int64_t> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int64_t> FromTheMiddle(int64_t count) {
  std::vector<int64_t> ranks(count);
  int64_t right = count / 2;
  int64_t left = right - 1;
  for (int64_t rank = 0; rank < count; ++rank) {
    const bool goes_right = left < 0 || (rank % 2 == 0 && right < count);
    ranks[goes_right ? right++ : left--] = rank;
  }
  return ranks;
}

}  // namespace

std::unique_ptr<SliceTimePermutationIterator>
SliceTimePermutationIterator::CreateForNewAllocation(
    Ty ty, absl::Span<const int64_t> inclusive_slice_start_times) {
  std::vector<int64_t> times(inclusive_slice_start_times.begin(),
                             inclusive_slice_start_times.end());
  std::sort(times.begin(), times.end());
  return absl::WrapUnique(
      new SliceTimePermutationIterator(ty, std::move(times)));
}

std::unique_ptr<SliceTimePermutationIterator>
SliceTimePermutationIterator::CreateForRepack(
    Ty ty, const SlicedAllocationData* original_sliced_allocation) {
  if (original_sliced_allocation == nullptr) {
    return CreateForNewAllocation(ty, {0});
  }
  const std::vector<AllocatedSlice>& slices =
      original_sliced_allocation->slices_sorted_by_offset;
  auto iterator = CreateForNewAllocation(
      ty, original_sliced_allocation->SortedInclusiveStartTimes());
  iterator->sizes_by_offset_ =
      original_sliced_allocation->SizesSortedByOffset();
  std::vector<int64_t> by_time = Identity(slices.size());
  std::stable_sort(by_time.begin(), by_time.end(), [&](int64_t a, int64_t b) {
    return slices[a].inclusive_start_time < slices[b].inclusive_start_time;
  });
  iterator->sizes_by_rank_.emplace();
  iterator->original_.resize(slices.size());
  for (int64_t rank = 0; rank < by_time.size(); ++rank) {
    iterator->sizes_by_rank_->push_back(slices[by_time[rank]].size);
    iterator->original_[by_time[rank]] = rank;
  }
  return iterator;
}

void SliceTimePermutationIterator::Begin() {
  done_ = times_.empty();
  step_ = 0;
  if (done_) return;
  current_ = ty_ == Ty::kAll ? Identity(times_.size()) : Preferred(0);
  while (!done_ && !IsWanted()) Advance();
}

void SliceTimePermutationIterator::Next() {
  do {
    Advance();
  } while (!done_ && !IsWanted());
}

void SliceTimePermutationIterator::Advance() {
  if (ty_ == Ty::kAll) {
    done_ = !std::next_permutation(current_.begin(), current_.end());
    return;
  }
  done_ = ++step_ == NumPreferred();
  if (!done_) current_ = Preferred(step_);
}

int SliceTimePermutationIterator::NumPreferred() const {
  return original_.empty() ? 3 : 4;
}

std::vector<int64_t> SliceTimePermutationIterator::Preferred(int step) const {
  const int last = NumPreferred() - 1;
  if (step == last) return FromTheMiddle(times_.size());
  if (step == last - 3) return original_;
  std::vector<int64_t> ranks = Identity(times_.size());
  if (step == last - 1) std::reverse(ranks.begin(), ranks.end());
  return ranks;
}

bool SliceTimePermutationIterator::IsWanted() const {
  // Slices of equal size are interchangeable: the one of lower rank takes the
  // lower offset. Preferred slices that violate this still yield no new
  // permutation.
  auto size = [&](int64_t rank) {
    return sizes_by_rank_.has_value() ? (*sizes_by_rank_)[rank] : 0;
  };
  auto looks_like = [&](const std::vector<int64_t>& other) {
    for (int64_t i = 0; i < current_.size(); ++i) {
      if (times_[current_[i]] != times_[other[i]] ||
          size(current_[i]) != size(other[i])) {
        return false;
      }
    }
    return true;
  };
  if (sizes_by_rank_.has_value()) {
    // The slices at each offset keep their sizes: a permutation puts the time
    // of one slice on another of the same size.
    for (int64_t i = 0; i < current_.size(); ++i) {
      if (size(current_[i]) != sizes_by_offset_[i]) return false;
    }
  }
  if (ty_ == Ty::kPreferred) {
    for (int earlier = 0; earlier < step_; ++earlier) {
      if (looks_like(Preferred(earlier))) return false;
    }
    return true;
  }
  for (int64_t i = 0; i < current_.size(); ++i) {
    for (int64_t j = i + 1; j < current_.size(); ++j) {
      if (times_[current_[i]] == times_[current_[j]] &&
          size(current_[i]) == size(current_[j]) && current_[i] > current_[j]) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace xla

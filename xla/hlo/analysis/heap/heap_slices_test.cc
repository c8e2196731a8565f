// Blocks that get their memory slice by slice, the tree of taken chunks, and
// repacking.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/heap/allocation_block.h"
#include "xla/hlo/analysis/heap/allocation_repacker.h"
#include "xla/hlo/analysis/heap/best_fit_heap.h"
#include "xla/hlo/analysis/heap/breadth_first_midpoint_iterator.h"
#include "xla/hlo/analysis/heap/buffer_interval_tree.h"
#include "xla/hlo/analysis/heap/slice_time_permutation_iterator.h"
#include "xla/hlo/analysis/heap/sliced_allocation_finder.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Chunk = HeapChunk;
using Ty = SliceTimePermutationIterator::Ty;

Chunk At(int64_t offset, int64_t size) {
  return Chunk::FromOffsetSize(offset, size);
}

TEST(BufferIntervalTreeTest, FindsWhatIsTakenDuringAnInterval) {
  BufferIntervalTree tree;
  EXPECT_EQ(tree.GetRoot(), nullptr);
  tree.Add(0, 9, At(0, 10));
  tree.Add(5, 6, At(10, 4));
  tree.Add(8, 20, At(20, 8));
  EXPECT_THAT(tree.ChunksOverlappingInTime(6, 7),
              ElementsAre(At(0, 10), At(10, 4)));
  EXPECT_THAT(tree.ChunksOverlappingInTime(20, 99), ElementsAre(At(20, 8)));
  EXPECT_EQ(tree.NumChunksOverlappingInTime(21, 99), 0);
  EXPECT_EQ(tree.NumChunksOverlappingInTime(0, 99), 3);
  EXPECT_EQ(tree.HeapSizeInInterval(0, 7), 14);
  EXPECT_THAT(tree.MemoryUsedInInterval(4, 8), ElementsAre(10, 14, 14, 10, 18));
  EXPECT_TRUE(tree.Remove(5, 6, At(10, 4)));
  EXPECT_FALSE(tree.Remove(5, 6, At(10, 4)));
  EXPECT_FALSE(tree.Remove(0, 9, At(0, 11)));
  EXPECT_THAT(tree.ChunksOverlappingInTime(6, 7), ElementsAre(At(0, 10)));
  tree.Clear();
  EXPECT_EQ(tree.NumChunksOverlappingInTime(0, 99), 0);
}

TEST(BufferIntervalTreeTest, AgreesWithALinearSearch) {
  std::mt19937 random(7);
  BufferIntervalTree tree;
  std::vector<std::tuple<int64_t, int64_t, int64_t>> all;  // start, end, offset
  for (int step = 0; step < 2000; ++step) {
    const int64_t start = random() % 100;
    const int64_t end = start + random() % 20;
    if (random() % 3 > 0 || all.empty()) {
      tree.Add(start, end, At(step, 1));
      all.emplace_back(start, end, step);
    } else {
      const int64_t i = random() % all.size();
      const auto [s, e, offset] = all[i];
      ASSERT_TRUE(tree.Remove(s, e, At(offset, 1)));
      all.erase(all.begin() + i);
    }
    std::vector<int64_t> expected;
    for (const auto& [s, e, offset] : all) {
      if (s <= end && start <= e) expected.push_back(offset);
    }
    std::vector<int64_t> found;
    for (const Chunk& chunk : tree.ChunksOverlappingInTime(start, end)) {
      found.push_back(chunk.offset);
    }
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(found, expected) << "step " << step;
  }
}

TEST(BufferIntervalTreeTest, Picture) {
  BufferIntervalTree tree;
  EXPECT_EQ(tree.NodesOverlappingInTimeToAsciiArt(0, 9),
            "nothing is allocated");
  tree.Add(0, 2, At(0, 4));
  tree.Add(1, 3, At(4, 8));
  EXPECT_EQ(tree.NodesOverlappingInTimeToAsciiArt(0, 4),
            "time 0 to 4, 4 bytes a line\n"
            ".###. 8\n"
            ".###. 4\n"
            "###.. 0\n");
  EXPECT_THAT(tree.NodesOverlappingInTimeToAsciiArt(0, 1000),
              HasSubstr("too large"));
}

std::vector<std::vector<int64_t>> All(SliceTimePermutationIterator& iterator) {
  std::vector<std::vector<int64_t>> all;
  for (iterator.Begin(); !iterator.Done(); iterator.Next()) {
    all.emplace_back(iterator.Get().begin(), iterator.Get().end());
  }
  return all;
}

TEST(BreadthFirstMidpointIteratorTest, HalvesOfHalves) {
  auto values = [](int start, int end) {
    std::vector<int> all;
    BreadthFirstMidpointIterator it(start, end);
    for (; !it.End(); it.Next()) all.push_back(it.value());
    std::vector<int> again;
    for (it.Begin(); !it.End(); it.Next()) again.push_back(it.value());
    EXPECT_EQ(again, all);
    return all;
  };
  EXPECT_THAT(values(0, 6), ElementsAre(3, 1, 5, 0, 2, 4, 6));
  EXPECT_THAT(values(1, 5), ElementsAre(3, 2, 5, 1, 4));
  EXPECT_THAT(values(-2, 1), ElementsAre(0, -1, 1, -2));
  EXPECT_THAT(values(5, 5), ElementsAre(5));
  EXPECT_THAT(values(5, 4), IsEmpty());
}

TEST(FreeChunkRootTest, PiecesAreFreeFromTheirOwnTimes) {
  using Root = SlicedAllocationFinder::FreeChunkRoot;
  Root root(At(10, 30), 2);
  EXPECT_EQ(root.ToString(), "[10,40): [10,40) from 2");
  root.Update(At(0, 25), 1);
  root.Update(At(30, 5), 1);
  EXPECT_EQ(root.ToString(),
            "[10,40): [10,25) from 1, [25,30) from 2, [30,35) from 1, "
            "[35,40) from 2");
  // What is not free at time 1 cannot be free from time 0 on.
  root.Update(At(20, 12), 0);
  EXPECT_EQ(root.ToString(),
            "[10,40): [10,20) from 1, [20,25) from 0, [25,30) from 2, "
            "[30,32) from 0, [32,35) from 1, [35,40) from 2");
}

TEST(SliceTimePermutationTest, AllPermutationsThatDiffer) {
  auto iterator =
      SliceTimePermutationIterator::CreateForNewAllocation(Ty::kAll, {1, 2, 3});
  EXPECT_TRUE(iterator->Done());
  EXPECT_THAT(All(*iterator),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 1),
                          ElementsAre(1, 0, 2), ElementsAre(1, 2, 0),
                          ElementsAre(2, 0, 1), ElementsAre(2, 1, 0)));
  // Again from the start; and with two equal times.
  EXPECT_EQ(All(*iterator).size(), 6);
  iterator =
      SliceTimePermutationIterator::CreateForNewAllocation(Ty::kAll, {1, 1, 3});
  EXPECT_THAT(All(*iterator),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 2, 1),
                          ElementsAre(2, 0, 1)));
}

TEST(SliceTimePermutationTest, PreferredOnes) {
  auto iterator = SliceTimePermutationIterator::CreateForNewAllocation(
      Ty::kPreferred, {1, 2, 3, 4, 5});
  EXPECT_THAT(All(*iterator), ElementsAre(ElementsAre(0, 1, 2, 3, 4),
                                          ElementsAre(4, 3, 2, 1, 0),
                                          ElementsAre(3, 1, 0, 2, 4)));
  iterator = SliceTimePermutationIterator::CreateForNewAllocation(
      Ty::kPreferred, {1, 1});
  EXPECT_EQ(All(*iterator).size(), 1);
}

TEST(SliceTimePermutationTest, RepacksKeepSizesAndTimes) {
  EXPECT_THAT(
      All(*SliceTimePermutationIterator::CreateForRepack(Ty::kAll, nullptr)),
      ElementsAre(ElementsAre(0)));
  // Slices of 4, 4 and 8 bytes from times 2, 1 and 3 on.
  const SlicedAllocationData data = {{{4, 0, 2}, {4, 4, 1}, {8, 8, 3}}};
  EXPECT_THAT(data.SizesSortedByOffset(), ElementsAre(4, 4, 8));
  EXPECT_THAT(data.SortedInclusiveStartTimes(), ElementsAre(1, 2, 3));
  EXPECT_THAT(
      All(*SliceTimePermutationIterator::CreateForRepack(Ty::kAll, &data)),
      ElementsAre(ElementsAre(0, 1, 2), ElementsAre(1, 0, 2)));
  EXPECT_THAT(All(*SliceTimePermutationIterator::CreateForRepack(Ty::kPreferred,
                                                                 &data)),
              ElementsAre(ElementsAre(1, 0, 2), ElementsAre(0, 1, 2)));
}

using Free = SlicedAllocationFinder::FreeChunks;

std::vector<Chunk> Find(const std::vector<Free>& free,
                        std::vector<int64_t> sizes, int64_t colocation = -1,
                        int64_t preferred = -1, int64_t alignment = 1) {
  std::vector<int64_t> times;
  for (int64_t i = 0; i < sizes.size(); ++i) times.push_back(i);
  return SlicedAllocationFinder(
             free, std::move(sizes), colocation, preferred, alignment,
             SliceTimePermutationIterator::CreateForNewAllocation(Ty::kAll,
                                                                  times))
      .Find();
}

TEST(SlicedAllocationFinderTest, OneSliceIsBestFit) {
  EXPECT_THAT(Find({{{0, 20}, {30, 42}, {50, 99}}}, {10}),
              ElementsAre(At(30, 10), At(40, 0)));
  EXPECT_THAT(Find({{{0, 20}, {30, 42}, {50, 99}}}, {13}),
              ElementsAre(At(0, 13), At(13, 0)));
  EXPECT_THAT(Find({{{0, 20}, {30, 42}}}, {21}), IsEmpty());
}

TEST(SlicedAllocationFinderTest, LaterSlicesGoWhereMemoryIsFreeLater) {
  // By start time: the later slice lies above, or below, the earlier one.
  EXPECT_THAT(Find({{{10, 20}}, {{10, 30}}}, {10, 10}),
              ElementsAre(At(10, 10), At(20, 10), At(30, 0)));
  EXPECT_THAT(Find({{{10, 20}}, {{0, 20}}}, {10, 10}),
              ElementsAre(At(10, 10), At(0, 10), At(20, 0)));
  // Sizes are by offset: the smaller one is the lower and starts later.
  EXPECT_THAT(Find({{{10, 30}}, {{5, 30}}}, {5, 20}),
              ElementsAre(At(10, 20), At(5, 5), At(30, 0)));
  EXPECT_THAT(Find({{{10, 19}}, {{0, 30}}}, {10, 10}), IsEmpty());
}

TEST(SlicedAllocationFinderTest, ThreeSlices) {
  // Free from time 0: [20, 30); from 1: [10, 30) too; from 2: all.
  EXPECT_THAT(Find({{{20, 30}}, {{10, 30}}, {{0, 40}}}, {10, 10, 10}),
              ElementsAre(At(20, 10), At(10, 10), At(0, 10), At(30, 0)));
}

TEST(SlicedAllocationFinderTest, ColocationsNeedRoomOnTop) {
  EXPECT_THAT(Find({{{0, 20}}, {{0, 25}}}, {10, 10}, /*colocation=*/25),
              ElementsAre(At(0, 10), At(10, 10), At(20, 5)));
  EXPECT_THAT(Find({{{0, 20}}, {{0, 24}}}, {10, 10}, /*colocation=*/25),
              IsEmpty());
}

TEST(SlicedAllocationFinderTest, PreferredOffsetAndAlignment) {
  EXPECT_THAT(Find({{{0, 10}, {30, 99}}}, {10}, -1, /*preferred=*/40),
              ElementsAre(At(40, 10), At(50, 0)));
  EXPECT_THAT(Find({{{0, 10}, {30, 99}}}, {10}, -1, /*preferred=*/95),
              ElementsAre(At(0, 10), At(10, 0)));
  EXPECT_THAT(Find({{{3, 15}, {30, 99}}}, {10}, -1, -1, /*alignment=*/8),
              ElementsAre(At(32, 10), At(42, 0)));
  const SlicedAllocationFinder finder(
      std::vector<Free>{{{0, 10}, {30, 99}}}, {10}, -1, -1, 1,
      SliceTimePermutationIterator::CreateForNewAllocation(Ty::kAll, {0}),
      [](int64_t offset) { return offset >= 20; });
  EXPECT_THAT(finder.Find(), ElementsAre(At(30, 10), At(40, 0)));
  EXPECT_THAT(finder.FindForOffset(89), ElementsAre(At(89, 10), At(99, 0)));
  EXPECT_THAT(finder.FindForOffset(90), IsEmpty());
  EXPECT_THAT(finder.ToString(), HasSubstr("[30,99)"));
  // The next offset of the same gap; and none where it is not allowed.
  const SlicedAllocationFinder next(
      std::vector<Free>{{{45, 99}}}, {10}, -1, -1, 1,
      SliceTimePermutationIterator::CreateForNewAllocation(Ty::kAll, {0}),
      [](int64_t offset) { return offset != 45; });
  EXPECT_THAT(next.Find(), ElementsAre(At(46, 10), At(56, 0)));
  EXPECT_THAT(next.FindForOffset(45), IsEmpty());
}

TEST(SlicedAllocationFinderTest, FreeForThatTimeOnly) {
  // [0, 20) is free at time 0 but taken at time 1.
  EXPECT_THAT(Find({{{0, 20}, {40, 60}}, {{40, 80}}}, {10, 10}),
              ElementsAre(At(40, 10), At(50, 10), At(60, 0)));
}

TEST(SliceTimePermutationIteratorTest, NoSlicesNoPermutation) {
  for (Ty ty : {Ty::kAll, Ty::kPreferred}) {
    auto it = SliceTimePermutationIterator::CreateForNewAllocation(ty, {});
    it->Begin();
    EXPECT_TRUE(it->Done());
  }
}

// Reaches what subclasses use to place blocks one by one.
class StepwiseHeap : public GlobalDecreasingSizeBestFitHeap<AllocationBlock> {
 public:
  using Base = GlobalDecreasingSizeBestFitHeap<AllocationBlock>;
  using Base::Base;
  using Base::CommitChunk;
  using Base::FindChunkCandidate;
  using Base::FindChunkCandidates;
  using Base::interval_tree_;
  using Base::result_;
};

StepwiseHeap::BufferInterval Interval(const AllocationBlock& block,
                                      int64_t size, int64_t start,
                                      int64_t end) {
  StepwiseHeap::BufferInterval interval;
  interval.buffer = &block;
  interval.size = size;
  interval.start = start;
  interval.end = end;
  interval.need_allocation = true;
  return interval;
}

TEST(StepwiseHeapTest, ChunksArePlacedAndCommittedOneByOne) {
  std::vector<AllocationBlock> blocks(4);
  StepwiseHeap heap(/*alignment=*/8);
  HeapResultOf<AllocationBlock> result;
  auto place = [&](const StepwiseHeap::BufferInterval& interval,
                   int64_t preferred = -1) {
    const Chunk chunk = heap.FindChunkCandidate(interval, preferred);
    heap.CommitChunk(interval, chunk, result);
    return chunk;
  };
  EXPECT_EQ(place(Interval(blocks[0], 20, 0, 10)), At(0, 20));
  EXPECT_EQ(place(Interval(blocks[1], 10, 5, 15)), At(24, 10));
  EXPECT_EQ(place(Interval(blocks[2], 10, 11, 20)), At(0, 10));
  EXPECT_EQ(place(Interval(blocks[3], 8, 12, 13), /*preferred=*/64), At(64, 8));
  EXPECT_EQ(result.heap_size, 72);
  EXPECT_EQ(result.chunk_map.size(), 4);
  EXPECT_EQ(heap.interval_tree_.NumChunksOverlappingInTime(12, 13), 3);
}

// Keeps chunks itself, as heaps written for OpenXLA do.
class CountingHeap : public StepwiseHeap {
 public:
  CountingHeap() : StepwiseHeap(/*alignment=*/1) {}

  void AddToChunkMap(const AllocationBlock* buffer, Chunk chunk) override {
    chunks_.emplace_back(buffer, chunk);
  }

  std::vector<std::pair<const AllocationBlock*, Chunk>> chunks_;
};

TEST(StepwiseHeapTest, SubclassesSeeTheChunksThatAreTaken) {
  std::vector<AllocationBlock> blocks(2);
  CountingHeap heap;
  heap.CommitChunk(Interval(blocks[0], 20, 0, 10), At(0, 20));
  const StepwiseHeap::BufferInterval second = Interval(blocks[1], 5, 5, 7);
  EXPECT_EQ(heap.FindChunkCandidate(second), At(20, 5));
  heap.CommitChunk(second, Chunk::FromOffsetSize(0, -1));
  heap.CommitChunk(second, At(20, 5));
  EXPECT_THAT(heap.chunks_, ElementsAre(testing::Pair(&blocks[0], At(0, 20)),
                                        testing::Pair(&blocks[1], At(20, 5))));
  EXPECT_EQ(heap.result_.heap_size, 25);
  EXPECT_TRUE(heap.result_.chunk_map.empty());

  StepwiseHeap keeping(/*alignment=*/1);
  keeping.CommitChunk(second, At(0, 5));
  EXPECT_EQ(keeping.result_.chunk_map.at(&blocks[1]), At(0, 5));
}

TEST(StepwiseHeapTest, SlicesStartWhenTheirMemoryIsFree) {
  std::vector<AllocationBlock> blocks(2);
  StepwiseHeap heap(/*alignment=*/1);
  HeapResultOf<AllocationBlock> result;
  heap.CommitChunk(Interval(blocks[0], 10, 0, 4), At(0, 10), result);
  StepwiseHeap::BufferInterval interval = Interval(blocks[1], 20, 0, 9);
  auto sliced =
      StepwiseHeap::SlicedBufferInterval::CreateMutableInterval(interval);
  sliced.Slice({10, 10});
  EXPECT_EQ(sliced.num_slices(), 2);
  // Both slices from the start: above the first block.
  EXPECT_THAT(heap.FindChunkCandidates(sliced),
              ElementsAre(At(10, 10), At(20, 10)));
  sliced.UpdateExclusiveSliceStartTimes({0, 4});
  EXPECT_THAT(sliced.inclusive_start_times(), ElementsAre(1, 5));
  EXPECT_EQ(interval.start, 1);
  EXPECT_THAT(heap.FindChunkCandidates(sliced),
              ElementsAre(At(10, 10), At(0, 10)));
  sliced.UpdateEndTime(12);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(0).start, 1);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(0).end, 4);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(0).size, 10);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(1).end, 12);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(1).start, 5);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(1).size, 20);
  EXPECT_THAT(sliced.ToString(), HasSubstr("10, 10 bytes"));
}

TEST(StepwiseHeapTest, BlocksThatShareCountForTheLastSlice) {
  std::vector<AllocationBlock> blocks(2);
  StepwiseHeap::BufferInterval interval = Interval(blocks[0], 20, 0, 9);
  interval.colocations = {&blocks[1]};
  auto sliced =
      StepwiseHeap::SlicedBufferInterval::CreateMutableInterval(interval);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(0).colocations.size(), 1);
  sliced.Slice({5, 15});
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(0).size, 5);
  EXPECT_TRUE(sliced.IntervalForMakeFreeChunks(0).colocations.empty());
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(1).size, 20);
  EXPECT_EQ(sliced.IntervalForMakeFreeChunks(1).colocations.size(), 1);
}

// A slice that starts early must not take what is taken again later on.
TEST(StepwiseHeapTest, SlicesStayWhereTheyStart) {
  std::vector<AllocationBlock> blocks(2);
  StepwiseHeap heap(/*alignment=*/1);
  HeapResultOf<AllocationBlock> result;
  heap.CommitChunk(Interval(blocks[0], 10, 6, 9), At(0, 10), result);
  StepwiseHeap::BufferInterval interval = Interval(blocks[1], 20, 0, 9);
  auto sliced =
      StepwiseHeap::SlicedBufferInterval::CreateMutableInterval(interval);
  sliced.Slice({10, 10});
  sliced.UpdateInclusiveSliceStartTimes({0, 5});
  EXPECT_THAT(heap.FindChunkCandidates(sliced),
              ElementsAre(At(10, 10), At(20, 10)));
}

AllocationBlock Block(int64_t start, int64_t end, int64_t size,
                      int64_t offset) {
  static int64_t next_id = 0;
  AllocationBlock block;
  block.inclusive_start_time = start;
  block.end_time = end;
  block.size = size;
  block.offset = block.initial_offset = offset;
  block.id = next_id++;
  return block;
}

TEST(RepackTest, FindsASmallerHeap) {
  AllocationBlock a = Block(0, 9, 4, 4);
  AllocationBlock b = Block(5, 9, 4, 12);
  auto repacked = RepackAllocationBlocks({&a, &b}, 8, 1);
  ASSERT_TRUE(repacked.ok()) << repacked.status();
  EXPECT_TRUE(*repacked);
  EXPECT_EQ(a.offset + b.offset, 4);
  EXPECT_EQ(b.initial_offset, 12);
  a.offset = 100;
  EXPECT_FALSE(*RepackAllocationBlocks({&a, &b}, 7, 1));
  EXPECT_EQ(a.offset, 100);
}

TEST(RepackTest, ColocatedBlocksKeepOneOffset) {
  AllocationBlock a = Block(0, 3, 4, 0);
  AllocationBlock b = Block(6, 9, 8, 0);
  AllocationBlock c = Block(2, 7, 8, 16);
  a.next_colocated = &b;
  b.next_colocated = &a;
  EXPECT_EQ(a.GetColocationsCount(), 2);
  EXPECT_THAT(b.GetColocations(), ElementsAre(&b, &a));
  auto repacked = RepackAllocationBlocks({&a, &b, &c}, 16, 1);
  ASSERT_TRUE(repacked.ok()) << repacked.status();
  EXPECT_TRUE(*repacked);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(std::abs(a.offset - c.offset), 8);
}

TEST(RepackTest, SlicesChangePlacesAmongEqualSizes) {
  // The earlier slice must go up, where memory is free before time 5.
  AllocationBlock low = Block(0, 4, 8, 0);
  AllocationBlock sliced = Block(2, 9, 16, 8);
  sliced.original_slice_data = SlicedAllocationData{{{8, 8, 2}, {8, 16, 5}}};
  auto repacked = RepackAllocationBlocks({&low, &sliced}, 16, 1);
  ASSERT_TRUE(repacked.ok()) << repacked.status();
  ASSERT_TRUE(*repacked);
  EXPECT_EQ(sliced.offset, 0);
  ASSERT_TRUE(sliced.repacked_slice_data.has_value());
  const auto& slices = sliced.repacked_slice_data->slices_sorted_by_offset;
  ASSERT_EQ(slices.size(), 2);
  // Whichever of the two the other block lies below or above.
  const AllocatedSlice& early =
      slices[0].inclusive_start_time == 2 ? slices[0] : slices[1];
  EXPECT_NE(early.offset, low.offset);
  EXPECT_THAT(sliced.ToString(), HasSubstr("repacked"));
}

TEST(RepackTest, AnyAlignment) {
  AllocationBlock a = Block(0, 4, 30, 0);
  AllocationBlock b = Block(2, 6, 10, 100);
  auto fits = RepackAllocationBlocks({&a, &b}, 50, /*alignment=*/20);
  ASSERT_TRUE(fits.ok()) << fits.status();
  EXPECT_TRUE(*fits);
  EXPECT_EQ(std::max(a.offset, b.offset), a.offset == 0 ? 40 : 20);
}

TEST(RepackTest, BadBlocks) {
  AllocationBlock backwards = Block(5, 4, 8, 0);
  EXPECT_EQ(RepackAllocationBlocks({&backwards}, 16, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  AllocationBlock a = Block(0, 1, 8, 0);
  AllocationBlock b = Block(0, 1, 8, 0);
  a.next_colocated = &b;
  EXPECT_FALSE(RepackAllocationBlocks({&a}, 16, 1).ok());
  EXPECT_FALSE(RepackAllocationBlocks({&a, &b}, 16, 1).ok());
  a.next_colocated = nullptr;
  a.original_slice_data = SlicedAllocationData{{{4, 0, 0}}};
  EXPECT_THAT(RepackAllocationBlocks({&a}, 16, 1).status().message(),
              HasSubstr("do not make up its size"));
  a.original_slice_data = SlicedAllocationData{{{8, 0, 7}}};
  EXPECT_FALSE(RepackAllocationBlocks({&a}, 16, 1).ok());
  EXPECT_FALSE(RepackAllocationBlocks({&b}, 16, 0).ok());
}

// Each strategy packs random blocks without overlap.
TEST(PackingStrategyTest, ResultsAreValid) {
  using Heap = GlobalDecreasingSizeBestFitHeap<AllocationBlock>;
  for (auto strategy :
       {Heap::kSpatial, Heap::kTemporal, Heap::kFastMerge, Heap::kFastSplit,
        Heap::kPhaseWindow, Heap::kPhaseWindowEnd}) {
    std::mt19937 random(3);
    std::vector<AllocationBlock> blocks(100);
    std::vector<int64_t> order;  // each twice
    for (int64_t i = 0; i < blocks.size(); ++i) {
      blocks[i].size = 1 + random() % 50;
      order.push_back(i);
      order.push_back(i);
    }
    std::shuffle(order.begin(), order.end(), random);
    constexpr int64_t kAlignment = 6;
    Heap heap(kAlignment, strategy);
    NoFragmentationStatsHeap<AllocationBlock> least;
    for (AllocationBlock& block : blocks) block.inclusive_start_time = -1;
    for (int64_t time = 0; time < order.size(); ++time) {
      AllocationBlock& block = blocks[order[time]];
      if (block.inclusive_start_time < 0) {
        block.inclusive_start_time = time;
        heap.Alloc(&block, block.size);
        least.Alloc(&block, block.size);
      } else {
        block.end_time = time;
        heap.Free(&block, block.size);
        least.Free(&block, block.size);
      }
    }
    auto result = heap.Finish();
    ASSERT_TRUE(result.ok()) << result.status();
    const auto& chunks = result->heap_results[0].chunk_map;
    ASSERT_EQ(chunks.size(), blocks.size());
    for (const AllocationBlock& a : blocks) {
      EXPECT_EQ(chunks.at(&a).offset % kAlignment, 0);
      for (const AllocationBlock& b : blocks) {
        EXPECT_FALSE(&a != &b && chunks.at(&a).OverlapsWith(chunks.at(&b)) &&
                     a.inclusive_start_time <= b.end_time &&
                     b.inclusive_start_time <= a.end_time)
            << strategy;
      }
    }
    EXPECT_LE(result->heap_size, 2 * least.Finish()->heap_size) << strategy;
  }
}

}  // namespace
}  // namespace xla

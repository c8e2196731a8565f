#include "xla/hlo/analysis/heap/heap_simulator.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/heap/allocation_block.h"
#include "xla/hlo/analysis/heap/best_fit_heap.h"
#include "xla/hlo/analysis/heap/heap_algorithm.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

int64_t SizeOf(const BufferValue& value) {
  return ShapeUtil::ByteSizeOf(value.shape(), /*pointer_size=*/8);
}

// A scheduled module with its analyses.
class Simulation {
 public:
  explicit Simulation(absl::string_view text) {
    auto module = ParseAndReturnUnverifiedModule(
        absl::StrCat("HloModule m, is_scheduled=true\n", text));
    EXPECT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    auto alias = HloAliasAnalysis::Run(module_.get(), &alias_info_);
    EXPECT_TRUE(alias.ok()) << alias.status();
    alias_ = *std::move(alias);
  }

  int64_t Minimum() {
    auto bytes = HeapSimulator::MinimumMemoryForModule(
        module_->schedule(), *alias_, &alias_info_, &size_);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    return bytes.value_or(-1);
  }

  template <typename Heap>
  HeapSimulator::Result<HloValue> Run(
      std::unique_ptr<Heap> heap,
      const HeapSimulator::Options& options = HeapSimulator::Options()) {
    auto result =
        HeapSimulator::Run(std::move(heap), *module_, module_->schedule(),
                           *alias_, &alias_info_, &size_, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  const HloValue& Value(absl::string_view name) {
    for (HloComputation* computation : module_->computations()) {
      for (HloInstruction* inst : computation->instructions()) {
        if (inst->name() == name) {
          return alias_->dataflow_analysis().GetValueDefinedAt(inst);
        }
      }
    }
    ADD_FAILURE() << name;
    return *alias_->dataflow_analysis().values()[0];
  }

  HloModule& module() { return *module_; }

 private:
  AliasInfo alias_info_;
  BufferValue::SizeFunction size_ = SizeOf;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloAliasAnalysis> alias_;
};

// Parameters live on, elementwise results take over their operands.
TEST(HeapSimulatorTest, ElementwiseChainReusesOperands) {
  Simulation s(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = f32[100] exponential(a)
  ROOT c = f32[100] log(b)
})");
  EXPECT_EQ(s.Minimum(), 800);
  HeapSimulator::Options options;
  options.may_reuse_operand_buffers = false;
  EXPECT_EQ(
      s.Run(std::make_unique<NoFragmentationStatsHeap<HloValue>>(), options)
          .heap_size,
      1200);
}

TEST(HeapSimulatorTest, CopyTakesMemoryOfItsOwn) {
  Simulation s(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = f32[100] copy(a)
  ROOT c = f32[50] slice(b), slice={[0:50]}
})");
  EXPECT_EQ(s.Minimum(), 1200);
}

TEST(HeapSimulatorTest, ConstantsAreFreeUnlessAskedFor) {
  Simulation s(R"(
ENTRY e {
  c = f32[2] constant({1, 2})
  p = f32[2] parameter(0)
  ROOT a = f32[2] dot(c, p), lhs_contracting_dims={}, rhs_contracting_dims={},
    lhs_batch_dims={0}, rhs_batch_dims={0}
})");
  EXPECT_EQ(s.Minimum(), 16);
  HeapSimulator::Options options;
  options.alloc_constants = true;
  EXPECT_EQ(
      s.Run(std::make_unique<NoFragmentationStatsHeap<HloValue>>(), options)
          .heap_size,
      24);
}

constexpr absl::string_view kWhile = R"(
body {
  bp = (s32[], f32[100]) parameter(0)
  i = s32[] get-tuple-element(bp), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[100] get-tuple-element(bp), index=1
  t1 = f32[200] concatenate(x, x), dimensions={0}
  y = f32[100] slice(t1), slice={[50:150]}
  ROOT bt = (s32[], f32[100]) tuple(next, y)
}
cond {
  cp = (s32[], f32[100]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(ci, ten), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  zc = s32[] copy(z)
  p = f32[100] parameter(0)
  n = f32[100] negate(p)
  init = (s32[], f32[100]) tuple(zc, n)
  w = (s32[], f32[100]) while(init), condition=cond, body=body
  ROOT r = f32[100] get-tuple-element(w), index=1
})";

// The loop's state is one buffer; what the body computes comes on top.
TEST(HeapSimulatorTest, WhileBodyIsPartOfTheTimeLine) {
  Simulation s(kWhile);
  // p, n, t1, two tuple tables of 16 bytes, counter; y over n, which has ended.
  const int64_t peak = s.Minimum();
  EXPECT_GE(peak, 400 + 800 + 400 + 4);
  EXPECT_LE(peak, 400 + 800 + 400 + 4 + 3 * 16);
  auto result = s.Run(std::make_unique<PlannedHeap<HloValue>>(1));
  const auto& chunks = result.heap_results[0].chunk_map;
  EXPECT_EQ(chunks.at(&s.Value("n")), chunks.at(&s.Value("y")));
  EXPECT_EQ(result.fragmentation_size, result.heap_size - peak);
  EXPECT_GT(result.debug_trace.events_size(), 0);
}

// A product of p and q, then dots: those do not write over their operands.
TEST(HeapSimulatorTest, DotsTakeMemoryOfTheirOwn) {
  Simulation s(R"(
ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  y = f32[4,4] parameter(2)
  m = f32[4] multiply(p, q)
  d = f32[4] dot(m, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  k = f32[4] dot(d, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT a = f32[4] add(k, p)
})");
  // Parameters; m and d, then d and k; a over k.
  EXPECT_EQ(s.Minimum(), 16 + 16 + 64 + 2 * 16);
  auto result = s.Run(std::make_unique<PlannedHeap<HloValue>>(1));
  const auto& chunks = result.heap_results[0].chunk_map;
  EXPECT_EQ(chunks.at(&s.Value("k")), chunks.at(&s.Value("a")));
  EXPECT_FALSE(chunks.at(&s.Value("m")).OverlapsWith(chunks.at(&s.Value("d"))));
  EXPECT_FALSE(chunks.at(&s.Value("d")).OverlapsWith(chunks.at(&s.Value("k"))));
}

TEST(HeapSimulatorTest, TwoOutputsOfAFusionDoNotTakeOneOperand) {
  Simulation s(R"(
f {
  x = f32[100] parameter(0)
  n = f32[100] negate(x)
  l = f32[100] exponential(x)
  ROOT t = (f32[100], f32[100]) tuple(n, l)
}
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = (f32[100], f32[100]) fusion(a), kind=kLoop, calls=f
  c = f32[100] get-tuple-element(b), index=0
  d = f32[100] get-tuple-element(b), index=1
  ROOT r = f32[100] subtract(c, d)
})");
  // p, both outputs, and r, which is no user of b itself.
  EXPECT_EQ(s.Minimum(), 4 * 400);
  auto result = s.Run(std::make_unique<PlannedHeap<HloValue>>(1));
  int shares = 0;
  for (const auto& event : result.debug_trace.events()) {
    shares += event.kind() == HeapSimulatorTrace::Event::SHARE_WITH &&
              event.instruction_name() == "b";
  }
  EXPECT_EQ(shares, 1);
}

// Each part of a tuple lives as long as it is used.
TEST(HeapSimulatorTest, PartsOfTuplesLiveOnTheirOwn) {
  Simulation s(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] reverse(p), dimensions={0}
  t = (f32[100], f32[100]) tuple(a, b)
  x = f32[100] get-tuple-element(t), index=0
  c = f32[10] slice(x), slice={[0:10]}
  y = f32[100] get-tuple-element(t), index=1
  d = f32[100] reverse(y), dimensions={0}
  e0 = f32[10] slice(d), slice={[0:10]}
  ROOT r = f32[10] add(c, e0)
})");
  // d takes the place of a while b is still read.
  EXPECT_LE(s.Minimum(), 400 + 2 * 400 + 40 + 16);
  auto result = s.Run(std::make_unique<PlannedHeap<HloValue>>(1));
  const auto& chunks = result.heap_results[0].chunk_map;
  EXPECT_FALSE(chunks.at(&s.Value("d")).OverlapsWith(chunks.at(&s.Value("b"))));
}

TEST(HeapSimulatorTest, AsynchronousCallsHoldTheirOperandsUntilDone) {
  Simulation s(R"(
f {
  x = f32[100] parameter(0)
  ROOT n = f32[10] slice(x), slice={[0:10]}
}
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  s = ((f32[100]), f32[10], u32[]) async-start(a), calls=f
  b = f32[100] reverse(p), dimensions={0}
  c = f32[10] slice(b), slice={[0:10]}
  d = f32[10] async-done(s)
  ROOT r = f32[10] add(c, d)
})");
  auto result = s.Run(std::make_unique<PlannedHeap<HloValue>>(1));
  const auto& chunks = result.heap_results[0].chunk_map;
  EXPECT_FALSE(chunks.at(&s.Value("a")).OverlapsWith(chunks.at(&s.Value("b"))));
  EXPECT_GE(s.Minimum(), 3 * 400 + 40);
}

// Whose lifetime is longer, by a call or two, decides who is placed first.
TEST(HeapSimulatorTest, CallsAtOneTimeGoByStartsAndEnds) {
  Simulation s(R"(
f {
  x = f32[100] parameter(0)
  n = f32[100] reverse(x), dimensions={0}
  l = f32[200] concatenate(x, x), dimensions={0}
  ROOT t = (f32[100], f32[200]) tuple(n, l)
}
ENTRY e {
  p = f32[100] parameter(0)
  i = s32[] parameter(1)
  b = (f32[100], f32[200]) fusion(p), kind=kLoop, calls=f
  d = f32[200] get-tuple-element(b), index=1
  v = f32[200] reverse(d), dimensions={0}
  c = f32[100] get-tuple-element(b), index=0
  y = f32[200] dynamic-update-slice(v, c, i)
  z = f32[200] reverse(p), dimensions={0}
  ROOT r = f32[400] concatenate(z, y), dimensions={0}
})");
  const auto result = s.Run(std::make_unique<PlannedHeap<HloValue>>(1));
  using Event = HeapSimulatorTrace::Event;
  std::vector<std::string> calls;
  std::vector<int64_t> allocated, freed;
  for (const Event& event : result.debug_trace.events()) {
    const std::string& name = event.instruction_name();
    if (name == "b" && event.kind() == Event::ALLOC) {
      allocated.push_back(event.buffer_id());
    } else if (name == "b" && event.kind() == Event::FREE) {
      freed.push_back(event.buffer_id());
    } else if (name != "p" && name != "i") {
      calls.push_back(absl::StrCat(Event::Kind_Name(event.kind()), " ", name));
    }
  }
  EXPECT_EQ(allocated.size(), 3);
  EXPECT_EQ(allocated, freed);
  EXPECT_THAT(calls, ElementsAre("ALLOC v", "SHARE_WITH y", "FREE v", "ALLOC z",
                                 "ALLOC r", "FREE y", "FREE z", "FREE r"));
}

// 3,000 updates in place are one buffer of as many values: time stays linear.
TEST(HeapSimulatorTest, ManyValuesOfOneBuffer) {
  std::string text = R"(
ENTRY e {
  p = f32[100] parameter(0)
  i = s32[] parameter(1)
  u = f32[1] slice(p), slice={[0:1]}
  x0 = f32[100] reverse(p), dimensions={0}
)";
  for (int i = 1; i < 3000; ++i) {
    absl::StrAppend(&text, "  x", i, " = f32[100] dynamic-update-slice(x",
                    i - 1, ", u, i)\n");
  }
  Simulation s(absl::StrCat(text, "  ROOT r = f32[10] slice(x2999), ",
                            "slice={[0:10]}\n}"));
  EXPECT_EQ(s.Minimum(), 400 + 4 + 400 + 40);  // u is dead when r is made
}

TEST(HeapSimulatorTest, OneComputationWithoutWhatItCalls) {
  Simulation s(kWhile);
  EXPECT_EQ(
      s.Minimum(),
      s.Run(std::make_unique<NoFragmentationStatsHeap<HloValue>>()).heap_size);
  AliasInfo alias_info;
  BufferValue::SizeFunction size = SizeOf;
  auto alias = HloAliasAnalysis::Run(&s.module(), &alias_info);
  ASSERT_TRUE(alias.ok());
  const HloComputation* entry = s.module().entry_computation();
  auto bytes = HeapSimulator::MinimumMemoryForComputation(
      *entry, s.module().schedule().sequence(entry), **alias, &alias_info,
      &size);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_LT(*bytes, s.Minimum());
  EXPECT_GE(*bytes, 800);
}

TEST(HeapSimulatorTest, EveryHeapHoldsTheLiveBytes) {
  Simulation s(kWhile);
  const int64_t least = s.Minimum();
  using BestFit = GlobalDecreasingSizeBestFitHeap<HloValue>;
  EXPECT_GE(s.Run(std::make_unique<BestFit>(1)).heap_size, least);
  EXPECT_GE(s.Run(std::make_unique<BestFit>(1, BestFit::kTemporal)).heap_size,
            least);
  EXPECT_EQ(s.Run(std::make_unique<PlannedHeap<HloValue>>(1)).heap_size, least);
}

// Algorithms on plain blocks: a letter is a block, upper case frees it.
class HeapScript {
 public:
  HeapScript() : blocks_(26) {}

  template <typename Heap>
  HeapSimulationOf<AllocationBlock> Run(Heap& heap, absl::string_view script,
                                        std::vector<int64_t> sizes) {
    sizes.resize(26);
    for (char c : script) {
      if (c >= 'a') {
        heap.Alloc(&blocks_[c - 'a'], sizes[c - 'a']);
      } else {
        heap.Free(&blocks_[c - 'A'], sizes[c - 'A']);
      }
    }
    auto result = heap.Finish();
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  const AllocationBlock* block(char c) const { return &blocks_[c - 'a']; }

 private:
  std::vector<AllocationBlock> blocks_;
};

using Spatial = GlobalDecreasingSizeBestFitHeap<AllocationBlock>;

TEST(BestFitHeapTest, LargestGoesLowest) {
  HeapScript script;
  Spatial heap(1);
  auto result = script.Run(heap, "abcACdBD", {10, 30, 20, 40});
  const auto& chunks = result.heap_results[0].chunk_map;
  EXPECT_EQ(chunks.at(script.block('d')), HeapChunk::FromOffsetSize(0, 40));
  EXPECT_EQ(chunks.at(script.block('b')), HeapChunk::FromOffsetSize(40, 30));
  EXPECT_EQ(chunks.at(script.block('c')), HeapChunk::FromOffsetSize(0, 20));
  EXPECT_EQ(chunks.at(script.block('a')), HeapChunk::FromOffsetSize(20, 10));
  EXPECT_EQ(result.heap_size, 70);
}

// The lifetime of a buffer is its own, not that of those that share with it.
TEST(BestFitHeapTest, OfOneSizeTheLongestGoesLowest) {
  std::vector<AllocationBlock> blocks(3);
  Spatial heap(1);
  heap.Alloc(&blocks[0], 40);
  heap.Alloc(&blocks[1], 40);
  heap.Free(&blocks[0], 40);
  heap.ShareWith(&blocks[2], &blocks[0], 40);
  heap.Free(&blocks[1], 40);
  heap.Free(&blocks[2], 40);
  auto result = heap.Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  const auto& chunks = result->heap_results[0].chunk_map;
  EXPECT_EQ(chunks.at(&blocks[1]).offset, 0);
  EXPECT_EQ(chunks.at(&blocks[0]).offset, 40);
}

TEST(BestFitHeapTest, OfOneLifetimeTheLowerIdGoesLowest) {
  std::vector<AllocationBlock> blocks(2);
  blocks[0].id = 1;
  Spatial heap(1);
  heap.Alloc(&blocks[0], 40);
  heap.Alloc(&blocks[1], 40);
  heap.Free(&blocks[0], 40);
  heap.Free(&blocks[1], 40);
  auto result = heap.Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->heap_results[0].chunk_map.at(&blocks[1]).offset, 0);
}

TEST(BestFitHeapTest, BuffersWithoutBytesTakeNoTime) {
  HeapScript script;
  Spatial heap(1);
  auto result = script.Run(heap, "azZbAcCB", {10, 10, 5});
  EXPECT_EQ(result.heap_results[0].chunk_map.at(script.block('b')).offset, 0);
}

// Their lives may even begin at the same time.
TEST(BestFitHeapTest, BuffersWithoutBytesShare) {
  std::vector<AllocationBlock> blocks(3);
  PlannedHeap<AllocationBlock> heap(1);
  heap.Alloc(&blocks[0], 0);
  heap.ShareWith(&blocks[1], &blocks[0], 0);
  heap.Free(&blocks[0], 0);
  heap.ShareWith(&blocks[2], &blocks[0], 8);
  heap.Free(&blocks[1], 0);
  heap.Free(&blocks[2], 8);
  auto result = heap.Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->heap_size, 8);
}

TEST(BestFitHeapTest, OffsetsAreAligned) {
  HeapScript script;
  Spatial heap(64);
  auto result = script.Run(heap, "abAB", {10, 30});
  EXPECT_EQ(result.heap_results[0].chunk_map.at(script.block('a')).offset, 64);
}

TEST(BestFitHeapTest, LongestGoesLowestWithTemporal) {
  HeapScript script;
  Spatial heap(1, Spatial::kTemporal);
  auto result = script.Run(heap, "abBcCA", {10, 40, 20});
  EXPECT_EQ(result.heap_results[0].chunk_map.at(script.block('a')).offset, 0);
  EXPECT_EQ(result.heap_results[0].chunk_map.at(script.block('b')).offset, 10);
}

TEST(BestFitHeapTest, SharingBuffersHaveOneOffset) {
  std::vector<AllocationBlock> blocks(3);
  Spatial heap(1);
  heap.Alloc(&blocks[0], 40);
  heap.Free(&blocks[0], 40);
  heap.Alloc(&blocks[1], 20);
  heap.ShareWith(&blocks[2], &blocks[0], 40);
  heap.Free(&blocks[1], 20);
  heap.Free(&blocks[2], 40);
  auto result = heap.Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  const auto& chunks = result->heap_results[0].chunk_map;
  EXPECT_EQ(chunks.at(&blocks[0]), chunks.at(&blocks[2]));
  EXPECT_FALSE(chunks.at(&blocks[1]).OverlapsWith(chunks.at(&blocks[2])));
  EXPECT_EQ(result->heap_size, 60);
}

TEST(BestFitHeapTest, SharingBuffersHaveChunksOfTheLargest) {
  for (const int64_t size : {30, 50}) {
    std::vector<AllocationBlock> blocks(3);
    Spatial heap(1);
    heap.Alloc(&blocks[0], 40);
    heap.Free(&blocks[0], 40);
    heap.Alloc(&blocks[1], 20);
    heap.ShareWith(&blocks[2], &blocks[0], size);
    heap.Free(&blocks[1], 20);
    heap.Free(&blocks[2], size);
    auto result = heap.Finish();
    ASSERT_TRUE(result.ok()) << result.status();
    const auto& chunks = result->heap_results[0].chunk_map;
    const int64_t largest = std::max<int64_t>(40, size);
    EXPECT_EQ(chunks.at(&blocks[0]), HeapChunk::FromOffsetSize(0, largest));
    EXPECT_EQ(chunks.at(&blocks[1]), HeapChunk::FromOffsetSize(largest, 20));
    EXPECT_EQ(chunks.at(&blocks[2]), HeapChunk::FromOffsetSize(0, largest));
    EXPECT_EQ(result->heap_size, largest + 20);
  }
}

TEST(BestFitHeapTest, LimitedHeapsOverflowIntoOthers) {
  HeapScript script;
  ConstrainedGlobalDecreasingSizeBestFitHeap<AllocationBlock> heap(50, 1);
  auto result = script.Run(heap, "abcdABCD", {10, 30, 20, 60});
  ASSERT_EQ(result.heap_results.size(), 3);
  EXPECT_EQ(result.heap_results[0].heap_size, 60);  // d alone
  EXPECT_EQ(result.heap_results[1].heap_size, 50);
  EXPECT_EQ(result.heap_results[2].heap_size, 10);
  EXPECT_EQ(result.heap_size, 120);
}

TEST(BestFitHeapTest, LimitedHeapsAreOfValuesUnlessSaidOtherwise) {
  ConstrainedGlobalDecreasingSizeBestFitHeap heap(50, 1);
  static_assert(
      std::is_same_v<decltype(heap),
                     ConstrainedGlobalDecreasingSizeBestFitHeap<HloValue>>);
  auto result = heap.Finish();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->heap_size, 0);
}

TEST(HeapAlgorithmTest, ChoosesTheSmallestAndFallsBack) {
  using Heap = HeapAlgorithm<AllocationBlock>;
  const std::vector<int64_t> sizes = {10, 30, 20, 40};
  HeapScript script;
  auto algorithms = std::make_unique<std::vector<std::unique_ptr<Heap>>>();
  algorithms->push_back(std::make_unique<Spatial>(64));
  algorithms->push_back(std::make_unique<Spatial>(1));
  ChooseBestHeapAlgorithm<AllocationBlock> best(std::move(algorithms));
  EXPECT_EQ(script.Run(best, "abcACdBD", sizes).heap_size, 70);

  auto fallback = [] { return std::make_unique<Spatial>(1); };
  HeapAlgorithmWithFallback<AllocationBlock> tight(
      std::make_unique<Spatial>(64), fallback, /*memory_limit=*/80);
  EXPECT_EQ(script.Run(tight, "abcACdBD", sizes).heap_size, 70);
  HeapAlgorithmWithFallback<AllocationBlock> loose(
      std::make_unique<Spatial>(64), fallback, /*memory_limit=*/800);
  EXPECT_GT(script.Run(loose, "abcACdBD", sizes).heap_size, 70);
}

TEST(HeapAlgorithmTest, NothingMayStayAllocated) {
  AllocationBlock block;
  Spatial heap(1);
  heap.Alloc(&block, 8);
  EXPECT_FALSE(heap.Finish().ok());
  NoFragmentationStatsHeap<AllocationBlock> counter;
  counter.Alloc(&block, 8);
  EXPECT_FALSE(counter.Finish().ok());
}

}  // namespace
}  // namespace xla

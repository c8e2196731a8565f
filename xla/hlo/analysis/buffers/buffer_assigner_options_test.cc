// What the options of BufferAssigner change.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assigner_test_base.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/preset_assignments.h"
#include "xla/hlo/analysis/heap/heap_result.h"

namespace xla {
namespace {

using BufferAssignerOptionsTest = BufferAssignerTestBase;
using Options = BufferAssigner::Options;
using Algorithm = BufferAssigner::Algorithm;
using memory_space_assignment::PresetAssignments;

constexpr absl::string_view kChain = R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] reverse(a), dimensions={0}
  c = f32[100] reverse(b), dimensions={0}
  ROOT d = f32[50] slice(c), slice={[0:50]}
})";

TEST_F(BufferAssignerOptionsTest, ColorsAreKeptApart) {
  Options options;
  options.colorer = [this](HloAliasAnalysis* alias, const HloOrdering&) {
    for (HloValue* value : alias->dataflow_analysis().values()) {
      value->set_color(value->instruction()->name() == "b" ? 1 : 0);
    }
    return absl::OkStatus();
  };
  Assign(kChain, std::move(options));
  EXPECT_EQ(Allocation("b").color(), 1);
  EXPECT_NE(Slice("b").allocation(), Slice("a").allocation());
  EXPECT_EQ(Slice("a"), Slice("c"));
  EXPECT_NE(assignment_->StatsString(nullptr).find("color 1: 400"),
            std::string::npos);
}

TEST_F(BufferAssignerOptionsTest, LayoutsTellColors) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100]{0:S(3)} reverse(p), dimensions={0}
  b = f32[100] reverse(a), dimensions={0}
  ROOT d = f32[50] slice(b), slice={[0:50]}
})");
  EXPECT_EQ(Allocation("a").color(), 3);
  EXPECT_EQ(Allocation("b").color(), 0);
}

TEST_F(BufferAssignerOptionsTest, ErrorsOfTheColorer) {
  Parse(
      "HloModule m, is_scheduled=true\nENTRY e {\n"
      "  ROOT p = f32[] parameter(0)\n}");
  Options options;
  options.colorer = [](HloAliasAnalysis*, const HloOrdering&) {
    return absl::InternalError("no paint");
  };
  EXPECT_EQ(TryAssign(std::move(options)).message(), "no paint");
}

TEST_F(BufferAssignerOptionsTest, TemporariesMayHaveAColorOfTheirOwn) {
  Options options;
  options.temp_buffer_color = 7;
  Assign(kChain, std::move(options));
  EXPECT_EQ(Allocation("a").color(), 7);
  EXPECT_EQ(Allocation("p").color(), 0);
  EXPECT_EQ(Allocation("d").color(), 0);
  EXPECT_EQ(Allocation("a").CrossColorBuffers().size(), 3);
}

// No result is large enough to lend its memory, but two are together.
TEST_F(BufferAssignerOptionsTest, ResultsMayBePackedWithTemporaries) {
  constexpr absl::string_view kTwoResults = R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  s = f32[16] slice(a), slice={[0:16]}
  z = f32[] constant(0)
  b = f32[48] pad(s, z), padding=0_32
  c = f32[52] pad(s, z), padding=0_36
  ROOT t = (f32[48], f32[52]) tuple(b, c)
})";
  Assign(kTwoResults);
  EXPECT_NE(Slice("a").allocation(), Slice("b").allocation());
  const int64_t apart = assignment_->GetStats().total_allocation_bytes;
  Options options;
  options.pack_results = true;
  Assign(kTwoResults, std::move(options));
  EXPECT_EQ(Slice("a").allocation(), Slice("b").allocation());
  EXPECT_EQ(Slice("a").allocation(), Slice("c").allocation());
  EXPECT_TRUE(Allocation("a").maybe_live_out());
  EXPECT_EQ(Allocation("p").size(), 400);
  EXPECT_LE(assignment_->GetStats().total_allocation_bytes, apart - 384);
}

constexpr absl::string_view kLent = R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[50] slice(a), slice={[0:50]}
  c = f32[50] reverse(b), dimensions={0}
  ROOT d = f32[100] concatenate(b, c), dimensions={0}
})";

TEST_F(BufferAssignerOptionsTest, SomeMustNotLiveOut) {
  Assign(kLent);
  EXPECT_TRUE(Share("a", "d"));
  Options options;
  options.must_not_live_out =
      [](const HloAliasAnalysis&, const HloInstruction* inst,
         const ShapeIndex&) { return inst->name() == "a"; };
  Assign(kLent, std::move(options));
  EXPECT_FALSE(Share("a", "d"));
  // a; b and c, each in a multiple of 16 bytes.
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 608);
}

TEST_F(BufferAssignerOptionsTest, ColorsMayBeAllowedToMix) {
  auto color = [](HloAliasAnalysis* alias, const HloOrdering&) {
    for (HloValue* value : alias->dataflow_analysis().values()) {
      value->set_color(value->instruction()->name() == "a" ? 1 : 0);
    }
    return absl::OkStatus();
  };
  Options options;
  options.colorer = color;
  Assign(kLent, std::move(options));
  EXPECT_FALSE(Share("a", "d"));
  options = Options();
  options.colorer = color;
  options.can_use_allocation = BufferAssigner::AllowCrossColorReuse(1, 0);
  Assign(kLent, std::move(options));
  EXPECT_TRUE(Share("a", "d"));
  EXPECT_EQ(Allocation("d").CrossColorBuffers().size(), 1);
  options = Options();
  options.colorer = color;
  options.can_use_allocation = BufferAssigner::AllowCrossColorReuse(0, 1);
  Assign(kLent, std::move(options));
  EXPECT_FALSE(Share("a", "d"));
}

TEST_F(BufferAssignerOptionsTest, PresetsAreTaken) {
  constexpr absl::string_view kText = R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100]{0:S(1)} reverse(p), dimensions={0}
  b = f32[100]{0:S(1)} reverse(a), dimensions={0}
  c = f32[100] reverse(b), dimensions={0}
  ROOT d = f32[50] slice(c), slice={[0:50]}
})";
  Assign(kText);
  auto presets = [&](int64_t offset_of_b) {
    auto result = std::make_unique<PresetAssignments>();
    result->assignment_information_for_space(1)->size = 2000;
    result->add_chunk({Find("a"), {}}, HeapChunk::FromOffsetSize(512, 400));
    result->add_chunk({Find("b"), {}},
                      HeapChunk::FromOffsetSize(offset_of_b, 400));
    return result;
  };
  Options options;
  options.preset_assignments = presets(1024);
  absl::Status status = TryAssign(std::move(options));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Slice("a").offset(), 512);
  EXPECT_EQ(Slice("b").offset(), 1024);
  EXPECT_EQ(Allocation("a").size(), 2000);
  EXPECT_EQ(Allocation("a").color(), 1);
  EXPECT_EQ(Slice("a").allocation(), Slice("b").allocation());
  EXPECT_EQ(Allocation("c").color(), 0);

  for (int64_t offset : {1900, -4, 600}) {  // outside, negative, overlapping
    options = Options();
    options.preset_assignments = presets(offset);
    status = TryAssign(std::move(options));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST_F(BufferAssignerOptionsTest, PresetsThatNameNothing) {
  Assign(kChain);
  auto message = [&](HloPosition position) {
    Options options;
    options.preset_assignments = std::make_unique<PresetAssignments>();
    options.preset_assignments->add_chunk(position,
                                          HeapChunk::FromOffsetSize(0, 400));
    const absl::Status status = TryAssign(std::move(options));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_NE(message({Find("a"), {}}).find("unknown size"), std::string::npos);
  EXPECT_NE(message({Find("a"), {3}}).find("index"), std::string::npos);
  std::unique_ptr<HloModule> other = module_->Clone();
  EXPECT_NE(message({other->entry_computation()->root_instruction(), {}})
                .find("another module"),
            std::string::npos);
}

TEST_F(BufferAssignerOptionsTest, IsolatedBuffersShareNothing) {
  Options options;
  options.isolation_options.emplace();
  options.isolation_options->config.set_isolation_fuel(-1);
  options.isolation_options->config.set_isolation_padding_bytes(100);
  options.isolation_options->config.set_base_offset_bytes(10'000);
  Assign(kChain, std::move(options));
  // Above the base, the 800 bytes that they share otherwise, and the padding.
  EXPECT_EQ(Slice("a").offset(), 10'912);  // aligned to 16
  EXPECT_EQ(Slice("b").offset(), 11'424);  // 400 and 100 further on
  EXPECT_EQ(Slice("c").offset(), 11'936);
  EXPECT_EQ(Allocation("a").size(), 12'336);
}

TEST_F(BufferAssignerOptionsTest, FuelColorsAndOrderOfIsolation) {
  Options options;
  options.isolation_options.emplace();
  options.isolation_options->config.set_isolation_fuel(1);
  options.isolation_options->hlo_value_compare = [](const HloValue* a,
                                                    const HloValue* b) {
    return a->instruction()->name() > b->instruction()->name();
  };
  Assign(kChain, std::move(options));
  EXPECT_EQ(Slice("c").offset(), 800);  // above the other two
  EXPECT_LT(Slice("a").offset(), 800);
  EXPECT_LT(Slice("b").offset(), 800);

  options = Options();
  options.isolation_options.emplace();
  options.isolation_options->config.set_isolation_fuel(-1);
  options.isolation_options->config.add_isolation_colors(5);
  Assign(kChain, std::move(options));
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 800);

  options = Options();
  options.isolation_options.emplace();
  options.isolation_options->config.set_isolation_fuel(-1);
  options.isolation_options->config.set_isolation_order_salt(12345);
  Assign(kChain, std::move(options));
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 800 + 3 * 400);
}

TEST_F(BufferAssignerOptionsTest, AllAlgorithmsGiveValidPackings) {
  for (int a = Algorithm::Value_MIN; a <= Algorithm::Value_MAX; ++a) {
    Options options;
    options.buffer_assignment_algorithm = static_cast<Algorithm::Value>(a);
    Assign(kChain, std::move(options));
    EXPECT_EQ(assignment_->temp_allocation_total_size(), 800) << a;
  }
  Options options;
  options.heap_buffer_interval_compare = [](const auto& a, const auto& b) {
    return a.start > b.start;
  };
  Assign(kChain, std::move(options));
  EXPECT_EQ(Slice("c").offset(), 0);
  EXPECT_EQ(Slice("b").offset(), 400);
}

// Three values whose best-fit packing by size has a hole.
constexpr absl::string_view kHole = R"(
ENTRY e {
  p = f32[64] parameter(0)
  a = f32[16] slice(p), slice={[0:16]}
  b = f32[32] slice(p), slice={[0:32]}
  c = f32[8] slice(a), slice={[0:8]}
  d = f32[48] pad(b, c), padding=0_16
  ROOT t = (f32[1], f32[1]) custom-call(c, d), custom_call_target="x"
})";

TEST_F(BufferAssignerOptionsTest, FallbackIsTriedAboveTheLimit) {
  int64_t sizes[2];
  for (bool fallback : {false, true}) {
    Options options;
    options.buffer_assignment_algorithm = Algorithm::FAST_MERGE;
    options.fallback_algorithm = Algorithm::DEFAULT;
    options.enable_fallback = fallback;
    options.color_memory_limit = [](BufferValue::Color) { return 1; };
    Assign(kHole, std::move(options));
    sizes[fallback] = assignment_->temp_allocation_total_size();
  }
  EXPECT_LE(sizes[1], sizes[0]);
  Assign(kHole);
  EXPECT_EQ(sizes[1], assignment_->temp_allocation_total_size());
}

TEST_F(BufferAssignerOptionsTest, FallbackWithoutASchedule) {
  Parse(R"(
HloModule m
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[50] slice(a), slice={[0:50]}
  ROOT c = f32[10] slice(b), slice={[0:10]}
})");
  using Unordered = BufferAssigner::UnorderedAlgorithm;
  int64_t bytes = 0;
  for (const int64_t limit : {1, 100'000}) {
    BufferAssigner::Options options;
    options.enable_fallback = true;
    options.assignment_algorithm_for_computations_without_ordering =
        Unordered::FAST_MERGE;
    options.color_memory_limit = [=](BufferValue::Color) { return limit; };
    const absl::Status status = TryAssign(std::move(options));
    ASSERT_TRUE(status.ok()) << status;
    const auto now = assignment_->GetStats().total_allocation_bytes;
    if (bytes == 0) bytes = now;
    EXPECT_LE(bytes, now);
    // What was kept has its analyses.
    EXPECT_FALSE(Share("a", "b"));
    EXPECT_NE(assignment_->hlo_ordering().ToString(), "");
  }
}

// w fits in a's memory only, and fast merging gives up before it looks there:
// 20 others of the same size are newer.
TEST_F(BufferAssignerOptionsTest, TheSmallerOneWithoutAScheduleIsTaken) {
  std::string text =
      "HloModule m\nENTRY e {\n  p = f32[100] parameter(0)\n"
      "  a = f32[100] reverse(p), dimensions={0}\n"
      "  r = f32[10] slice(a), slice={[0:10]}\n";
  std::string values;
  for (int i = 0; i < 20; ++i) {
    absl::StrAppend(&text, "  v", i, " = f32[100] negate(p)\n");
    absl::StrAppend(&values, "v", i, ", ");
  }
  absl::StrAppend(&text,
                  "  z = f32[] constant(0)\n"
                  "  w = f32[100] pad(r, z), padding=0_90\n"
                  "  ROOT c = f32[1] custom-call(r, ",
                  values, "w), custom_call_target=\"x\"\n}\n");
  Parse(text);
  using Unordered = BufferAssigner::UnorderedAlgorithm;
  const auto bytes = [&](Unordered::Value first, Unordered::Value second) {
    BufferAssigner::Options options;
    options.enable_fallback = true;
    options.assignment_algorithm_for_computations_without_ordering = first;
    options.fallback_algorithm_for_computations_without_ordering = second;
    options.color_memory_limit = [](BufferValue::Color) { return 1; };
    const absl::Status status = TryAssign(std::move(options));
    EXPECT_TRUE(status.ok()) << status;
    return assignment_->GetStats().total_allocation_bytes;
  };
  const auto plain = bytes(Unordered::DEFAULT, Unordered::DEFAULT);
  const auto merged = bytes(Unordered::FAST_MERGE, Unordered::FAST_MERGE);
  ASSERT_NE(plain, merged);
  const auto least = std::min(plain, merged);
  EXPECT_EQ(bytes(Unordered::DEFAULT, Unordered::FAST_MERGE), least);
  EXPECT_EQ(bytes(Unordered::FAST_MERGE, Unordered::DEFAULT), least);
}

TEST_F(BufferAssignerOptionsTest, LimitIsWhatOtherAllocationsLeave) {
  Assign(kChain);
  Options options;
  options.color_memory_limit = [](BufferValue::Color) { return 2000; };
  const BufferAssigner assigner(&alias_info_, std::move(options));
  EXPECT_EQ(assigner.GetMemoryLimit(*assignment_, 0), 2000 - 400 - 200 - 800);
  EXPECT_EQ(assigner.GetMemoryLimit(*assignment_, 1), 2000);
}

TEST_F(BufferAssignerOptionsTest, PrivateStacksAreHeapsOfTheirOwn) {
  constexpr absl::string_view kText = R"(
f {
  fp = f32[100] parameter(0)
  fa = f32[100] reverse(fp), dimensions={0}
  ROOT fr = f32[50] slice(fa), slice={[0:50]}
}
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  c = f32[50] call(a), to_apply=f
  b = f32[50] reverse(c), dimensions={0}
  ROOT r = f32[10] slice(b), slice={[0:10]}
})";
  Assign(kText);
  const BufferAssigner::PrivateStacks stacks = {{0, {Find("fa")->parent()}}};
  Options options;
  options.private_stacks = &stacks;
  const absl::Status status = TryAssign(std::move(options));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_NE(Slice("fa").allocation(), Slice("a").allocation());
  EXPECT_EQ(Slice("a").allocation(), Slice("b").allocation());
}

// Two computations that run one after the other on a stack of their own.
TEST_F(BufferAssignerOptionsTest, PrivateStacksAreReused) {
  Assign(R"(
f {
  fp = f32[100] parameter(0)
  fa = f32[100] reverse(fp), dimensions={0}
  ROOT fr = f32[50] slice(fa), slice={[0:50]}
}
g {
  gp = f32[50] parameter(0)
  ga = f32[100] concatenate(gp, gp), dimensions={0}
  ROOT gr = f32[10] slice(ga), slice={[0:10]}
}
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[50] call(p), to_apply=f
  ROOT b = f32[10] call(a), to_apply=g
})");
  const BufferAssigner::PrivateStacks stacks = {
      {0, {Find("fa")->parent(), Find("ga")->parent()}}};
  Options options;
  options.private_stacks = &stacks;
  const absl::Status status = TryAssign(std::move(options));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Slice("fa"), Slice("ga"));
}

TEST_F(BufferAssignerOptionsTest, ColorsAreWrittenToLayouts) {
  Assign(kChain);
  Options options;
  options.colorer = [](HloAliasAnalysis* alias, const HloOrdering&) {
    for (HloValue* value : alias->dataflow_analysis().values()) {
      value->set_color(value->instruction()->name() == "b" ? 3 : 0);
    }
    return absl::OkStatus();
  };
  const absl::Status status = TryAssign(std::move(options));
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(Find("b")->shape().layout().memory_space(), 3);
  EXPECT_EQ(Find("a")->shape().layout().memory_space(), 0);
}

TEST_F(BufferAssignerOptionsTest, ViewsHaveNoMemory) {
  for (bool is_view : {true, false}) {
    Assign(kChain);
    Options options;
    options.colorer = [](HloAliasAnalysis* alias, const HloOrdering&) {
      for (HloValue* value : alias->dataflow_analysis().values()) {
        value->set_color(value->instruction()->name() == "b" ? 7 : 0);
      }
      return absl::OkStatus();
    };
    if (is_view) options.dus_view_color = 7;
    const absl::Status status = TryAssign(std::move(options));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(assignment_->HasTopLevelAllocation(Find("b")), !is_view);
    EXPECT_TRUE(assignment_->HasTopLevelAllocation(Find("a")));
  }
}

TEST_F(BufferAssignerOptionsTest, MemoryOfAColorMayBeSplit) {
  Assign(kChain);
  module_->mutable_config()
      .mutable_debug_options()
      .set_xla_multiheap_size_constraint_per_heap(400);
  const absl::Status status = TryAssign();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(assignment_->multiheap_size_constraint_per_heap(), 400);
  EXPECT_NE(Slice("a").allocation(), Slice("b").allocation());
  EXPECT_EQ(Allocation("a").page_id() + Allocation("b").page_id(), 1);
  EXPECT_EQ(Slice("a"), Slice("c"));
}

TEST_F(BufferAssignerOptionsTest, PagesSplitMemoryToo) {
  Assign(absl::StrReplaceAll(kChain, {{"[100]", "[256]"}}));
  module_->mutable_config().set_page_size_kib(1);
  // The size of a page counts, whatever the option says.
  module_->mutable_config()
      .mutable_debug_options()
      .set_xla_multiheap_size_constraint_per_heap(1 << 20);
  const absl::Status status = TryAssign();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(assignment_->multiheap_size_constraint_per_heap(), 1024);
  EXPECT_NE(Slice("a").allocation(), Slice("b").allocation());
  EXPECT_EQ(Slice("a"), Slice("c"));
}

// On one stack, what runs at the same time lies side by side, and what runs
// later in the same place.
TEST_F(BufferAssignerOptionsTest, PrivateStacksOfAsynchronousCalls) {
  for (const bool overlap : {false, true}) {
    Assign(absl::StrCat(R"(
f {
  fp = f32[100] parameter(0)
  fa = f32[100] reverse(fp), dimensions={0}
  ROOT fr = f32[50] slice(fa), slice={[0:50]}
}
g {
  gp = f32[100] parameter(0)
  ga = f32[100] reverse(gp), dimensions={0}
  ROOT gr = f32[50] slice(ga), slice={[50:100]}
}
ENTRY e {
  p = f32[100] parameter(0)
  fs = ((f32[100]), f32[50], u32[]) call-start(p), to_apply=f
)",
                        overlap ? R"(
  gs = ((f32[100]), f32[50], u32[]) call-start(p), to_apply=g
  fd = f32[50] call-done(fs)
)"
                                : R"(
  fd = f32[50] call-done(fs)
  gs = ((f32[100]), f32[50], u32[]) call-start(p), to_apply=g
)",
                        R"(
  gd = f32[50] call-done(gs)
  ROOT r = f32[100] concatenate(fd, gd), dimensions={0}
})"));
    const BufferAssigner::PrivateStacks stacks = {
        {0, {Find("fa")->parent(), Find("ga")->parent()}}};
    Options options;
    options.private_stacks = &stacks;
    const absl::Status status = TryAssign(std::move(options));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Slice("fa").allocation(), Slice("ga").allocation());
    EXPECT_EQ(Slice("fa").OverlapsWith(Slice("ga")), !overlap);
  }
}

TEST_F(BufferAssignerOptionsTest, OrdersOfBuffers) {
  for (auto order :
       {BufferAssigner::kBiggestFirst, BufferAssigner::kTopological,
        BufferAssigner::kLiveRangeStart}) {
    Options options;
    options.buffer_order = order;
    Assign(kLent, std::move(options));
    EXPECT_EQ(assignment_->GetStats().total_allocation_bytes, 1208);
    // Parameters and results: the entry's first instruction comes first unless
    // others are larger, or as large and results.
    EXPECT_EQ(Slice("p").index(), order == BufferAssigner::kBiggestFirst);
  }
}

}  // namespace
}  // namespace xla

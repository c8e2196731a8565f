// Memory of results and parameters that temporaries take meanwhile.

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/buffers/buffer_assigner_test_base.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"

namespace xla {
namespace {

using BufferLendingTest = BufferAssignerTestBase;

TEST_F(BufferLendingTest, ResultsLendTheirMemoryToTemporariesOfTheirSize) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[50] slice(a), slice={[0:50]}
  c = f32[50] reverse(b), dimensions={0}
  ROOT d = f32[100] concatenate(b, c), dimensions={0}
})");
  EXPECT_TRUE(Share("a", "d"));
  // b and c, each in a multiple of 16 bytes.
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 408);
}

// a is dead when the result is computed, b is not.
TEST_F(BufferLendingTest, ResultsLendTheirMemoryToSmallerTemporaries) {
  Assign(R"(
ENTRY e {
  p = f32[10] parameter(0)
  a = f32[10] reverse(p), dimensions={0}
  b = f32[10] reverse(a), dimensions={0}
  ROOT d = f32[20] concatenate(b, b), dimensions={0}
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("d").allocation());
  EXPECT_EQ(Slice("a").offset(), 0);
  EXPECT_NE(Slice("b").allocation(), Slice("d").allocation());
  EXPECT_EQ(Allocation("d").size(), 80);
  EXPECT_TRUE(Allocation("d").maybe_live_out());
}

// Each temporary takes the smallest memory that it fits into; results take
// memory of their own size only.
TEST_F(BufferLendingTest, TheSmallestMemoryThatFitsIsLent) {
  Assign(R"(
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] reverse(p), dimensions={0}
  b = f32[6] slice(a), slice={[0:6]}
  m = f32[12] concatenate(b, b), dimensions={0}
  l = f32[24] concatenate(m, m), dimensions={0}
  ROOT t = (f32[24], f32[12]) tuple(l, m)
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("m").allocation());
  EXPECT_EQ(Slice("b").allocation(), Slice("l").allocation());
  EXPECT_NE(Slice("m").allocation(), Slice("l").allocation());
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 0);
}

// When b is computed from a in r's memory, that of s is free as well, and
// smaller.
constexpr absl::string_view kOperandOfResultsMemory = R"(
ENTRY e {
  p = f32[8] parameter(0)
  c = f32[8] reverse(p), dimensions={0}
  a = f32[4] slice(p), slice={[0:4]}
  d = f32[4] slice(c), slice={[0:4]}
  b = f32[4] $0
  e = f32[4] add(b, d)
  s = f32[8] concatenate(e, e), dimensions={0}
  r = f32[16] concatenate(s, s), dimensions={0}
  ROOT t = (f32[16], f32[8]) tuple(r, s)
})";

TEST_F(BufferLendingTest, TheMemoryOfAnOperandIsLentFirst) {
  Assign(absl::StrReplaceAll(kOperandOfResultsMemory, {{"$0", "negate(a)"}}));
  EXPECT_EQ(Slice("c").allocation(), Slice("s").allocation());
  EXPECT_EQ(Slice("a").allocation(), Slice("r").allocation());
  EXPECT_EQ(Slice("b").allocation(), Slice("r").allocation());
}

TEST_F(BufferLendingTest, MemoryIsNotLentToReadersThatDoNotWriteInPlace) {
  for (absl::string_view reader : {"reverse(a), dimensions={0}", "copy(a)"}) {
    Assign(absl::StrReplaceAll(kOperandOfResultsMemory, {{"$0", reader}}));
    EXPECT_EQ(Slice("a").allocation(), Slice("r").allocation()) << reader;
    EXPECT_EQ(Slice("b").allocation(), Slice("s").allocation()) << reader;
  }
}

// f adds c, element by element, and b in reverse, which are one value.
constexpr absl::string_view kReadThroughBitcasts = R"(
fused {
  p0 = f32[16,16] parameter(0)
  p1 = f32[256] parameter(1)
  v = f32[256] reverse(p1), dimensions={0}
  w = f32[16,16] reshape(v)
  ROOT s = f32[16,16] add(p0, w)
}
ENTRY e {
  p = f32[16,16] parameter(0)
  q = f32[4,64] parameter(1)
  $0
  f = f32[16,16] fusion(c, b), kind=kLoop, calls=fused
  $1
})";

constexpr absl::string_view kWaysToReadIt[] = {
    "a = f32[4,64] negate(q) c = f32[16,16] bitcast(a) b = f32[256] bitcast(c)",
    "a = f32[4,64] negate(q) b = f32[256] bitcast(a) c = f32[16,16] bitcast(a)",
    "c = f32[16,16] negate(p) a = f32[256] bitcast(c) b = f32[256] bitcast(a)",
};

TEST_F(BufferLendingTest, WhatIsReadThroughBitcastsIsNotWrittenOver) {
  for (absl::string_view way : kWaysToReadIt) {
    for (absl::string_view result :
         {"ROOT t = (f32[16,16]) tuple(f)",
          "ROOT t = f32[1,1] slice(f), slice={[0:1], [0:1]}"}) {
      Assign(absl::StrReplaceAll(kReadThroughBitcasts,
                                 {{"$0", way}, {"$1", result}}));
      EXPECT_FALSE(Slice("c").OverlapsWith(Slice("f"))) << way << result;
    }
  }
}

TEST_F(BufferLendingTest, CheckerSeesWhatIsReadThroughBitcasts) {
  for (absl::string_view way : kWaysToReadIt) {
    Assign(absl::StrReplaceAll(
        kReadThroughBitcasts,
        {{"$0", way}, {"$1", "ROOT t = (f32[16,16]) tuple(f)"}}));
    BufferAssignment& assignment = *assignment_;
    assignment.AddAssignment(
        assignment.GetMutableAllocation(Slice("f").index()),
        assignment.dataflow_analysis().GetUniqueValueAt(Find("c")), 0);
    const absl::Status status = CheckBufferAssignment(assignment, &alias_info_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << way;
  }
}

// The last of the results is the first to lend.
TEST_F(BufferLendingTest, OfEqualSizesTheLastResultLends) {
  Assign(R"(
ENTRY e {
  p = f32[8] parameter(0)
  a = f32[8] reverse(p), dimensions={0}
  b = f32[4] slice(a), slice={[0:4]}
  c = f32[8] concatenate(b, b), dimensions={0}
  d = f32[8] reverse(c), dimensions={0}
  ROOT t = (f32[8], f32[8]) tuple(c, d)
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("d").allocation());
}

TEST_F(BufferLendingTest, AliasedParameterIsWrittenOverAndLent) {
  Parse(R"(
HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[50] slice(p), slice={[0:50]}
  b = f32[100] concatenate(a, a), dimensions={0}
  c = f32[50] slice(b), slice={[20:70]}
  ROOT r = f32[100] concatenate(c, c), dimensions={0}
})");
  const absl::Status status = TryAssign();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(Share("p", "r"));
  EXPECT_TRUE(Share("p", "b"));
  EXPECT_TRUE(Allocation("p").is_parameter_aliased_with_output());
  EXPECT_FALSE(Allocation("p").is_readonly());
}

}  // namespace
}  // namespace xla

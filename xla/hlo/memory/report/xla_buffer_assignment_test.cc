#include "xla/hlo/memory/report/xla_buffer_assignment.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Kind = XlaBufferAssignment::Kind;

constexpr char kText[] = R"(BufferAssignment:
allocation 0: size 1024, parameter 0, shape |f32[256]| at ShapeIndex {}, maybe-live-out:
 value: <3 p @0> (size=1024,offset=0): f32[256]{0}
 value: <9 dot @0> (size=1024,offset=0): f32[256]{0}
 value: <10 sub @0> (size=1024,offset=0): f32[256]{0}
allocation 1: size 16, output shape is |(f32[256], f32[])|, maybe-live-out:
 value: <12 tuple{} @0> (size=16,offset=0): (f32[256]{0}, f32[])
allocation 2: size 4, constant:
 value: <4 c @0> (size=4,offset=0): f32[]
allocation 3: size 8, thread-local:
 value: <5 sum @0> (size=4,offset=4): f32[]
allocation 4: size 4096, preallocated-temp:
 value: <6 while{1} @0> (size=1024,offset=3072): f32[256]{0}

Total bytes used: 5148 (5.0KiB)

Used values:
<3 p @0>
)";

MemoryReport::Buffer Buffer(absl::string_view name, absl::string_view index) {
  MemoryReport::Buffer buffer;
  buffer.set_name(std::string(name));
  buffer.set_shape_index(std::string(index));
  buffer.set_bytes(1024);
  return buffer;
}

TEST(XlaBufferAssignmentTest, ReadsAllocationsAndValues) {
  const auto assignment = ParseXlaBufferAssignment(kText, "a.txt");
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  ASSERT_EQ(assignment->allocations.size(), 5);
  EXPECT_EQ(assignment->allocations[0].parameter, 0);
  EXPECT_EQ(assignment->allocations[0].values[1].name, "dot");
  EXPECT_EQ(assignment->allocations[1].values[0].name, "tuple");
  EXPECT_EQ(assignment->allocations[4].values[0].name, "while{1}");
  EXPECT_EQ(assignment->allocations[4].values[0].offset, 3072);
  EXPECT_EQ(assignment->BytesOf(Kind::kThreadLocal), 8);
  EXPECT_EQ(assignment->BytesOf(Kind::kConstant), 4);
  EXPECT_EQ(assignment->total_bytes(), 1024 + 16 + 4096);
}

TEST(XlaBufferAssignmentTest, ErrorsSayWhere) {
  const auto error = [](absl::string_view text) {
    return std::string(
        ParseXlaBufferAssignment(text, "a.txt").status().message());
  };
  EXPECT_EQ(error(""), "a.txt:1: error: no allocations, as XLA writes them");
  EXPECT_THAT(error("\nallocation 0: size -1:"), HasSubstr("a.txt:2: error"));
  EXPECT_THAT(error(" value: <3 p @0> (size=4,offset=0): f32[]"),
              HasSubstr("before the first"));
  EXPECT_THAT(error("allocation 0: size 4, constant:\n value: <3 p"),
              HasSubstr("a.txt:2: error: not a value"));
  EXPECT_THAT(error("allocation 0: size 4:\n"
                    " value: <3 p @0> (size=4,offset=1): f32[]"),
              HasSubstr("outside of its allocation"));
  EXPECT_THAT(error("allocation 0: size 9223372036854775807:\n"
                    "allocation 1: size 1:"),
              HasSubstr("a.txt:2: error"));
}

TEST(XlaBufferAssignmentTest, LiesBesideTheModule) {
  EXPECT_EQ(XlaBufferAssignmentPath("d/m.cpu_after_optimizations.txt"),
            "d/m.cpu_after_optimizations-buffer-assignment.txt");
  EXPECT_EQ(XlaBufferAssignmentPath("d/model.hlo"), "");
  EXPECT_EQ(XlaBufferAssignmentPath(""), "");
}

TEST(XlaBufferAssignmentTest, NamesWhatSharesMemoryAtThePeak) {
  const auto assignment = ParseXlaBufferAssignment(kText, "a.txt");
  ASSERT_TRUE(assignment.ok());
  MemoryReport report;
  report.set_heap_bytes(6160);
  *report.add_live_at_peak() = Buffer("dot", "{}");
  *report.add_live_at_peak() = Buffer("sub", "{}");
  *report.add_live_at_peak() = Buffer("while", "{1}");
  const std::string text = CompareWithXla(report, *assignment, 10);
  EXPECT_THAT(text,
              HasSubstr("XLA allocated 5.02 KiB, 16.6 % less than the 6.02 "
                        "KiB above\n"));
  EXPECT_THAT(text, HasSubstr("arguments 1.00 KiB, outputs 16 B, temporaries "
                              "4.00 KiB"));
  EXPECT_THAT(text, HasSubstr("%sub (1.0 KiB) shares memory with %dot there"));
  EXPECT_THAT(text, Not(HasSubstr("while")));
  EXPECT_THAT(CompareWithXla(report, *assignment, 0), HasSubstr("and 1 more"));
  // What is allocated by XLA's rules is what its bytes are beside.
  report.set_allocated_bytes(5136);
  EXPECT_THAT(CompareWithXla(report, *assignment, 0),
              HasSubstr("XLA allocated 5.02 KiB, as many bytes as the 5.02 KiB "
                        "above\n"));
}

TEST(XlaBufferAssignmentTest, WhatIsPrintedAddsUp) {
  const auto assignment = ParseXlaBufferAssignment(
      "allocation 0: size 131072, parameter 0, shape |f32[32768]|:\n"
      "allocation 1: size 1179648, preallocated-temp:\n",
      "a.txt");
  ASSERT_TRUE(assignment.ok()) << assignment.status();
  MemoryReport report;
  report.set_allocated_bytes(1.25 * (1 << 20));
  EXPECT_THAT(CompareWithXla(report, *assignment, 0),
              HasSubstr("as many bytes as the 1.25 MiB above\n  arguments "
                        "0.12 MiB, outputs 0 B, temporaries 1.13 MiB\n"));
}

TEST(XlaBufferAssignmentTest, SaysWhatIsAllocatedThroughout) {
  const auto assignment = ParseXlaBufferAssignment(kText, "a.txt");
  ASSERT_TRUE(assignment.ok());
  MemoryReport report;
  report.set_heap_bytes(4112 + 512);
  report.set_peak_argument_bytes(512);
  report.set_peak_output_bytes(16);
  const std::string line = "throughout: 512 B of them are not live";
  EXPECT_THAT(CompareWithXla(report, *assignment, 10), HasSubstr(line));
  // Also beside as many bytes that are allocated: the peak is less.
  report.set_allocated_bytes(assignment->total_bytes());
  EXPECT_THAT(CompareWithXla(report, *assignment, 10), HasSubstr(line));
  report.clear_allocated_bytes();
  report.set_peak_argument_bytes(1024);
  EXPECT_THAT(CompareWithXla(report, *assignment, 10),
              Not(HasSubstr("throughout")));
  // No reason for XLA to need less.
  report.set_peak_argument_bytes(512);
  report.set_heap_bytes(6160);
  EXPECT_THAT(CompareWithXla(report, *assignment, 10),
              Not(HasSubstr("throughout")));
}

TEST(XlaBufferAssignmentTest, MoreAndEqualBytesAreSaid) {
  const auto assignment = ParseXlaBufferAssignment(kText, "a.txt");
  ASSERT_TRUE(assignment.ok());
  MemoryReport report;
  report.set_heap_bytes(2064);
  *report.add_live_at_peak() = Buffer("while", "{1}");
  EXPECT_THAT(CompareWithXla(report, *assignment, 10),
              HasSubstr("148.8 % more than the 2.02 KiB above"));
  report.set_heap_bytes(assignment->total_bytes());
  EXPECT_THAT(CompareWithXla(report, *assignment, 10),
              HasSubstr("as many bytes as the 5.02 KiB above"));
}

}  // namespace
}  // namespace xla

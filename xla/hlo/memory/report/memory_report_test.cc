#include "xla/hlo/memory/report/memory_report.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/byte_size.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MemoryReport Report() {
  MemoryReport report;
  report.set_module("step");
  report.set_instruction_count(12);
  report.set_peak_bytes(3 << 20);
  report.set_heap_bytes(3 << 20);
  report.set_lower_bound_bytes(3 << 20);
  report.set_any_order_lower_bound_bytes(2 << 20);
  report.set_peak_instruction("dot.3");
  report.set_peak_computation("main");
  report.set_peak_opcode("dot");
  report.set_peak_source("model.py:12");
  report.set_schedule_algorithm("best");
  report.set_schedule_winner("cuts");
  for (int i = 0; i < 3; ++i) {
    MemoryReport::Buffer* buffer = report.add_live_at_peak();
    buffer->set_name(std::string("b.") + std::to_string(i));
    buffer->set_shape_index("{}");
    buffer->set_shape("f32[262144]");
    buffer->set_bytes(1 << 20);
    buffer->set_kind("temporary");
    buffer->set_first(3);
    buffer->set_op_name(std::string("jit(step)/mul_") + "abc"[i]);
  }
  return report;
}

TEST(MemoryReportTest, TextAnswersFirst) {
  MemoryReport report = Report();
  EXPECT_THAT(MemoryReportToText(report, {}),
              testing::StartsWith("step: 3.0 MiB at the peak\n  at %dot.3"));
  report.set_limit_bytes(4 << 20);
  report.set_fits(true);
  report.set_accounting("ours");
  EXPECT_THAT(MemoryReportToText(report, {}),
              HasSubstr("at the peak: fits in 4.0 MiB, 1.0 MiB to spare "
                        "(accounting: ours)\n"));
  report.set_limit_bytes(2 << 20);
  report.set_fits(false);
  EXPECT_THAT(
      MemoryReportToText(report, {}),
      HasSubstr("does not fit in 2.0 MiB, 1.0 MiB too much (accounting: ours)\n"
                "  The lower bound for any order is 2.0 MiB."));
  report.set_limit_bytes(1 << 20);
  EXPECT_THAT(MemoryReportToText(report, {}),
              HasSubstr("No order of these instructions fits"));
}

TEST(MemoryReportTest, LimitsInPowersOf1000AreShownAsGiven) {
  MemoryReport report = Report();
  report.set_limit_bytes(16e9);
  report.set_limit_given("16GB");
  report.set_fits(true);
  EXPECT_THAT(MemoryReportToText(report, {}),
              HasSubstr("fits in 14.9 GiB (16GB), 14.9 GiB to spare"));
}

TEST(MemoryReportTest, LongOperationNamesLoseTheirMiddle) {
  MemoryReport report = Report();
  const std::string begin = "jit(train_step)/transpose(jvp(M))";
  report.mutable_live_at_peak(1)->set_op_name(
      begin + std::string(300, '/') + "decoder/layer_7/attention/softmax");
  const std::string text = MemoryReportToText(report, {});
  EXPECT_THAT(text, HasSubstr("jit(train_step)/transpose(jvp(M)...//"));
  EXPECT_THAT(text, HasSubstr("//decoder/layer_7/attention/softmax\n"));
  EXPECT_THAT(text, Not(HasSubstr(std::string(90, '/'))));
  EXPECT_THAT(text, HasSubstr("jit(step)/mul_c\n"));
}

TEST(MemoryReportTest, SaysWhoseOrderItIs) {
  MemoryReport report = Report();
  EXPECT_THAT(MemoryReportToText(report, {}), HasSubstr("best"));
  report.set_schedule_algorithm("as-is");
  EXPECT_THAT(MemoryReportToText(report, {}), HasSubstr("as given"));
  report.mutable_input()->set_passes("gpu");
  EXPECT_THAT(MemoryReportToText(report, {}), HasSubstr("by passes"));
}

TEST(MemoryReportTest, SmallBuffersAreSummed) {
  MemoryReportTextOptions options;
  options.max_buffers = 1;
  const std::string text = MemoryReportToText(Report(), {}, options);
  EXPECT_THAT(text, HasSubstr("%b.0"));
  EXPECT_THAT(text, Not(HasSubstr("%b.1")));
  EXPECT_THAT(text, HasSubstr("2.0 MiB  66.7%  the other 2"));
  EXPECT_THAT(text, HasSubstr("3.0 MiB 100.0%  temporary          3 x "
                              "f32[262144]\n"));
  EXPECT_THAT(MemoryReportToText(Report(), {}), Not(HasSubstr("by shape")));
}

TEST(MemoryReportTest, ShapesAddUpToAllBuffers) {
  MemoryReport report = Report();
  for (int i = 0; i < 8; ++i) {
    MemoryReport::Buffer* buffer = report.add_live_at_peak();
    buffer->set_name(std::string("c.") + std::to_string(i));
    buffer->set_shape(std::string("f32[") + std::to_string(9 - i) + "]");
    buffer->set_bytes((9 - i) << 10);
    buffer->set_kind("temporary");
  }
  MemoryReportTextOptions options;
  options.max_buffers = 1;
  // Five of the eight new shapes have rows: 4, 3 and 2 KiB are left.
  EXPECT_THAT(MemoryReportToText(report, {}, options),
              HasSubstr("1 x f32[5]\n     9.0 KiB   0.3%  the other 3\n"));
}

TEST(MemoryReportTest, EqualLayersAreOneRow) {
  MemoryReport report = Report();
  for (int i = 0; i < 3; ++i) {
    report.mutable_live_at_peak(i)->set_op_name(
        std::string("jit(step)/layer_") + std::to_string(i) + "/mul");
  }
  const std::string text = MemoryReportToText(report, {});
  EXPECT_THAT(text, HasSubstr("3 buffers in 1 groups of equal layers"));
  EXPECT_THAT(text, HasSubstr("3.0 MiB 100.0%  temporary       3 x 1.0 MiB"));
  EXPECT_THAT(text, HasSubstr("layer_*\n"));
}

TEST(MemoryReportTest, JsonHoldsNumbers) {
  auto json = MemoryReportToJson(Report());
  ASSERT_TRUE(json.ok());
  EXPECT_THAT(*json, HasSubstr("\"peak_bytes\": 3145728"));
  EXPECT_THAT(*json, HasSubstr("\"aliased_bytes\": 0"));
  EXPECT_THAT(*json, HasSubstr("\"first\": 3"));
  EXPECT_THAT(*json, HasSubstr("\"schedule_algorithm\": \"best\""));
  EXPECT_THAT(*json, HasSubstr("\"schedule_winner\": \"cuts\""));
  EXPECT_THAT(*json, Not(HasSubstr("limit_bytes")));
}

TEST(MemoryReportTest, CurveKeepsItsPeak) {
  std::vector<double> curve(1000, 512.0);
  curve[500] = 4096.0;
  EXPECT_EQ(PlotCurve(curve, 10, 2),
            "     4.0 KiB |     #\n"
            "     2.0 KiB |     #\n"
            "             +---------- 1000 program points\n");
  EXPECT_EQ(PlotCurve({}, 10, 2), "");
  EXPECT_THAT(PlotCurve({0, 0}, 10, 1), HasSubstr("2 program points"));
}

TEST(MemoryReportTest, LimitsAreApartByWhatIsPrinted) {
  MemoryReport report = Report();
  const auto mib = [](double count) { return count * (1 << 20); };
  report.set_peak_bytes(mib(41.75));
  report.set_heap_bytes(mib(41.75));
  report.set_limit_bytes(mib(29.22));
  report.set_fits(false);
  EXPECT_THAT(MemoryReportToText(report, {}),
              HasSubstr("41.8 MiB at the peak: does not fit in 29.2 MiB, "
                        "12.6 MiB too much"));
  // What is too much for the limit is the heap, which is not printed.
  report.set_heap_bytes(mib(45));
  EXPECT_THAT(MemoryReportToText(report, {}),
              HasSubstr("41.8 MiB at the peak: does not fit in 29.2 MiB, "
                        "15.8 MiB too much"));
}

// Rounded one by one, 1.044 and 0.824 are 1.04 and 0.82, and their sum 1.87.
TEST(MemoryReportTest, WhatIsPrintedAddsUp) {
  MemoryReport report = Report();
  const auto mib = [](double count) { return count * (1 << 20); };
  report.set_argument_bytes(mib(1.044));
  report.set_peak_argument_bytes(mib(1.044));
  report.set_temp_bytes(mib(0.824));
  report.set_peak_bytes(mib(1.868));
  std::string text = MemoryReportToText(report, {});
  EXPECT_THAT(text, HasSubstr("arguments     1.05 MiB   at the peak, of 1.05"));
  EXPECT_THAT(text, HasSubstr("temporaries   0.82 MiB"));
  EXPECT_THAT(text, HasSubstr("peak          1.87 MiB"));
  // What is small is not made up of roundings.
  report.set_peak_output_bytes(16);
  report.set_temp_bytes(24);
  report.set_peak_bytes(mib(1.044) + 40);
  text = MemoryReportToText(report, {});
  EXPECT_THAT(text, HasSubstr("outputs           16 B"));
  EXPECT_THAT(text, HasSubstr("temporaries       24 B"));
  report.set_temp_bytes(50 << 10);
  report.set_peak_bytes(mib(1.044) + 16 + (50 << 10));
  EXPECT_THAT(MemoryReportToText(report, {}),
              HasSubstr("temporaries   50.0 KiB"));
}

TEST(ByteSizeTest, SmallSizesHaveAUnitOfTheirOwn) {
  const ByteUnit unit(1884000);
  EXPECT_EQ(unit(1884000), "1.80 MiB");
  EXPECT_EQ(unit(844000), "0.80 MiB");
  EXPECT_EQ(unit(105000), "0.10 MiB");
  EXPECT_EQ(unit(94000), "91.8 KiB");
  EXPECT_EQ(unit(16), "16 B");
  EXPECT_EQ(unit(0), "0 B");
  EXPECT_EQ(unit.Rounded(844000), 0.8 * (1 << 20));
  EXPECT_EQ(unit.Rounded(16), 16);
  // A half goes where printing takes it.
  EXPECT_EQ(unit(131072), "0.12 MiB");
  EXPECT_EQ(unit.Rounded(131072), 0.12 * (1 << 20));
}

TEST(ByteSizeTest, UnitsBothWays) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(1048575), "1.0 MiB");
  EXPECT_EQ(*ParseByteSize("16GiB"), int64_t{16} << 30);
  EXPECT_EQ(*ParseByteSize("16G"), int64_t{16} << 30);
  EXPECT_EQ(*ParseByteSize(" 800 MB "), 800'000'000);
  EXPECT_EQ(*ParseByteSize("1.5e9"), 1'500'000'000);
  EXPECT_EQ(*ParseByteSize("16gb"), 16'000'000'000);
  EXPECT_EQ(*ParseByteSize("16gib"), int64_t{16} << 30);
  EXPECT_EQ(*ParseByteSize("16Gi"), int64_t{16} << 30);
  EXPECT_EQ(*ParseByteSize("7b"), 7);
  EXPECT_EQ(*ParseByteSize("2E"), int64_t{2} << 60);
  EXPECT_EQ(*ParseByteSize("0"), 0);
  for (const char* bad :
       {"", "GiB", "12GX", "-3", "1e30", "16 GiB left", "1..2"}) {
    EXPECT_FALSE(ParseByteSize(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace xla

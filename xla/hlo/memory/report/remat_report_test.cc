#include "xla/hlo/memory/report/remat_report.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/memory/report/remat_report.pb.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The curve of a module of 100 KiB, with a met limit for each cost.
RematCurve CurveOf(const std::vector<double>& added_fractions) {
  RematCurve curve;
  curve.set_module("m");
  curve.set_peak_before_bytes(100 << 10);
  for (double added : added_fractions) {
    RematCurve::Point* point = curve.add_points();
    point->set_limit_fraction(1.0 - 0.1 * (curve.points_size() - 1));
    point->set_limit_bytes(point->limit_fraction() * (100 << 10));
    point->set_peak_bytes(point->limit_bytes());
    point->set_met(true);
    point->set_added_seconds_fraction(added);
  }
  return curve;
}

TEST(RematCurveTest, LimitsInPowersOf1000AreShownAsGiven) {
  RematCurve curve = CurveOf({0});
  curve.set_limit_bytes(200e3);
  curve.set_limit_given("200KB");
  EXPECT_THAT(RematCurveToText(curve),
              HasSubstr("fits in 195.3 KiB (200KB) as it is\n"));
  RematReport report;
  report.set_module("m");
  report.set_limit_bytes(200e3);
  report.set_limit_given("200KB");
  report.set_met(true);
  EXPECT_THAT(RematReportToText(report, 3),
              HasSubstr("fits in 195.3 KiB (200KB)\n"));
}

TEST(RematCurveTest, BarsGrowFromNothing) {
  const std::string text = RematCurveToText(CurveOf({0, 0.1, 0.2}));
  const std::string half(20, '#');
  EXPECT_THAT(text, HasSubstr("+0.00 % |\n"));
  EXPECT_THAT(text, HasSubstr("+10.00 % |" + half + "\n"));
  EXPECT_THAT(text, HasSubstr("+20.00 % |" + half + half + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("fusion")));
}

TEST(RematCurveTest, WhatFusionSavesIsApartFromWhatLimitsCost) {
  const std::string text = RematCurveToText(CurveOf({-0.2, -0.1, 0}));
  const std::string half(20, '#');
  EXPECT_THAT(text, HasSubstr("-20.00 % |\n"));
  EXPECT_THAT(text, HasSubstr("-10.00 % |" + half + "\n"));
  EXPECT_THAT(text, HasSubstr("+0.00 % |" + half + half + "\n"));
  EXPECT_THAT(text, HasSubstr("the fastest of these plans saves 20.00 % by "
                              "fusion; bars show what limits cost of that\n"));
}

// 41.75 and 29.22 MiB are 12.53 apart.
TEST(RematReportTest, LimitsAreMissedByWhatIsPrinted) {
  const auto mib = [](double count) { return count * (1 << 20); };
  RematReport report;
  report.set_peak_after_bytes(mib(41.75));
  report.set_limit_bytes(mib(29.22));
  EXPECT_THAT(
      RematReportToText(report, 3),
      HasSubstr("41.8 MiB does not fit in 29.2 MiB, 12.6 MiB too much"));
  RematCurve curve;
  RematCurve::Point* point = curve.add_points();
  point->set_peak_bytes(mib(41.75));
  point->set_limit_bytes(mib(29.22));
  EXPECT_THAT(
      RematCurveToText(curve),
      HasSubstr("29.2 MiB not met: the best plan needs 41.8 MiB, 12.6 MiB "
                "too much"));
}

TEST(RematReportTest, WhatFusionSavesIsApartFromWhatRecomputationCosts) {
  RematReport report;
  report.set_module("m");
  report.set_method("fuse+plan");
  report.set_added_seconds(-2e-6);
  report.set_added_seconds_fraction(-0.2);
  report.set_added_flops(100);
  EXPECT_THAT(RematReportToText(report, 3),
              HasSubstr("fusion saves more time than recomputation costs"));
  report.set_added_flops(0);
  EXPECT_THAT(RematReportToText(report, 3), Not(HasSubstr("saves")));
  report.set_fused_seconds_fraction(-0.25);
  report.set_recomputed_seconds_fraction(0.05);
  const std::string text = RematReportToText(report, 3);
  EXPECT_THAT(text, HasSubstr("-20.00 % time"));
  EXPECT_THAT(text, HasSubstr("fusion saves 25.00 % of the time, "
                              "recomputation adds 5.00 %\n"));
  EXPECT_THAT(text, Not(HasSubstr("more time")));
  report.set_added_seconds_fraction(-0.22184);
  report.set_fused_seconds_fraction(-0.25848);
  report.set_recomputed_seconds_fraction(0.03664);
  EXPECT_THAT(RematReportToText(report, 3),
              HasSubstr("fusion saves 25.85 % of the time, recomputation adds "
                        "3.67 %\n"));
  // Other rewrites save time, too.
  report.set_method("narrow+plan");
  EXPECT_THAT(RematReportToText(report, 3), Not(HasSubstr("fusion")));
}

}  // namespace
}  // namespace xla

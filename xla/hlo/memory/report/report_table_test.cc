#include "xla/hlo/memory/report/report_table.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/memory/report/memory_report.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

std::vector<NamedReport> Reports() {
  std::vector<NamedReport> reports(3);
  reports[0].name = "small.hlo";
  reports[0].report.set_peak_bytes(1024);
  reports[0].report.set_fits(true);
  reports[1].name = "bad.hlo";
  reports[1].report.set_error("bad.hlo:1:1: expected \"HloModule\", no more");
  reports[2].name = "large.hlo";
  reports[2].report.set_peak_bytes(2048);
  reports[2].report.set_fits(false);
  reports[2].report.set_limit_bytes(1536);
  return reports;
}

TEST(ReportTableTest, LargestFirstErrorsLast) {
  const std::string text = ReportTableToText(Reports());
  EXPECT_THAT(text, HasSubstr("2.0 KiB"));
  EXPECT_LT(text.find("large.hlo"), text.find("small.hlo"));
  EXPECT_LT(text.find("small.hlo"), text.find("bad.hlo"));
  EXPECT_THAT(text, HasSubstr("3 modules, 1 without a report\n"));
  EXPECT_THAT(text, HasSubstr("bad.hlo: bad.hlo:1:1: expected"));
}

TEST(ReportTableTest, CsvQuotesAndKeepsTheOrder) {
  const std::string csv = ReportTableToCsv(Reports());
  EXPECT_THAT(csv, HasSubstr("\nsmall.hlo,,0,1024,"));
  EXPECT_THAT(csv, HasSubstr(",1536,no,,\n"));
  EXPECT_THAT(csv, HasSubstr("\nbad.hlo,,,,,,,,,,,,\"bad.hlo:1:1: expected "
                             "\"\"HloModule\"\", no more\"\n"));
  EXPECT_LT(csv.find("small.hlo"), csv.find("large.hlo"));
}

TEST(ReportTableTest, ReadsWhatWasWritten) {
  const MemoryReport report = Reports()[2].report;
  const auto read = MemoryReportFromJson(*MemoryReportToJson(report));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->SerializeAsString(), report.SerializeAsString());
  EXPECT_FALSE(MemoryReportFromJson("{").ok());
  EXPECT_FALSE(MemoryReportFromJson("HloModule m").ok());
}

}  // namespace
}  // namespace xla

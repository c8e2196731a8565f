#include "xla/hlo/ir/text/hlo_print_util.h"

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/printer.h"

namespace xla {
namespace {

template <typename PrintFn>
std::string Printed(PrintFn&& print) {
  StringPrinter printer;
  print(&printer);
  return std::move(printer).ToString();
}

TEST(PrintEscapedTest, EscapesQuotesBackslashesAndControlBytes) {
  const absl::string_view text("a\"b'c\\d\n\r\t\x01\xff z", 14);
  EXPECT_EQ(Printed([&](Printer* p) { PrintEscaped(p, text); }),
            R"(a\"b\'c\\d\n\r\t\001\377 z)");
}

TEST(PrintEscapedTest, LeavesPlainTextAlone) {
  EXPECT_EQ(Printed([](Printer* p) { PrintQuoted(p, "jit(f)/while/body"); }),
            "\"jit(f)/while/body\"");
  EXPECT_EQ(Printed([](Printer* p) { PrintQuoted(p, ""); }), "\"\"");
}

TEST(PrintDoubleTest, PrintsTheShortestFormThatReadsBack) {
  auto text = [](double value) {
    return Printed([&](Printer* p) { PrintDouble(p, value); });
  };
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(70), "70");
  EXPECT_EQ(text(1e-5), "1e-05");
  EXPECT_EQ(text(-2.5), "-2.5");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(Printed([](Printer* p) { PrintFloat(p, 1e-5f); }), "1e-05");
}

TEST(IsBalancedDictTest, TellsDictionariesFromOtherText) {
  EXPECT_TRUE(IsBalancedDict("{}"));
  EXPECT_TRUE(IsBalancedDict(R"({"a":{"b":[1,2]}})"));
  EXPECT_TRUE(IsBalancedDict(R"({"brace in string":"}"})"));
  EXPECT_TRUE(IsBalancedDict(R"({"quote in string":"\""})"));
  EXPECT_TRUE(IsBalancedDict(R"({mesh = #sdy.mesh<["a"=2]>})"));
  EXPECT_FALSE(IsBalancedDict(""));
  EXPECT_FALSE(IsBalancedDict("text"));
  EXPECT_FALSE(IsBalancedDict("{"));
  EXPECT_FALSE(IsBalancedDict("{}}"));
  EXPECT_FALSE(IsBalancedDict("{} more"));
  EXPECT_FALSE(IsBalancedDict(R"({"open})"));
}

TEST(SortJsonObjectTest, SortsMembersOfAllObjects) {
  EXPECT_EQ(
      SortJsonObject(R"({"b": 1, "a": {"d": [ {"y":1,"x":2} ], "c": "s p"}})"),
      R"({"a":{"c":"s p","d":[{"x":2,"y":1}]},"b":1})");
  EXPECT_EQ(SortJsonObject("{ }"), "{}");
}

TEST(SortJsonObjectTest, LeavesWhatIsNoJsonAlone) {
  EXPECT_EQ(SortJsonObject("{b a}"), "{b a}");
  EXPECT_EQ(SortJsonObject("opaque"), "opaque");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"({"a":)";
  deep += "1" + std::string(100000, '}');
  EXPECT_EQ(SortJsonObject(deep), deep);
}

}  // namespace
}  // namespace xla

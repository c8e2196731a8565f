#include "xla/hlo/parser/diagnostic.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

TEST(SourceTextTest, PositionsCountLinesAndBytesFromOne) {
  const std::string text = "ab\ncd\r\n\nef";
  SourceText source(text, "f.hlo");
  auto at = [&](size_t offset) {
    SourceText::Position p = source.PositionOf(text.data() + offset);
    return std::to_string(p.line) + ":" + std::to_string(p.column);
  };
  EXPECT_EQ(at(0), "1:1");
  EXPECT_EQ(at(2), "1:3");  // the line's end belongs to the line
  EXPECT_EQ(at(3), "2:1");
  EXPECT_EQ(at(7), "3:1");
  EXPECT_EQ(at(9), "4:2");
  EXPECT_EQ(at(text.size()), "4:3");
  EXPECT_EQ(source.LineOf(text.data() + 4), "cd");
  EXPECT_EQ(source.LineOf(text.data() + 7), "");
}

TEST(SourceTextTest, PiecesOfAFileKeepItsLineNumbers) {
  const std::string text = "x\ny";
  SourceText source(text, "f.hlo", 41);
  EXPECT_EQ(source.PositionOf(text.data() + 2).line, 42);
}

TEST(DiagnosticTest, ShowsTheLineAndACaret) {
  const std::string text = "one\n\ttwo three\nfour";
  SourceText source(text, "f.hlo");
  EXPECT_EQ(RenderDiagnostic(source, text.data() + 9, "error", "bad"),
            "f.hlo:2:6: error: bad\n"
            "   two three\n"
            "       ^");
}

TEST(DiagnosticTest, LongLinesAreCutAroundTheColumn) {
  const std::string text(1000, 'x');
  SourceText source(text);
  std::string rendered =
      RenderDiagnostic(source, text.data() + 500, "error", "bad");
  absl::string_view lines = rendered;
  EXPECT_EQ(lines.substr(0, lines.find('\n')), "<input>:1:501: error: bad");
  lines.remove_prefix(lines.find('\n') + 1);
  absl::string_view shown = lines.substr(0, lines.find('\n'));
  EXPECT_EQ(shown.size(), 2 + 3 + 160 + 3);
  EXPECT_EQ(shown.substr(0, 6), "  ...x");
  absl::string_view caret = lines.substr(lines.find('\n') + 1);
  EXPECT_EQ(caret.size(), 2 + 3 + 80 + 1);
}

TEST(DiagnosticSinkTest, KeepsTheFirstTwentyErrors) {
  const std::string text(100, 'x');
  SourceText source(text);
  DiagnosticSink sink(&source);
  EXPECT_TRUE(sink.ToStatus().ok());
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(sink.Error(text.data() + i, "bad"));
  }
  EXPECT_TRUE(sink.full());
  EXPECT_EQ(sink.errors().size(), 20);
  EXPECT_EQ(sink.ToStatus().code(), absl::StatusCode::kInvalidArgument);
}

TEST(DiagnosticSinkTest, OneErrorPerPlace) {
  const std::string text = "xy";
  SourceText source(text);
  DiagnosticSink sink(&source);
  sink.Error(text.data(), "cause");
  sink.Error(text.data(), "consequence");
  sink.Error(text.data() + 1, "another");
  ASSERT_EQ(sink.errors().size(), 2);
  sink.Warning(text.data(), "careful");
  ASSERT_EQ(sink.warnings().size(), 1);
  EXPECT_EQ(sink.warnings()[0], "<input>:1:1: warning: careful\n  xy\n  ^");
}

TEST(ClosestNameTest, FindsTheNearestName) {
  EXPECT_EQ(ClosestName("ad", {"sub", "add", "and"}), "add");
  EXPECT_EQ(ClosestName("dimension", {"dimensions", "direction"}),
            "dimensions");
  EXPECT_EQ(ClosestName("mulitply", {"multiply"}), "multiply");  // one swap
  EXPECT_EQ(ClosestName("xyzzy", {"add", "sub"}), "");
  // Ties go to the first in the alphabet, in whatever order they come.
  EXPECT_EQ(ClosestName("ab", {"ac", "aa"}), "aa");
  EXPECT_EQ(ClosestName("ab", {"aa", "ac"}), "aa");
  EXPECT_EQ(DidYouMean("ad", {"add"}), "; did you mean 'add'?");
  EXPECT_EQ(DidYouMean("ad", {}), "");
}

}  // namespace
}  // namespace xla

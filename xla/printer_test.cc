#include "xla/printer.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/fingerprint.h"

namespace xla {
namespace {

// Something of everything.
void PrintSample(Printer* printer) {
  printer->Append("text ");
  printer->Append(std::string("string "));
  printer->Append(int64_t{-42});
  printer->AppendChar(' ');
  printer->Append(std::numeric_limits<int64_t>::min());
  printer->Append(absl::string_view(" view "));
  printer->Append(1.5);
  printer->Append(absl::StrCat(" cat", 1));
  AppendCat(printer, " a", 2, "b");
  AppendJoin(printer, std::vector<int>{1, 2, 3}, ", ");
}
constexpr absl::string_view kSample =
    "text string -42 -9223372036854775808 view 1.5 cat1 a2b1, 2, 3";

TEST(PrinterTest, StringHoldsWhatWasAppended) {
  StringPrinter printer;
  PrintSample(&printer);
  printer.AppendInt64List({1, -2}, /*leading_comma=*/true);
  printer.AppendInt64List({}, /*leading_comma=*/true);
  printer.AppendInt64List({7}, /*leading_comma=*/false);
  EXPECT_EQ(std::move(printer).ToString(), absl::StrCat(kSample, ",1,-27"));
}

TEST(PrinterTest, EmptyPrintersGiveEmptyTexts) {
  EXPECT_EQ(StringPrinter().ToString(), "");
  EXPECT_EQ(CordPrinter().ToCord(), "");
}

TEST(PrinterTest, LongTextsGrowAcrossBuffers) {
  StringPrinter string;
  CordPrinter cord;
  std::string expected;
  for (int i = 0; i < 20000; ++i) {
    const std::string piece(i % 50, static_cast<char>('a' + i % 26));
    for (Printer* printer :
         {static_cast<Printer*>(&string), static_cast<Printer*>(&cord)}) {
      printer->Append(piece);
      printer->AppendInt(i);
    }
    absl::StrAppend(&expected, piece, i);
  }
  const std::string large(100000, 'x');
  string.Append(large);
  cord.Append(large);
  expected += large;
  EXPECT_TRUE(std::move(string).ToString() == expected);
  EXPECT_TRUE(std::move(cord).ToCord() == expected);
}

TEST(PrinterTest, JoinUsesTheGivenFunction) {
  StringPrinter printer;
  const std::vector<std::string> words = {"a", "b"};
  AppendJoin(&printer, words, "|", [](Printer* p, const std::string& word) {
    AppendCat(p, "<", word, ">");
  });
  AppendJoin(&printer, std::vector<int>{}, "|");
  EXPECT_EQ(std::move(printer).ToString(), "<a>|<b>");
}

uint64_t HashOfPieces(absl::string_view text, size_t piece_size) {
  HighwayHashPrinter printer;
  for (size_t i = 0; i < text.size(); i += piece_size) {
    printer.Append(text.substr(i, piece_size));
  }
  return std::move(printer).ToFingerprint();
}

TEST(PrinterTest, FingerprintDoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, i, " ");
  const uint64_t expected = Fingerprint64(text);
  for (size_t piece_size : {1, 3, 16, 17, 1023, 1024, 1025, 100000}) {
    EXPECT_EQ(HashOfPieces(text, piece_size), expected) << piece_size;
  }
}

TEST(PrinterTest, HasherTellsListsApart) {
  const auto hash = [](std::vector<int64_t> a, std::vector<int64_t> b) {
    HighwayHashPrinter printer;
    EXPECT_TRUE(printer.is_hasher());
    printer.AppendInt64List(a, false);
    printer.AppendInt64List(b, false);
    return std::move(printer).ToFingerprint();
  };
  EXPECT_NE(hash({1, 2}, {3}), hash({1}, {2, 3}));
  EXPECT_NE(hash({12}, {}), hash({1, 2}, {}));
  EXPECT_EQ(hash({1}, {2}), hash({1}, {2}));
}

TEST(FingerprintTest, SmallChangesChangeIt) {
  std::set<uint64_t> seen;
  std::string text(40, '\0');
  for (size_t length = 0; length <= text.size(); ++length) {
    EXPECT_TRUE(seen.insert(Fingerprint64(text.substr(0, length))).second);
  }
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string changed = text;
    changed[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(seen.insert(Fingerprint64(changed)).second) << bit;
  }
  EXPECT_NE(FingerprintCat64(1, 2), FingerprintCat64(2, 1));
}

// Recorded values: fingerprints are stored outside of the program.
TEST(FingerprintTest, IsTheSameEverywhere) {
  EXPECT_EQ(Fingerprint64(""), 0xf73bc227c435beu);
  EXPECT_EQ(Fingerprint64("HloModule m"), 0x6aeac47c1fc7fc4du);
}

}  // namespace
}  // namespace xla

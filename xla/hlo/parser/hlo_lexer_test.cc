#include "xla/hlo/parser/hlo_lexer.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Kinds of all tokens of a text, without the end.
std::vector<TokKind> Kinds(absl::string_view text) {
  HloLexer lexer(text);
  std::vector<TokKind> kinds;
  while (lexer.Lex() != TokKind::kEof) {
    kinds.push_back(lexer.GetKind());
    if (kinds.size() > 1000) break;
  }
  return kinds;
}

using K = TokKind;
using Tokens = std::vector<TokKind>;

TEST(HloLexerTest, Punctuation) {
  EXPECT_EQ(Kinds("= , : * ? # + ~ [ ] { } ( ) ... -> <="),
            (Tokens{K::kEqual, K::kComma, K::kColon, K::kAsterisk,
                    K::kQuestionMark, K::kOctothorp, K::kPlus, K::kTilde,
                    K::kLsquare, K::kRsquare, K::kLbrace, K::kRbrace,
                    K::kLparen, K::kRparen, K::kDots, K::kArrow, K::kLeq}));
}

TEST(HloLexerTest, WordsByWhatFollows) {
  EXPECT_EQ(Kinds("add"), Tokens{K::kIdent});
  EXPECT_EQ(Kinds("add=1"), (Tokens{K::kAttributeName, K::kInt}));
  EXPECT_EQ(Kinds("add = 1"), (Tokens{K::kIdent, K::kEqual, K::kInt}));
  EXPECT_EQ(Kinds("x: f32[]"), (Tokens{K::kName, K::kColon, K::kPrimitiveType,
                                       K::kLsquare, K::kRsquare}));
  EXPECT_EQ(Kinds("%add=1"), (Tokens{K::kName, K::kEqual, K::kInt}));
  EXPECT_EQ(Kinds("control-predecessors={"),
            (Tokens{K::kAttributeName, K::kLbrace}));
}

TEST(HloLexerTest, NamesComeWithoutDecoration) {
  HloLexer lexer("%while.1-x_y tail=");
  EXPECT_EQ(lexer.Lex(), K::kName);
  EXPECT_EQ(lexer.GetStrVal(), "while.1-x_y");
  EXPECT_EQ(lexer.Lex(), K::kAttributeName);
  EXPECT_EQ(lexer.GetStrVal(), "tail");
}

TEST(HloLexerTest, TableKeywords) {
  EXPECT_EQ(Kinds("FileNames FunctionNames FileLocations StackFrames"),
            (Tokens{K::kw_FileNames, K::kw_FunctionNames, K::kw_FileLocations,
                    K::kw_StackFrames}));
}

TEST(HloLexerTest, AllKeywords) {
  EXPECT_EQ(
      Kinds("HloModule ENTRY ROOT true false maximal replicated manual "
            "last_tile_dim_replicate shard_as shard_like unknown inf "
            "unreduced"),
      (Tokens{K::kw_HloModule, K::kw_ENTRY, K::kw_ROOT, K::kw_true, K::kw_false,
              K::kw_maximal, K::kw_replicated, K::kw_manual,
              K::kw_last_tile_dim_replicate, K::kw_shard_as, K::kw_shard_like,
              K::kw_unknown, K::kw_inf, K::kw_unreduced}));
  // Longer words are not keywords.
  EXPECT_EQ(Kinds("ROOTS ENTRYx trueish"),
            (Tokens{K::kIdent, K::kIdent, K::kIdent}));
}

TEST(HloLexerTest, PrimitiveTypes) {
  for (absl::string_view name : {"pred",
                                 "s1",
                                 "s2",
                                 "s4",
                                 "s8",
                                 "s16",
                                 "s32",
                                 "s64",
                                 "u1",
                                 "u2",
                                 "u4",
                                 "u8",
                                 "u16",
                                 "u32",
                                 "u64",
                                 "f16",
                                 "f32",
                                 "f64",
                                 "bf16",
                                 "f8e5m2",
                                 "f8e4m3",
                                 "f8e4m3fn",
                                 "f8e4m3b11fnuz",
                                 "f8e3m4",
                                 "f8e5m2fnuz",
                                 "f8e4m3fnuz",
                                 "f8e8m0fnu",
                                 "f6e3m2fn",
                                 "f6e2m3fn",
                                 "f4e2m1fn",
                                 "c64",
                                 "c128",
                                 "opaque",
                                 "token"}) {
    EXPECT_EQ(Kinds(name), Tokens{K::kPrimitiveType}) << name;
    EXPECT_NE(PrimitiveTypeFromText(name), PRIMITIVE_TYPE_INVALID) << name;
  }
  HloLexer lexer("bf16");
  lexer.Lex();
  EXPECT_EQ(lexer.GetPrimitiveTypeVal(), BF16);
  EXPECT_EQ(PrimitiveTypeFromText("f8e5m3"), PRIMITIVE_TYPE_INVALID);
  // An opcode too.
  EXPECT_EQ(Kinds("tuple"), Tokens{K::kIdent});
}

TEST(HloLexerTest, Integers) {
  auto lex = [](absl::string_view text) {
    HloLexer lexer(text);
    EXPECT_EQ(lexer.Lex(), K::kInt) << text;
    return lexer.GetInt64Val();
  };
  EXPECT_EQ(lex("0"), 0);
  EXPECT_EQ(lex("-7"), -7);
  EXPECT_EQ(lex("007"), 7);
  EXPECT_EQ(lex("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(lex("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(lex("-9223372036854775807"),
            std::numeric_limits<int64_t>::min() + 1);
}

TEST(HloLexerTest, UnsignedIntegersOf64Bits) {
  HloLexer lexer("9223372036854775808 18446744073709551615");
  EXPECT_EQ(lexer.Lex(), K::kInt);
  EXPECT_TRUE(lexer.IsUnsigned64());
  EXPECT_EQ(static_cast<uint64_t>(lexer.GetInt64Val()), uint64_t{1} << 63);
  EXPECT_EQ(lexer.Lex(), K::kInt);
  EXPECT_TRUE(lexer.IsUnsigned64());
  EXPECT_EQ(lexer.GetInt64Val(), -1);
}

TEST(HloLexerTest, IntegersThatDoNotFitAreErrors) {
  EXPECT_EQ(Kinds("18446744073709551616"), Tokens{K::kError});
  EXPECT_EQ(Kinds("-9223372036854775809"), Tokens{K::kError});
  EXPECT_EQ(Kinds("123456789012345678901234567890"), Tokens{K::kError});
}

TEST(HloLexerTest, Decimals) {
  auto lex = [](absl::string_view text) {
    HloLexer lexer(text);
    EXPECT_EQ(lexer.Lex(), K::kDecimal) << text;
    EXPECT_EQ(lexer.Lex(), K::kEof) << text;
    HloLexer again(text);
    again.Lex();
    return again.GetDecimalVal();
  };
  EXPECT_EQ(lex("1.5"), 1.5);
  EXPECT_EQ(lex("-0.25"), -0.25);
  EXPECT_EQ(lex("1."), 1.0);
  EXPECT_EQ(lex(".5"), 0.5);
  EXPECT_EQ(lex("-.5"), -0.5);
  EXPECT_EQ(lex("1e3"), 1000);
  EXPECT_EQ(lex("1.5E-2"), 0.015);
  EXPECT_EQ(lex("2e+1"), 20);
}

TEST(HloLexerTest, InfinityAndNan) {
  HloLexer lexer("inf -inf nan -nan nan(0x7f) -nan(0x1)");
  EXPECT_EQ(lexer.Lex(), K::kw_inf);
  EXPECT_EQ(lexer.GetDecimalVal(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(lexer.Lex(), K::kNegInf);
  EXPECT_EQ(lexer.GetDecimalVal(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(lexer.Lex(), K::kDecimal);
  EXPECT_TRUE(std::isnan(lexer.GetDecimalVal()));
  EXPECT_FALSE(lexer.GetNanPayload().has_value());
  EXPECT_EQ(lexer.Lex(), K::kDecimal);
  EXPECT_TRUE(std::signbit(lexer.GetDecimalVal()));
  EXPECT_EQ(lexer.Lex(), K::kDecimal);
  EXPECT_EQ(lexer.GetNanPayload(), 0x7f);
  EXPECT_EQ(lexer.Lex(), K::kDecimal);
  EXPECT_EQ(lexer.GetNanPayload(), 1);
  EXPECT_TRUE(std::signbit(lexer.GetDecimalVal()));
}

TEST(HloLexerTest, DimensionLabels) {
  for (absl::string_view text :
       {"b01f_01io->b01f", "f01b_i01o->01bf", "bf01_oi01->bf01", "bf_io->bf",
        "01bf_01io->01bf", "0123bf_0123io->0123bf", "b?1f_?1io->b?1f",
        "?01bf_01io->01bf"}) {
    HloLexer lexer(text);
    EXPECT_EQ(lexer.Lex(), K::kDimLabels) << text;
    EXPECT_EQ(lexer.GetStrVal(), text);
    EXPECT_EQ(lexer.Lex(), K::kEof) << text;
  }
  // Without the last group this is a name and an arrow.
  EXPECT_EQ(Kinds("b01f_01io->x"), (Tokens{K::kIdent, K::kArrow, K::kIdent}));
}

TEST(HloLexerTest, WindowSizesAndPadding) {
  for (absl::string_view text : {"3x3", "1x2x3x4", "10x20"}) {
    EXPECT_EQ(Kinds(text), Tokens{K::kDxD}) << text;
  }
  for (absl::string_view text :
       {"1_1", "0_0x1_1", "-1_2", "0_-1x3_1", "3_1_0", "0_0_1x1_1_2"}) {
    HloLexer lexer(text);
    EXPECT_EQ(lexer.Lex(), K::kPad) << text;
    EXPECT_EQ(lexer.GetStrVal(), text);
  }
  EXPECT_EQ(Kinds("{size=3x3 pad=0_1x0_1}"),
            (Tokens{K::kLbrace, K::kAttributeName, K::kDxD, K::kAttributeName,
                    K::kPad, K::kRbrace}));
}

TEST(HloLexerTest, Strings) {
  HloLexer lexer(R"("a\"b" 'c' "" "x\ty" "tail)");
  EXPECT_EQ(lexer.Lex(), K::kString);
  EXPECT_EQ(lexer.GetStrVal(), "a\"b");
  EXPECT_EQ(lexer.GetStrView(), R"(a\"b)");
  EXPECT_EQ(lexer.Lex(), K::kString);
  EXPECT_EQ(lexer.GetStrVal(), "c");
  EXPECT_EQ(lexer.Lex(), K::kString);
  EXPECT_EQ(lexer.GetStrVal(), "");
  EXPECT_EQ(lexer.Lex(), K::kString);
  EXPECT_EQ(lexer.GetStrVal(), "x\ty");
  EXPECT_EQ(lexer.Lex(), K::kError);
  EXPECT_EQ(lexer.GetErrorMessage(), "unterminated string");
}

TEST(HloLexerTest, CommentsSeparateTokens) {
  EXPECT_EQ(Kinds("a/* b */c // d\ne"),
            (Tokens{K::kIdent, K::kIdent, K::kIdent}));
  EXPECT_EQ(Kinds("a// to the end"), Tokens{K::kIdent});
  EXPECT_EQ(Kinds("a // CR LF\r\nb"), (Tokens{K::kIdent, K::kIdent}));
  EXPECT_EQ(Kinds("a // CR\rb"), (Tokens{K::kIdent, K::kIdent}));
  EXPECT_EQ(Kinds("/* {\" // */a"), Tokens{K::kIdent});
  HloLexer lexer("a /* no end");
  EXPECT_EQ(lexer.Lex(), K::kIdent);
  EXPECT_EQ(lexer.Lex(), K::kError);
  EXPECT_EQ(lexer.GetErrorMessage(), "unterminated comment");
}

TEST(HloLexerTest, StrangeCharacters) {
  EXPECT_EQ(Kinds("$"), Tokens{K::kError});
  EXPECT_EQ(Kinds("\x01"), Tokens{K::kError});
  EXPECT_EQ(Kinds("% x"), (Tokens{K::kError, K::kIdent}));
  EXPECT_EQ(Kinds("- x"), (Tokens{K::kError, K::kIdent}));
}

TEST(HloLexerTest, JsonDictionaries) {
  const std::string json = R"({"a": {"b": "}{\"", 'c': [1, 2]}, d: 1.5})";
  const std::string text = "backend_config=" + json + ", x=1";
  HloLexer lexer(text);
  EXPECT_EQ(lexer.Lex(), K::kAttributeName);
  EXPECT_EQ(lexer.Lex(), K::kLbrace);
  EXPECT_EQ(lexer.LexJsonDict(), K::kString);
  EXPECT_EQ(lexer.GetStrVal(), json);
  EXPECT_EQ(lexer.Lex(), K::kComma);
  EXPECT_TRUE(LexesAsJsonDict(json));
  EXPECT_TRUE(LexesAsJsonDict("{}"));
  EXPECT_FALSE(LexesAsJsonDict("{} "));
  EXPECT_FALSE(LexesAsJsonDict("{\"a\": {}"));
  EXPECT_FALSE(LexesAsJsonDict("abc"));
  HloLexer open("{ {");
  open.Lex();
  EXPECT_EQ(open.LexJsonDict(), K::kError);
}

TEST(HloLexerTest, LooksAheadAndGoesBack) {
  HloLexer lexer("a b c");
  lexer.Lex();
  const HloLexer::LocTy first = lexer.GetLoc();
  EXPECT_EQ(lexer.LookAhead(), K::kIdent);
  EXPECT_EQ(lexer.GetStrVal(), "a");
  lexer.Lex();
  lexer.Lex();
  EXPECT_EQ(lexer.GetStrVal(), "c");
  EXPECT_EQ(lexer.LookAhead(), K::kEof);
  lexer.Reset(first);
  EXPECT_EQ(lexer.GetStrVal(), "a");
}

TEST(HloLexerTest, Locations) {
  HloLexer lexer("ab\n  cd\r\n");
  lexer.Lex();
  lexer.Lex();
  EXPECT_EQ(lexer.GetLineAndColumn(lexer.GetLoc()), std::make_pair(2u, 3u));
  EXPECT_EQ(lexer.GetLine(lexer.GetLoc()), "  cd");
}

TEST(HloLexerTest, EveryKindHasAName) {
  for (int i = 0; i <= static_cast<int>(TokKind::kDecimal); ++i) {
    EXPECT_NE(TokKindToString(static_cast<TokKind>(i)), "unknown token");
  }
}

TEST(HloLexerTest, EveryTextEnds) {
  // Each byte, alone and repeated, before and after a word.
  for (int c = 0; c < 256; ++c) {
    const std::string byte(1, static_cast<char>(c));
    EXPECT_LE(Kinds(byte).size(), 1);
    EXPECT_LE(Kinds(std::string(20, static_cast<char>(c))).size(), 20);
    EXPECT_LE(Kinds("a" + byte + "b").size(), 3);
    EXPECT_LE(Kinds("1" + byte + "2").size(), 3);
  }
}

}  // namespace
}  // namespace xla

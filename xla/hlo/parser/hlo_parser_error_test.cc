// Messages: what is wrong, where exactly, and what may have been meant.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(absl::string_view text,
                    const HloParserOptions& options = HloParserOptions()) {
  auto module =
      ParseAndReturnUnverifiedModule(text, HloModuleConfig(), options);
  if (module.ok()) return "OK";
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(module.status().message());
}

// The error in an entry computation that begins with parameters p, q (f32[4]),
// s (f32[]) on lines 3 to 5, and a reducer; `lines` follow from line 7 on.
std::string BodyError(absl::string_view lines) {
  return ErrorOf(absl::StrCat(
      "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n"
      "  q = f32[4] parameter(1)\n  s = f32[] parameter(2)\n\n",
      lines,
      "\n}\nadd { x = f32[] parameter(0)\n y = f32[] parameter(1)\n"
      " ROOT r = f32[] add(x, y)\n}\n"));
}

TEST(HloParserErrorTest, ShowsFileLineColumnSourceAndCaret) {
  EXPECT_EQ(ErrorOf("HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n"
                    "  ROOT r = f32[4] ad(p, p)\n}\n",
                    HloParserOptions().set_file_name("dir/model.hlo")),
            "dir/model.hlo:4:19: error: unknown opcode 'ad'; did you mean "
            "'add'?\n"
            "    ROOT r = f32[4] ad(p, p)\n"
            "                    ^");
}

TEST(HloParserErrorTest, PiecesOfAFileKeepItsLines) {
  EXPECT_THAT(
      ErrorOf("HloModule m\n!",
              HloParserOptions().set_file_name("f.hlo").set_first_line(100)),
      StartsWith("f.hlo:101:1: error: "));
}

TEST(HloParserErrorTest, OpcodesAndNames) {
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negat(p)"),
              StartsWith("<input>:7:19: error: unknown opcode 'negat'; did you "
                         "mean 'negate'?"));
  EXPECT_THAT(BodyError("  long_name = f32[4] negate(p)\n"
                        "  ROOT r = f32[4] negate(long_nam)"),
              StartsWith("<input>:8:26: error: no instruction 'long_nam' is "
                         "defined before this place; did you mean "
                         "'long_name'?"));
  EXPECT_THAT(BodyError("  ROOT r = f32[] reduce(p, s), dimensions={0}, "
                        "to_apply=ad"),
              StartsWith("<input>:7:57: error: no computation 'ad'; did you "
                         "mean 'add'?"));
  EXPECT_THAT(BodyError("  p = f32[4] negate(q)"),
              StartsWith("<input>:7:3: error: 'p' is defined already, on line "
                         "3"));
  EXPECT_THAT(BodyError("  a/b = f32[4] negate(q)"),
              StartsWith("<input>:7:3: error: illegal instruction name 'a/b'; "
                         "use 'a_b'"));
  EXPECT_THAT(BodyError("  %1a = f32[4] negate(q)"), HasSubstr("illegal"));
  EXPECT_THAT(BodyError("  f32 = f32[4] negate(q)"),
              HasSubstr("illegal instruction name 'f32'; use 'f32_'"));
}

TEST(HloParserErrorTest, TypesAndShapes) {
  EXPECT_THAT(BodyError("  ROOT r = f23[4] negate(p)"),
              StartsWith("<input>:7:12: error: unknown opcode 'f23'"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4 negate(p)"),
              StartsWith("<input>:7:18: error: expected ',' or ']', found "
                         "'negate'"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4]{1} negate(p)"),
              StartsWith("<input>:7:18: error: the layout does not name"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] add(p, s32[4] q)"),
              StartsWith("<input>:7:26: error: operand 'q' has shape f32[4], "
                         "not s32[4]"));
}

TEST(HloParserErrorTest, OperandCounts) {
  EXPECT_THAT(BodyError("  ROOT r = f32[4] add(p)"),
              StartsWith("<input>:7:19: error: add takes 2 operands, found 1"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p, q)"),
              HasSubstr("negate takes 1 operand, found 2"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] iota(p), iota_dimension=0"),
              HasSubstr("iota takes 0 operands, found 1"));
  EXPECT_THAT(BodyError("  ROOT r = f32[] reduce(p), dimensions={0}, "
                        "to_apply=add"),
              HasSubstr("as many arrays as initial values"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] add(p q)"),
              StartsWith("<input>:7:25: error: expected ',' or ')', found "
                         "'q'"));
}

TEST(HloParserErrorTest, Attributes) {
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p), dimension={0}"),
              StartsWith("<input>:7:30: error: negate has no attribute "
                         "'dimension'"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] transpose(p), dimension={0}"),
              StartsWith("<input>:7:33: error: transpose has no attribute "
                         "'dimension'; did you mean 'dimensions'?"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] transpose(p)"),
              StartsWith("<input>:7:19: error: transpose needs the attribute "
                         "dimensions="));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] transpose(p), dimensions={0}, "
                        "dimensions={0}"),
              StartsWith("<input>:7:49: error: 'dimensions' is given twice"));
  EXPECT_THAT(BodyError("  ROOT r = pred[4] compare(p, q), direction=EG"),
              StartsWith("<input>:7:45: error: unknown direction 'EG'; did you "
                         "mean 'EQ'?"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p), metadata={op_nme=\"\"}"),
              StartsWith("<input>:7:40: error: unknown metadata field "
                         "'op_nme'; did you mean 'op_name'?"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p), metadata={op_name=1}"),
              StartsWith("<input>:7:48: error: expected a string, found '1'"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] transpose(p), dimensions=0"),
              StartsWith("<input>:7:44: error: expected '{', found '0'"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p) metadata={}"),
              StartsWith("<input>:7:29: error: expected ',' before an "
                         "attribute, found 'metadata='"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p), sharding={{replicated}}"),
              HasSubstr("an array cannot have a tuple sharding"));
}

TEST(HloParserErrorTest, ShapesThatDoNotFollow) {
  for (absl::string_view rhs :
       {"reshape(p)", "convert(p)", "bitcast-convert(p)", "bitcast(p)",
        "slice(p), slice={[0:1]}", "iota(), iota_dimension=0", "parameter(3)",
        "custom-call(p), custom_call_target=\"t\"",
        "broadcast(s), dimensions={}", "all-reduce(p), to_apply=add",
        "rng(s, s), distribution=rng_normal",
        "reduce-precision(p), exponent_bits=8, mantissa_bits=7",
        "dynamic-slice(p, s), dynamic_slice_sizes={1}", "copy-start(p)",
        "fusion(p), kind=kLoop, calls=add"}) {
    EXPECT_THAT(BodyError(absl::StrCat("  ROOT r = ", rhs)),
                HasSubstr("error: "))
        << rhs;
  }
  EXPECT_THAT(BodyError("  ROOT r = constant(1)"),
              StartsWith("<input>:7:12: error: a constant needs a shape"));
}

TEST(HloParserErrorTest, LayoutConstraintsOfOperands) {
  EXPECT_THAT(
      BodyError("  ROOT r = f32[4]{0} custom-call(p), custom_call_target=\"t\","
                " operand_layout_constraints={f32[5]{0}}"),
      HasSubstr("operand_layout_constraints= is not of the shape of operand"));
}

TEST(HloParserErrorTest, SelectorsOfConditionals) {
  EXPECT_THAT(BodyError("  c = s32[] parameter(3)\n  ROOT r = f32[] "
                        "conditional(p, c, c), branch_computations={add, add}"),
              HasSubstr("the selector is a scalar, pred or s32"));
  EXPECT_THAT(BodyError("  c = pred[] parameter(3)\n  ROOT r = f32[] "
                        "conditional(c, s, s), branch_computations={add, add}"),
              HasSubstr("branch_computations= needs an s32[] index"));
}

TEST(HloParserErrorTest, RootsAndEntries) {
  EXPECT_THAT(BodyError("  ROOT a = f32[4] negate(p)\n"
                        "  ROOT b = f32[4] negate(p)"),
              StartsWith("<input>:8:3: error: the computation has more than "
                         "one ROOT"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY a {\n x = f32[] parameter(0)\n}\n"
                      "ENTRY b {\n x = f32[] parameter(0)\n}\n"),
              StartsWith("<input>:5:1: error: the module has more than one "
                         "ENTRY; the other one is on line 2"));
  EXPECT_THAT(ErrorOf("HloModule m\na {\n x = f32[] parameter(0)\n}\n"
                      "a {\n x = f32[] parameter(0)\n}\n"),
              StartsWith("<input>:5:1: error: computation 'a' is defined "
                         "already"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY a {\n}\n"),
              StartsWith("<input>:2:7: error: the computation has no "
                         "instructions"));
  EXPECT_THAT(ErrorOf("HloModule m\n"), HasSubstr("no computations"));
  EXPECT_THAT(ErrorOf(""), StartsWith("<input>:1:1: error: expected a module"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY a {\n x = f32[] parameter(0)\n"),
              HasSubstr("expected '}' to end a computation, found the end of "
                        "the text"));
}

TEST(HloParserErrorTest, Signatures) {
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY a (x: f32[2]) -> f32[3] {\n"
                      " x = f32[2] parameter(0)\n}\n"),
              StartsWith("<input>:2:24: error: the signature's result f32[3] "
                         "is not the shape of the root, f32[2]"));
  EXPECT_THAT(ErrorOf("HloModule m\nENTRY a (x f32[2]) -> f32[3] {\n}"),
              StartsWith("<input>:2:12: error: expected ':'"));
}

TEST(HloParserErrorTest, ParameterNumbers) {
  EXPECT_THAT(BodyError("  ROOT r = f32[4] parameter(1)"),
              StartsWith("<input>:7:29: error: parameter 1 exists already, on "
                         "line 4"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] parameter(-1)"),
              HasSubstr("parameter number -1 is negative or too large"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] parameter(1000000000000)"),
              HasSubstr("is negative or too large"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] parameter(5)"),
              StartsWith("<input>:2:7: error: parameter 3 is missing, but "
                         "there is parameter 5"));
}

TEST(HloParserErrorTest, TupleElements) {
  // With a shape, the verifier looks for the element.
  EXPECT_EQ(BodyError("  ROOT r = f32[4] get-tuple-element(p), index=0"), "OK");
  EXPECT_THAT(BodyError("  t = tuple(p, q)\n"
                        "  ROOT r = get-tuple-element(t), index=2"),
              HasSubstr("get-tuple-element 2 is out of range [0, 2)"));
  EXPECT_THAT(BodyError("  t = tuple(p, q)\n  ROOT r = negate(t#2)"),
              StartsWith("<input>:8:20: error: no element 2 in shape"));
}

TEST(HloParserErrorTest, Literals) {
  EXPECT_THAT(BodyError("  ROOT r = s8[] constant(300)"),
              StartsWith("<input>:7:26: error: value 300 is out of range for "
                         "s8"));
  EXPECT_THAT(BodyError("  ROOT r = f32[2] constant({1})"),
              HasSubstr("1 of 2 elements in dimension 0"));
  EXPECT_THAT(BodyError("  ROOT r = f16[] constant(70000)"),
              HasSubstr("value 70000 is out of range for f16"));
}

TEST(HloParserErrorTest, Headers) {
  EXPECT_THAT(ErrorOf("HloModule m, is_schedule=true\n"),
              StartsWith("<input>:1:14: error: a module has no attribute "
                         "'is_schedule'; did you mean 'is_scheduled'?"));
  EXPECT_THAT(ErrorOf("HloModule m, is_scheduled=true, is_scheduled=true\n"),
              StartsWith("<input>:1:33: error: 'is_scheduled' is given twice"));
  const std::string body = "\nENTRY e {\n ROOT p = f32[4] parameter(0)\n}\n";
  EXPECT_THAT(ErrorOf("HloModule m, input_output_alias={ {0} (0, {}) }" + body),
              HasSubstr("expected ':' after the index of the output"));
  EXPECT_THAT(
      ErrorOf("HloModule m, input_output_alias={ {0}: (0, {}) }" + body),
      StartsWith("<input>:1:35: error: the result has no part {0}"));
  EXPECT_THAT(ErrorOf("HloModule m, input_output_alias={ {}: (1, {}) }" + body),
              HasSubstr("no parameter 1"));
  EXPECT_THAT(
      ErrorOf("HloModule m, input_output_alias={ {}: (0, {1}) }" + body),
      HasSubstr("parameter 0 has no part {1}"));
  EXPECT_THAT(ErrorOf("HloModule m, input_output_alias={ {}: (0, {}, "
                      "my-alias) }" +
                      body),
              HasSubstr("did you mean 'may-alias'?"));
  EXPECT_THAT(ErrorOf("HloModule m, buffer_donor={ (0, {1}) }" + body),
              HasSubstr("parameter 0 has no part {1}"));
  EXPECT_THAT(ErrorOf("HloModule m, buffer_donor={ 0, {} }" + body),
              HasSubstr("expected '(' to begin a buffer donor"));
  EXPECT_THAT(ErrorOf("HloModule m, input_output_alias={ {}: (0) }" + body),
              HasSubstr("expected ',' before the index in the parameter"));
  // Which shapes the layouts are of is for the verifier to say.
  for (absl::string_view layout : {"(f32[5]{0})->f32[4]{0}", "()->f32[4]{0}"}) {
    EXPECT_EQ(ErrorOf(absl::StrCat("HloModule m, entry_computation_layout={",
                                   layout, "}", body)),
              "OK");
  }
  EXPECT_THAT(ErrorOf("HloModule m, num_partitions=0" + body),
              HasSubstr("is not within 1"));
  EXPECT_THAT(ErrorOf("HloModule m\nFunctionNames\n1 \"f\"\n" + body),
              HasSubstr("expected FileNames before the other tables"));
  EXPECT_THAT(ErrorOf("HloModule m\nFileNames\n2 \"f\"\n" + body),
              StartsWith("<input>:3:1: error: row 1 of the table expected, "
                         "found row 2"));
}

TEST(HloParserErrorTest, MetadataAndDimensions) {
  EXPECT_THAT(BodyError("  ROOT r = f32[4] cbrt(p), result_accuracy=highest"),
              HasSubstr("expected '{', found 'highest'"));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p), "
                        "metadata={op_type=\"a\" op_type=\"b\"}"),
              StartsWith("<input>:7:52: error: 'op_type' is given twice"));
  EXPECT_THAT(BodyError("  ROOT r = f32[] reduce(p, s), to_apply=add"),
              HasSubstr("dimensions="));
}

TEST(HloParserErrorTest, CallsInACircle) {
  EXPECT_THAT(ErrorOf("HloModule m\n"
                      "a {\n p = f32[] parameter(0)\n"
                      " ROOT r = f32[] call(p), to_apply=b\n}\n"
                      "b {\n p = f32[] parameter(0)\n"
                      " ROOT r = f32[] call(p), to_apply=a\n}\n"),
              StartsWith("<input>:8:35: error: computation 'a' calls itself"));
}

TEST(HloParserErrorTest, UnterminatedThings) {
  EXPECT_THAT(ErrorOf("HloModule m /* comment\nENTRY e {"),
              StartsWith("<input>:1:13: error: "));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p), metadata={op_name=\"a"),
              HasSubstr("7:48: error: unterminated string"));
  EXPECT_THAT(
      BodyError("  ROOT r = f32[4] negate(p), backend_config={\"a\": {"),
      HasSubstr("unterminated dictionary"));
}

TEST(HloParserErrorTest, OneMessagePerBrokenInstruction) {
  const std::string error = BodyError(
      "  a = f32[4] negat(p)\n"
      "  b = f32[4] add(a, p)\n"  // uses what failed: no message
      "  c = f32[4] add(p,\n"     // over two lines
      "    bogus)\n"
      "  d = f32[4] negate(p), dimension={1}\n"
      "  ROOT e = f32[4] add(b, c)");
  std::vector<std::string> places;
  for (absl::string_view line : absl::StrSplit(error, '\n')) {
    if (absl::StrContains(line, "error: ")) {
      places.emplace_back(line.substr(0, line.find(": error")));
    }
  }
  EXPECT_THAT(places, ::testing::ElementsAre("<input>:7:14", "<input>:10:5",
                                             "<input>:11:25"));
}

TEST(HloParserErrorTest, ErrorsInSeveralComputations) {
  const std::string error = ErrorOf(
      "HloModule m\n"
      "a {\n  p = f32[] parameter(0)\n  ROOT r = f32[] negat(p)\n}\n"
      "ENTRY b {\n  p = f32[] parameter(0)\n"
      "  c = f32[] call(p), to_apply=a\n"  // a failed: no message
      "  ROOT r = f32[] negat(p)\n}\n");
  EXPECT_THAT(error, StartsWith("<input>:4:18: error: "));
  EXPECT_THAT(error, HasSubstr("<input>:9:18: error: "));
  EXPECT_THAT(error, ::testing::Not(HasSubstr("<input>:8")));
}

TEST(HloParserErrorTest, AtMostTwentyMessages) {
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&lines, "  a", i, " = f32[4] negat(p)\n");
  }
  const std::string error = BodyError(lines);
  size_t count = 0;
  for (size_t at = error.find("error: "); at != std::string::npos;
       at = error.find("error: ", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 20);
}

TEST(HloParserErrorTest, LenientModeKeepsUnknownAttributes) {
  std::vector<std::string> warnings;
  const std::string text =
      "HloModule m, color=\"red\"\nENTRY e {\n  p = f32[4] parameter(0)\n"
      "  ROOT r = f32[4] negate(p), new_thing={a=[1,2]<=[2]T(0)}, "
      "metadata={op_name=\"n\"}, other=3x3\n}\n";
  constexpr absl::string_view kLater =
      "'; if a version of XLA later than that of August 2026 has it, --lenient "
      "keeps it";
  EXPECT_THAT(ErrorOf(text),
              HasSubstr(absl::StrCat("no attribute 'color", kLater)));
  EXPECT_THAT(BodyError("  ROOT r = f32[4] negate(p), new_thing={a=1}"),
              HasSubstr(absl::StrCat("no attribute 'new_thing", kLater)));
  auto module = ParseAndReturnUnverifiedModule(
      text, HloModuleConfig(),
      HloParserOptions().set_allow_unknown_attributes(true).set_warnings(
          &warnings));
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_THAT((*module)->entry_computation()->root_instruction()->ToString(),
              ::testing::EndsWith("metadata={op_name=\"n\"}, "
                                  "new_thing={a=[1,2]<=[2]T(0)}, other=3x3"));
  ASSERT_EQ(warnings.size(), 3);
  EXPECT_THAT(warnings[1], StartsWith("<input>:4:30: warning: negate has no "
                                      "attribute 'new_thing'; it is kept"));
}

// --- Depth -------------------------------------------------------------------

TEST(HloParserDepthTest, NestedOperands) {
  auto nested = [](int depth) {
    std::string text =
        "HloModule m\nENTRY e {\n p = f32[] parameter(0)\n "
        "ROOT r = f32[] negate(";
    for (int i = 0; i < depth; ++i) text += "negate(";
    text += "p";
    for (int i = 0; i < depth; ++i) text += ")";
    return text + ")\n}\n";
  };
  EXPECT_EQ(ErrorOf(nested(100)), "OK");
  EXPECT_THAT(
      ErrorOf(nested(100), HloParserOptions().set_max_recursion_depth(50)),
      HasSubstr("nested more than 50 levels deep"));
  EXPECT_THAT(ErrorOf(nested(200000)), HasSubstr("nested"));
}

TEST(HloParserDepthTest, Shapes) {
  auto nested = [](int depth) {
    return absl::StrCat(
        "HloModule m\nENTRY e {\n p = ", std::string(depth, '('),
        std::string(depth, ')'), " parameter(0)\n}\n");
  };
  EXPECT_EQ(ErrorOf(nested(100)), "OK");
  EXPECT_THAT(
      ErrorOf(nested(100), HloParserOptions().set_max_recursion_depth(50)),
      HasSubstr("nested more than 50 levels deep"));
  EXPECT_THAT(ErrorOf(nested(8000)),
              ::testing::AnyOf("OK", HasSubstr("nested")));
  EXPECT_THAT(ErrorOf(nested(200000)), HasSubstr("nested"));
}

TEST(HloParserDepthTest, Literals) {
  auto nested = [](int depth) {
    const std::string open(depth, '('), close(depth, ')');
    return absl::StrCat("HloModule m\nENTRY e {\n c = ", open, close,
                        " constant(", open, close, ")\n}\n");
  };
  EXPECT_EQ(ErrorOf(nested(100)), "OK");
  EXPECT_THAT(
      ErrorOf(nested(100), HloParserOptions().set_max_recursion_depth(50)),
      HasSubstr("nested more than 50 levels deep"));
  EXPECT_THAT(ErrorOf(nested(200000)), HasSubstr("nested"));
}

TEST(HloParserDepthTest, InlineBodies) {
  auto nested = [](int depth) {
    std::string text = "HloModule m\nENTRY e {\n p = f32[] parameter(0)\n";
    for (int i = 0; i < depth; ++i) {
      text += " ROOT r = f32[] call(p), to_apply={\n p = f32[] parameter(0)\n";
    }
    for (int i = 0; i < depth; ++i) text += "}\n";
    return text + "}\n";
  };
  EXPECT_EQ(ErrorOf(nested(40)), "OK");
  EXPECT_THAT(ErrorOf(nested(4000)),
              ::testing::AnyOf("OK", HasSubstr("nested")));
  EXPECT_THAT(
      ErrorOf(nested(100), HloParserOptions().set_max_recursion_depth(50)),
      HasSubstr("nested more than 50 levels deep"));
  EXPECT_THAT(ErrorOf(nested(20000)), HasSubstr("nested"));
}

TEST(HloParserDepthTest, ForwardReferences) {
  std::string text = "HloModule m\n";
  for (int i = 0; i < 20000; ++i) {
    absl::StrAppend(&text, "comp", i, " {\n p = f32[] parameter(0)\n",
                    " ROOT r = f32[] call(p), to_apply=comp", i + 1, "\n}\n");
  }
  EXPECT_THAT(ErrorOf(text + "comp20000 {\n p = f32[] parameter(0)\n}\n"),
              HasSubstr("nested"));
}

}  // namespace
}  // namespace xla

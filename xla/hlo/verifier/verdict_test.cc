// What text is HLO, rule by rule: testdata/verdicts/*.hlo hold small modules,
// each below a sentence that says the rule and a line with the verdict:
//
//   // = accept                 it parses and verifies, and comes back the same
//                               from its text and from its proto
//   // = unparsed               the parser refuses it
//   // = refuse CODE V17        the verifier does: the status, the invariant
//   // with OPTION, OPTION      options of the verifier
//
// A verdict is the rule's, not what happens to be: the status is what callers
// match on.

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

struct Verdict {
  std::string place;  // file and line
  absl::string_view text;
  std::string expected;
  HloVerifierOpts opts;
};

bool SetOption(absl::string_view name, HloVerifierOpts* opts) {
  if (name == "layout-sensitive") {
    opts->MakeLayoutSensitive();
  } else if (name == "mixed-precision") {
    opts->AllowMixedPrecision();
  } else if (name == "nested-threads") {
    opts->VerifyCallNestedComputationThreadName();
  } else if (name == "deadlocks") {
    opts->WithVerifyNoCollectiveDeadlocks(true);
  } else if (name == "unbounded") {
    opts->WithSupportedUnboundedDynamicOp(
        [](const HloInstruction*) { return true; });
  } else {
    return false;
  }
  return true;
}

Verdict Read(const HloTextPiece& piece, absl::string_view file) {
  Verdict verdict;
  verdict.place = absl::StrCat(file, ":", piece.first_line);
  verdict.text = piece.text;
  for (absl::string_view line : absl::StrSplit(piece.text, '\n')) {
    if (absl::ConsumePrefix(&line, "// = ")) {
      verdict.expected = std::string(line);
    } else if (absl::ConsumePrefix(&line, "// with ")) {
      for (absl::string_view name : absl::StrSplit(line, ", ")) {
        EXPECT_TRUE(SetOption(name, &verdict.opts))
            << verdict.place << ": unknown option " << name;
      }
    }
  }
  return verdict;
}

// The module again, by way of its proto.
absl::StatusOr<std::unique_ptr<HloModule>> ThroughProto(
    const HloModule& module) {
  return HloModule::CreateFromProto(module.ToProto(), module.config());
}

// What the reader, the verifier and the writers say of the module.
std::string Judge(const Verdict& verdict) {
  const auto module = ParseAndReturnUnverifiedModule(verdict.text);
  if (!module.ok()) {
    return module.status().code() == absl::StatusCode::kInvalidArgument
               ? absl::StrCat("unparsed: ", module.status().message())
               : absl::StrCat("unparsed with ", module.status().ToString());
  }
  const absl::Status status = VerifyHloModule(module->get(), verdict.opts);
  if (!status.ok()) {
    const absl::string_view message = status.message();
    return absl::StrCat("refuse ", absl::StatusCodeToString(status.code()), " ",
                        message.substr(1, message.find(']') - 1), ": ",
                        message);
  }
  const std::string text = (*module)->ToString();
  const auto again = ParseAndReturnUnverifiedModule(text);
  if (!again.ok()) return absl::StrCat(again.status().message(), "\n", text);
  if ((*again)->ToString() != text) {
    return absl::StrCat(text, "prints as\n", (*again)->ToString());
  }
  const absl::Status still = VerifyHloModule(again->get(), verdict.opts);
  if (!still.ok()) return absl::StrCat("once printed, ", still.ToString());
  const auto from_proto = ThroughProto(**module);
  if (!from_proto.ok()) {
    return absl::StrCat("as a proto, ", from_proto.status().ToString());
  }
  if ((*from_proto)->ToString() != text) {
    return absl::StrCat(text, "comes from its proto as\n",
                        (*from_proto)->ToString());
  }
  return "accept:";
}

class VerdictTest : public testing::TestWithParam<std::string> {};

TEST_P(VerdictTest, IsTheRules) {
  const std::filesystem::path path =
      std::filesystem::path(std::getenv("TEST_SRCDIR")) /
      std::getenv("TEST_WORKSPACE") / "xla/hlo/verifier/testdata/verdicts" /
      absl::StrCat(GetParam(), ".hlo");
  std::stringstream stream;
  stream << std::ifstream(path).rdbuf();
  const std::string text = stream.str();
  std::set<std::string> kinds;
  for (const HloTextPiece& piece : SplitInput(text)) {
    const Verdict verdict = Read(piece, GetParam());
    kinds.insert(verdict.expected);
    const std::string found = Judge(verdict);
    EXPECT_TRUE(absl::StartsWith(found, absl::StrCat(verdict.expected, ":")))
        << verdict.place << ": expected " << verdict.expected << ", found "
        << found << "\n"
        << verdict.text;
  }
  // Each file has both: rules are not held by refusing everything.
  EXPECT_TRUE(kinds.count("accept") > 0 && kinds.size() > 1);
}

INSTANTIATE_TEST_SUITE_P(Files, VerdictTest,
                         testing::Values("accept", "async", "buffers",
                                         "deadlocks", "refuse", "text"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace xla

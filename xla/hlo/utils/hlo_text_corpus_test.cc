// Real modules: what is printed, and what goes through protos. HLO_CORPUS names
// a folder of *.hlo files, searched with its subfolders; without it, the
// modules in the parser's testdata are read.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/testlib/corpus.h"
#include "xla/hlo/utils/hlo_proto_util.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace {

std::vector<std::string> ModuleFiles() {
  return CorpusFiles("xla/hlo/parser/testdata");
}

std::string Read(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Null, and a failure, if the text does not parse.
std::unique_ptr<HloModule> Parse(absl::string_view text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ParseAndReturnUnverifiedModule(text, HloModuleConfig());
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? *std::move(module) : nullptr;
}

// Empty if the texts are equal, else what stands around the first difference.
std::string FirstDifference(absl::string_view actual,
                            absl::string_view expected) {
  if (actual == expected) return "";
  size_t at = 0;
  while (at < std::min(actual.size(), expected.size()) &&
         actual[at] == expected[at]) {
    ++at;
  }
  const size_t begin = at < 100 ? 0 : at - 100;
  auto around = [&](absl::string_view text) { return text.substr(begin, 200); };
  return absl::StrCat("at byte ", at, "\nactual:   ", around(actual),
                      "\nexpected: ", around(expected));
}

TEST(HloTextCorpusTest, ProtosHoldAllThatTextHolds) {
  for (const std::string& file : ModuleFiles()) {
    SCOPED_TRACE(file);
    const std::string text = Read(file);
    for (const HloTextPiece& piece : SplitInput(text)) {
      std::unique_ptr<HloModule> module = Parse(piece.text);
      ASSERT_NE(module, nullptr);
      HloModuleProto proto;
      ASSERT_TRUE(
          proto.ParseFromString(SerializeDeterministically(module->ToProto())));
      absl::StatusOr<std::unique_ptr<HloModule>> again =
          HloModuleFromProto(proto);
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(FirstDifference((*again)->ToString(), module->ToString()), "");
      // Each module that is made has an id of its own.
      HloModuleProto proto_again = (*again)->ToProto();
      proto_again.set_id(proto.id());
      EXPECT_EQ(SerializeDeterministically(proto_again).size(),
                proto.ByteSizeLong());
    }
  }
}

// The computations of a printed module by name, after what stands before them.
std::string SortComputations(absl::string_view text) {
  std::vector<absl::string_view> pieces = absl::StrSplit(text, "\n\n");
  for (absl::string_view& piece : pieces) {
    piece = absl::StripAsciiWhitespace(piece);
  }
  std::sort(pieces.begin() + 1, pieces.end());
  return absl::StrJoin(pieces, "\n\n");
}

// The modules under upstream/ were printed by OpenXLA with these options. Where
// it printed in the middle of its pipeline (upstream/gpu) or after it scheduled
// what it had in memory, computations follow the order of instructions there,
// which the text does not hold: reading such a text, OpenXLA prints another
// order, too.
TEST(HloTextCorpusTest, PrintsWhatOpenXlaPrints) {
  const HloPrintOptions options =
      HloPrintOptions().set_syntax_sugar_async_ops(false).set_compact_gte(true);
  for (const std::string& file : ModuleFiles()) {
    if (file.find("/upstream/") == std::string::npos) continue;
    SCOPED_TRACE(file);
    const std::string text = Read(file);
    std::unique_ptr<HloModule> module = Parse(text);
    ASSERT_NE(module, nullptr);
    if (file.find("/upstream/gpu/") == std::string::npos &&
        !module->has_schedule()) {
      EXPECT_EQ(FirstDifference(module->ToString(options), text), "");
    } else {
      EXPECT_EQ(FirstDifference(SortComputations(module->ToString(options)),
                                SortComputations(text)),
                "");
    }
  }
}

}  // namespace
}  // namespace xla

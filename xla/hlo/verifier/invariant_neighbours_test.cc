// Every opcode that some module of testdata breaks a rule with is also in a
// module there that breaks none: rules are not tested by rejecting everything.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {
namespace {

struct Case {
  std::string place;  // file and number of the module in it
  std::unique_ptr<HloModule> module;
  absl::Status status;
};

// The modules of testdata that parse, with what the verifier says.
std::vector<Case> AllCases() {
  const std::filesystem::path folder =
      std::filesystem::path(std::getenv("TEST_SRCDIR")) /
      std::getenv("TEST_WORKSPACE") / "xla/hlo/verifier/testdata";
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") files.insert(entry.path());
  }
  std::vector<Case> cases;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    std::stringstream stream;
    stream << file.rdbuf();
    const std::string text = stream.str();
    const std::string run = text.substr(0, text.find('\n'));
    HloVerifierOpts opts = HloVerifierOpts().WithAllowMixedPrecision(true);
    if (absl::StrContains(run, "layout-sensitive")) opts.MakeLayoutSensitive();
    int64_t number = 0;
    for (absl::string_view part : absl::StrSplit(text, "\n// -----\n")) {
      ++number;
      auto module = ParseAndReturnUnverifiedModule(part);
      if (!module.ok()) continue;
      Case& added = cases.emplace_back();
      added.place = absl::StrCat(path.filename().string(), " #", number);
      added.status = VerifyHloModule(module->get(), opts);
      added.module = *std::move(module);
    }
  }
  return cases;
}

// The instruction that a message of the verifier shows first; null: none.
const HloInstruction* ShownFirst(const Case& broken) {
  const HloInstruction* first = nullptr;
  size_t where = std::string::npos;
  for (const HloComputation* computation : broken.module->computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      const size_t found =
          broken.status.message().find(absl::StrCat("%", inst->name(), " = "));
      if (found < where) {
        where = found;
        first = inst;
      }
    }
  }
  return first;
}

TEST(InvariantNeighboursTest, WhatIsBrokenSomewhereIsFineElsewhere) {
  const std::vector<Case> cases = AllCases();
  std::set<HloOpcode> fine;
  std::map<std::string, std::string> broken;  // rule and opcode -> place
  std::map<std::string, HloOpcode> opcodes;
  for (const Case& c : cases) {
    if (c.status.ok()) {
      for (const HloComputation* computation : c.module->computations()) {
        for (const HloInstruction* inst : computation->instructions()) {
          fine.insert(inst->opcode());
        }
      }
    } else if (const HloInstruction* inst = ShownFirst(c)) {
      const absl::string_view message = c.status.message();
      const std::string key =
          absl::StrCat(message.substr(0, message.find(']') + 1), " ",
                       HloOpcodeString(inst->opcode()));
      broken.emplace(key, c.place);
      opcodes.emplace(key, inst->opcode());
    }
  }
  EXPECT_GT(fine.size(), 50);
  EXPECT_GT(broken.size(), 100);
  for (const auto& [key, place] : broken) {
    EXPECT_TRUE(fine.count(opcodes.at(key)) > 0)
        << key << " is broken by " << place
        << ", but no module has the opcode and is good";
  }
}

}  // namespace
}  // namespace xla

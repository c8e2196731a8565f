#ifndef XLA_HLO_ANALYSIS_TESTS_ANALYSIS_TEST_UTIL_H_
#define XLA_HLO_ANALYSIS_TESTS_ANALYSIS_TEST_UTIL_H_

#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {

// Parses without verifying; null and a failure if that goes wrong.
inline std::unique_ptr<HloModule> ParseForTest(absl::string_view text) {
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status().message();
  return module.ok() ? *std::move(module) : nullptr;
}

// The first instruction of that name.
inline HloInstruction* FindForTest(const HloModule& module,
                                   absl::string_view name) {
  for (HloComputation* computation : module.computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      if (inst->name() == name) return inst;
    }
  }
  ADD_FAILURE() << "no instruction " << name;
  return nullptr;
}

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_TESTS_ANALYSIS_TEST_UTIL_H_

#ifndef XLA_HLO_ANALYSIS_TESTS_HLO_DATAFLOW_TEST_BASE_H_
#define XLA_HLO_ANALYSIS_TESTS_HLO_DATAFLOW_TEST_BASE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {

struct DataflowOptions {
  bool bitcast_defines_value = false;
  absl::flat_hash_set<absl::string_view> threads = {};
  bool propagate_through_calls = true;
};

// A module with both analyses; values are written as where they are defined,
// `name{0}`, phis as `phi name{0}`.
class DataflowTest : public ::testing::Test {
 protected:
  void Load(absl::string_view text, const DataflowOptions& options = {}) {
    module_ = ParseForTest(text);
    ASSERT_NE(module_, nullptr);
    for (bool ssa : {true, false}) {
      auto analysis = HloDataflowAnalysis::Run(
          *module_, ssa, options.bitcast_defines_value, options.threads,
          options.propagate_through_calls);
      ASSERT_TRUE(analysis.ok()) << analysis.status();
      EXPECT_TRUE((*analysis)->Verify().ok()) << (*analysis)->Verify();
      (ssa ? ssa_ : sets_) = *std::move(analysis);
    }
  }
  absl::Status ErrorOf(absl::string_view text) {
    auto module = ParseForTest(text);
    return HloDataflowAnalysis::Run(*module).status();
  }

  HloInstruction* Inst(absl::string_view name) {
    return FindForTest(*module_, name);
  }
  std::vector<std::string> Values(const HloDataflowAnalysis& analysis,
                                  absl::string_view name,
                                  const ShapeIndex& index) {
    std::vector<std::string> texts;
    for (const HloValue* value :
         analysis.GetValueSet(Inst(name), index).values()) {
      texts.push_back(absl::StrCat(value->is_phi() ? "phi " : "",
                                   value->defining_instruction()->name(),
                                   value->defining_index().ToString()));
    }
    return texts;
  }
  // In SSA form; sets.
  std::vector<std::string> Ssa(absl::string_view name,
                               const ShapeIndex& index = {}) {
    return Values(*ssa_, name, index);
  }
  std::vector<std::string> Sets(absl::string_view name,
                                const ShapeIndex& index = {}) {
    return Values(*sets_, name, index);
  }
  // The same in both.
  std::vector<std::string> At(absl::string_view name,
                              const ShapeIndex& index = {}) {
    EXPECT_EQ(Ssa(name, index), Sets(name, index));
    return Ssa(name, index);
  }
  std::vector<std::string> Uses(absl::string_view name,
                                const ShapeIndex& index = {}) {
    std::vector<std::string> texts;
    for (const HloUse& use :
         sets_->GetValueDefinedAt(Inst(name), index).GetUses()) {
      texts.push_back(absl::StrCat(use.instruction->name(), " ",
                                   use.operand_number,
                                   use.operand_index.ToString()));
    }
    return texts;
  }
  std::vector<std::string> Positions(absl::string_view name,
                                     const ShapeIndex& index = {}) {
    std::vector<std::string> texts;
    for (const HloPosition& position :
         sets_->GetValueDefinedAt(Inst(name), index).positions()) {
      texts.push_back(absl::StrCat(position.instruction->name(),
                                   position.index.ToString()));
    }
    return texts;
  }

  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloDataflowAnalysis> ssa_;
  std::unique_ptr<HloDataflowAnalysis> sets_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_TESTS_HLO_DATAFLOW_TEST_BASE_H_

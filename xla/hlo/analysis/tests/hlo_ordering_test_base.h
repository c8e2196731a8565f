#ifndef XLA_HLO_ANALYSIS_TESTS_HLO_ORDERING_TEST_BASE_H_
#define XLA_HLO_ANALYSIS_TESTS_HLO_ORDERING_TEST_BASE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/tests/analysis_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {

// The order that a module's schedule says, or else its dependencies.
class HloOrderingTest : public ::testing::Test {
 protected:
  void Parse(absl::string_view text) {
    module_ = ParseForTest(text);
    ASSERT_NE(module_, nullptr);
    auto dataflow = HloDataflowAnalysis::Run(*module_, /*ssa_form=*/true);
    ASSERT_TRUE(dataflow.ok()) << dataflow.status();
    dataflow_ = *std::move(dataflow);
    if (module_->has_schedule()) {
      ordering_ = std::make_unique<SequentialHloOrdering>(module_->schedule());
    } else {
      ordering_ = std::make_unique<DependencyHloOrdering>(module_.get());
    }
  }

  HloInstruction* Inst(absl::string_view name) {
    return FindForTest(*module_, name);
  }
  const HloValue& Value(absl::string_view name, const ShapeIndex& index = {}) {
    return dataflow_->GetUniqueValueAt(Inst(name), index);
  }

  bool Before(absl::string_view a, absl::string_view b) {
    return ordering_->ExecutesBefore(Inst(a), Inst(b));
  }
  bool Unordered(absl::string_view a, absl::string_view b) {
    return !Before(a, b) && !Before(b, a);
  }
  bool DefinedBefore(absl::string_view a, absl::string_view b) {
    return ordering_->IsDefinedBefore(Value(a), Value(b));
  }
  bool StrictlyBefore(const HloValue& a, const HloValue& b) {
    return ordering_->LiveRangeStrictlyBefore(a, b, *dataflow_, &alias_info_);
  }
  bool StrictlyBefore(absl::string_view a, absl::string_view b) {
    return StrictlyBefore(Value(a), Value(b));
  }
  bool Interfere(const HloValue& a, const HloValue& b) {
    return ordering_->MayInterfere(a, b, *dataflow_, &alias_info_);
  }
  bool Interfere(absl::string_view a, absl::string_view b) {
    return Interfere(Value(a), Value(b));
  }
  bool UsesBefore(const HloValue& a, const HloValue& b) {
    std::vector<const HloUse*> uses;
    for (const HloUse& use : a.GetUses()) uses.push_back(&use);
    return ordering_->UsesBeforeValueDefinition(uses, b, *dataflow_,
                                                &alias_info_);
  }

  AliasInfo alias_info_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<HloDataflowAnalysis> dataflow_;
  std::unique_ptr<HloOrdering> ordering_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_TESTS_HLO_ORDERING_TEST_BASE_H_

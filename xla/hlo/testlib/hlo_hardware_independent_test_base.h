#ifndef XLA_HLO_TESTLIB_HLO_HARDWARE_INDEPENDENT_TEST_BASE_H_
#define XLA_HLO_TESTLIB_HLO_HARDWARE_INDEPENDENT_TEST_BASE_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/testlib/test.h"  // IWYU pragma: export
#include "xla/hlo/testlib/verified_hlo_module.h"
#include "xla/layout.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"
#include "xla/xla.pb.h"

namespace xla {

// A fixture for tests of passes and analyses, which need no device.
//
//   class MyPassTest : public HloHardwareIndependentTestBase {};
//
//   TEST_F(MyPassTest, Works) {
//     RunAndFilecheckHloRewrite(R"(HloModule m …)", MyPass(),
//                               "// CHECK: add");
//   }
class HloHardwareIndependentTestBase : public ::testing::Test {
 public:
  static PrecisionConfig DefaultPrecisionConfig(int operands);

  // Parses and verifies with this fixture's verifier options.
  absl::StatusOr<std::unique_ptr<VerifiedHloModule>>
  ParseAndReturnVerifiedModule(
      absl::string_view hlo_text, int64_t replica_count = 1,
      int64_t num_partitions = 1,
      std::optional<DeviceAssignment> device_assignment = std::nullopt) const;
  absl::StatusOr<std::unique_ptr<VerifiedHloModule>>
  ParseAndReturnVerifiedModule(absl::string_view hlo_text,
                               const HloModuleConfig& config,
                               const HloParserOptions& options = {}) const;

  // An empty module named after the test / as given, verified when it goes.
  std::unique_ptr<VerifiedHloModule> CreateNewVerifiedModule(
      const std::string& name = TestName(), int64_t replica_count = 1) const;
  std::unique_ptr<HloModule> CreateNewUnverifiedModule(
      const std::string& name = TestName()) const;

  // Tests that compile with other options override the second one.
  HloModuleConfig GetModuleConfigForTest(int64_t replica_count = 1,
                                         int64_t num_partitions = 1) const;
  virtual DebugOptions GetDebugOptionsForTest() const;

  // Checks modules with this fixture's options.
  HloVerifier& verifier() const { return *verifier_; }

  // Runs a pass and verifies what it leaves; Internal if it lies about having
  // changed the module.
  static absl::StatusOr<bool> RunHloPass(HloPassInterface* pass,
                                         HloModule* module);
  static absl::StatusOr<bool> RunHloPass(HloPassInterface&& pass,
                                         HloModule* module) {
    return RunHloPass(&pass, module);
  }

  // Runs a pass on `hlo` and matches the result against CHECK lines; without
  // `expected` the pass must change nothing. `after_pass_checks` sees the
  // module afterwards.
  void RunAndFilecheckHloRewrite(
      absl::string_view hlo, HloPassInterface&& hlo_pass,
      std::optional<absl::string_view> expected,
      std::function<void(HloModule*)> after_pass_checks = nullptr,
      const HloModuleConfig* config = nullptr) const;

  // What is put into texts: $0 or $name, by key.
  using FixedMapping =
      std::initializer_list<std::pair<absl::string_view, absl::string_view>>;

  // Runs a pass on `hlo_template` with `params` put in, and returns the module.
  // Internal unless the pass changes it, or not, as expected.
  absl::StatusOr<std::unique_ptr<HloModule>> RunAndCheckHloRewrite(
      absl::string_view hlo_template, HloPassInterface&& hlo_pass,
      bool expect_change = true, FixedMapping params = {}) const;

  static HloComputation* FindComputation(HloModule* module,
                                         absl::string_view name);
  // The first instruction of that name or opcode in any computation, or null.
  static HloInstruction* FindInstruction(const HloModule* module,
                                         absl::string_view name);
  static HloInstruction* FindInstruction(const HloModule* module,
                                         HloOpcode opcode);
  static std::vector<HloInstruction*> FindInstructions(const HloModule* module,
                                                       HloOpcode opcode);

 protected:
  // The name of the running test.
  static std::string TestName();

  explicit HloHardwareIndependentTestBase(
      bool verifier_layout_sensitive = false,
      bool allow_mixed_precision_in_hlo_verifier = true,
      HloPredicate instruction_can_change_layout_func = {});

  // Bytes of a shape, tuples as tables of pointers of 8 bytes.
  static int64_t ShapeSize(const Shape& shape) {
    return ShapeUtil::ByteSizeOf(shape, /*pointer_size=*/8);
  }

  bool verifier_layout_sensitive() const { return verifier_layout_sensitive_; }
  bool allow_mixed_precision_in_hlo_verifier() const {
    return allow_mixed_precision_;
  }

  // Sets the layout of a parameter or of the result in the entry layout.
  static void ForceParameterLayout(HloModule* module, int64_t param_no,
                                   const Layout& layout);
  static void ForceResultLayout(HloModule* module, const Layout& layout);

 private:
  bool verifier_layout_sensitive_;
  bool allow_mixed_precision_;
  HloPredicate instruction_can_change_layout_;
  std::unique_ptr<HloVerifier> verifier_;
};

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_HLO_HARDWARE_INDEPENDENT_TEST_BASE_H_

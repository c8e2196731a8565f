#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "xla/debug_options_flags.h"
#include "xla/hlo/pass/module_fingerprint.h"
#include "xla/hlo/testlib/filecheck.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/status_macros.h"

namespace xla {

HloHardwareIndependentTestBase::HloHardwareIndependentTestBase(
    bool verifier_layout_sensitive, bool allow_mixed_precision_in_hlo_verifier,
    HloPredicate instruction_can_change_layout_func)
    : verifier_layout_sensitive_(verifier_layout_sensitive),
      allow_mixed_precision_(allow_mixed_precision_in_hlo_verifier),
      instruction_can_change_layout_(
          std::move(instruction_can_change_layout_func)),
      verifier_(std::make_unique<HloVerifier>(
          HloVerifierOpts()
              .WithLayoutSensitive(verifier_layout_sensitive_)
              .WithAllowMixedPrecision(allow_mixed_precision_)
              .WithInstructionCanChangeLayout(instruction_can_change_layout_)
              .WithCustomShapeSize(&ShapeSize))) {}

DebugOptions HloHardwareIndependentTestBase::GetDebugOptionsForTest() const {
  return GetDebugOptionsFromFlags();
}

PrecisionConfig HloHardwareIndependentTestBase::DefaultPrecisionConfig(
    int operands) {
  PrecisionConfig config;
  config.mutable_operand_precision()->Resize(operands,
                                             PrecisionConfig::DEFAULT);
  return config;
}

HloModuleConfig HloHardwareIndependentTestBase::GetModuleConfigForTest(
    int64_t replica_count, int64_t num_partitions) const {
  HloModuleConfig config;
  config.set_debug_options(GetDebugOptionsForTest());
  config.set_replica_count(replica_count);
  config.set_num_partitions(num_partitions);
  return config;
}

std::string HloHardwareIndependentTestBase::TestName() {
  const ::testing::TestInfo* info =
      ::testing::UnitTest::GetInstance()->current_test_info();
  return info == nullptr ? "test" : info->name();
}

absl::StatusOr<std::unique_ptr<VerifiedHloModule>>
HloHardwareIndependentTestBase::ParseAndReturnVerifiedModule(
    absl::string_view hlo_text, int64_t replica_count, int64_t num_partitions,
    std::optional<DeviceAssignment> device_assignment) const {
  HloModuleConfig config =
      GetModuleConfigForTest(replica_count, num_partitions);
  if (device_assignment.has_value()) {
    config.set_static_device_assignment(*device_assignment);
  }
  return ParseAndReturnVerifiedModule(hlo_text, config);
}

absl::StatusOr<std::unique_ptr<VerifiedHloModule>>
HloHardwareIndependentTestBase::ParseAndReturnVerifiedModule(
    absl::string_view hlo_text, const HloModuleConfig& config,
    const HloParserOptions& options) const {
  auto module = std::make_unique<VerifiedHloModule>(
      TestName(), config, verifier_layout_sensitive_, allow_mixed_precision_,
      ShapeSize, instruction_can_change_layout_);
  TF_RETURN_IF_ERROR(module->ParseHloStringAndVerifyModule(hlo_text, options));
  return module;
}

std::unique_ptr<VerifiedHloModule>
HloHardwareIndependentTestBase::CreateNewVerifiedModule(
    const std::string& name, int64_t replica_count) const {
  return std::make_unique<VerifiedHloModule>(
      name, GetModuleConfigForTest(replica_count), verifier_layout_sensitive_,
      allow_mixed_precision_, ShapeSize, instruction_can_change_layout_);
}

std::unique_ptr<HloModule>
HloHardwareIndependentTestBase::CreateNewUnverifiedModule(
    const std::string& name) const {
  return std::make_unique<HloModule>(name, GetModuleConfigForTest());
}

absl::StatusOr<bool> HloHardwareIndependentTestBase::RunHloPass(
    HloPassInterface* pass, HloModule* module) {
  uint64_t before = ModuleFingerprint(*module);
  TF_ASSIGN_OR_RETURN(bool changed, pass->Run(module));
  module->Cleanup();
  if (!changed && ModuleFingerprint(*module) != before) {
    return absl::InternalError(absl::StrCat(
        pass->name(), " changed the module and said that it did not"));
  }
  HloVerifierOpts options;
  options.allow_mixed_precision = true;
  TF_RETURN_IF_ERROR(VerifyHloModule(module, options));
  return changed;
}

void HloHardwareIndependentTestBase::RunAndFilecheckHloRewrite(
    absl::string_view hlo, HloPassInterface&& hlo_pass,
    std::optional<absl::string_view> expected,
    std::function<void(HloModule*)> after_pass_checks,
    const HloModuleConfig* config) const {
  HloModuleConfig default_config = GetModuleConfigForTest();
  TF_ASSERT_OK_AND_ASSIGN(
      std::unique_ptr<VerifiedHloModule> module,
      ParseAndReturnVerifiedModule(hlo, config ? *config : default_config));
  TF_ASSERT_OK_AND_ASSIGN(bool changed, RunHloPass(&hlo_pass, module.get()));
  EXPECT_EQ(changed, expected.has_value()) << module->ToString();
  if (changed && expected.has_value()) {
    TF_ASSERT_OK_AND_ASSIGN(
        bool matched,
        RunFileCheck(
            module->ToString(HloPrintOptions{}.set_print_operand_shape(false)),
            *expected));
    EXPECT_TRUE(matched);
  }
  if (after_pass_checks) after_pass_checks(module.get());
}

absl::StatusOr<std::unique_ptr<HloModule>>
HloHardwareIndependentTestBase::RunAndCheckHloRewrite(
    absl::string_view hlo_template, HloPassInterface&& hlo_pass,
    bool expect_change, FixedMapping params) const {
  const std::string text = absl::StrReplaceAll(hlo_template, params);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ParseAndReturnVerifiedModule(text));
  TF_ASSIGN_OR_RETURN(const bool changed, RunHloPass(&hlo_pass, module.get()));
  if (changed == expect_change) return module;
  return absl::InternalError(absl::StrCat(
      hlo_pass.name(), changed ? " changed " : " did not change ", text));
}

HloComputation* HloHardwareIndependentTestBase::FindComputation(
    HloModule* module, absl::string_view name) {
  return module->GetComputationWithName(name);
}

HloInstruction* HloHardwareIndependentTestBase::FindInstruction(
    const HloModule* module, absl::string_view name) {
  for (const HloComputation* computation : module->computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      if (inst->name() == name) return inst;
    }
  }
  return nullptr;
}

HloInstruction* HloHardwareIndependentTestBase::FindInstruction(
    const HloModule* module, HloOpcode opcode) {
  std::vector<HloInstruction*> found = FindInstructions(module, opcode);
  return found.empty() ? nullptr : found.front();
}

std::vector<HloInstruction*> HloHardwareIndependentTestBase::FindInstructions(
    const HloModule* module, HloOpcode opcode) {
  std::vector<HloInstruction*> found;
  for (const HloComputation* computation : module->computations()) {
    for (HloInstruction* inst : computation->instructions()) {
      if (inst->opcode() == opcode) found.push_back(inst);
    }
  }
  return found;
}

void HloHardwareIndependentTestBase::ForceParameterLayout(
    HloModule* module, int64_t param_no, const Layout& layout) {
  module->mutable_entry_computation_layout()
      ->mutable_parameter_layout(param_no)
      ->ResetLayout(layout);
}

void HloHardwareIndependentTestBase::ForceResultLayout(HloModule* module,
                                                       const Layout& layout) {
  module->mutable_entry_computation_layout()
      ->mutable_result_layout()
      ->ResetLayout(layout);
}

}  // namespace xla

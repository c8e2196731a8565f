#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_payload_deduplicator.h"
#include "xla/hlo/ir/hlo_test_modules.h"
#include "xla/literal_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

// The module after going through bytes.
std::unique_ptr<HloModule> ThroughBytes(const HloModule& module,
                                        HloProtoOptions options = {}) {
  HloModuleProto proto;
  EXPECT_TRUE(
      proto.ParseFromString(module.ToProto(options).SerializeAsString()));
  absl::StatusOr<std::unique_ptr<HloModule>> result = ModuleFromProto(proto);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : nullptr;
}

TEST(HloProtoTest, TextOfAllFamiliesIsTheSameAfterwards) {
  std::unique_ptr<HloModule> module = MakeModuleOfAllFamilies();
  std::unique_ptr<HloModule> again = ThroughBytes(*module);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->ToString(), module->ToString());
  EXPECT_EQ(again->ToString(HloPrintOptions()),
            module->ToString(HloPrintOptions()));
}

TEST(HloProtoTest, IdsAreKept) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloComputation* entry = module->entry_computation();
  // Leaves a hole in the numbering.
  HloInstruction* dead = entry->AddInstruction(HloInstruction::CreateTuple({}));
  HloInstruction* last = entry->AddInstruction(HloInstruction::CreateTuple({}));
  ASSERT_TRUE(entry->RemoveInstruction(dead).ok());
  std::unique_ptr<HloModule> again = ThroughBytes(*module);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->entry_computation()->unique_id(), entry->unique_id());
  HloInstruction* read =
      again->entry_computation()->GetInstructionWithName(last->name());
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->unique_id(), last->unique_id());
  EXPECT_EQ(
      again->entry_computation()->GetInstructionWithLocalId(read->local_id()),
      read);
}

TEST(HloProtoTest, IdsOfAnotherNumberingBecomeLocal) {
  HloModuleProto proto = MakeSmallModule()->ToProto();
  // Ids counted through the module, as in protos of old.
  HloComputationProto& entry = *proto.mutable_computations(1);
  const int64_t base = 5000;
  auto renumber = [&](int64_t id) {
    return base + HloInstruction::CalculateLocalId(id);
  };
  for (HloInstructionProto& instruction : *entry.mutable_instructions()) {
    instruction.set_id(renumber(instruction.id()));
    for (int64_t& id : *instruction.mutable_operand_ids()) id = renumber(id);
  }
  entry.set_root_id(renumber(entry.root_id()));
  absl::StatusOr<std::unique_ptr<HloModule>> module = ModuleFromProto(proto);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->ToString(), MakeSmallModule()->ToString());

  absl::StatusOr<HloModuleProto> remapped =
      HloModule::RemapInstructionIds(proto);
  ASSERT_TRUE(remapped.ok()) << remapped.status();
  EXPECT_EQ(remapped->computations(1).instructions(0).id(),
            HloInstruction::CalculateUniqueId(entry.id(), 0));
  module = ModuleFromProto(*remapped);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->ToString(), MakeSmallModule()->ToString());
}

TEST(HloProtoTest, OrderOfALaterVersionIsTheType) {
  HloModule module("m", HloModuleConfig());
  HloComputation::Builder builder("e");
  HloInstruction* p = builder.AddInstruction(
      HloInstruction::CreateParameter(0, ShapeUtil::MakeShape(F32, {4}), "p"));
  builder.AddInstruction(HloInstruction::CreateCompare(
      ShapeUtil::MakeShape(PRED, {4}), p, p, ComparisonDirection::kLt));
  module.AddEntryComputation(builder.Build());
  const auto read = [&](const char* order) {
    HloModuleProto proto = module.ToProto();
    for (HloInstructionProto& inst :
         *proto.mutable_computations(0)->mutable_instructions()) {
      if (inst.opcode() != "compare") continue;
      inst.clear_comparison_type();
      inst.GetReflection()->MutableUnknownFields(&inst)->AddLengthDelimited(
          102, order);
    }
    const auto result = ModuleFromProto(proto);
    EXPECT_TRUE(result.ok()) << result.status();
    return (*result)->entry_computation()->root_instruction()->ToString();
  };
  EXPECT_TRUE(absl::StrContains(read("TOTAL"), "LT, type=TOTALORDER"));
  EXPECT_FALSE(absl::StrContains(read("PARTIAL"), "type="));
}

TEST(HloProtoTest, IdsMayBeSparseAndReferencesShort) {
  const std::string text = MakeSmallModule()->ToString();
  const HloModuleProto good = MakeSmallModule()->ToProto();
  constexpr int64_t kLow = 0xffffffff;
  for (const bool ids_have_prefix : {true, false}) {
    for (const bool operands_have_prefix : {true, false}) {
      if (!ids_have_prefix && operands_have_prefix) continue;
      HloModuleProto proto = good;
      for (HloComputationProto& computation : *proto.mutable_computations()) {
        const auto id = [&](int64_t old, bool prefix) {
          const int64_t sparse = (old & kLow) * 10 + 7;
          return prefix ? (computation.id() << 32) + sparse : sparse;
        };
        for (HloInstructionProto& inst : *computation.mutable_instructions()) {
          inst.set_id(id(inst.id(), ids_have_prefix));
          for (int64_t& operand : *inst.mutable_operand_ids()) {
            operand = id(operand, operands_have_prefix);
          }
          for (int64_t& before : *inst.mutable_control_predecessor_ids()) {
            before = id(before, operands_have_prefix);
          }
        }
        computation.set_root_id(
            id(computation.root_id(), operands_have_prefix));
      }
      absl::StatusOr<std::unique_ptr<HloModule>> module =
          ModuleFromProto(proto);
      ASSERT_TRUE(module.ok()) << module.status();
      EXPECT_EQ((*module)->ToString(), text);
      absl::StatusOr<HloModuleProto> remapped =
          HloModule::RemapInstructionIds(proto);
      ASSERT_TRUE(remapped.ok()) << remapped.status();
      module = ModuleFromProto(*remapped);
      ASSERT_TRUE(module.ok()) << module.status();
      EXPECT_EQ((*module)->ToString(), text);
    }
  }
}

TEST(HloProtoTest, WhatGoesWithTheModule) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  Decorate(module.get());
  std::unique_ptr<HloModule> again = ThroughBytes(*module);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->ToString(), module->ToString());
  EXPECT_TRUE(again->has_schedule());
  EXPECT_TRUE(again->is_dynamic());
  ASSERT_EQ(again->CrossProgramPrefetches().size(), 1);
  EXPECT_EQ(again->CrossProgramPrefetches()[0].alt_memory_offset, 64);
  EXPECT_EQ(again->spmd_parameters_shardings(),
            module->spmd_parameters_shardings());
  EXPECT_EQ(again->spmd_output_sharding(), module->spmd_output_sharding());
  ASSERT_EQ(again->debug_attributes().size(), 1);
  EXPECT_EQ(again->debug_attributes().begin()->second[0].callback_id, 3);
  EXPECT_TRUE(again->config().use_spmd_partitioning());

  absl::StatusOr<std::unique_ptr<HloModule>> with_config =
      HloModule::CreateFromProtoWithConfig(module->ToProtoWithConfig());
  ASSERT_TRUE(with_config.ok()) << with_config.status();
  EXPECT_EQ((*with_config)->ToString(), module->ToString());
}

TEST(HloProtoTest, ElidedConstantsHaveNoLiteral) {
  std::unique_ptr<HloModule> module = MakeModuleOfAllFamilies();
  const HloInstruction* elided =
      module->entry_computation()->GetInstructionWithName("constant.2");
  HloInstructionProto proto = elided->ToProto();
  EXPECT_FALSE(proto.has_literal());
  absl::StatusOr<std::unique_ptr<HloInstruction>> again =
      HloInstruction::CreateFromProto(proto, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->literal().is_elided());
  EXPECT_EQ((*again)->shape(), elided->shape());

  // Where the layout is not set, it stays so.
  HloInstructionProto no_layout = proto;
  no_layout.mutable_shape()->clear_layout();
  again = HloInstruction::CreateFromProto(no_layout, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE((*again)->shape().has_layout());
  no_layout.mutable_shape()->set_is_dynamic_dimension(0, true);
  EXPECT_FALSE(HloInstruction::CreateFromProto(no_layout, {}).ok());

  // A literal with nothing but a shape is an error, or elided on request.
  *proto.mutable_literal()->mutable_shape() = proto.shape();
  EXPECT_FALSE(HloInstruction::CreateFromProto(proto, {}).ok());
  again = HloInstruction::CreateFromProto(proto, {}, {},
                                          /*prohibit_empty_literal=*/false);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE((*again)->literal().is_elided());
}

TEST(HloProtoTest, LiteralsAreOfAFixedSize) {
  HloInstructionProto proto =
      HloInstruction::CreateConstant(LiteralUtil::CreateR1<int32_t>({3, 5}))
          ->ToProto();
  proto.set_id(1);
  EXPECT_TRUE(HloInstruction::CreateFromProto(proto, {}).ok());
  proto.mutable_literal()->mutable_shape()->set_is_dynamic_dimension(0, true);
  EXPECT_FALSE(HloInstruction::CreateFromProto(proto, {}).ok());
}

TEST(HloProtoTest, PayloadsAreSharedAndComeBack) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  for (HloInstruction* p :
       module->entry_computation()->parameter_instructions()) {
    p->set_raw_backend_config_string("{\"shared\":1}");
    p->mutable_metadata().mutable_metadata_payload()->set_value("payload");
  }
  HloProtoOptions options;
  options.deduplicate_backend_config = true;
  options.deduplicate_metadata = true;
  HloModuleProto proto = module->ToProto(options);
  EXPECT_EQ(proto.payloads_size(), 2);
  EXPECT_EQ(proto.computations(1).instructions(0).backend_config(), "");
  std::unique_ptr<HloModule> again = ThroughBytes(*module, options);
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->ToString(), module->ToString());
}

TEST(HloProtoTest, PayloadsGoBehindThoseThatAreThere) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloInstruction* p = module->entry_computation()->parameter_instruction(0);
  p->mutable_metadata().mutable_metadata_payload()->set_value("payload");
  HloProtoOptions options;
  options.deduplicate_metadata = true;
  HloModuleProto proto;
  proto.add_payloads("old");
  module->ToProto(&proto, options);
  EXPECT_THAT(proto.payloads(), ElementsAre("old", "payload"));
  absl::StatusOr<std::unique_ptr<HloModule>> again = ModuleFromProto(proto);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)
                ->entry_computation()
                ->parameter_instruction(0)
                ->metadata_payload_string(),
            "payload");
}

TEST(HloProtoTest, EqualPayloadsHaveOneId) {
  HloPayloadDeduplicator payloads(/*base=*/3);
  EXPECT_EQ(payloads.Deduplicate("a"), 3);
  EXPECT_EQ(payloads.Deduplicate(BackendConfigWrapper("{}")), 4);
  EXPECT_EQ(payloads.Deduplicate("a"), 3);
  EXPECT_EQ(payloads.Deduplicate("{}"), 4);
  EXPECT_THAT(payloads.TakePayloads(), ElementsAre("a", "{}"));
  EXPECT_EQ(payloads.Deduplicate("b"), 5);
  EXPECT_EQ(payloads.Deduplicate("a"), 3);
  EXPECT_THAT(payloads.TakePayloads(), ElementsAre("b"));
}

TEST(HloProtoTest, OriginalValues) {
  OriginalValue value(std::vector<OriginalValue::Leaf>{
      {{0}, OriginalArray{"a", {1}}}, {{1}, std::nullopt}});
  EXPECT_EQ(*OriginalValue::FromProto(value.ToProto()), value);
  EXPECT_TRUE(OriginalValue::FromProto(OriginalValue::SyntheticCall().ToProto())
                  ->is_synthetic_call());
}

TEST(HloProtoTest, ConfigsComeBack) {
  HloModuleConfig config;
  config.set_seed(7);
  config.set_num_partitions(3);
  config.set_device_memory_size(1 << 20);
  config.set_auto_spmd_partitioning_mesh_shape({2, 4});
  config.set_fusion_config({{true, false}, {}});
  (*config.mutable_dot_config())["d"] = {1, 2};
  *config.mutable_layout_config() = {{{1}, {}}, {}};
  config.SetAnalysisAllowance("pass", 5);
  config.set_shardable_value_update_pairs({{1, {0}, {2}}});
  config.set_device_type("cpu");
  absl::StatusOr<std::unique_ptr<HloModuleConfig>> again =
      HloModuleConfig::CreateFromProto(config.ToProto());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ((*again)->seed(), 7);
  EXPECT_EQ((*again)->num_partitions(), 3);
  EXPECT_EQ((*again)->device_memory_size(), 1 << 20);
  EXPECT_EQ((*again)->auto_spmd_partitioning_mesh_shape(),
            config.auto_spmd_partitioning_mesh_shape());
  EXPECT_EQ((*again)->fusion_config(), config.fusion_config());
  EXPECT_EQ((*again)->dot_config(), config.dot_config());
  EXPECT_EQ((*again)->layout_config(), config.layout_config());
  EXPECT_EQ((*again)->GetAnalysisAllowance("pass"), 5);
  ASSERT_EQ((*again)->shardable_value_update_pairs().size(), 1);
  EXPECT_EQ((*again)->device_type(), "cpu");
  EXPECT_EQ((*again)->allow_spmd_sharding_propagation_to_output().size(), 1);
}

TEST(HloProtoTest, EqualStackFramesBecomeOne) {
  HloModuleProto proto = MakeSmallModule()->ToProto();
  StackFrameIndexProto* index = proto.mutable_stack_frame_index();
  index->add_file_names("f.py");
  index->add_function_names("g");
  for (int i = 0; i < 2; ++i) {
    auto* location = index->add_file_locations();
    location->set_file_name_id(1);
    location->set_function_name_id(1);
    location->set_line(3);
    index->add_stack_frames()->set_file_location_id(i + 1);
  }
  HloComputationProto* computation =
      proto.mutable_computations(proto.computations_size() - 1);
  computation->mutable_instructions(0)->mutable_metadata()->set_stack_frame_id(
      1);
  computation->mutable_instructions(1)->mutable_metadata()->set_stack_frame_id(
      2);
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      HloModule::CreateFromProto(proto, *HloModule::CreateModuleConfigFromProto(
                                            proto, DebugOptions()));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->stack_frames().size(), 1);
  int with_frame = 0;
  for (const HloComputation* c : (*module)->computations()) {
    for (const HloInstruction* inst : c->instructions()) {
      if (inst->metadata().stack_frame_id() == 0) continue;
      EXPECT_EQ(inst->metadata().stack_frame_id(), 1);
      EXPECT_EQ(inst->GetStackTraceStringFromMetadata(), "f.py:3 [g]\n");
      ++with_frame;
    }
  }
  EXPECT_EQ(with_frame, 2);
}

TEST(HloProtoTest, ProgramShapeMayLeaveParametersOut) {
  HloModuleProto proto = MakeSmallModule()->ToProto();
  proto.mutable_host_program_shape()->clear_parameters();
  proto.mutable_host_program_shape()->clear_parameter_names();
  proto.set_device_type("theirs");
  absl::StatusOr<HloModuleConfig> config =
      HloModule::CreateModuleConfigFromProto(proto, DebugOptions());
  ASSERT_TRUE(config.ok()) << config.status();
  config->set_device_type("ours");
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      HloModule::CreateFromProto(proto, *config);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->config().device_type(), "theirs");
  EXPECT_EQ((*module)->entry_computation_layout().parameter_count(),
            (*module)->entry_computation()->num_parameters());
}

}  // namespace
}  // namespace xla

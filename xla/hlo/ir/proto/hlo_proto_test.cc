#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/backend_config.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_payload_deduplicator.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/hlo_test_modules.h"
#include "xla/literal_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using ::testing::ElementsAre;

absl::StatusOr<std::unique_ptr<HloModule>> FromProto(
    const HloModuleProto& proto) {
  absl::StatusOr<HloModuleConfig> config =
      HloModule::CreateModuleConfigFromProto(proto, DebugOptions());
  if (!config.ok()) return config.status();
  return HloModule::CreateFromProto(proto, *config);
}

// The module after going through bytes.
std::unique_ptr<HloModule> ThroughBytes(const HloModule& module,
                                        HloProtoOptions options = {}) {
  HloModuleProto proto;
  EXPECT_TRUE(
      proto.ParseFromString(module.ToProto(options).SerializeAsString()));
  absl::StatusOr<std::unique_ptr<HloModule>> result = FromProto(proto);
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
  absl::StatusOr<std::unique_ptr<HloModule>> module = FromProto(proto);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->ToString(), MakeSmallModule()->ToString());

  absl::StatusOr<HloModuleProto> remapped =
      HloModule::RemapInstructionIds(proto);
  ASSERT_TRUE(remapped.ok()) << remapped.status();
  EXPECT_EQ(remapped->computations(1).instructions(0).id(),
            HloInstruction::CalculateUniqueId(entry.id(), 0));
  module = FromProto(*remapped);
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
    const auto result = FromProto(proto);
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
      absl::StatusOr<std::unique_ptr<HloModule>> module = FromProto(proto);
      ASSERT_TRUE(module.ok()) << module.status();
      EXPECT_EQ((*module)->ToString(), text);
      absl::StatusOr<HloModuleProto> remapped =
          HloModule::RemapInstructionIds(proto);
      ASSERT_TRUE(remapped.ok()) << remapped.status();
      module = FromProto(*remapped);
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
  absl::StatusOr<std::unique_ptr<HloModule>> again = FromProto(proto);
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

// --- Malformed protos
// -----------------------------------------------------------

struct Malformed {
  const char* message;
  std::function<void(HloModuleProto*)> damage;
};

HloInstructionProto* FindInstruction(HloModuleProto* module,
                                     absl::string_view opcode) {
  for (HloComputationProto& computation : *module->mutable_computations()) {
    for (HloInstructionProto& instruction :
         *computation.mutable_instructions()) {
      if (instruction.opcode() == opcode) return &instruction;
    }
  }
  return nullptr;
}

// Changes the first instruction of an opcode.
std::function<void(HloModuleProto*)> In(
    absl::string_view opcode,
    std::function<void(HloInstructionProto*)> change) {
  return [=](HloModuleProto* module) {
    HloInstructionProto* instruction = FindInstruction(module, opcode);
    ASSERT_NE(instruction, nullptr) << opcode;
    change(instruction);
  };
}

std::vector<Malformed> MalformedProtos() {
  using I = HloInstructionProto;
  return {
      {"no name", [](HloModuleProto* m) { m->clear_name(); }},
      {"no computation has the id of the entry",
       [](HloModuleProto* m) { m->set_entry_computation_id(99); }},
      {"two computations have the id",
       [](HloModuleProto* m) {
         m->mutable_computations(1)->set_id(m->computations(0).id());
       }},
      {"no host_program_shape",
       [](HloModuleProto* m) { m->clear_host_program_shape(); }},
      {"its layout",
       [](HloModuleProto* m) {
         m->mutable_host_program_shape()->mutable_parameters()->RemoveLast();
         m->mutable_host_program_shape()->clear_parameter_names();
       }},
      {"out-of-bounds value",
       [](HloModuleProto* m) {
         auto* shape = m->mutable_host_program_shape()->mutable_parameters(0);
         *shape = ShapeUtil::MakeShape(F32, {4}).ToProto();
         shape->mutable_layout()->set_minor_to_major(0, -1);
       }},
      {"root's id",
       [](HloModuleProto* m) { m->mutable_computations(0)->set_root_id(77); }},
      {"two instructions have the id",
       [](HloModuleProto* m) {
         auto* c = m->mutable_computations(0);
         c->mutable_instructions(1)->set_id(c->instructions(0).id());
       }},
      {"parameters are not numbered",
       [](HloModuleProto* m) {
         auto* c = m->mutable_computations(0);
         c->mutable_instructions(1)->set_parameter_number(2);
       }},
      {"is there twice",
       [](HloModuleProto* m) {
         auto* c = m->mutable_computations(0);
         c->mutable_instructions(1)->set_parameter_number(0);
       }},
      {"is too large",
       In("parameter", [](I* i) { i->set_parameter_number(1LL << 40); })},
      {"are named", In("iota", [](I* i) { i->set_name("sort"); })},
      {"unknown opcode", In("iota", [](I* i) { i->set_opcode("no-op"); })},
      {"no shape", In("iota", [](I* i) { i->clear_shape(); })},
      {"negative id", In("iota", [](I* i) { i->set_id(-5); })},
      {"expected 1 operands",
       In("broadcast", [](I* i) { i->clear_operand_ids(); })},
      {"uses it as an operand",
       In("broadcast", [](I* i) { i->set_operand_ids(0, 123456); })},
      // An operand of itself would be a cycle.
      {"uses it as an operand",
       In("broadcast", [](I* i) { i->set_operand_ids(0, i->id()); })},
      {"control predecessor",
       In("broadcast", [](I* i) { i->add_control_predecessor_ids(i->id()); })},
      {"before the one that calls it",
       In("while", [](I* i) { i->set_called_computation_ids(0, 1000); })},
      {"calls no computations",
       In("iota", [](I* i) { i->add_called_computation_ids(0); })},
      {"expected 2 called computations",
       In("while",
          [](I* i) { i->mutable_called_computation_ids()->RemoveLast(); })},
      {"dimensions", In("broadcast", [](I* i) { i->add_dimensions(7); })},
      {"not a permutation",
       In("transpose", [](I* i) { i->set_dimensions(0, 0); })},
      {"as many inputs as init values",
       In("reduce", [](I* i) { i->add_operand_ids(i->operand_ids(0)); })},
      {"num_carries", In("scan", [](I* i) { i->set_num_carries(9); })},
      {"no element",
       In("get-tuple-element", [](I* i) { i->set_tuple_index(5); })},
      {"no dimension numbers",
       In("dot", [](I* i) { i->clear_dot_dimension_numbers(); })},
      {"unknown fusion kind",
       In("fusion", [](I* i) { i->set_fusion_kind("kBig"); })},
      {"the fusion 2 operands",
       In("fusion", [](I* i) { i->add_operand_ids(i->operand_ids(0)); })},
      {"literal has shape",
       In("constant", [](I* i) { i->mutable_shape()->set_element_type(S32); })},
      {"is not a tuple of 3",
       In("recv",
          [](I* i) {
            i->mutable_shape()->mutable_tuple_shapes()->RemoveLast();
          })},
      {"n updates",
       In("scatter", [](I* i) { i->mutable_operand_ids()->RemoveLast(); })},
      {"start indices",
       In("dynamic-slice",
          [](I* i) { i->mutable_operand_ids()->RemoveLast(); })},
      {"-1 is not the index of a statistic",
       In("iota",
          [](I* i) {
            i->mutable_statistics_viz()->set_stat_index_to_visualize(-1);
          })},
      {"unknown fft_type 77",
       In("fft", [](I* i) { i->set_fft_type(static_cast<FftType>(77)); })},
      {"unknown operand_precision -3",
       In("dot",
          [](I* i) {
            i->mutable_precision_config()->add_operand_precision(
                static_cast<PrecisionConfig::Precision>(-3));
          })},
      {"is no name=value",
       In("iota", [](I* i) { i->add_unknown_attributes()->set_name("a"); })},
      {"is no name=value", In("iota",
                              [](I* i) {
                                auto* attribute = i->add_unknown_attributes();
                                attribute->set_name("a");
                                attribute->set_value("{b}), c");
                              })},
      {"no payload",
       In("iota",
          [](I* i) { i->mutable_backend_config_payload()->set_id(3); })},
      {"flags for", In("parameter",
                       [](I* i) {
                         i->mutable_parameter_replication()
                             ->mutable_replicated_at_leaf_buffers()
                             ->Resize(9, true);
                       })},
  };
}

// Numbers that text could not say.
std::vector<Malformed> MalformedNumbers() {
  using I = HloInstructionProto;
  return {
      {"a dimension number is repeated",
       In("custom-call",
          [](I* i) {
            auto* dims = i->mutable_convolution_dimension_numbers();
            dims->set_input_feature_dimension(1);
            dims->set_kernel_output_feature_dimension(1);
          })},
      {"a dimension number is repeated",
       In("custom-call",
          [](I* i) {
            i->mutable_convolution_dimension_numbers()
                ->add_input_spatial_dimensions(2);
          })},
      {"no index into a shape: {-1} of \"a\"",
       [](HloModuleProto* m) {
         auto* entry =
             m->mutable_original_value_recovery_table()->add_entries();
         entry->mutable_old_original_array()->set_instruction_name("a");
         entry->mutable_old_original_array()->add_shape_index(-1);
       }},
      {"no index into a shape: {0,2147483648} of \"b\"",
       [](HloModuleProto* m) {
         auto* array = m->add_debug_attributes()->mutable_original_array();
         array->set_instruction_name("b");
         array->add_shape_index(0);
         array->add_shape_index(int64_t{1} << 31);
       }},
  };
}

TEST(HloProtoTest, MalformedProtosAreErrors) {
  const HloModuleProto good = MakeModuleOfAllFamilies()->ToProto();
  std::vector<Malformed> cases = MalformedProtos();
  for (Malformed& malformed : MalformedNumbers()) {
    cases.push_back(std::move(malformed));
  }
  for (const Malformed& malformed : cases) {
    HloModuleProto proto = good;
    malformed.damage(&proto);
    absl::StatusOr<std::unique_ptr<HloModule>> module = FromProto(proto);
    ASSERT_FALSE(module.ok()) << malformed.message;
    EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument)
        << module.status();
    EXPECT_TRUE(absl::StrContains(module.status().message(), malformed.message))
        << "expected: " << malformed.message << "\n"
        << module.status();
  }
}

TEST(HloProtoTest, UnknownAttributesThatPrintAsOneStay) {
  HloModuleProto proto = MakeModuleOfAllFamilies()->ToProto();
  const std::vector<std::string> values = {"3x3",        "{a=[1,2]<=[2]T(0)}",
                                           "[2,2]<=[4]", "{mesh['x'=2]; @b}",
                                           "\"}\"",      "a -1.5"};
  HloInstructionProto* iota = FindInstruction(&proto, "iota");
  for (const std::string& value : values) {
    auto* attribute = iota->add_unknown_attributes();
    attribute->set_name("new-thing");
    attribute->set_value(value);
  }
  absl::StatusOr<std::unique_ptr<HloModule>> module = FromProto(proto);
  ASSERT_TRUE(module.ok()) << module.status();
  HloModuleProto again = (*module)->ToProto();
  EXPECT_EQ(FindInstruction(&again, "iota")->unknown_attributes_size(),
            static_cast<int>(values.size()));
  for (const char* value :
       {"", "a, b", "a=b", "a\nb", "a // b", "{ /* }", "{)}", "\"", "'", "}",
        " a", "a ROOT", "a;", "{\1}"}) {
    iota->mutable_unknown_attributes(0)->set_value(value);
    EXPECT_EQ(FromProto(proto).status().code(),
              absl::StatusCode::kInvalidArgument)
        << value;
  }
}

TEST(HloProtoTest, InvalidSchedulesAreErrors) {
  std::unique_ptr<HloModule> module = MakeSmallModule();
  HloSchedule schedule(module.get());
  for (HloComputation* computation : module->computations()) {
    schedule.set_sequence(computation, computation->MakeInstructionPostOrder());
  }
  ASSERT_TRUE(module->set_schedule(schedule).ok());
  const HloModuleProto good = module->ToProto();
  const int64_t entry = good.entry_computation_id();
  auto sequence = [&](HloModuleProto* proto) {
    return (*proto->mutable_schedule()->mutable_sequences())[entry]
        .mutable_instruction_ids();
  };
  HloModuleProto proto = good;
  sequence(&proto)->Set(0, 12345);
  EXPECT_FALSE(FromProto(proto).ok());
  proto = good;
  sequence(&proto)->SwapElements(0, 5);
  EXPECT_FALSE(FromProto(proto).ok());
  proto = good;
  sequence(&proto)->RemoveLast();
  EXPECT_FALSE(FromProto(proto).ok());
  proto = good;
  (*proto.mutable_schedule()->mutable_sequences())[77];
  EXPECT_FALSE(FromProto(proto).ok());
}

}  // namespace
}  // namespace xla

// Protos that are no modules: each is an error that says why.

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
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_test_modules.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

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

// Numbers and modes that text could not say.
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
      {"huge", In("iota",
                  [](I* i) {
                    auto* mode = i->add_unknown_attributes();
                    mode->set_name("mode");
                    mode->set_value("huge");
                  })},
  };
}

TEST(HloProtoMalformedTest, MalformedProtosAreErrors) {
  const HloModuleProto good = MakeModuleOfAllFamilies()->ToProto();
  std::vector<Malformed> cases = MalformedProtos();
  for (Malformed& malformed : MalformedNumbers()) {
    cases.push_back(std::move(malformed));
  }
  for (const Malformed& malformed : cases) {
    HloModuleProto proto = good;
    malformed.damage(&proto);
    absl::StatusOr<std::unique_ptr<HloModule>> module = ModuleFromProto(proto);
    ASSERT_FALSE(module.ok()) << malformed.message;
    EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument)
        << module.status();
    EXPECT_TRUE(absl::StrContains(module.status().message(), malformed.message))
        << "expected: " << malformed.message << "\n"
        << module.status();
  }
}

TEST(HloProtoMalformedTest, UnknownAttributesThatPrintAsOneStay) {
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
  absl::StatusOr<std::unique_ptr<HloModule>> module = ModuleFromProto(proto);
  ASSERT_TRUE(module.ok()) << module.status();
  HloModuleProto again = (*module)->ToProto();
  EXPECT_EQ(FindInstruction(&again, "iota")->unknown_attributes_size(),
            static_cast<int>(values.size()));
  for (const char* value :
       {"", "a, b", "a=b", "a\nb", "a // b", "{ /* }", "{)}", "\"", "'", "}",
        " a", "a ROOT", "a;", "{\1}"}) {
    iota->mutable_unknown_attributes(0)->set_value(value);
    EXPECT_EQ(ModuleFromProto(proto).status().code(),
              absl::StatusCode::kInvalidArgument)
        << value;
  }
}

TEST(HloProtoMalformedTest, InvalidSchedulesAreErrors) {
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
  EXPECT_FALSE(ModuleFromProto(proto).ok());
  proto = good;
  sequence(&proto)->SwapElements(0, 5);
  EXPECT_FALSE(ModuleFromProto(proto).ok());
  proto = good;
  sequence(&proto)->RemoveLast();
  EXPECT_FALSE(ModuleFromProto(proto).ok());
  proto = good;
  (*proto.mutable_schedule()->mutable_sequences())[77];
  EXPECT_FALSE(ModuleFromProto(proto).ok());
}

}  // namespace
}  // namespace xla

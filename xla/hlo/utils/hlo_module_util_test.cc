#include "xla/hlo/utils/hlo_module_util.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/testlib/test.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/hlo_proto_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla.pb.h"

namespace xla {
namespace {

constexpr char kNegate[] = R"(HloModule neg

ENTRY e {
  a = f32[2,3]{1,0} parameter(0)
  ROOT n = f32[2,3]{1,0} negate(a)
}
)";

std::string TempPath(const std::string& name) {
  return ::testing::TempDir() + "/hlo_module_util_" + name;
}

void Write(const std::string& path, const std::string& contents) {
  ASSERT_OK(WriteFileOrStdout(path, contents));
}

TEST(HloModuleUtilTest, FromStringAndBackThroughProtos) {
  ASSERT_OK_AND_ASSIGN(auto module, CreateModuleFromString(kNegate));
  EXPECT_EQ(module->name(), "neg");
  ASSERT_OK_AND_ASSIGN(auto copy, CreateModuleFromProto(module->ToProto()));
  EXPECT_EQ(copy->ToString(), module->ToString());
  ASSERT_OK_AND_ASSIGN(
      auto configured,
      CreateModuleFromProto(module->ToProto(), module->config()));
  EXPECT_EQ(configured->ToString(), module->ToString());
  EXPECT_FALSE(CreateModuleFromString("ENTRY e {").ok());
}

TEST(HloModuleUtilTest, PayloadsOfAnInstructionAreInlined) {
  HloModuleProto module;
  module.add_payloads("config");
  module.add_payloads("metadata");
  HloInstructionProto proto;
  proto.set_name("i");
  proto.mutable_backend_config_payload()->set_id(0);
  proto.mutable_metadata()->mutable_metadata_payload()->set_id(1);
  const HloInstructionProto inlined =
      ToProtoWithInlinedPayloads(proto, &module);
  EXPECT_EQ(inlined.backend_config(), "config");
  EXPECT_FALSE(inlined.has_backend_config_payload());
  EXPECT_EQ(inlined.metadata().metadata_payload().value(), "metadata");
  // Without a table that has them, they stay what they are.
  EXPECT_EQ(ToProtoWithInlinedPayloads(proto, nullptr).SerializeAsString(),
            proto.SerializeAsString());
}

TEST(HloModuleUtilTest, ReadsEveryKindOfFile) {
  ASSERT_OK_AND_ASSIGN(auto module, CreateModuleFromString(kNegate));
  HloModuleProto module_proto = module->ToProto();
  HloProto proto;
  *proto.mutable_hlo_module() = module_proto;
  std::string text, module_text;
  google::protobuf::TextFormat::PrintToString(proto, &text);
  google::protobuf::TextFormat::PrintToString(module_proto, &module_text);
  Write(TempPath("a.hlo"), kNegate);
  Write(TempPath("a.pb"), proto.SerializeAsString());
  Write(TempPath("m.pb"), module_proto.SerializeAsString());
  Write(TempPath("a.pbtxt"), text);
  Write(TempPath("m.pbtxt"), module_text);

  const DebugOptions& debug = DebugOptions::default_instance();
  ASSERT_OK_AND_ASSIGN(auto a, ReadModuleFromHloTextFile(TempPath("a.hlo")));
  ASSERT_OK_AND_ASSIGN(auto b, ReadModuleFromBinaryProtoFile(TempPath("a.pb")));
  ASSERT_OK_AND_ASSIGN(
      auto c, ReadModuleFromModuleBinaryProtofile(TempPath("m.pb"), debug));
  ASSERT_OK_AND_ASSIGN(auto d,
                       ReadModuleFromTextProtoFile(TempPath("a.pbtxt")));
  ASSERT_OK_AND_ASSIGN(auto e,
                       ReadModuleFromModuleTextProtoFile(TempPath("m.pbtxt")));
  for (const HloModule* read : {a.get(), b.get(), c.get(), d.get(), e.get()}) {
    EXPECT_EQ(read->ToString(), module->ToString());
  }
}

TEST(HloModuleUtilTest, BadFilesAreErrorsWithTheirName) {
  std::string path = TempPath("bad");
  EXPECT_EQ(ReadModuleFromHloTextFile(TempPath("absent")).status().code(),
            absl::StatusCode::kNotFound);
  Write(path, "\x07 no module");
  auto mentions_path = [&](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(path));
  };
  mentions_path(ReadModuleFromHloTextFile(path).status());
  mentions_path(ReadModuleFromBinaryProtoFile(path).status());
  mentions_path(ReadModuleFromTextProtoFile(path).status());
  Write(path, "hlo_module {\n  nobody: 1\n}");
  EXPECT_THAT(std::string(ReadModuleFromTextProtoFile(path).status().message()),
              ::testing::HasSubstr(path + ":2:9: error: "));
  mentions_path(ReadModuleFromModuleTextProtoFile(path).status());
}

TEST(HloModuleUtilTest, ConfigTakesLayoutsOfArguments) {
  ProgramShape program;
  *program.add_parameters() = ShapeUtil::MakeShape(F32, {2, 3});
  *program.mutable_result() = ShapeUtil::MakeShape(F32, {2, 3});
  Shape columns = ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {0, 1});
  ASSERT_OK_AND_ASSIGN(auto config,
                       CreateModuleConfig(program, {&columns}, nullptr,
                                          /*default_num_replicas=*/3,
                                          /*num_threads=*/5));
  EXPECT_EQ(config->replica_count(), 3);
  EXPECT_EQ(config->intra_op_parallelism_threads(), 5);
  EXPECT_EQ(config->entry_computation_layout().parameter_shape(0), columns);
  EXPECT_EQ(config->entry_computation_layout().result_shape(),
            ShapeUtil::MakeShapeWithDenseLayout(F32, {2, 3}, {1, 0}));

  ExecutionOptions options;
  options.set_num_replicas(2);
  options.set_seed(11);
  *options.mutable_shape_with_output_layout() = columns.ToProto();
  ASSERT_OK_AND_ASSIGN(config,
                       CreateModuleConfig(program, {&columns}, &options, 3));
  EXPECT_EQ(config->replica_count(), 2);
  EXPECT_EQ(config->seed(), 11);
  EXPECT_EQ(config->entry_computation_layout().result_shape(), columns);

  Shape other = ShapeUtil::MakeShape(F32, {3, 2});
  EXPECT_EQ(CreateModuleConfig(program, {&other}, nullptr, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateModuleConfig(program, {}, nullptr, 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HloModuleUtilTest, UpdateEntryComputationLayout) {
  ASSERT_OK_AND_ASSIGN(auto module, CreateModuleFromString(R"(HloModule m

ENTRY e {
  a = f32[8,8]{1,0:T(2,2)} parameter(0)
  b = f32[8,8]{1,0} parameter(1)
  ROOT t = (f32[8,8]{1,0:T(2,2)}, f32[8,8]{1,0}) tuple(a, b)
})"));
  auto tiled = [](const Shape& shape) {
    Shape result = shape;
    result.mutable_layout()->clear_tiles();
    *result.mutable_layout()->add_tiles() = Tile({4, 4});
    return result;
  };
  UpdateEntryComputationLayout(module.get(), tiled);
  EXPECT_EQ(module->entry_computation_layout().ToString(),
            "(f32[8,8]{1,0:T(2,2)}, f32[8,8]{1,0:T(4,4)})->"
            "(f32[8,8]{1,0:T(2,2)}, f32[8,8]{1,0:T(4,4)})");
  UpdateEntryComputationLayout(module.get(), tiled,
                               /*empty_tiles_only=*/false);
  EXPECT_EQ(module->entry_computation_layout().ToString(),
            "(f32[8,8]{1,0:T(4,4)}, f32[8,8]{1,0:T(4,4)})->"
            "(f32[8,8]{1,0:T(4,4)}, f32[8,8]{1,0:T(4,4)})");
}

}  // namespace
}  // namespace xla

#include "xla/hlo/ir/dynamic_parameter_binding.h"

#include <memory>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "xla/hlo/ir/compilation_environments.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"
#include "xla/xla.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using Dimension = DynamicParameterBinding::DynamicDimension;
using Size = DynamicParameterBinding::DynamicSizeParameter;

// (n s32[], t (s32[], f32[8,4])) -> t
class DynamicParameterBindingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Shape size = ShapeUtil::MakeShape(S32, {});
    HloComputation::Builder builder("entry");
    builder.AddInstruction(HloInstruction::CreateParameter(0, size, "n"));
    builder.AddInstruction(HloInstruction::CreateParameter(
        1, ShapeUtil::MakeTupleShape({size, ShapeUtil::MakeShape(F32, {8, 4})}),
        "t"));
    entry_ = module_.AddEntryComputation(builder.Build());
  }

  HloModule module_{"m", HloModuleConfig()};
  HloComputation* entry_;
};

TEST_F(DynamicParameterBindingTest, BindsEachDimensionOnce) {
  DynamicParameterBinding binding;
  EXPECT_TRUE(binding.empty());
  ASSERT_TRUE(binding.Bind(Size{0, {}}, Dimension{1, {1}, 0}).ok());
  ASSERT_TRUE(binding.Bind(Size{1, {0}}, Dimension{1, {1}, 1}).ok());
  EXPECT_EQ(binding.Bind(Size{1, {0}}, Dimension{1, {1}, 0}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(binding.GetBinding(Dimension{1, {1}, 1})->parameter_index,
            ShapeIndex({0}));
  EXPECT_FALSE(binding.GetBinding(Dimension{0, {}, 0}).has_value());
  EXPECT_TRUE(binding.Verify(*entry_).ok());
}

TEST_F(DynamicParameterBindingTest, VisitsInOrderAndStopsAtErrors) {
  DynamicParameterBinding binding;
  ASSERT_TRUE(binding.Bind(Size{0, {}}, Dimension{1, {1}, 1}).ok());
  ASSERT_TRUE(binding.Bind(Size{0, {}}, Dimension{1, {1}, 0}).ok());
  int64_t first = -1;
  absl::Status status =
      binding.ForEachBinding([&](const Size&, const Dimension& dimension) {
        first = dimension.dimension;
        return absl::AbortedError("enough");
      });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(first, 0);
}

TEST_F(DynamicParameterBindingTest, VerifyFindsWhatIsNotThere) {
  for (const auto& [size, dimension] :
       {std::pair(Size{2, {}}, Dimension{1, {1}, 0}),
        std::pair(Size{0, {3}}, Dimension{1, {1}, 0}),
        std::pair(Size{0, {}}, Dimension{1, {1}, 2}),
        std::pair(Size{0, {}}, Dimension{1, {}, 0}),
        std::pair(Size{0, {}}, Dimension{-1, {}, 0})}) {
    DynamicParameterBinding binding;
    ASSERT_TRUE(binding.Bind(size, dimension).ok());
    EXPECT_FALSE(binding.Verify(*entry_).ok()) << binding.ToString();
  }
}

TEST(CompilationEnvironmentsTest, OneMessagePerType) {
  CompilationEnvironments environments;
  EXPECT_FALSE(environments.HasEnv<DebugOptions>());
  auto options = std::make_unique<DebugOptions>();
  options->set_xla_dump_to("here");
  ASSERT_TRUE(environments.AddEnv(std::move(options)).ok());
  EXPECT_EQ(environments.GetEnv<DebugOptions>().xla_dump_to(), "here");
  EXPECT_FALSE(environments.AddEnv(std::make_unique<DebugOptions>()).ok());
  environments.GetMutableEnv<OpMetadata>().set_op_name("x");
  CompilationEnvironments copy(environments);
  environments.DeleteEnv<DebugOptions>();
  EXPECT_FALSE(environments.HasEnv<DebugOptions>());
  EXPECT_TRUE(copy.HasEnv<DebugOptions>());
  EXPECT_EQ(copy.GetEnv<OpMetadata>().op_name(), "x");
}

TEST(CompilationEnvironmentsTest, GoesThroughProtos) {
  CompilationEnvironments environments;
  environments.GetMutableEnv<OpMetadata>().set_op_name("x");
  environments.GetMutableEnv<DebugOptions>().set_xla_dump_to("here");
  CompilationEnvironmentsProto proto = environments.ToProto();
  ASSERT_EQ(proto.environments_size(), 2);
  EXPECT_TRUE(proto.environments(0).Is<DebugOptions>()) << "sorted by type";
  auto read = CompilationEnvironments::CreateFromProto(proto);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ((*read)->GetEnv<OpMetadata>().op_name(), "x");
  EXPECT_EQ((*read)->GetEnv<DebugOptions>().xla_dump_to(), "here");

  proto.mutable_environments(1)->set_type_url("type.googleapis.com/xla.None");
  EXPECT_EQ(CompilationEnvironments::CreateFromProto(proto).status().code(),
            absl::StatusCode::kNotFound);
  proto.mutable_environments(1)->set_type_url("none");
  EXPECT_FALSE(CompilationEnvironments::CreateFromProto(proto).ok());
  proto.mutable_environments(0)->set_value("\xff");
  EXPECT_EQ(CompilationEnvironments::CreateFromProto(proto).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CompilationEnvironmentsTest, FunctionsProcessNewOnes) {
  CompilationEnvironments::RegisterProcessNewEnvFn(
      Statistic::descriptor(),
      [](std::unique_ptr<::google::protobuf::Message> env)
          -> absl::StatusOr<std::unique_ptr<::google::protobuf::Message>> {
        if (env == nullptr) {
          auto made = std::make_unique<Statistic>();
          made->set_stat_name("default");
          return made;
        }
        auto* statistic = static_cast<Statistic*>(env.get());
        if (statistic->stat_val() < 0) {
          return absl::OutOfRangeError("negative");
        }
        statistic->set_stat_val(statistic->stat_val() + 1);
        return env;
      });
  CompilationEnvironments asked;
  EXPECT_EQ(asked.GetEnv<Statistic>().stat_name(), "default");
  EXPECT_EQ(asked.GetEnv<OpMetadata>().op_name(), "");

  CompilationEnvironments added;
  auto statistic = std::make_unique<Statistic>();
  statistic->set_stat_val(4);
  ASSERT_TRUE(added.AddEnv(std::move(statistic)).ok());
  EXPECT_EQ(added.GetEnv<Statistic>().stat_val(), 5);

  statistic = std::make_unique<Statistic>();
  statistic->set_stat_val(-1);
  EXPECT_EQ(CompilationEnvironments().AddEnv(std::move(statistic)).code(),
            absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace xla

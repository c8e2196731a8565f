#include "xla/hlo/analysis/buffers/buffer_assigner.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

class BufferAssignerTest : public ::testing::Test {
 protected:
  // Of a scheduled module.
  void Assign(absl::string_view text, BufferAssigner::Options options = {}) {
    auto module = ParseAndReturnUnverifiedModule(
        absl::StrCat("HloModule m, is_scheduled=true\n", text));
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    auto assignment = BufferAssigner::Run(
        module_.get(),
        std::make_unique<SequentialHloOrdering>(module_->schedule()),
        [](const BufferValue& value) {
          return ShapeUtil::ByteSizeOf(value.shape(), 8);
        },
        &alias_info_, [](BufferValue::Color) { return 16; },
        std::move(options));
    ASSERT_TRUE(assignment.ok()) << assignment.status();
    assignment_ = *std::move(assignment);
    EXPECT_TRUE(CheckBufferAssignment(*assignment_, &alias_info_).ok())
        << CheckBufferAssignment(*assignment_, &alias_info_);
  }

  const HloInstruction* Find(absl::string_view name) {
    for (HloComputation* computation : module_->computations()) {
      for (HloInstruction* inst : computation->instructions()) {
        if (inst->name() == name) return inst;
      }
    }
    ADD_FAILURE() << name;
    return nullptr;
  }

  BufferAllocation::Slice Slice(absl::string_view name) {
    return assignment_->GetUniqueTopLevelSlice(Find(name)).value();
  }

  AliasInfo alias_info_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<BufferAssignment> assignment_;
};

TEST_F(BufferAssignerTest, ElementwiseChainEndsInTheResult) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] negate(p)
  b = f32[100] exponential(a)
  ROOT c = f32[100] log(b)
})");
  EXPECT_TRUE(assignment_->SharesTopLevelSlice(Find("a"), Find("c")));
  EXPECT_TRUE(assignment_->SharesTopLevelSlice(Find("b"), Find("c")));
  EXPECT_FALSE(assignment_->SharesTopLevelSlice(Find("p"), Find("a")));
  EXPECT_TRUE(Slice("c").allocation()->maybe_live_out());
  EXPECT_TRUE(Slice("p").allocation()->is_entry_computation_parameter());
  EXPECT_EQ(assignment_->GetStats().total_allocation_bytes, 800);
  EXPECT_EQ(assignment_->ToProto().buffer_allocations_size(), 2);
}

TEST_F(BufferAssignerTest, TemporariesShareOneAllocation) {
  Assign(R"(
ENTRY e {
  p = f32[100] parameter(0)
  a = f32[100] reverse(p), dimensions={0}
  b = f32[100] reverse(a), dimensions={0}
  c = f32[100] reverse(b), dimensions={0}
  ROOT d = f32[50] slice(c), slice={[0:50]}
})");
  EXPECT_EQ(Slice("a").allocation(), Slice("b").allocation());
  EXPECT_EQ(Slice("a"), Slice("c"));
  EXPECT_FALSE(Slice("a").OverlapsWith(Slice("b")));
  EXPECT_TRUE(Slice("a").allocation()->IsPreallocatedTempBuffer());
  EXPECT_EQ(assignment_->temp_allocation_total_size(), 800);
}

TEST_F(BufferAssignerTest, ConstantsHaveMemoryOnRequest) {
  constexpr absl::string_view kText = R"(
ENTRY e {
  p = f32[2] parameter(0)
  k = f32[2] constant({1, 2})
  ROOT a = f32[2] add(p, k)
})";
  Assign(kText);
  EXPECT_FALSE(assignment_->HasTopLevelAllocation(Find("k")));
  BufferAssigner::Options options;
  options.allocate_buffers_for_constants = true;
  Assign(kText, std::move(options));
  EXPECT_TRUE(Slice("k").allocation()->is_constant());
}

TEST_F(BufferAssignerTest, ReducersAreThreadLocal) {
  Assign(R"(
sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  p = f32[100] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=sum
})");
  EXPECT_TRUE(Slice("s").allocation()->is_thread_local());
  EXPECT_FALSE(Slice("r").allocation()->is_thread_local());
}

}  // namespace
}  // namespace xla

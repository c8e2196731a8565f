#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_TEST_BASE_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_TEST_BASE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_assignment_checker.h"
#include "xla/hlo/analysis/buffers/memory_replay.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape_util.h"

namespace xla {

// A loop that cuts its next state out of twice the last one.
inline constexpr absl::string_view kLoop = R"(
body {
  bp = (s32[], f32[100]) parameter(0)
  i = s32[] get-tuple-element(bp), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[100] get-tuple-element(bp), index=1
  t1 = f32[200] concatenate(x, x), dimensions={0}
  y = f32[100] slice(t1), slice={[50:150]}
  ROOT bt = (s32[], f32[100]) tuple(next, y)
}
cond {
  cp = (s32[], f32[100]) parameter(0)
  ci = s32[] get-tuple-element(cp), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(ci, ten), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  zc = s32[] copy(z)
  p = f32[100] parameter(0)
  n = f32[100] negate(p)
  init = (s32[], f32[100]) tuple(zc, n)
  w = (s32[], f32[100]) while(init), condition=cond, body=body
  ROOT r = f32[100] get-tuple-element(w), index=1
})";

// Assigns the memory of modules given as text; each result is checked.
class BufferAssignerTestBase : public ::testing::Test {
 protected:
  void Parse(absl::string_view text) {
    auto module = ParseAndReturnUnverifiedModule(text);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
  }

  // Assigns the last parsed module, with its schedule if it has one.
  absl::Status TryAssign(BufferAssigner::Options options = {},
                         int64_t alignment = 16) {
    std::unique_ptr<HloOrdering> ordering;
    if (module_->has_schedule()) {
      ordering = std::make_unique<SequentialHloOrdering>(module_->schedule());
    } else {
      ordering = std::make_unique<DependencyHloOrdering>(module_.get());
    }
    auto assignment = BufferAssigner::Run(
        module_.get(), std::move(ordering), SizeOf, &alias_info_,
        [=](BufferValue::Color) { return alignment; }, std::move(options));
    if (!assignment.ok()) return assignment.status();
    assignment_ = *std::move(assignment);
    absl::Status status = CheckBufferAssignment(*assignment_, &alias_info_);
    if (module_->has_schedule()) {
      status.Update(ReplayBufferAssignment(*assignment_, module_->schedule()));
    }
    return status;
  }

  // Text without the module's first line.
  void Assign(absl::string_view text, BufferAssigner::Options options = {}) {
    Parse(absl::StrCat("HloModule m, is_scheduled=true\n", text));
    const absl::Status status = TryAssign(std::move(options));
    ASSERT_TRUE(status.ok()) << status;
  }
  void AssignUnordered(absl::string_view text,
                       BufferAssigner::Options options = {}) {
    Parse(absl::StrCat("HloModule m\n", text));
    const absl::Status status = TryAssign(std::move(options));
    ASSERT_TRUE(status.ok()) << status;
  }

  static int64_t SizeOf(const BufferValue& value) {
    return ShapeUtil::ByteSizeOf(value.shape(), 8);
  }

  HloInstruction* Find(absl::string_view name) {
    for (HloComputation* computation : module_->computations()) {
      for (HloInstruction* inst : computation->instructions()) {
        if (inst->name() == name) return inst;
      }
    }
    ADD_FAILURE() << name;
    return module_->entry_computation()->root_instruction();
  }

  BufferAllocation::Slice Slice(absl::string_view name,
                                const ShapeIndex& index = {}) {
    auto slice = assignment_->GetUniqueSlice(Find(name), index);
    EXPECT_TRUE(slice.ok()) << slice.status();
    return slice.value_or(BufferAllocation::Slice());
  }
  const BufferAllocation& Allocation(absl::string_view name,
                                     const ShapeIndex& index = {}) {
    return *Slice(name, index).allocation();
  }
  bool Has(absl::string_view name) {
    return assignment_->HasTopLevelAllocation(Find(name));
  }
  bool Share(absl::string_view a, absl::string_view b) {
    return assignment_->SharesTopLevelSlice(Find(a), Find(b));
  }

  AliasInfo alias_info_;
  std::unique_ptr<HloModule> module_;
  std::unique_ptr<BufferAssignment> assignment_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_TEST_BASE_H_

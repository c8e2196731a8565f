#ifndef XLA_COMPAT_TESTING_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_REMATERIALIZATION_TEST_UTILS_H_
#define XLA_COMPAT_TESTING_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_REMATERIALIZATION_TEST_UTILS_H_

// OpenXLA's path of this header, for tests from outside.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/hlo_hardware_independent_test_base.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

// A fixture whose computations hold a broadcast that is cheap to compute again
// and in the way while a larger value lives. In bytes, without parameters and
// results: 16 K with the broadcast kept, 12 K with it computed twice.
class RematerializationTestBase : public HloHardwareIndependentTestBase {
 protected:
  // f32[1] param -> f32[1]: what ReadTwice makes of it.
  std::unique_ptr<HloComputation> MakeRematerializableComputation(
      const std::string& suffix = "") {
    HloComputation::Builder builder(absl::StrCat(TestName(), suffix));
    HloInstruction* param = builder.AddInstruction(
        HloInstruction::CreateParameter(0, vec1_shape_, "param"));
    HloInstruction* scalar = builder.AddInstruction(
        HloInstruction::CreateReshape(scalar_shape_, param));
    ReadTwice(&builder, scalar, nullptr);
    return builder.Build();
  }

  // The same around a loop of the computations that are given, which runs
  // between the two reads of the broadcast.
  std::unique_ptr<HloComputation> MakeRematerializableWhileComputation(
      HloComputation* while_cond, HloComputation* while_body,
      const std::string& suffix = "") {
    HloComputation::Builder builder(absl::StrCat(TestName(), suffix));
    HloInstruction* param = builder.AddInstruction(
        HloInstruction::CreateParameter(0, vec1_shape_, "param"));
    HloInstruction* scalar = builder.AddInstruction(
        HloInstruction::CreateReshape(scalar_shape_, param));
    ReadTwice(&builder, scalar, [&](HloInstruction* state) {
      return builder.AddInstruction(HloInstruction::CreateWhile(
          vec1_shape_, while_cond, while_body, state));
    });
    return builder.Build();
  }

  // f32[1] param -> true.
  std::unique_ptr<HloComputation> MakeConditionComputation() {
    HloComputation::Builder builder(absl::StrCat(TestName(), ".cond"));
    builder.AddInstruction(
        HloInstruction::CreateParameter(0, vec1_shape_, "param"));
    builder.AddInstruction(
        HloInstruction::CreateConstant(LiteralUtil::CreateR0<bool>(true)));
    return builder.Build();
  }

  // Pointers of tuples have 8 bytes.
  static int64_t ByteSizeOf(const Shape& shape) {
    return ShapeUtil::ByteSizeOf(shape, sizeof(void*));
  }

  const Shape scalar_shape_ = ShapeUtil::MakeShape(F32, {});
  const Shape vec1_shape_ = ShapeUtil::MakeShape(F32, {1});
  const Shape vec1024_shape_ = ShapeUtil::MakeShape(F32, {1024});

 private:
  // bcast[1024] of the scalar; its negation, twice side by side, of which one
  // element goes on (through `between`); behind the broadcast once more; one
  // element of that is the result.
  void ReadTwice(
      HloComputation::Builder* builder, HloInstruction* scalar,
      const std::function<HloInstruction*(HloInstruction*)>& between) {
    auto join = [&](int64_t size, HloInstruction* a, HloInstruction* b) {
      return builder->AddInstruction(HloInstruction::CreateConcatenate(
          ShapeUtil::MakeShape(F32, {size}), {a, b}, /*dimension=*/0));
    };
    auto first = [&](HloInstruction* value) {
      return builder->AddInstruction(HloInstruction::CreateSlice(
          vec1_shape_, value, /*start_indices=*/{0}, /*limit_indices=*/{1},
          /*strides=*/{1}));
    };
    HloInstruction* bcast = builder->AddInstruction(
        HloInstruction::CreateBroadcast(vec1024_shape_, scalar, {}));
    HloInstruction* negate = builder->AddInstruction(
        HloInstruction::CreateUnary(vec1024_shape_, HloOpcode::kNegate, bcast));
    HloInstruction* element = first(join(2048, negate, negate));
    if (between) element = between(element);
    first(join(1025, bcast, element));
  }
};

}  // namespace xla

#endif  // XLA_COMPAT_TESTING_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_REMATERIALIZATION_TEST_UTILS_H_

#include "xla/hlo/evaluator/custom_call_registry.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/sorting.h"
#include "xla/hlo/evaluator/spmd_custom_calls.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

// The operand's, or that of the tuple that a call makes of its operands.
Shape ShapeOfOperands(const HloCustomCallInstruction& call) {
  if (call.operand_count() == 1 &&
      (!call.shape().IsTuple() || call.operand(0)->shape().IsTuple())) {
    return call.operand(0)->shape();
  }
  std::vector<Shape> shapes;
  for (const HloInstruction* operand : call.operands()) {
    shapes.push_back(operand->shape());
  }
  return ShapeUtil::MakeTupleShape(shapes);
}

// A call whose result is its operand, or of several operands their tuple.
absl::StatusOr<Value> PassOn(const HloCustomCallInstruction& call,
                             absl::Span<const Value> operands) {
  const Shape passed = ShapeOfOperands(call);
  if (!ShapeUtil::Compatible(call.shape(), passed)) {
    return InvalidArgument("%s makes %s of %s", call.custom_call_target(),
                           ShapeUtil::HumanString(call.shape()),
                           ShapeUtil::HumanString(passed));
  }
  if (operands.size() == 1 && !call.shape().IsTuple()) return operands[0];
  if (operands.size() == 1 && operands[0].IsTuple()) return operands[0];
  return Value::Tuple(std::vector<Value>(operands.begin(), operands.end()));
}

// A call that only says something about its operands.
absl::StatusOr<Value> Nothing(const HloCustomCallInstruction& call,
                              absl::Span<const Value>) {
  if (!ShapeUtil::IsEmptyTuple(call.shape())) {
    return InvalidArgument("%s makes %s of nothing", call.custom_call_target(),
                           ShapeUtil::HumanString(call.shape()));
  }
  return Value::Tuple({});
}

// The k largest elements of the last dimension, and their places.
absl::StatusOr<Value> TopK(const HloCustomCallInstruction& call,
                           absl::Span<const Value> operands) {
  const Shape& shape = call.shape();
  if (operands.size() != 1 || !shape.IsTuple() ||
      shape.tuple_shapes_size() != 2 ||
      shape.tuple_shapes(0).dimensions().empty()) {
    return InvalidArgument("TopK has %d operands", operands.size());
  }
  const int64_t k = shape.tuple_shapes(0).dimensions().back();
  return TopKOfRows(operands[0], k, /*largest=*/true,
                    shape.tuple_shapes(1).element_type(), nullptr);
}

}  // namespace

const CustomCallRegistry& CustomCallRegistry::Default() {
  static const CustomCallRegistry& registry = *[] {
    auto* made = new CustomCallRegistry;
    for (const char* target :
         {"Sharding", "xla.sdy.FuncResultSharding", "xla.sdy.Sharding",
          "xla.sdy.PropagationBarrier", "annotate_device_placement",
          "MoveToDevice", "MoveToHost", "PinToDevice", "PinToDeviceSram",
          "PinToVmem", "LayoutConstraint", "ShardBarrierFrom", "ShardBarrierTo",
          "ResizeBarrier"}) {
      made->Register(target, PassOn);
    }
    made->Register("xla.sdy.ShardingGroup", Nothing);
    made->Register("TopK", TopK);
    RegisterSpmdCustomCalls(*made);
    return made;
  }();
  return registry;
}

const CustomCallRegistry::Handler* CustomCallRegistry::Find(
    absl::string_view target) const {
  const auto it = handlers_.find(target);
  if (it != handlers_.end()) return &it->second;
  return fallback_ ? &fallback_ : nullptr;
}

}  // namespace evaluator
}  // namespace xla

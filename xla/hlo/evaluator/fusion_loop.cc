#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

// Registers together stay within the second-level cache.
constexpr int64_t kRegisterBytes = 128 << 10;
constexpr int64_t kLeastLanes = 64;

int64_t LanesFor(const LaneProgram& loop, int64_t elements) {
  const int64_t fitting =
      kRegisterBytes / std::max<int64_t>(loop.bytes_per_lane(), 1);
  return std::min(std::clamp(fitting, kLeastLanes, kLaneBlock),
                  std::max<int64_t>(elements, 1));
}

}  // namespace

// Evaluates a whole elementwise fusion block by block: all registers of a block
// stay in the cache, and no intermediate array is materialized. Scalars are
// broadcast to all lanes once.
absl::StatusOr<Value> EvaluateFusionLoop(const LaneProgram& loop,
                                         const HloInstruction* fusion,
                                         absl::Span<Value> operands,
                                         MemoryBudget* budget) {
  std::vector<const Shape*> shapes = {&fusion->shape()};
  if (fusion->shape().IsTuple()) {
    shapes.clear();
    for (const Shape& shape : fusion->shape().tuple_shapes()) {
      shapes.push_back(&shape);
    }
  }
  if (static_cast<int64_t>(shapes.size()) != loop.num_outputs() ||
      static_cast<int64_t>(operands.size()) != loop.num_inputs()) {
    return InvalidArgument("the fusion does not match its computation");
  }
  const int64_t n = ShapeUtil::ElementsIn(*shapes[0]);
  const int64_t block = LanesFor(loop, n);
  LaneMachine machine(loop, block);
  // Where the elements are; null for scalars, which are spread once.
  absl::InlinedVector<const char*, 8> in;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Value& operand = operands[k];
    if (!operand.IsArray() || operand.type() != loop.input_type(k) ||
        (operand.rank() != 0 && operand.count() != n)) {
      return InvalidArgument(
          "operand %d does not match the parameter of the computation", k);
    }
    in.push_back(operand.rank() == 0 ? nullptr : operand.raw());
    if (operand.rank() == 0) machine.SpreadInput(k, operand.raw());
  }
  std::vector<Value> results;
  for (size_t j = 0; j < shapes.size(); ++j) {
    if (shapes[j]->element_type() != loop.output_type(j) ||
        ShapeUtil::ElementsIn(*shapes[j]) != n) {
      return InvalidArgument(
          "result %d does not match the result of the computation", j);
    }
    TF_ASSIGN_OR_RETURN(Value result,
                        Value::Make(shapes[j]->element_type(),
                                    shapes[j]->dimensions(), budget));
    results.push_back(std::move(result));
  }
  for (int64_t start = 0; start < n; start += block) {
    const int64_t lanes = std::min(block, n - start);
    for (size_t k = 0; k < in.size(); ++k) {
      if (in[k] == nullptr) continue;
      machine.LoadInput(k, in[k] + start * operands[k].element_bytes(), lanes);
    }
    machine.Run(lanes);
    for (size_t j = 0; j < results.size(); ++j) {
      machine.StoreOutput(
          j, results[j].mutable_raw() + start * results[j].element_bytes(),
          lanes);
    }
  }
  return fusion->shape().IsTuple() ? Value::Tuple(std::move(results))
                                   : std::move(results[0]);
}

}  // namespace evaluator
}  // namespace xla

#include "xla/hlo/transforms/sharding_propagation/rule_builder.h"

#include <cstdint>
#include <numeric>
#include <utility>

#include "xla/shape_util.h"

namespace xla {

RuleBuilder::RuleBuilder(const HloInstruction& inst) {
  for (const HloInstruction* operand : inst.operands()) {
    AddTensors(operand->shape());
  }
  rule_.num_operands = num_tensors();
  AddTensors(inst.shape());
}

void RuleBuilder::AddTensors(const Shape& shape) {
  for (const Shape* leaf : ShapeUtil::FlattenTupleShape(shape)) {
    OpShardingRule::Tensor tensor;
    if (leaf->IsArray()) tensor.dims.resize(leaf->dimensions().size());
    rule_.tensors.push_back(std::move(tensor));
    shapes_.push_back(leaf);
  }
}

int RuleBuilder::AddFactor(int64_t size, OpShardingRule::Kind kind) {
  rule_.factors.push_back({size, kind});
  return static_cast<int>(rule_.factors.size()) - 1;
}

void RuleBuilder::MapAll(absl::Span<const int64_t> dims,
                         OpShardingRule::Kind kind) {
  int64_t size = 0;
  bool same = true;
  for (size_t t = 0; t < dims.size(); ++t) {
    if (dims[t] < 0) continue;
    const int64_t other = shapes_[t]->dimensions(dims[t]);
    same = same && (size == 0 || size == other);
    size = std::gcd(size, other);
  }
  if (!same && kind == OpShardingRule::Kind::kPassThrough) {
    kind = OpShardingRule::Kind::kPermutation;
  }
  const int factor = AddFactor(size, kind);
  for (size_t t = 0; t < dims.size(); ++t) {
    if (dims[t] >= 0) Map(static_cast<int>(t), dims[t], factor);
  }
}

}  // namespace xla

#include "xla/hlo/transforms/collectives/unit_reshape.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

std::vector<int64_t> WithoutUnits(const Shape& shape) {
  std::vector<int64_t> result;
  std::copy_if(shape.dimensions().begin(), shape.dimensions().end(),
               std::back_inserter(result), [](int64_t n) { return n != 1; });
  return result;
}

}  // namespace

HloInstruction* SkipUnitReshapes(HloInstruction* inst) {
  while (inst->opcode() == HloOpcode::kReshape &&
         !inst->HasControlDependencies() &&
         WithoutUnits(inst->shape()) ==
             WithoutUnits(inst->operand(0)->shape())) {
    inst = inst->mutable_operand(0);
  }
  return inst;
}

std::optional<int64_t> DimensionAcrossUnitReshape(const Shape& from,
                                                  const Shape& to,
                                                  int64_t dim) {
  if (from.dimensions(dim) == 1) return std::nullopt;
  auto is_large = [](int64_t n) { return n != 1; };
  int64_t before = std::count_if(from.dimensions().begin(),
                                 from.dimensions().begin() + dim, is_large);
  for (int64_t d = 0; d < to.dimensions().size(); ++d) {
    if (to.dimensions(d) != 1 && before-- == 0) return d;
  }
  return std::nullopt;
}

}  // namespace xla

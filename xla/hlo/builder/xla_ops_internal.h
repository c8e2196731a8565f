#ifndef XLA_HLO_BUILDER_XLA_OPS_INTERNAL_H_
#define XLA_HLO_BUILDER_XLA_OPS_INTERNAL_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

// What the files of xla_ops.h share.

namespace xla {
namespace xla_builder_internal {

using Made = absl::StatusOr<std::unique_ptr<HloInstruction>>;

// Adds what `make` makes.
template <typename Make>
XlaOp AddMade(XlaBuilder* builder, Make make) {
  return builder->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloInstruction> inst, make());
    return builder->Add(std::move(inst));
  });
}

// The same, where `make` gets the operands as instructions.
template <typename Make>
XlaOp AddWith(XlaBuilder* builder, absl::Span<const XlaOp> operands,
              Make make) {
  return AddMade(builder, [&]() -> Made {
    TF_ASSIGN_OR_RETURN(std::vector<HloInstruction*> instructions,
                        builder->Instructions(operands));
    return make(instructions);
  });
}

using Operands = std::vector<HloInstruction*>;

inline std::vector<const Shape*> Shapes(
    absl::Span<HloInstruction* const> operands) {
  std::vector<const Shape*> shapes;
  for (const HloInstruction* operand : operands) {
    shapes.push_back(&operand->shape());
  }
  return shapes;
}

}  // namespace xla_builder_internal
}  // namespace xla

#endif  // XLA_HLO_BUILDER_XLA_OPS_INTERNAL_H_

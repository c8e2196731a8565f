#ifndef XLA_HLO_UTILS_SCALAR_COMPUTATION_H_
#define XLA_HLO_UTILS_SCALAR_COMPUTATION_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace xla {

// What a reduction does with two numbers, for a module to own:
//
//   name { x = parameter(0); y = parameter(1); ROOT r = opcode(x, y) }
//
// `opcode` is a binary elementwise one that keeps the type.
std::unique_ptr<HloComputation> MakeScalarComputation(HloOpcode opcode,
                                                      PrimitiveType type,
                                                      absl::string_view name);

}  // namespace xla

#endif  // XLA_HLO_UTILS_SCALAR_COMPUTATION_H_

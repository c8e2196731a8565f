#ifndef XLA_HLO_IR_HLO_TEST_MODULES_H_
#define XLA_HLO_IR_HLO_TEST_MODULES_H_

#include <memory>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/hlo.pb.h"

// Modules built by hand, for tests of printing and of protos.

namespace xla {

// One instruction of each family of attributes, named by its opcode, in one
// entry computation. Not meant to compute anything.
std::unique_ptr<HloModule> MakeModuleOfAllFamilies();

// Adds everything that any module may have (schedule, aliasing, stack frames,
// ...), and to its entry's root everything that any instruction may have.
void Decorate(HloModule* module);

// add(a, b) of two f32[4] parameters, and a scalar reduction `sum`.
std::unique_ptr<HloModule> MakeSmallModule();

// The module of a proto, with the configuration that the proto has.
absl::StatusOr<std::unique_ptr<HloModule>> ModuleFromProto(
    const HloModuleProto& proto);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_TEST_MODULES_H_

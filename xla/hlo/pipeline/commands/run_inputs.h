#ifndef XLA_HLO_PIPELINE_COMMANDS_RUN_INPUTS_H_
#define XLA_HLO_PIPELINE_COMMANDS_RUN_INPUTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace xla {

// Arguments of every device, from a description as HloRunOptions::inputs.
// InvalidArgument names the parameter and the file.
absl::StatusOr<std::vector<std::vector<Literal>>> ReadRunInputs(
    const HloModule& module, int64_t devices, absl::string_view description);

// Writes values of every device to a .npz file under names that ReadRunInputs
// finds: `prefix` with a number per value where there are several, `.i.j` for
// elements of tuples, and `@device` where there are several devices.
absl::Status WriteRunValues(
    const std::vector<std::vector<const Literal*>>& values,
    absl::string_view prefix, bool numbered, const std::string& path);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_RUN_INPUTS_H_

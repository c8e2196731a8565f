#include "xla/hlo/utils/proto_fuzz_target.h"

#include <memory>
#include <string>

#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {

bool ReadsAsProtoAndRoundTrips(absl::string_view bytes) {
  absl::StatusOr<std::unique_ptr<HloModule>> module =
      ReadModule(bytes, ModuleFormat::kProto);
  if (!module.ok()) return false;
  HloVerifierOpts options;
  options.allow_mixed_precision = true;
  if (!VerifyHloModule(module->get(), options).ok()) return false;
  absl::StatusOr<std::unique_ptr<HloModule>> again =
      ReadModule(ModuleToProtoBytes(**module), ModuleFormat::kProto);
  CHECK(again.ok()) << again.status();
  // Names that computations share become unique when they are written.
  HloPrintOptions unnamed;
  unnamed.set_canonicalize_instruction_names(true);
  unnamed.set_print_program_shape(false);
  unnamed.set_print_control_dependencies(false);  // by name
  CHECK_EQ((*again)->ToString(unnamed), (*module)->ToString(unnamed));
  return true;
}

}  // namespace xla

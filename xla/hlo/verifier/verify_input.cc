#include "xla/hlo/verifier/verify_input.h"

#include "absl/strings/str_cat.h"
#include "xla/hlo/verifier/hlo_verifier.h"

namespace xla {

absl::Status VerifyInput(const HloModule& module, absl::string_view name,
                         bool layout_sensitive) {
  HloVerifierOpts options;
  options.layout_sensitive = layout_sensitive;
  options.allow_mixed_precision = true;
  const absl::Status status = VerifyHloModule(&module, options);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
}

}  // namespace xla

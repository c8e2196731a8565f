#ifndef XLA_HLO_TESTLIB_TEST_UTILS_H_
#define XLA_HLO_TESTLIB_TEST_UTILS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/evaluator/run/input_generator.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/literal.h"

namespace xla {

// One argument for each parameter of the entry computation, the same in every
// run: see input_generator.h. Of pseudo_random=false, and of use_large_range,
// only integers know: small ones without it.
inline absl::StatusOr<std::vector<Literal>> MakeFakeArguments(
    const HloModule* module, bool pseudo_random = true,
    bool use_large_range = false, bool treat_gte_as_data_formatting = false,
    std::optional<int64_t> max_bits_of_precision = std::nullopt) {
  InputOptions options;
  options.large_integers = use_large_range;
  options.small_integers = !pseudo_random || max_bits_of_precision.has_value();
  return GenerateInputs(*module, options);
}

inline absl::Status VerifyHloModule(HloModule* module, bool layout_sensitive,
                                    bool allow_mixed_precision) {
  return VerifyHloModule(module,
                         HloVerifierOpts()
                             .WithLayoutSensitive(layout_sensitive)
                             .WithAllowMixedPrecision(allow_mixed_precision));
}

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_TEST_UTILS_H_

#ifndef XLA_HLO_TESTLIB_VERIFIED_HLO_MODULE_H_
#define XLA_HLO_TESTLIB_VERIFIED_HLO_MODULE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/shape.h"

namespace xla {

// A module for tests that is verified when it is parsed and when it goes; a
// broken one then fails the test.
class VerifiedHloModule : public HloModule {
 public:
  VerifiedHloModule(const std::string& name, const HloModuleConfig& config,
                    bool verifier_layout_sensitive,
                    bool allow_mixed_precision_in_hlo_verifier,
                    std::function<int64_t(const Shape&)> shape_size_function,
                    HloPredicate instruction_can_change_layout_func = {});
  ~VerifiedHloModule() override;

  absl::Status ParseHloStringAndVerifyModule(
      absl::string_view str, const HloParserOptions& options = {});

  // Fails the running test with `message` if the module is broken.
  void VerifyOrAddFailure(absl::string_view message);
  absl::Status Verify();

 private:
  HloVerifierOpts verifier_options_;
};

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_VERIFIED_HLO_MODULE_H_

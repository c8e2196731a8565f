#ifndef XLA_HLO_PASS_INSTRUMENTATION_PASS_FUEL_H_
#define XLA_HLO_PASS_INSTRUMENTATION_PASS_FUEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_instrumentation.h"

namespace xla {

// Limits how often each named pass runs, to bisect which run breaks a module:
// `hlo-dce=3,hlo-cse=0` skips the fourth and later runs of hlo-dce and every
// run of hlo-cse. `hlo-rematerialization.rewrite=17` lets all runs make 17
// rewrites together, where the pass is a FueledPass.
class PassFuel : public PassInstrumentation {
 public:
  // Errors: InvalidArgument where `text` is not a list of NAME=COUNT.
  static absl::StatusOr<std::unique_ptr<PassFuel>> Create(
      absl::string_view text);

  bool ShouldRun(const PassEvent& event, const HloModule& module) override;

  // The passes whose runs it counts, with dashes, sorted.
  std::vector<std::string> Names() const;

  // The fuel for rewrites, by pass name with dashes; for SetRewriteFuel().
  const std::map<std::string, std::shared_ptr<int64_t>>& rewrites() const {
    return rewrites_;
  }

 private:
  absl::flat_hash_map<std::string, int64_t> left_;
  std::map<std::string, std::shared_ptr<int64_t>> rewrites_;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_INSTRUMENTATION_PASS_FUEL_H_

#ifndef XLA_HLO_PIPELINE_COMMANDS_HLO_DIFF_H_
#define XLA_HLO_PIPELINE_COMMANDS_HLO_DIFF_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/pipeline/prepared_module.h"

namespace xla {

// The work of the hlo-diff tool: says what differs between two modules, and
// what that does to their memory, kernels and collectives.
struct HloDiffOptions {
  // How both are prepared for memory. Whether they are equal is asked of the
  // modules as they are given.
  PrepareOptions prepare;
  // Whose rates say how long kernels take, and how devices are linked.
  std::string device = "h100";
  std::string mesh;

  bool json = false;
  // Where the comparison as one page of HTML goes (page/memory_page.h): that of
  // the second module, with the first over it; empty: nowhere, "-": to `out`
  // instead of the text.
  std::string html;
  // Rows of each table of the text.
  int max_rows = 10;
};

// Writes the comparison (module_diff.h) to `out` and returns whether the
// modules are equal but for names and metadata. Errors: those of reading,
// passes, scheduling and of devices that there are not; each names its file.
// ResourceExhausted, after the comparison, where a pass of `prepare` missed its
// memory limit.
absl::StatusOr<bool> RunHloDiff(const HloDiffOptions& options,
                                const PassRegistry& registry,
                                const std::string& before,
                                const std::string& after, std::ostream& out);

// The same for modules that are there, under names for messages.
struct NamedModule {
  std::string name;
  std::unique_ptr<HloModule> module;
};
absl::StatusOr<bool> DiffModules(const HloDiffOptions& options,
                                 const PassRegistry& registry,
                                 NamedModule before, NamedModule after,
                                 std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_HLO_DIFF_H_

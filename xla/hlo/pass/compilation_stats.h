#ifndef XLA_HLO_PASS_COMPILATION_STATS_H_
#define XLA_HLO_PASS_COMPILATION_STATS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace xla {

// Seconds per pass, summed over runs.
//
//   std::unique_ptr<CompilationStats> stats = CompilationStats::MakeStats();
//   HloPassPipeline pipeline("p", stats.get());
//   …
//   stats->CompilationReport();
class CompilationStats {
 public:
  virtual ~CompilationStats() = default;

  // Records nothing.
  static std::unique_ptr<CompilationStats> MakeNoopStats();
  static std::unique_ptr<CompilationStats> MakeStats();

  // Calls nest: a pipeline is a pass too.
  virtual void StartPass(absl::string_view pass_name) = 0;
  virtual void EndPass(absl::string_view pass_name) = 0;

  // Logs a table, longest first.
  virtual void CompilationReport() = 0;

  virtual int GetPassesSize() = 0;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_COMPILATION_STATS_H_

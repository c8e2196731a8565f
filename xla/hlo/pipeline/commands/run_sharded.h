#ifndef XLA_HLO_PIPELINE_COMMANDS_RUN_SHARDED_H_
#define XLA_HLO_PIPELINE_COMMANDS_RUN_SHARDED_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Whether `other` is the program of one device made from `module`: it says so,
// or it has parameters of other shapes and is for more partitions (`partitions`
// where that is above 0, else as the header says).
bool IsProgramOfOneDevice(const HloModule& module, const HloModule& other,
                          int64_t partitions);

struct ShardedRun {
  // HloRunOptions::inputs.
  std::string inputs;
  // Named in messages.
  std::string path;
  std::string other_path;
  // 0: as the other module's header says.
  int64_t partitions = 0;
  // HloRunOptions::max_flops.
  double max_flops = -1;
  MeaningOptions meaning;
};

// Runs a module once per replica, and the program of one device on all of them
// with the arguments split; see ShardedMeaning. Says "equal" on `out`, or
// fails with the first difference (Aborted). ResourceExhausted if a run goes
// beyond the limits, by forecast or while it runs.
absl::Status CompareSharded(const ShardedRun& run, const HloModule& module,
                            const HloModule& other, std::ostream& out);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_RUN_SHARDED_H_

#ifndef XLA_HLO_PIPELINE_COMMANDS_MODULE_REDUCER_H_
#define XLA_HLO_PIPELINE_COMMANDS_MODULE_REDUCER_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Whether a module still shows what it is reduced for. It may change its
// argument, and should be the same for the same module.
using InterestingFn = std::function<bool(HloModule&)>;

struct ModuleReducerOptions {
  // Candidates to try; what is best so far comes out when they are spent.
  int64_t max_attempts = 5000;
};

struct ModuleReducerStats {
  int64_t attempts = 0;
  int64_t accepted = 0;
};

// Cuts a module down to a smaller one that is still valid and interesting.
//
//   {  ...500 instructions... }   ->   { p = f32[2] parameter(0)
//                                        ROOT n = f32[2] negate(p) }
//
// Delta debugging (Zeller, Hildebrandt, "Simplifying and isolating
// failure-inducing input", 2002) with edits that keep the module valid:
// outputs go, the root becomes one of its operands, calls are inlined, branches
// taken, and runs of instructions, longest first, are replaced by an operand of
// their shape, by a parameter (in the entry) or by zeros. Unread instructions
// are removed after each edit. Stops where no single edit is interesting any
// more.
//
// FailedPrecondition if `module` is not interesting itself. Deterministic. The
// number of attempts is about linear in the instructions that remain times the
// logarithm of those that go.
absl::StatusOr<std::unique_ptr<HloModule>> ReduceModule(
    const HloModule& module, const InterestingFn& interesting,
    const ModuleReducerOptions& options = ModuleReducerOptions(),
    ModuleReducerStats* stats = nullptr);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_MODULE_REDUCER_H_

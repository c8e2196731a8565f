#ifndef XLA_HLO_EVALUATOR_RUN_MODULE_MEANING_H_
#define XLA_HLO_EVALUATOR_RUN_MODULE_MEANING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/evaluator/run/literal_difference.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/literal.h"

namespace xla {

struct MeaningOptions {
  // Runs, with inputs of seeds 0, 1, ...; every second one with small integers.
  int64_t seeds = 1;
  // Unset: by type, as FindDifferenceByType, with this scale.
  std::optional<Tolerance> tolerance;
  double tolerance_scale = 1;
  // Modules above this estimate are not run (see EstimateWork), nor further
  // than max_work / 20 instructions on a device (at least 1000); -1: no cap.
  int64_t max_work = -1;
  // The flag that sets max_work, for messages: --max-flops.
  std::string max_work_flag;
  int64_t max_steps = 10'000'000;
  int64_t memory_limit_bytes = int64_t{4} << 30;
};

// Roughly how many elementary operations a run of the entry computation takes:
// elements written, products of dots and convolutions, elements reduced; bodies
// of loops count 16 times. Saturates. Linear in the module.
int64_t EstimateWork(const HloModule& module);

// Unimplemented for modules above options.max_work.
absl::Status CheckWork(const HloModule& module, const MeaningOptions& options);

// Unimplemented for modules whose result is not a function of their inputs
// (rng, infeed, messages from the host), or whose constants are elided.
absl::Status CheckMeaningIsAFunction(const HloModule& module);

// Outputs by device for inputs by device.
using DeviceLiterals = std::vector<std::vector<Literal>>;

// Inputs for every device of a module: those of GenerateInputs, with another
// seed on each device; the same on all partitions of a replica of a module that
// is still to be partitioned. ResourceExhausted above 2^20 devices.
absl::StatusOr<DeviceLiterals> GenerateDeviceInputs(const HloModule& module,
                                                    int64_t devices,
                                                    uint64_t seed,
                                                    bool small_integers);

// The first instruction whose value differs between two runs, in the order of
// the second module, among those that have equal names and shapes in both; each
// counts with its first value on device 0. Empty if there is none, or if
// evaluation fails. The values of all such instructions are held at once.
std::string FirstDivergence(
    const HloModule& before, const HloModule& after,
    const std::vector<std::vector<const Literal*>>& inputs,
    const MeaningOptions& options);

// The function of a module: its outputs on generated inputs, to compare others
// against.
class ModuleMeaning {
 public:
  // Evaluates a copy of the module on all its devices. Errors: those of the
  // evaluation; Unimplemented for modules whose result is not a function of
  // their inputs (rng, infeed, messages from the host), whose constants are
  // elided, or that are above the cap.
  static absl::StatusOr<std::unique_ptr<ModuleMeaning>> Make(
      const HloModule& module, const MeaningOptions& options);

  // Nothing if `other` gives the same outputs; else the first difference, and
  // where it begins. Errors: those of the evaluation; FailedPrecondition if it
  // goes on for over a hundred times as many instructions; Unimplemented if
  // other takes or gives other shapes, or runs on another number of devices.
  absl::StatusOr<std::optional<std::string>> DifferenceFrom(
      const HloModule& other) const;
  // The same, and from then on it is `other` that is held against: for chains
  // of rewrites, where errors of rounding must not add up. Half the work of
  // Make.
  absl::StatusOr<std::optional<std::string>> Advance(const HloModule& other);

  // A copy of the module that others are held against.
  const HloModule& module() const { return *module_; }

 private:
  ModuleMeaning() = default;
  absl::StatusOr<std::optional<std::string>> Check(const HloModule& other,
                                                   bool advance);

  MeaningOptions options_;
  std::unique_ptr<HloModule> module_;
  int64_t devices_ = 1;
  // The most instructions that a device has executed.
  int64_t steps_ = 0;
  // By seed.
  std::vector<DeviceLiterals> inputs_;
  std::vector<std::vector<Literal>> outputs_;
};

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_RUN_MODULE_MEANING_H_

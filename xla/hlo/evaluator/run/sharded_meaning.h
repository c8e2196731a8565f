#ifndef XLA_HLO_EVALUATOR_RUN_SHARDED_MEANING_H_
#define XLA_HLO_EVALUATOR_RUN_SHARDED_MEANING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"
#include "xla/hlo/evaluator/run/module_meaning.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/literal.h"

namespace xla {

// Whether a module is the program of one device, made from one for all: it
// knows how its result is sharded.
bool RecordsShardings(const HloModule& module);

// How the arguments and the result of a module lie on its devices.
struct EntryShardings {
  std::vector<HloSharding> parameters;
  HloSharding output = HloSharding::Replicate();
};

// Those of a partitioned module. In this order: what the module recorded, the
// shardings of its entry parameters, those of the parameters and of the root of
// the whole module, and where shapes are equal, replicated. InvalidArgument
// where none of these says, or one does not lead from the whole module's shape
// to the partitioned one's.
//
// `num_partitions` of 0: as the partitioned module's header says. Otherwise an
// array without any sharding annotation is tiled as the two shapes have it, in
// the order of devices, over as many as can be: f32[8,4] and f32[4,4] on 4
// devices are {devices=[2,1,2]<=[4] last_tile_dim_replicate}.
absl::StatusOr<EntryShardings> ShardingsBetween(const HloModule& whole,
                                                const HloModule& partitioned,
                                                int64_t num_partitions = 0);

// The results of a module for all devices, as a reference for the program of
// one.
//
//   whole:        f(a, b)              a  ──split──► a0 a1 a2 a3 ─┐
//   partitioned:  f0 on 4 devices      r  ◄─compare─ r0 r1 r2 r3 ◄┘ lockstep
//
// Every replica has arguments of its own. The whole module runs on one
// partition per replica, or on all of them with equal arguments where it has
// manual regions (collectives, partition-id, SPMDFullToShardShape). Padding of
// shards and copies that a device does not own are poison (see
// sharded_literals.h), so that a partitioned module whose result depends on
// them differs. Copies of one tile must agree bit for bit.
class ShardedMeaning {
 public:
  // Runs the whole module on made-up inputs. `num_partitions` of 0: as its
  // header says. Errors as those of ModuleMeaning::Make.
  static absl::StatusOr<std::unique_ptr<ShardedMeaning>> Make(
      const HloModule& whole, int64_t num_partitions,
      const MeaningOptions& options);
  // Makes the LockstepOptions::progress of a run of a module on that many
  // devices.
  using Watch = std::function<decltype(LockstepOptions::progress)(
      const HloModule& module, int64_t devices)>;
  // On these inputs, one row per replica; options.seeds does not matter.
  // `watch`, if given, watches all runs.
  static absl::StatusOr<std::unique_ptr<ShardedMeaning>> MakeWithInputs(
      const HloModule& whole, int64_t num_partitions,
      std::vector<std::vector<Literal>> inputs, const MeaningOptions& options,
      Watch watch = nullptr);

  // Nothing if the partitioned module gives shards of the same result; else the
  // first difference. Errors: those of the evaluation, and of ShardingsBetween.
  // Adds to `errors`, if given, how far elements are apart.
  absl::StatusOr<std::optional<std::string>> DifferenceFrom(
      const HloModule& partitioned) const;
  absl::StatusOr<std::optional<std::string>> DifferenceFrom(
      const HloModule& partitioned, const EntryShardings& shardings,
      LiteralErrors* errors = nullptr) const;

  const HloModule& whole() const { return *whole_; }
  int64_t num_partitions() const { return partitions_; }

 private:
  // One run of the whole module.
  struct Sample {
    std::string name;
    // By replica, then parameter.
    DeviceLiterals inputs;
    // By device of the grid replicas x partitions the whole module ran on.
    std::vector<Literal> outputs;
  };

  ShardedMeaning() = default;
  absl::Status AddSample(std::string name, DeviceLiterals inputs);
  absl::StatusOr<std::optional<std::string>> DifferenceOn(
      const Sample& sample, const HloModule& partitioned,
      const EntryShardings& shardings, LiteralErrors* errors) const;

  // The limits of a run of the module on replicas_ x `partitions` devices.
  LockstepOptions LimitsOf(const HloModule& module, int64_t partitions) const;

  MeaningOptions options_;
  Watch watch_;
  std::unique_ptr<HloModule> whole_;
  int64_t replicas_ = 1;
  int64_t partitions_ = 1;
  // Partitions that the whole module runs on: 1 or partitions_.
  int64_t whole_partitions_ = 1;
  int64_t steps_ = 0;
  std::vector<Sample> samples_;
};

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_RUN_SHARDED_MEANING_H_

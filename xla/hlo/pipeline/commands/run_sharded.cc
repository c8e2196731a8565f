#include "xla/hlo/pipeline/commands/run_sharded.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/run/sharded_meaning.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/pipeline/commands/run_forecast.h"
#include "xla/hlo/pipeline/commands/run_inputs.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Each has shards of its own.
constexpr int64_t kMostPartitions = 4096;

bool SameParameters(const HloComputation* a, const HloComputation* b) {
  if (a->num_parameters() != b->num_parameters()) return false;
  for (int64_t i = 0; i < a->num_parameters(); ++i) {
    if (!ShapeUtil::Compatible(a->parameter_instruction(i)->shape(),
                               b->parameter_instruction(i)->shape())) {
      return false;
    }
  }
  return ShapeUtil::Compatible(a->root_instruction()->shape(),
                               b->root_instruction()->shape());
}

absl::Status CheckForecast(const ShardedRun& run, const std::string& path,
                           const HloModule& module, int64_t devices) {
  const absl::Status status =
      RunForecast(module, devices)
          .Check(run.max_flops, run.meaning.memory_limit_bytes);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

}  // namespace

bool IsProgramOfOneDevice(const HloModule& module, const HloModule& other,
                          int64_t partitions) {
  if (RecordsShardings(other)) return !RecordsShardings(module);
  if (partitions == 0) partitions = other.config().num_partitions();
  return partitions > 1 &&
         module.entry_computation()->num_parameters() ==
             other.entry_computation()->num_parameters() &&
         !SameParameters(module.entry_computation(), other.entry_computation());
}

absl::Status CompareSharded(const ShardedRun& run, const HloModule& module,
                            const HloModule& other, std::ostream& out) {
  const int64_t partitions =
      run.partitions > 0
          ? run.partitions
          : std::max<int64_t>(other.config().num_partitions(), 1);
  if (partitions > kMostPartitions) {
    return absl::ResourceExhaustedError(absl::StrCat(
        run.other_path, ": ", partitions, " partitions are more than the ",
        kMostPartitions, " that are compared"));
  }
  TF_ASSIGN_OR_RETURN(const EntryShardings shardings,
                      ShardingsBetween(module, other, run.partitions));
  const int64_t replicas =
      std::max<int64_t>(module.config().replica_count(), 1);
  TF_RETURN_IF_ERROR(CheckForecast(run, run.path, module, replicas));
  TF_RETURN_IF_ERROR(
      CheckForecast(run, run.other_path, other, replicas * partitions));
  TF_ASSIGN_OR_RETURN(std::vector<std::vector<Literal>> inputs,
                      ReadRunInputs(module, replicas, run.inputs));
  // The forecast lives as long as what watches.
  auto watch = [&](const HloModule& watched, int64_t devices) {
    auto forecast = std::make_shared<RunForecast>(watched, devices);
    return [forecast, progress = forecast->Watch(run.max_flops, "", nullptr)](
               int64_t device, const HloInstruction* instruction) {
      return progress(device, instruction);
    };
  };
  TF_ASSIGN_OR_RETURN(
      const std::unique_ptr<ShardedMeaning> meaning,
      ShardedMeaning::MakeWithInputs(module, partitions, std::move(inputs),
                                     run.meaning, watch));
  LiteralErrors errors;
  TF_ASSIGN_OR_RETURN(const std::optional<std::string> difference,
                      meaning->DifferenceFrom(other, shardings, &errors));
  if (difference.has_value()) {
    return absl::AbortedError(absl::StrCat(run.path, " and ", run.other_path,
                                           " differ: ", *difference));
  }
  out << run.other_path << ": shards of "
      << ShapeUtil::HumanString(module.result_shape()) << " on "
      << replicas * partitions << " devices (" << replicas << " replicas x "
      << partitions << " partitions)\n"
      << "equal; " << errors.ToString() << "\n";
  return absl::OkStatus();
}

}  // namespace xla

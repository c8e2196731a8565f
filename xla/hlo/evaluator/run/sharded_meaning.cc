#include "xla/hlo/evaluator/run/sharded_meaning.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/devices/lockstep_evaluator.h"
#include "xla/hlo/evaluator/run/sharded_literals.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The reference is one run of the unpartitioned module. Its inputs are cut into
// shards by the shardings of the parameters, the partitioned module runs on all
// devices in lockstep, and each device's result is compared with its shard of
// the reference output. Devices that hold replicas of the same shard must also
// agree with each other.
//
// Shardings come, in this order, from what the partitioner recorded in the
// module, from the annotations of the parameters, and, on request, from the
// shapes alone.

// A partitioned module may take this many times the instructions of the whole,
// and this many more.
constexpr int64_t kMoreSteps = 1000;
constexpr int64_t kStepsForAll = 100'000;

// Whether an instruction of a whole module means something else on each device.
bool IsPerDevice(const HloInstruction* instruction) {
  switch (instruction->opcode()) {
    case HloOpcode::kPartitionId:
      return true;
    case HloOpcode::kCustomCall:
      return absl::StartsWith(instruction->custom_call_target(), "SPMD") ||
             absl::StartsWith(instruction->custom_call_target(),
                              "xla.sdy.GlobalToLocal") ||
             absl::StartsWith(instruction->custom_call_target(),
                              "xla.sdy.LocalToGlobal");
    default:  // Communication across partitions has a channel.
      return instruction->channel_id().has_value();
  }
}

bool HasManualRegions(const HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (IsPerDevice(instruction)) return true;
    }
  }
  return false;
}

bool Fits(const Shape& whole, const HloSharding& sharding,
          const Shape& partitioned, int64_t num_partitions) {
  if (!sharding.Validate(whole, num_partitions).ok()) return false;
  absl::StatusOr<HloSharding> full =
      whole.IsTuple() ? sharding.GetTupleSharding(whole)
                      : absl::StatusOr<HloSharding>(sharding);
  return full.ok() &&
         ShapeUtil::Compatible(full->TileShape(whole), partitioned);
}

int64_t AtLeastOne(int64_t count) { return std::max<int64_t>(count, 1); }

// How often dimension `i` and those after it are cut, appended to `tiles`, so
// that most of `devices` have a tile: divisors of it which make the shard's
// sizes of the whole's. The number of tiles; 0 if there is no way.
int64_t MostTiles(const Shape& whole, const Shape& part, size_t i,
                  int64_t devices, std::vector<int64_t>& tiles) {
  if (i == whole.dimensions().size()) return 1;
  const int64_t size = whole.dimensions(i), shard = part.dimensions(i);
  int64_t best = 0;
  std::vector<int64_t> best_tiles;
  for (int64_t count = 1; count <= (size == shard ? 1 : devices); ++count) {
    if (devices % count != 0 || (size + count - 1) / count != shard) continue;
    std::vector<int64_t> rest = {count};
    const int64_t product =
        count * MostTiles(whole, part, i + 1, devices / count, rest);
    if (product <= best) continue;
    best = product;
    best_tiles = std::move(rest);
  }
  tiles.insert(tiles.end(), best_tiles.begin(), best_tiles.end());
  return best;
}

// A tiling deduced from the shapes alone, if there is one.
std::optional<HloSharding> TilingByShape(const Shape& whole, const Shape& part,
                                         int64_t num_partitions) {
  if (whole.IsTuple() && part.IsTuple() &&
      whole.tuple_shapes_size() == part.tuple_shapes_size()) {
    std::vector<HloSharding> elements;
    for (int64_t i = 0; i < whole.tuple_shapes_size(); ++i) {
      std::optional<HloSharding> element = TilingByShape(
          whole.tuple_shapes(i), part.tuple_shapes(i), num_partitions);
      if (!element.has_value()) return std::nullopt;
      if (!element->IsTuple()) {
        elements.push_back(*std::move(element));
        continue;
      }
      for (const HloSharding& leaf : element->tuple_elements()) {
        elements.push_back(leaf);
      }
    }
    return HloSharding::FlatTuple(std::move(elements));
  }
  if (!whole.IsArray() || !part.IsArray() ||
      whole.dimensions().size() != part.dimensions().size()) {
    return std::nullopt;
  }
  std::vector<int64_t> tiles;
  const int64_t product = MostTiles(whole, part, 0, num_partitions, tiles);
  if (product == 0) return std::nullopt;
  tiles.push_back(num_partitions / product);
  return HloSharding::PartialTile(TileAssignment(tiles));
}

// The first of the candidates (null where there is none) that leads from one
// shape to the other.
absl::StatusOr<HloSharding> Choose(
    const std::string& what, const Shape& whole, const Shape& partitioned,
    int64_t num_partitions, bool by_shape,
    const std::vector<const HloSharding*>& candidates) {
  for (const HloSharding* candidate : candidates) {
    if (candidate == nullptr) continue;
    if (Fits(whole, *candidate, partitioned, num_partitions)) {
      return *candidate;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", ShapeUtil::HumanString(whole), " whole and ",
                     ShapeUtil::HumanString(partitioned), " on one of ",
                     num_partitions, " devices, which is not what sharding ",
                     candidate->ToString(), " makes of it"));
  }
  if (ShapeUtil::Compatible(whole, partitioned)) {
    return HloSharding::Single(whole, HloSharding::Replicate());
  }
  if (by_shape) {
    std::optional<HloSharding> tiling =
        TilingByShape(whole, partitioned, num_partitions);
    if (tiling.has_value()) return *std::move(tiling);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", ShapeUtil::HumanString(whole), " whole and ",
                   ShapeUtil::HumanString(partitioned),
                   " on one device; neither module says how it is sharded"));
}

const HloSharding* ShardingOf(const HloInstruction* instruction) {
  return instruction->has_sharding() ? &instruction->sharding() : nullptr;
}

std::vector<std::vector<const Literal*>> Pointers(
    const std::vector<std::vector<Literal>>& rows) {
  std::vector<std::vector<const Literal*>> pointers;
  for (const std::vector<Literal>& row : rows) {
    std::vector<const Literal*>& line = pointers.emplace_back();
    for (const Literal& literal : row) line.push_back(&literal);
  }
  return pointers;
}

}  // namespace

bool RecordsShardings(const HloModule& module) {
  return module.has_spmd_output_sharding();
}

absl::StatusOr<EntryShardings> ShardingsBetween(const HloModule& whole,
                                                const HloModule& partitioned,
                                                int64_t num_partitions) {
  const HloComputation* before = whole.entry_computation();
  const HloComputation* after = partitioned.entry_computation();
  if (before->num_parameters() != after->num_parameters()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the whole module takes ", before->num_parameters(),
        " parameters, the partitioned one ", after->num_parameters()));
  }
  const bool by_shape = num_partitions > 0;
  const int64_t partitions =
      by_shape ? num_partitions
               : AtLeastOne(partitioned.config().num_partitions());
  const bool recorded =
      partitioned.has_spmd_parameters_shardings() &&
      static_cast<int64_t>(partitioned.spmd_parameters_shardings().size()) ==
          after->num_parameters();
  EntryShardings shardings;
  for (int64_t i = 0; i < before->num_parameters(); ++i) {
    const HloInstruction* p = before->parameter_instruction(i);
    const HloInstruction* q = after->parameter_instruction(i);
    TF_ASSIGN_OR_RETURN(
        HloSharding sharding,
        Choose(
            absl::StrCat("parameter ", i), p->shape(), q->shape(), partitions,
            by_shape,
            {recorded ? &partitioned.spmd_parameters_shardings()[i] : nullptr,
             ShardingOf(q), ShardingOf(p)}));
    shardings.parameters.push_back(std::move(sharding));
  }
  TF_ASSIGN_OR_RETURN(
      shardings.output,
      Choose("the result", before->root_instruction()->shape(),
             after->root_instruction()->shape(), partitions, by_shape,
             {partitioned.has_spmd_output_sharding()
                  ? &partitioned.spmd_output_sharding()
                  : nullptr,
              ShardingOf(before->root_instruction())}));
  return shardings;
}

LockstepOptions ShardedMeaning::LimitsOf(const HloModule& module,
                                         int64_t partitions) const {
  LockstepOptions limits;
  limits.max_steps = options_.max_steps;
  limits.memory_limit_bytes = options_.memory_limit_bytes;
  limits.num_replicas = replicas_;
  limits.num_partitions = partitions;
  if (watch_ != nullptr)
    limits.progress = watch_(module, replicas_ * partitions);
  return limits;
}

absl::Status ShardedMeaning::AddSample(std::string name,
                                       DeviceLiterals inputs) {
  LockstepOptions limits = LimitsOf(*whole_, whole_partitions_);
  LockstepEvaluator evaluator(*whole_, std::move(limits));
  const std::vector<std::vector<const Literal*>> rows = Pointers(inputs);
  std::vector<std::vector<const Literal*>> arguments;
  for (int64_t r = 0; r < replicas_; ++r) {
    for (int64_t p = 0; p < whole_partitions_; ++p) {
      arguments.push_back(rows[r]);
    }
  }
  TF_ASSIGN_OR_RETURN(std::vector<Literal> outputs, evaluator.Run(arguments));
  steps_ = std::max(steps_, evaluator.steps());
  samples_.push_back({std::move(name), std::move(inputs), std::move(outputs)});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ShardedMeaning>> ShardedMeaning::MakeWithInputs(
    const HloModule& whole, int64_t num_partitions,
    std::vector<std::vector<Literal>> inputs, const MeaningOptions& options,
    Watch watch) {
  MeaningOptions none = options;
  none.seeds = 0;
  TF_ASSIGN_OR_RETURN(std::unique_ptr<ShardedMeaning> meaning,
                      Make(whole, num_partitions, none));
  if (static_cast<int64_t>(inputs.size()) != meaning->replicas_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "inputs of ", inputs.size(), " replicas for ", meaning->replicas_));
  }
  meaning->options_ = options;
  meaning->watch_ = std::move(watch);
  TF_RETURN_IF_ERROR(meaning->AddSample("given inputs", std::move(inputs)));
  return meaning;
}

absl::StatusOr<std::unique_ptr<ShardedMeaning>> ShardedMeaning::Make(
    const HloModule& whole, int64_t num_partitions,
    const MeaningOptions& options) {
  TF_RETURN_IF_ERROR(CheckMeaningIsAFunction(whole));
  std::unique_ptr<ShardedMeaning> meaning(new ShardedMeaning());
  meaning->options_ = options;
  meaning->whole_ = whole.Clone("");
  meaning->replicas_ = AtLeastOne(whole.config().replica_count());
  meaning->partitions_ = num_partitions > 0
                             ? num_partitions
                             : AtLeastOne(whole.config().num_partitions());
  if (HasManualRegions(whole)) {
    meaning->whole_partitions_ = meaning->partitions_;
  }
  // The estimate counts every device of the header.
  TF_RETURN_IF_ERROR(CheckWork(whole, options));
  for (int64_t seed = 0; seed < options.seeds; ++seed) {
    TF_ASSIGN_OR_RETURN(DeviceLiterals inputs,
                        GenerateDeviceInputs(whole, meaning->replicas_, seed,
                                             /*small_integers=*/seed % 2 == 1));
    TF_RETURN_IF_ERROR(meaning->AddSample(absl::StrCat("inputs of seed ", seed),
                                          std::move(inputs)));
  }
  return meaning;
}

absl::StatusOr<std::optional<std::string>> ShardedMeaning::DifferenceFrom(
    const HloModule& partitioned) const {
  TF_ASSIGN_OR_RETURN(const EntryShardings shardings,
                      ShardingsBetween(*whole_, partitioned));
  return DifferenceFrom(partitioned, shardings);
}

absl::StatusOr<std::optional<std::string>> ShardedMeaning::DifferenceFrom(
    const HloModule& partitioned, const EntryShardings& shardings,
    LiteralErrors* errors) const {
  TF_RETURN_IF_ERROR(CheckMeaningIsAFunction(partitioned));
  // A header that says nothing is one for any number of devices.
  const int64_t partitions = AtLeastOne(partitioned.config().num_partitions());
  if ((partitions != partitions_ && partitions > 1) ||
      AtLeastOne(partitioned.config().replica_count()) != replicas_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the partitioned module is for ",
        AtLeastOne(partitioned.config().replica_count()), " replicas x ",
        partitions, " partitions, not for ", replicas_, " x ", partitions_));
  }
  for (const Sample& sample : samples_) {
    TF_ASSIGN_OR_RETURN(std::optional<std::string> difference,
                        DifferenceOn(sample, partitioned, shardings, errors));
    if (difference.has_value()) {
      return std::optional<std::string>(
          absl::StrCat(*difference, " (", sample.name, ")"));
    }
  }
  return std::optional<std::string>();
}

absl::StatusOr<std::optional<std::string>> ShardedMeaning::DifferenceOn(
    const Sample& sample, const HloModule& partitioned,
    const EntryShardings& shardings, LiteralErrors* errors) const {
  // By device, then parameter.
  DeviceLiterals shards(replicas_ * partitions_);
  for (int64_t r = 0; r < replicas_; ++r) {
    for (size_t i = 0; i < sample.inputs[r].size(); ++i) {
      TF_ASSIGN_OR_RETURN(std::vector<Literal> split,
                          SplitLiteral(sample.inputs[r][i],
                                       shardings.parameters[i], partitions_));
      for (int64_t p = 0; p < partitions_; ++p) {
        shards[r * partitions_ + p].push_back(std::move(split[p]));
      }
    }
  }
  LockstepOptions limits = LimitsOf(partitioned, partitions_);
  limits.max_steps = kMoreSteps * steps_ + kStepsForAll;
  LockstepEvaluator evaluator(partitioned, std::move(limits));
  TF_ASSIGN_OR_RETURN(const std::vector<Literal> outputs,
                      evaluator.Run(Pointers(shards)));
  const ShardTolerance tolerance{options_.tolerance, options_.tolerance_scale,
                                 errors};
  const Shape& shape = whole_->entry_computation()->root_instruction()->shape();
  for (int64_t r = 0; r < replicas_; ++r) {
    std::vector<const Literal*> expected, actual;
    for (int64_t p = 0; p < partitions_; ++p) {
      expected.push_back(
          &sample.outputs[r * whole_partitions_ + p % whole_partitions_]);
      actual.push_back(&outputs[r * partitions_ + p]);
    }
    TF_ASSIGN_OR_RETURN(
        std::optional<std::string> difference,
        FindShardDifference(expected, shardings.output, actual, tolerance));
    if (!difference.has_value()) {
      TF_ASSIGN_OR_RETURN(
          difference, FindReplicaDifference(shape, shardings.output, actual));
    }
    if (!difference.has_value()) continue;
    if (replicas_ > 1) absl::StrAppend(&*difference, " in replica ", r);
    return difference;
  }
  return std::optional<std::string>();
}

}  // namespace xla

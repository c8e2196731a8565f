#include "xla/hlo/transforms/spmd/spmd_report.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/json_util.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/analysis/cost/collective_report.h"
#include "xla/hlo/analysis/cost/computation_runs.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

// Reshards that the text lists.
constexpr int kListed = 20;

// Elements of a tile that lie in the whole.
struct Region {
  std::vector<int64_t> begin, end;
};

Region RegionOf(const Shape& shape, const HloSharding& sharding,
                int64_t device) {
  if (!sharding.IsTiledLeaf()) {
    return {std::vector<int64_t>(shape.dimensions().size(), 0),
            {shape.dimensions().begin(), shape.dimensions().end()}};
  }
  return {sharding.TileOffsetForDevice(shape, device),
          sharding.TileLimitForDevice(shape, device)};
}

double Elements(const Region& region) {
  double elements = 1;
  for (size_t d = 0; d < region.begin.size(); ++d) {
    elements *= std::max<int64_t>(region.end[d] - region.begin[d], 0);
  }
  return elements;
}

Region Common(Region a, const Region& b) {
  for (size_t d = 0; d < a.begin.size(); ++d) {
    a.begin[d] = std::max(a.begin[d], b.begin[d]);
    a.end[d] = std::min(a.end[d], b.end[d]);
  }
  return a;
}

// The collectives between `source` and its resharded form.
std::vector<const HloInstruction*> CollectivesBetween(
    const HloInstruction* source, const HloInstruction* result) {
  std::vector<const HloInstruction*> found;
  absl::flat_hash_set<const HloInstruction*> seen = {source};
  std::vector<const HloInstruction*> stack = {result};
  while (!stack.empty()) {
    const HloInstruction* instruction = stack.back();
    stack.pop_back();
    if (!seen.insert(instruction).second) continue;
    if (CollectiveKindOf(instruction->opcode()).has_value()) {
      found.push_back(instruction);
    }
    stack.insert(stack.end(), instruction->operands().begin(),
                 instruction->operands().end());
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::string SourceOf(const HloInstruction& instruction) {
  const OpMetadata& metadata = instruction.metadata();
  if (metadata.source_file().empty()) return "";
  return absl::StrCat(metadata.source_file(), ":", metadata.source_line());
}

// The cost of an instruction that is not yet in a module.
CollectiveCost CostOf(const HloInstruction& collective, const MeshCost& mesh) {
  const CollectiveKind kind = *CollectiveKindOf(collective.opcode());
  const HloInstruction& whole = kind == CollectiveKind::kReduceScatter
                                    ? *collective.operand(0)
                                    : collective;
  std::vector<int64_t> group;
  if (kind == CollectiveKind::kCollectivePermute) {
    for (const auto& [from, to] : collective.source_target_pairs()) {
      if (from == to) continue;
      group = {from, to};
      break;
    }
  } else if (!collective.replica_groups().empty()) {
    const ReplicaGroup& first = collective.replica_groups()[0];
    group.assign(first.replica_ids().begin(), first.replica_ids().end());
  } else {
    group.resize(mesh.num_devices());
    std::iota(group.begin(), group.end(), 0);
  }
  if (group.size() < 2) return {};
  return mesh.Cost(kind, group, ShapeUtil::ByteSizeOf(whole.shape()));
}

// Peak memory of a good schedule of the module.
absl::StatusOr<double> PeakBytes(const HloModule& module) {
  std::unique_ptr<HloModule> copy = module.Clone("");
  FlattenCallGraph flatten;
  TF_RETURN_IF_ERROR(flatten.Run(copy.get()).status());
  ScheduleOptions options;
  options.algorithm = ScheduleAlgorithm::kDefault;
  TF_ASSIGN_OR_RETURN(const ScheduleResult schedule,
                      ComputeSchedule(copy.get(), options));
  return static_cast<double>(schedule.peak_bytes);
}

std::vector<std::pair<CollectiveKind, const SpmdReportProto::Collectives*>>
ByKind(const SpmdReportProto::Kinds& kinds) {
  return {
      {CollectiveKind::kAllGather, &kinds.all_gather()},
      {CollectiveKind::kReduceScatter, &kinds.reduce_scatter()},
      {CollectiveKind::kAllReduce, &kinds.all_reduce()},
      {CollectiveKind::kAllToAll, &kinds.all_to_all()},
      {CollectiveKind::kCollectivePermute, &kinds.collective_permute()},
      {CollectiveKind::kCollectiveBroadcast, &kinds.collective_broadcast()}};
}

SpmdReportProto::Collectives* MutableKind(CollectiveKind kind,
                                          SpmdReportProto::Kinds& kinds) {
  switch (kind) {
    case CollectiveKind::kAllGather:
      return kinds.mutable_all_gather();
    case CollectiveKind::kReduceScatter:
      return kinds.mutable_reduce_scatter();
    case CollectiveKind::kAllReduce:
      return kinds.mutable_all_reduce();
    case CollectiveKind::kAllToAll:
      return kinds.mutable_all_to_all();
    case CollectiveKind::kCollectivePermute:
      return kinds.mutable_collective_permute();
    case CollectiveKind::kCollectiveBroadcast:
      return kinds.mutable_collective_broadcast();
  }
  return nullptr;
}

// Bytes per device that a reshard or a ring moves, summed over all its runs.
template <typename Move>
double TotalBytes(const Move& move) {
  return move.runs() * move.bytes_per_device();
}

// The runs, where there are several, and where the user wrote it.
template <typename Move>
void AppendRunsAndPlace(const Move& move, std::string& text) {
  if (move.runs() != 1) absl::StrAppend(&text, ", ", move.runs(), " x");
  for (const std::string& part : {move.op_name(), move.source()}) {
    if (!part.empty()) absl::StrAppend(&text, ", ", part);
  }
  text += "\n";
}

// Whether an instruction under its sharding needs a value whole: its result is
// whole, too, and no smaller, or does not have what the value is cut along.
bool AsksForWhole(const HloInstruction& visited, const Shape& value) {
  if (visited.opcode() == HloOpcode::kBroadcast) return true;
  if (ShapeSizeInBytes(value) > ShapeSizeInBytes(visited.shape())) return false;
  const HloSharding& sharding = visited.sharding();
  const auto is_whole = [](const HloSharding& leaf) {
    return !leaf.IsTiledLeaf();
  };
  return sharding.IsTuple()
             ? absl::c_any_of(sharding.tuple_elements(), is_whole)
             : is_whole(sharding);
}

std::string ReshardToText(const SpmdReportProto::Reshard& reshard) {
  std::string text = absl::StrFormat(
      "    %%%s: %s %s -> %s: %s", reshard.instruction(), reshard.shape(),
      reshard.from(), reshard.to(), HumanBytes(reshard.bytes_per_device()));
  if (!reshard.collectives().empty()) {
    absl::StrAppend(&text, " in ", absl::StrJoin(reshard.collectives(), ", "));
  }
  absl::StrAppend(&text, ", at least ",
                  HumanBytes(reshard.lower_bound_bytes_per_device()));
  if (reshard.rejected_bytes_per_device() > reshard.bytes_per_device()) {
    absl::StrAppend(&text, ", gathered whole ",
                    HumanBytes(reshard.rejected_bytes_per_device()));
  }
  if (reshard.replicates()) {
    absl::StrAppend(&text, ", whole: ", reshard.why_whole());
  }
  AppendRunsAndPlace(reshard, text);
  return text;
}

std::string RingToText(const SpmdReportProto::Ring& ring) {
  std::string text = absl::StrFormat(
      "    %%%s: %s of %s travels: %s in %d hops, %s", ring.instruction(),
      ring.shape(), ring.travels(), HumanBytes(ring.bytes_per_device()),
      ring.hops(), HumanSeconds(ring.seconds()));
  AppendRunsAndPlace(ring, text);
  return text;
}

std::string ToText(const SpmdReportProto& report) {
  std::string text = absl::StrFormat(
      "%s: %s on %d devices (%s): %s per device, at least %s, %s\n"
      "  peak %s before, %s per device after\n",
      report.pass(), report.module(), report.partitions() * report.replicas(),
      report.mesh(), HumanBytes(report.bytes_per_device()),
      HumanBytes(report.lower_bound_bytes_per_device()),
      HumanSeconds(report.seconds()), HumanBytes(report.peak_bytes_before()),
      HumanBytes(report.peak_bytes_per_device()));
  for (const auto& [kind, total] : ByKind(report.collectives())) {
    if (total->count() == 0) continue;
    absl::StrAppendFormat(&text, "  %-22s %8.0f  %12s  %10s\n",
                          CollectiveKindToString(kind), total->runs(),
                          HumanBytes(total->bytes_per_device()),
                          HumanSeconds(total->seconds()));
  }
  const int count = report.reshards_size() + report.left_out();
  absl::StrAppend(&text, "  ", count, " reshards, ", report.full_replications(),
                  " of them to every device whole");
  if (report.full_replications() > 0) {
    absl::StrAppendFormat(&text, " (%d asked, %d cheapest, %d no_rule)",
                          report.replications().asked(),
                          report.replications().cheapest(),
                          report.replications().no_rule());
  }
  text += count > 0 ? "; most bytes first:\n" : "\n";
  for (int i = 0; i < std::min(kListed, report.reshards_size()); ++i) {
    text += ReshardToText(report.reshards(i));
  }
  if (count > kListed) {
    absl::StrAppend(&text, "    and ", count - kListed, " more\n");
  }
  if (report.rings_size() == 0) return text;
  absl::StrAppend(&text, "  ", report.rings_size(),
                  " dots as rings; most bytes first:\n");
  for (int i = 0; i < std::min(kListed, report.rings_size()); ++i) {
    text += RingToText(report.rings(i));
  }
  if (report.rings_size() > kListed) {
    absl::StrAppend(&text, "    and ", report.rings_size() - kListed,
                    " more\n");
  }
  return text;
}

absl::StatusOr<std::string> ToJson(const SpmdReportProto& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  std::string out;
  auto status =
      google::protobuf::util::MessageToJsonString(report, &out, options);
  if (!status.ok()) return absl::InternalError(status.ToString());
  return out;
}

}  // namespace

// What a device shall hold and does not hold has to reach it, whatever
// collectives are used; the device that lacks most bounds the time of all.
double ReshardLowerBound(const Shape& base_shape, const HloSharding& from,
                         const HloSharding& to) {
  const HloSharding& tiled = to.IsTiledLeaf() ? to : from;
  if (!tiled.IsTiledLeaf()) return 0;
  double most = 0;
  tiled.tile_assignment().Each([&](absl::Span<const int64_t> index,
                                   int64_t device) {
    const Region wanted = RegionOf(base_shape, to, device);
    const Region held = RegionOf(base_shape, from, device);
    most = std::max(most, Elements(wanted) - Elements(Common(wanted, held)));
  });
  return most * ShapeUtil::ByteSizeOfPrimitiveType(base_shape.element_type());
}

absl::StatusOr<SpmdReport> SpmdReport::Start(const HloModule& before,
                                             const std::string& mesh,
                                             int64_t devices) {
  TF_ASSIGN_OR_RETURN(
      MeshCost cost,
      MeshCost::FromText(mesh.empty() ? absl::StrCat(devices) : mesh));
  if (cost.num_devices() < devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("mesh '", mesh, "' has ", cost.num_devices(),
                     " devices, module ", before.name(), " runs on ", devices));
  }
  SpmdReport report(std::move(cost));
  TF_ASSIGN_OR_RETURN(const double peak, PeakBytes(before));
  report.proto_.set_peak_bytes_before(peak);
  return report;
}

double SpmdReport::RunsOf(const HloInstruction* visited) {
  if (!runs_.has_value()) runs_.emplace(*visited->GetModule());
  return runs_->Of(visited->parent());
}

void SpmdReport::RecordRing(const HloInstruction* visited,
                            absl::string_view travels,
                            const HloInstruction* hop, int64_t hops) {
  const CollectiveCost cost = CostOf(*hop, mesh_);
  SpmdReportProto::Ring& ring = *proto_.add_rings();
  ring.set_instruction(std::string(visited->name()));
  ring.set_op_name(visited->metadata().op_name());
  ring.set_source(SourceOf(*visited));
  ring.set_computation(std::string(visited->parent()->name()));
  ring.set_shape(ShapeUtil::HumanString(hop->shape()));
  ring.set_travels(std::string(travels));
  ring.set_hops(static_cast<int32_t>(hops));
  ring.set_runs(RunsOf(visited));
  ring.set_bytes_per_device(hops * cost.bytes_per_device);
  ring.set_seconds(hops * cost.seconds);
}

void SpmdReport::RecordWhyWhole(const HloInstruction* visited,
                                const Shape& base_shape,
                                SpmdReportProto::Reshard& reshard) {
  proto_.set_full_replications(proto_.full_replications() + 1);
  SpmdReportProto::Replications& counts = *proto_.mutable_replications();
  WhyWhole why = why_whole_;
  if (why == WhyWhole::kAsked && visited != nullptr &&
      !AsksForWhole(*visited, base_shape)) {
    why = WhyWhole::kNoRule;
  }
  switch (why) {
    case WhyWhole::kAsked:
      reshard.set_why_whole("asked");
      counts.set_asked(counts.asked() + 1);
      return;
    case WhyWhole::kCheapest:
      reshard.set_why_whole("cheapest");
      counts.set_cheapest(counts.cheapest() + 1);
      return;
    case WhyWhole::kNoRule:
      reshard.set_why_whole("no_rule");
      counts.set_no_rule(counts.no_rule() + 1);
      return;
  }
}

void SpmdReport::RecordReshard(const HloInstruction* visited,
                               const Shape& base_shape,
                               const HloInstruction* source,
                               const HloInstruction* result) {
  SpmdReportProto::Reshard reshard;
  reshard.set_runs(1);
  if (visited != nullptr) {
    reshard.set_instruction(std::string(visited->name()));
    reshard.set_op_name(visited->metadata().op_name());
    reshard.set_source(SourceOf(*visited));
    reshard.set_computation(std::string(visited->parent()->name()));
    reshard.set_runs(RunsOf(visited));
  }
  reshard.set_shape(ShapeUtil::HumanString(base_shape));
  reshard.set_from(source->sharding().ToString());
  reshard.set_to(result->sharding().ToString());
  double bytes = 0, seconds = 0;
  for (const HloInstruction* collective : CollectivesBetween(source, result)) {
    reshard.add_collectives(std::string(HloOpcodeString(collective->opcode())));
    const CollectiveCost cost = CostOf(*collective, mesh_);
    bytes += cost.bytes_per_device;
    seconds += cost.seconds;
  }
  reshard.set_bytes_per_device(bytes);
  reshard.set_seconds(seconds);
  reshard.set_replicates(source->sharding().IsTiledLeaf() &&
                         result->sharding().IsReplicatedLeaf());
  if (source->sharding().IsTiledLeaf()) {
    reshard.set_rejected_bytes_per_device(
        RingBytes(CollectiveKind::kAllGather, source->sharding().NumTiles(),
                  ShapeUtil::ByteSizeOf(base_shape)));
  }
  auto [bound, is_new] = lower_bounds_.try_emplace(
      absl::StrCat(reshard.shape(), " ", reshard.from(), " ", reshard.to()));
  if (is_new) {
    bound->second =
        ReshardLowerBound(base_shape, source->sharding(), result->sharding());
  }
  // Values with equal elements can do with less.
  reshard.set_lower_bound_bytes_per_device(std::min(bound->second, bytes));
  reshard_bytes_ += TotalBytes(reshard);
  reshard_lower_bound_bytes_ +=
      reshard.runs() * reshard.lower_bound_bytes_per_device();
  if (reshard.replicates()) RecordWhyWhole(visited, base_shape, reshard);
  if (proto_.reshards_size() < kMaxReshards) {
    *proto_.add_reshards() = std::move(reshard);
  } else {
    proto_.set_left_out(proto_.left_out() + 1);
  }
}

absl::StatusOr<PassReport> SpmdReport::Finish(const HloModule& after) {
  TF_ASSIGN_OR_RETURN(const CollectiveReport collectives,
                      BuildCollectiveReport(after, mesh_));
  proto_.set_pass("spmd-partitioning");
  proto_.set_module(collectives.module);
  proto_.set_partitions(static_cast<int32_t>(collectives.partitions));
  proto_.set_replicas(static_cast<int32_t>(collectives.replicas));
  proto_.set_mesh(collectives.mesh);
  for (const auto& [kind, total] : collectives.by_kind) {
    SpmdReportProto::Collectives& entry =
        *MutableKind(kind, *proto_.mutable_collectives());
    entry.set_count(static_cast<int32_t>(total.instructions));
    entry.set_runs(total.runs);
    entry.set_bytes_per_device(total.bytes_per_device);
    entry.set_seconds(total.seconds);
  }
  const double bytes = collectives.total.bytes_per_device;
  proto_.set_bytes_per_device(bytes);
  proto_.set_seconds(collectives.total.seconds);
  proto_.mutable_replications();
  // Equal reshards of one value are one in the end.
  proto_.set_lower_bound_bytes_per_device(std::min(
      bytes,
      std::max(0.0, bytes - reshard_bytes_) + reshard_lower_bound_bytes_));
  TF_ASSIGN_OR_RETURN(const double peak, PeakBytes(after));
  proto_.set_peak_bytes_per_device(peak);
  std::stable_sort(
      proto_.mutable_reshards()->begin(), proto_.mutable_reshards()->end(),
      [](const SpmdReportProto::Reshard& a, const SpmdReportProto::Reshard& b) {
        return TotalBytes(a) > TotalBytes(b);
      });
  std::stable_sort(
      proto_.mutable_rings()->begin(), proto_.mutable_rings()->end(),
      [](const SpmdReportProto::Ring& a, const SpmdReportProto::Ring& b) {
        return TotalBytes(a) > TotalBytes(b);
      });
  PassReport report;
  report.text = ToText(proto_);
  TF_ASSIGN_OR_RETURN(report.json, ToJson(proto_));
  return report;
}

}  // namespace xla::spmd

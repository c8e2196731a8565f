#include "xla/hlo/analysis/cost/mesh_cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "xla/hlo/evaluator/devices/collective_groups.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr int64_t kMaxDevices = int64_t{1} << 40;
constexpr size_t kMaxAxes = 64;

struct Preset {
  absl::string_view name;
  double bytes_per_second;
  double latency_seconds;
  // Devices of one host, and the links between hosts; 0 hosts none.
  int64_t devices_per_host;
  double host_bytes_per_second;
  double host_latency_seconds;
};

// NVLink 4: 900 GB/s per GPU, both directions. One 400 Gb/s port per GPU
// between hosts. v5e: a ring uses both directions of an axis, 45 GB/s each.
constexpr Preset kPresets[] = {
    {"h100-nvlink", 450e9, 2e-6, 0, 0, 0},
    {"h100-multihost", 450e9, 2e-6, 8, 50e9, 8e-6},
    {"tpu-v5e", 90e9, 1e-6, 0, 0, 0},
};

absl::Status Bad(absl::string_view text, absl::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("mesh '", text, "': ", reason));
}

absl::StatusOr<const Preset*> FindPreset(absl::string_view text,
                                         absl::string_view name) {
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return &preset;
  }
  return Bad(text, absl::StrCat("unknown preset '", name, "'; known: ",
                                absl::StrJoin(MeshCost::PresetNames(), ", ")));
}

absl::StatusOr<std::vector<MeshCost::Axis>> ParseSizes(absl::string_view text,
                                                       absl::string_view part) {
  std::vector<MeshCost::Axis> axes;
  int64_t devices = 1;
  for (absl::string_view piece : absl::StrSplit(part, 'x')) {
    MeshCost::Axis axis;
    if (!absl::SimpleAtoi(piece, &axis.size) || axis.size < 1) {
      return Bad(text, absl::StrCat("'", piece, "' is not an axis size"));
    }
    if (axis.size > kMaxDevices / devices) return Bad(text, "too many devices");
    devices *= axis.size;
    axes.push_back(axis);
  }
  if (axes.size() > kMaxAxes) return Bad(text, "too many axes");
  return axes;
}

// Device numbers are row-major and hosts take consecutive ones, so minor axes
// stay within a host for as long as the product of their sizes is no more than
// its devices: with 8 per host the axis of 8 in 4x8 is fast, the one of 16 in
// 2x16 is slow, as it straddles two hosts.
void SetLinks(const Preset& preset, std::vector<MeshCost::Axis>& axes) {
  int64_t devices = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    devices *= axis->size;
    const bool leaves_host =
        preset.devices_per_host > 0 && devices > preset.devices_per_host;
    axis->bytes_per_second =
        leaves_host ? preset.host_bytes_per_second : preset.bytes_per_second;
    axis->latency_seconds =
        leaves_host ? preset.host_latency_seconds : preset.latency_seconds;
  }
}

absl::Status ParseLinks(absl::string_view text, absl::string_view part,
                        std::vector<MeshCost::Axis>& axes) {
  const std::vector<absl::string_view> links = absl::StrSplit(part, ',');
  if (links.size() != axes.size()) {
    return Bad(text,
               absl::StrCat(links.size(), " links for ", axes.size(), " axes"));
  }
  for (size_t i = 0; i < links.size(); ++i) {
    const std::vector<absl::string_view> fields = absl::StrSplit(links[i], '/');
    MeshCost::Axis& axis = axes[i];
    if (fields.size() > 2 ||
        !absl::SimpleAtod(fields[0], &axis.bytes_per_second) ||
        !std::isfinite(axis.bytes_per_second) || axis.bytes_per_second <= 0 ||
        (fields.size() == 2 &&
         (!absl::SimpleAtod(fields[1], &axis.latency_seconds) ||
          !std::isfinite(axis.latency_seconds) || axis.latency_seconds < 0))) {
      return Bad(
          text,
          absl::StrCat("'", links[i],
                       "' is not a link; expected bytes per second, or bytes "
                       "per second and latency in seconds, such as 50e9/8e-6"));
    }
  }
  return absl::OkStatus();
}

// A ring passes its shards on g - 1 times. An all-reduce is a reduce-scatter
// followed by an all-gather, hence twice as many.
double Steps(CollectiveKind kind, int64_t group_size) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2.0 * (group_size - 1);
    case CollectiveKind::kCollectivePermute:
      return 1;
    default:
      return group_size - 1;
  }
}

int64_t OperandBytes(const HloInstruction& inst) {
  int64_t bytes = 0;
  for (const HloInstruction* operand : inst.operands()) {
    bytes += ShapeUtil::ByteSizeOfElementsRecursive(operand->shape());
  }
  return bytes;
}

}  // namespace

std::optional<CollectiveKind> CollectiveKindOf(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
      return CollectiveKind::kAllGather;
    case HloOpcode::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
      return CollectiveKind::kAllReduce;
    case HloOpcode::kAllToAll:
    case HloOpcode::kRaggedAllToAll:
      return CollectiveKind::kAllToAll;
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
      return CollectiveKind::kCollectivePermute;
    case HloOpcode::kCollectiveBroadcast:
      return CollectiveKind::kCollectiveBroadcast;
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_ASYNC:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return std::nullopt;
}

absl::string_view CollectiveKindToString(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllGather:
      return "all-gather";
    case CollectiveKind::kReduceScatter:
      return "reduce-scatter";
    case CollectiveKind::kAllReduce:
      return "all-reduce";
    case CollectiveKind::kAllToAll:
      return "all-to-all";
    case CollectiveKind::kCollectivePermute:
      return "collective-permute";
    case CollectiveKind::kCollectiveBroadcast:
      return "collective-broadcast";
  }
  return "unknown";
}

double RingBytes(CollectiveKind kind, int64_t group_size, double bytes) {
  if (group_size <= 1) return 0;
  const double share = static_cast<double>(group_size - 1) / group_size;
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * share * bytes;
    case CollectiveKind::kCollectivePermute:
    case CollectiveKind::kCollectiveBroadcast:
      return bytes;
    default:
      return share * bytes;
  }
}

MeshCost::MeshCost(std::vector<Axis> axes) : axes_(std::move(axes)) {
  num_devices_ = 1;
  for (const Axis& axis : axes_) num_devices_ *= axis.size;
}

std::vector<std::string> MeshCost::PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return names;
}

absl::StatusOr<MeshCost> MeshCost::FromText(absl::string_view text,
                                            absl::string_view default_preset) {
  const size_t mark = text.find_first_of(":@");
  TF_ASSIGN_OR_RETURN(std::vector<Axis> axes,
                      ParseSizes(text, text.substr(0, mark)));
  if (mark != absl::string_view::npos && text[mark] == '@') {
    TF_RETURN_IF_ERROR(ParseLinks(text, text.substr(mark + 1), axes));
    return MeshCost(std::move(axes));
  }
  const absl::string_view name =
      mark == absl::string_view::npos ? default_preset : text.substr(mark + 1);
  TF_ASSIGN_OR_RETURN(const Preset* preset, FindPreset(text, name));
  SetLinks(*preset, axes);
  return MeshCost(std::move(axes));
}

std::string MeshCost::ToString() const {
  return absl::StrJoin(axes_, "x", [](std::string* out, const Axis& axis) {
    absl::StrAppend(out, axis.size);
  });
}

uint64_t MeshCost::AxesOf(absl::Span<const int64_t> devices) const {
  if (devices.empty()) return 0;
  uint64_t result = 0;
  const int64_t first = devices[0];
  for (int64_t device : devices) {
    if (device / num_devices_ != first / num_devices_) {
      return axes_.size() >= kMaxAxes ? ~uint64_t{0}
                                      : (uint64_t{1} << axes_.size()) - 1;
    }
    int64_t a = first % num_devices_;
    int64_t b = device % num_devices_;
    for (size_t i = axes_.size(); i-- > 0 && a != b;) {
      if (a % axes_[i].size != b % axes_[i].size) result |= uint64_t{1} << i;
      a /= axes_[i].size;
      b /= axes_[i].size;
    }
  }
  return result;
}

CollectiveCost MeshCost::Cost(CollectiveKind kind, int64_t group_size,
                              double bytes, uint64_t axes) const {
  CollectiveCost cost;
  cost.bytes_per_device = RingBytes(kind, group_size, bytes);
  if (group_size <= 1) return cost;
  double slowest = 0;
  double latency = 0;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if ((axes >> i & 1) == 0) continue;
    slowest = std::max(slowest, 1 / axes_[i].bytes_per_second);
    latency = std::max(latency, axes_[i].latency_seconds);
  }
  cost.seconds =
      cost.bytes_per_device * slowest + Steps(kind, group_size) * latency;
  return cost;
}

CollectiveCost MeshCost::Cost(CollectiveKind kind,
                              absl::Span<const int64_t> group,
                              double bytes) const {
  return Cost(kind, static_cast<int64_t>(group.size()), bytes, AxesOf(group));
}

absl::StatusOr<CollectiveCost> MeshCost::Cost(
    const HloInstruction& inst) const {
  if (inst.opcode() == HloOpcode::kAsyncStart) {
    return Cost(*inst.async_wrapped_instruction());
  }
  const std::optional<CollectiveKind> kind = CollectiveKindOf(inst.opcode());
  if (!kind.has_value()) return CollectiveCost{};
  const HloModuleConfig& config = inst.GetModule()->config();
  const evaluator::DeviceGrid grid{config.replica_count(),
                                   config.num_partitions()};
  const double operand_bytes = OperandBytes(inst);
  CollectiveCost worst;
  auto consider = [&](const CollectiveCost& cost) {
    worst.bytes_per_device =
        std::max(worst.bytes_per_device, cost.bytes_per_device);
    worst.seconds = std::max(worst.seconds, cost.seconds);
  };
  if (*kind == CollectiveKind::kCollectivePermute) {
    TF_ASSIGN_OR_RETURN(std::vector<int64_t> sources,
                        evaluator::PermuteSources(&inst, grid));
    for (int64_t target = 0; target < grid.size(); ++target) {
      if (sources[target] < 0 || sources[target] == target) continue;
      consider(Cost(*kind, {sources[target], target}, operand_bytes));
    }
    return worst;
  }
  TF_ASSIGN_OR_RETURN(std::vector<std::vector<int64_t>> groups,
                      evaluator::CollectiveGroups(&inst, grid));
  for (const std::vector<int64_t>& group : groups) {
    // The operands of a gather are the shards of its result.
    const double bytes = *kind == CollectiveKind::kAllGather
                             ? operand_bytes * static_cast<double>(group.size())
                             : operand_bytes;
    consider(Cost(*kind, group, bytes));
  }
  return worst;
}

}  // namespace xla

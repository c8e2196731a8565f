#ifndef XLA_HLO_ANALYSIS_COST_MESH_COST_H_
#define XLA_HLO_ANALYSIS_COST_MESH_COST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

enum class CollectiveKind {
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kAllToAll,
  kCollectivePermute,
  kCollectiveBroadcast,
};

// The kind of a synchronous collective or of the start of an asynchronous one;
// nullopt for other opcodes.
std::optional<CollectiveKind> CollectiveKindOf(HloOpcode opcode);

// "all-gather", "reduce-scatter", ...
absl::string_view CollectiveKindToString(CollectiveKind kind);

// The bytes that one device of a group of `group_size` sends, by rings:
//
//   all-gather, all-to-all    (g-1)/g * bytes     bytes = the whole result
//   reduce-scatter            (g-1)/g * bytes     bytes = the whole operand
//   all-reduce              2 (g-1)/g * bytes
//   permute, broadcast                  bytes
//
// Nothing is sent in groups of one device.
double RingBytes(CollectiveKind kind, int64_t group_size, double bytes);

struct CollectiveCost {
  double bytes_per_device = 0;  // sent
  double seconds = 0;
};

// Devices in a row-major grid, each axis with its own links. Device d has the
// coordinates of the number d in the mixed radix of the sizes, the first axis
// major. A collective runs at the pace of the slowest axis along which its
// groups extend: bytes / bandwidth + steps * latency, with g-1 steps, twice as
// many for an all-reduce, one for a permute. A model for comparing plans, not a
// clock.
//
//   2x4                      the links of the preset asked for
//   2x4:h100-multihost       a preset by name
//   2x4@50e9/8e-6,450e9/2e-6 bytes/s and seconds of latency, axis by axis
class MeshCost {
 public:
  struct Axis {
    int64_t size = 1;
    double bytes_per_second = 0;  // out of one device, in one collective
    double latency_seconds = 0;   // of one step
  };

  // A mesh in the syntax above. Presets: h100-nvlink, h100-multihost (hosts of
  // eight, an axis is slow where it leaves a host), tpu-v5e. InvalidArgument,
  // with the part that is wrong, otherwise.
  static absl::StatusOr<MeshCost> FromText(
      absl::string_view text, absl::string_view default_preset = "h100-nvlink");
  static std::vector<std::string> PresetNames();

  explicit MeshCost(std::vector<Axis> axes);

  absl::Span<const Axis> axes() const { return axes_; }
  int64_t num_devices() const { return num_devices_; }
  // "2x4"
  std::string ToString() const;

  // The axes along which members differ, one bit each, the first axis lowest.
  // Ids beyond the mesh (other replicas of it) extend along every axis.
  uint64_t AxesOf(absl::Span<const int64_t> devices) const;

  // The cost of one collective in groups of `group_size` devices along `axes`.
  CollectiveCost Cost(CollectiveKind kind, int64_t group_size, double bytes,
                      uint64_t axes) const;
  // The same; the axes are those of the group.
  CollectiveCost Cost(CollectiveKind kind, absl::Span<const int64_t> group,
                      double bytes) const;

  // The cost of an instruction. Synchronous collectives and the starts of
  // asynchronous ones cost something; everything else is free. Replica and
  // partition counts come from the module's config, and the most expensive
  // group counts. InvalidArgument if groups or pairs do not match those counts.
  absl::StatusOr<CollectiveCost> Cost(const HloInstruction& inst) const;

 private:
  std::vector<Axis> axes_;
  int64_t num_devices_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_COST_MESH_COST_H_

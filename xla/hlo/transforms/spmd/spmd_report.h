#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_REPORT_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/computation_runs.h"
#include "xla/hlo/analysis/cost/mesh_cost.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/pass/reporting_pass.h"
#include "xla/hlo/transforms/spmd/spmd_report.pb.h"
#include "xla/shape.h"

namespace xla::spmd {

// The bytes that the device that lacks most of its shard under `to` must
// receive if devices have their shards under `from`, whatever the algorithm.
//
//   f32[8,8]  {devices=[4,1]<=[4]} → {devices=[1,4]<=[4]}   64 B - 16 B
//   f32[8,8]  {devices=[4,1]<=[4]} → {replicated}           256 B - 64 B
//
// Both are replicated or tiled. O(devices * rank).
double ReshardLowerBound(const Shape& base_shape, const HloSharding& from,
                         const HloSharding& to);

// Why a value is replicated on every device (SpmdReportProto::Replications).
enum class WhyWhole { kAsked, kCheapest, kNoRule };

// Collects the data movement of a run of the partitioner.
class SpmdReport {
 public:
  // Number of reshards that are kept, the first ones.
  static constexpr int kMaxReshards = 10000;

  // `mesh` as MeshCost::FromText reads it; empty: one axis of all devices.
  static absl::StatusOr<SpmdReport> Start(const HloModule& before,
                                          const std::string& mesh,
                                          int64_t devices);

  // For what is recorded from now on. kAsked counts as kNoRule if shardings do
  // not ask for it.
  void set_why_whole(WhyWhole why) { why_whole_ = why; }

  // Records that `source` became `result`, under the shardings that they carry,
  // in order to partition `visited`, an instruction of the original module.
  void RecordReshard(const HloInstruction* visited, const Shape& base_shape,
                     const HloInstruction* source,
                     const HloInstruction* result);

  // The dot `visited` became a ring (windowed_einsum.h), around which parts of
  // what `travels` names are sent in `hops` collective-permutes like `hop`.
  void RecordRing(const HloInstruction* visited, absl::string_view travels,
                  const HloInstruction* hop, int64_t hops);

  absl::StatusOr<PassReport> Finish(const HloModule& after);

 private:
  explicit SpmdReport(MeshCost mesh) : mesh_(std::move(mesh)) {}

  // How often the computation of an instruction of the original module runs.
  double RunsOf(const HloInstruction* visited);

  // Counts a reshard that replicates, on behalf of `visited` (or null).
  void RecordWhyWhole(const HloInstruction* visited, const Shape& base_shape,
                      SpmdReportProto::Reshard& reshard);

  MeshCost mesh_;
  WhyWhole why_whole_ = WhyWhole::kAsked;
  // Run counts of the original module, computed at the first record: by then
  // each call has a computation of its own, and none has been replaced yet.
  std::optional<ComputationRuns> runs_;
  // By shape and shardings.
  absl::flat_hash_map<std::string, double> lower_bounds_;
  SpmdReportProto proto_;
  // Totals over all reshards in all their runs.
  double reshard_bytes_ = 0;
  double reshard_lower_bound_bytes_ = 0;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_REPORT_H_

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

// The bytes that the device that lacks most of its shard under `to` has to
// receive if devices have their shards under `from`, whatever the algorithm.
//
//   f32[8,8]  {devices=[4,1]<=[4]} → {devices=[1,4]<=[4]}   64 B - 16 B
//   f32[8,8]  {devices=[4,1]<=[4]} → {replicated}           256 B - 64 B
//
// Both are replicated or tiled. O(devices * rank).
double ReshardLowerBound(const Shape& base_shape, const HloSharding& from,
                         const HloSharding& to);

// Why a value is made whole on every device (SpmdReportProto::Replications).
enum class WhyWhole { kAsked, kCheapest, kNoRule };

// Collects what a run of the partitioner moves.
class SpmdReport {
 public:
  // Reshards that are kept, those that come first.
  static constexpr int kMaxReshards = 10000;

  // `mesh` as MeshCost::FromText reads it; empty: one axis of all devices.
  static absl::StatusOr<SpmdReport> Start(const HloModule& before,
                                          const std::string& mesh,
                                          int64_t devices);

  // Of what is recorded from now on. kAsked is taken for kNoRule where
  // shardings do not ask.
  void set_why_whole(WhyWhole why) { why_whole_ = why; }

  // For the sake of `visited`, an instruction of the module before, `source`
  // became `result`, under the shardings that they carry.
  void RecordReshard(const HloInstruction* visited, const Shape& base_shape,
                     const HloInstruction* source,
                     const HloInstruction* result);

  // The dot `visited` became a ring (windowed_einsum.h), around which parts of
  // what `travels` names go in `hops` collective-permutes like `hop`.
  void RecordRing(const HloInstruction* visited, absl::string_view travels,
                  const HloInstruction* hop, int64_t hops);

  absl::StatusOr<PassReport> Finish(const HloModule& after);

 private:
  explicit SpmdReport(MeshCost mesh) : mesh_(std::move(mesh)) {}

  // How often the computation of an instruction of the module before runs.
  double RunsOf(const HloInstruction* visited);

  // Counts a reshard that replicates, for the sake of `visited` (or null).
  void RecordWhyWhole(const HloInstruction* visited, const Shape& base_shape,
                      SpmdReportProto::Reshard& reshard);

  MeshCost mesh_;
  WhyWhole why_whole_ = WhyWhole::kAsked;
  // Run counts of the original module, taken at the first record: by then each
  // call has a computation of its own, and none is replaced yet.
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

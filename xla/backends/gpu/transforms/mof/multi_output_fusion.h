#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MULTI_OUTPUT_FUSION_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MULTI_OUTPUT_FUSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.h"
#include "xla/backends/gpu/fusion/fusion_memory_limit.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/transforms/mof/mof_kernels.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/memory/schedulers/compute_schedule.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

enum class MofOrder {
  kFirstCome,  // OpenXLA's
  kSavings,    // what saves the most bytes first
  kBest,       // whichever of the two yields the faster kernels
};
// first-come, savings, best.
bool AbslParseFlag(absl::string_view text, MofOrder* order, std::string* error);
std::string AbslUnparseFlag(MofOrder order);

struct MultiOutputFusionOptions {
  std::string device = "h100";
  MofOrder order = MofOrder::kFirstCome;
  double memory_weight = 0;
  std::string memory_limit;
  KernelTarget kernels_for = KernelTarget::kXla;
  bool xla_prices = false;
  bool narrow_outputs = true;
  bool rows_join_tiles = true;
  ScheduleAlgorithm schedule = ScheduleAlgorithm::kBest;
  int64_t schedule_effort = 0;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit("order", order,
          "first-come (OpenXLA's), savings (most bytes saved first), or best "
          "(whichever of the two leaves the faster kernels)");
    visit("memory-weight", memory_weight,
          "order=savings: bytes of traffic saved that justify keeping one more "
          "byte live");
    visit("memory-limit", memory_limit,
          "bytes (16GiB), a share of the unfused peak (100%) or a device "
          "(h100); empty for no limit");
    visit("kernels-for", kernels_for,
          "whose code generators compile the kernels: xla's or own");
    visit("xla-prices", xla_prices,
          "count operations and reads as XLA does, which takes functions for "
          "many times dearer than they are");
    visit("narrow-outputs", narrow_outputs,
          "let a kernel also write what later kernels derive from its values, "
          "where that result is smaller");
    visit(
        "rows-join-tiles", rows_join_tiles,
        "let what moves whole rows share the kernel of a tiled transpose, and "
        "let such transposes join the kernel that makes their operand");
    visit("schedule", schedule, "schedule whose peak memory-limit bounds");
    visit("schedule-effort", schedule_effort, "search effort of schedule=best");
  }
};

// Fuses kernels that read the same values, or a producer that has other readers
// with one of them, into kernels with several outputs.
//
//   before: a = fusion(p), calls=mul      after: m = (s, t) fusion(p), root
//           b = fusion(p), calls=div                 tuple(mul, div)
//                                                a = gte(m, 0)  b = gte(m, 1)
//
// p is read once instead of twice, or the producer's result not at all. Pairs
// are compatible if gpu_fusible.h says so, fit in the budgets of the device,
// close no cycle, and are not slower by GpuPerformanceModel. Orders:
// mof_order.h; `best` tries both on copies and takes the faster result by the
// model. Dependencies are updated as kernels merge (contracted_dag.h), never
// rebuilt. No output is computed twice. Near-linear in instructions. What was
// fused on a copy replaces the module's contents (adopt_computations.h): with
// order=best or a limit, pointers to its instructions dangle afterwards.
//
// Then, with narrow-outputs, it revises what kernels write: a mask or a
// narrower value that a later kernel derives from large ones may be written by
// an earlier kernel that already has them (mof_narrow_outputs.h).
//
// With rows-join-tiles, what moves rows as they are, no shorter than a memory
// transaction, may share a kernel with a tiled transpose, and a transpose of
// either kind may join the kernel that makes its operand:
//
//   before: a = fusion(p, q), calls=       after: k = (s, t) fusion(p, q), root
//             multiply(transpose(p), q)             tuple(a, transpose(a))
//           b = transpose(a)
//
// Such a kernel counts as reading p once. Our lowering writes rows on the way
// to a tile; transposes along other dimensions have tiles of their own, and
// read p again, as do reductions beside a tile.
//
// With kernels-for=own, kernels are our own, which write more outputs together
// than XLA's (kernel_target.h); kernels without a lowering stay alone. Results
// of long reductions are not reduced in the same kernel
// (mof_nested_reductions.h).
//
// With memory-limit: the peak of the scheduled module stays at or below the
// limit or the unfused peak, whichever is greater; fusions that hold too much
// are undone (fusion_memory_limit.h).
//
// Leaves alone: constants, custom fusions, scatters, updates in place as
// siblings, readers of scalars, computations that do not run as kernels
// (reducers). Drops the module's schedule. Errors: an unknown or malformed
// device, an invalid limit, and under a limit those of scheduling.
class MultiOutputFusion : public HloModulePass, public ExplainingPass {
 public:
  explicit MultiOutputFusion(MultiOutputFusionOptions options = {})
      : options_(std::move(options)) {}
  // As OpenXLA's, which knows neither narrow outputs nor rows with tiles; the
  // shape size function is not needed. `alias_info` must outlive the pass.
  MultiOutputFusion(const se::DeviceDescription& device_info,
                    const GpuAliasInfo* alias_info,
                    HloCostAnalysis::ShapeSizeFunction shape_size_function)
      : device_info_(device_info), alias_info_(alias_info) {
    options_.narrow_outputs = false;
    options_.rows_join_tiles = false;
  }

  absl::string_view name() const override { return "multi-output-fusion"; }
  void set_explanation(FusionExplanation* explanation) override {
    explanation_ = explanation;
  }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  struct Figures {
    int64_t fusions = 0;
    int64_t duplicate_outputs = 0;
    int64_t narrow_outputs = 0;
  };
  // A copy of the module that is fused in one of the orders, before fusions are
  // undone for a limit.
  struct Tried {
    std::unique_ptr<HloModule> module;  // null: nothing was copied
    std::vector<FusionGroup> groups;
    Figures figures;
    MofOrder order;
  };
  OperationPrices Prices() const;
  // The order that leaves the faster kernels.
  absl::StatusOr<Tried> TryBothOrders(
      const HloModule& module, const se::DeviceDescription& device,
      const absl::flat_hash_set<absl::string_view>& execution_threads) const;
  // Undoes fusions of `tried` until the limit holds.
  absl::StatusOr<FusionMemoryPlan> KeepToLimit(
      HloModule* module, const se::DeviceDescription& device,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      Tried* tried);
  absl::Status Fuse(
      HloModule* module, const se::DeviceDescription& device, MofOrder order,
      const absl::flat_hash_set<absl::string_view>& execution_threads,
      const absl::flat_hash_set<std::string>& banned,
      FusionExplanation* explanation, std::vector<FusionGroup>* groups,
      Figures* figures) const;

  MultiOutputFusionOptions options_;
  std::optional<se::DeviceDescription> device_info_;
  const GpuAliasInfo* alias_info_ = nullptr;
  FusionExplanation* explanation_ = nullptr;
};

// Its name in other releases.
using GpuMultiOutputFusion = MultiOutputFusion;

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MULTI_OUTPUT_FUSION_H_

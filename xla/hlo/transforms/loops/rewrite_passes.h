#ifndef XLA_HLO_TRANSFORMS_LOOPS_REWRITE_PASSES_H_
#define XLA_HLO_TRANSFORMS_LOOPS_REWRITE_PASSES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/fueled_pass.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/reporting_pass.h"
#include "xla/hlo/transforms/loops/remat_device.h"

// The rewrites that rematerialization composes, as passes of their own.

namespace xla {

// A pass that makes a list of independent rewrites of a scheduled module and
// keeps the schedule up to date. FailedPrecondition without a schedule. Fuel
// counts rewrites; the report lists them, one per line.
class RewritePass : public HloModulePass,
                    public ReportingPass,
                    public FueledPass {
 public:
  void SetRewriteFuel(std::shared_ptr<int64_t> fuel) override {
    fuel_ = std::move(fuel);
  }
  absl::Status StartReport(const HloModule& before) override;
  absl::StatusOr<PassReport> FinishReport(const HloModule& after) override;

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  // Makes at most `max_rewrites` and returns a description of each.
  virtual absl::StatusOr<std::vector<std::string>> Rewrite(
      int64_t max_rewrites, HloModule* module) = 0;

  // Null: unlimited.
  std::shared_ptr<int64_t> fuel_;
  // Rewrites of all runs since the report was started.
  std::vector<std::string> reported_;
};

// Takes accesses of stacked residuals out of fusions: loop_unfusing.h.
//
//   before: s = fusion(stack, i, x) {…, dynamic-update-slice}
//   after:  v = …x…; s = dynamic-update-slice(stack, v, i, 0)
//
// A rewrite is one fusion.
class LoopUnfusing : public RewritePass {
 public:
  absl::string_view name() const override { return "loop-unfusing"; }

 private:
  absl::StatusOr<std::vector<std::string>> Rewrite(int64_t max_rewrites,
                                                   HloModule* module) override;
};

struct LoopRewriteOptions {
  // Values of fewer bytes stay where they are; 0: a 2000th of the module's
  // peak.
  int64_t min_bytes = 0;
  // The device for which recomputation is priced.
  HloCostAnalysis::Options device = DefaultRematDevice();

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("min-bytes", min_bytes,
          "minimum bytes of a value that is rewritten; 0 for a 2000th of the "
          "peak memory");
  }
};

// Recomputes stacks that a forward loop saves for a backward one in the
// backward loop, the least seconds per byte first: loop_residuals.h.
//
//   before: forward: x = f(h); stack[i] = x;  backward: … x = stack[j] …
//   after:  forward: x = f(h);                backward: … x = f(h_stack[j]) …
//
// A rewrite is one stack. Stack accesses inside of fusions are not recognized:
// run loop-unfusing first.
class LoopResiduals : public RewritePass {
 public:
  explicit LoopResiduals(HloCostAnalysis::Options device = DefaultRematDevice())
      : device_(std::move(device)) {}
  absl::string_view name() const override { return "loop-residuals"; }

 private:
  absl::StatusOr<std::vector<std::string>> Rewrite(int64_t max_rewrites,
                                                   HloModule* module) override;

  HloCostAnalysis::Options device_;
};

// Sinks invariants of loops into their bodies, the least seconds per byte
// first: loop_sinking.h.
//
//   before: m = broadcast(c); w = while(tuple(m, …))
//   after:  w = while(tuple(c, …)), body: m = broadcast(c)
//
// A rewrite is one element of a loop's state.
class LoopSinking : public RewritePass {
 public:
  explicit LoopSinking(LoopRewriteOptions options = {})
      : options_(std::move(options)) {}
  absl::string_view name() const override { return "loop-sinking"; }

 private:
  absl::StatusOr<std::vector<std::string>> Rewrite(int64_t max_rewrites,
                                                   HloModule* module) override;

  LoopRewriteOptions options_;
};

// Updates arguments in the loop that stacks their gradients: loop_updates.h.
//
//   before: w = while(zeros), body: g[i] = dw;  p' = p - rate * g
//   after:  w = while(p), body: p[i] = p[i] - rate * dw;  p' = element of w
//
// A rewrite is one stack. Run loop-sinking first: what it sinks may read the
// arguments that this pass overwrites.
class LoopUpdates : public RewritePass {
 public:
  explicit LoopUpdates(LoopRewriteOptions options = {})
      : options_(std::move(options)) {}
  absl::string_view name() const override { return "loop-updates"; }

 private:
  absl::StatusOr<std::vector<std::string>> Rewrite(int64_t max_rewrites,
                                                   HloModule* module) override;

  LoopRewriteOptions options_;
};

// Splits large results of a fusion into fusions of their own:
// fusion_splitting.h.
//
//   before: f = (f32[n], f32[n]) fusion(x, y) {a(x), b(x, y)}
//   after:  a = f32[n] fusion(x); b = f32[n] fusion(x, y)
//
// A rewrite is one fusion.
class FusionSplitting : public RewritePass {
 public:
  explicit FusionSplitting(LoopRewriteOptions options = {})
      : options_(std::move(options)) {}
  absl::string_view name() const override { return "fusion-splitting"; }

 private:
  absl::StatusOr<std::vector<std::string>> Rewrite(int64_t max_rewrites,
                                                   HloModule* module) override;

  LoopRewriteOptions options_;
};

// Keeps masks and their like instead of larger values that they are made of:
// narrow_values.h.
//
//   before: x; …; d = fusion(x, g) {select(x > 0, g, 0)}
//   after:  x; m = fusion(x) {x > 0}; …; d = fusion(m, g) {select(m, g, 0)}
//
// A rewrite is one value that is kept.
class NarrowValues : public RewritePass {
 public:
  explicit NarrowValues(LoopRewriteOptions options = {})
      : options_(std::move(options)) {}
  absl::string_view name() const override { return "narrow-values"; }

 private:
  absl::StatusOr<std::vector<std::string>> Rewrite(int64_t max_rewrites,
                                                   HloModule* module) override;

  LoopRewriteOptions options_;
};

struct ExpansionFusionOptions {
  // As of LoopRewriteOptions.
  int64_t min_bytes = 0;
  double carried_part = 4;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("min-bytes", min_bytes,
          "minimum bytes of a value that its reader computes; 0 for a 2000th "
          "of the peak memory");
    visit("carried-part", carried_part,
          "what a value is computed from has at most this part of its bytes: 4 "
          "for a quarter, 0.5 for twice as many");
  }
};

// Fuses values derived from others, mostly smaller ones, into their readers:
// expansion_fusion.h.
//
//   before: b = broadcast(s); y = multiply(b, x)
//   after:  y = fusion(s, x) {b, multiply}
//
// A rewrite is one reader. InvalidArgument for a part below 1.
class ExpansionFusion : public RewritePass {
 public:
  explicit ExpansionFusion(ExpansionFusionOptions options = {})
      : options_(options) {}
  absl::string_view name() const override { return "expansion-fusion"; }

 private:
  absl::StatusOr<std::vector<std::string>> Rewrite(int64_t max_rewrites,
                                                   HloModule* module) override;

  ExpansionFusionOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_LOOPS_REWRITE_PASSES_H_

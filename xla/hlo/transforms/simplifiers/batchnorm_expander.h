#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_BATCHNORM_EXPANDER_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_BATCHNORM_EXPANDER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct BatchNormExpanderOptions {
  // Which of the three opcodes are expanded.
  bool rewrite_training_op = true;
  bool rewrite_inference_op = true;
  bool rewrite_grad_op = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("training", rewrite_training_op, "expand batch-norm-training");
    visit("inference", rewrite_inference_op, "expand batch-norm-inference");
    visit("grad", rewrite_grad_op, "expand batch-norm-grad");
  }
};

// Expands batch normalization (Ioffe and Szegedy, 2015) into reduces,
// broadcasts and elementwise instructions, which fuse with producers and
// consumers. With n elements per feature, [] for a broadcast of one per
// feature:
//
//   before: (y, mean, var) = batch-norm-training(x, scale, offset)
//   after:  k = slice(x), one value per feature; c = x - [k]; d = sum(c) / n
//           mean = k + d; var = max(sum(c * c) / n - d * d, 0)
//           a = scale * rsqrt(var + epsilon); y = c * [a] + [offset - d * a]
//
//   before: y = batch-norm-inference(x, scale, offset, mean, var)
//   after:  y = (x - [mean]) * [scale * rsqrt(var + epsilon)] + [offset]
//
//   before: (dx, dscale, doffset) = batch-norm-grad(x, scale, mean, var, dy)
//   after:  c = x - [mean]; r = rsqrt(var + epsilon)
//           dscale = sum(dy * c) * r; doffset = sum(dy)
//           dx = (dy - [doffset / n] - c * [dscale * r / n]) * [scale * r]
//
// The two sums of an opcode read the same values: multi-output fusion makes
// them one pass. The shift by a value from the data costs no pass and bounds
// the cancellation in var, wherever the mean is: (k - mean)^2 <= n * var (Chan,
// Golub and LeVeque 1983, shifted data). If there may be no such value (a
// dynamic or empty dimension is reduced), k is the mean, computed in an extra
// pass.
//
// Sums are in f32, or f64 if an operand is; narrower types are converted when
// they are read, and the results converted back. Sizes of dimensions come from
// get-dimension-size, so that dynamic ones count their actual elements; the
// canonicalizer turns those of static ones into constants.
//
// Readers of elements of the result read the value itself; others get a tuple.
// Metadata, frontend attributes, shardings (per element of the result) and
// control dependencies are preserved. O(1) instructions per opcode.
//
// Leaves alone fusions, unbounded dimensions, and shardings that hold for whole
// results only (unreduced, unknown, manual or unreduced subgroups).
class BatchNormExpander : public HloModulePass {
 public:
  explicit BatchNormExpander(bool rewrite_training_op = false,
                             bool rewrite_inference_op = false,
                             bool rewrite_grad_op = false) {
    options_.rewrite_training_op = rewrite_training_op;
    options_.rewrite_inference_op = rewrite_inference_op;
    options_.rewrite_grad_op = rewrite_grad_op;
  }
  explicit BatchNormExpander(const BatchNormExpanderOptions& options)
      : options_(options) {}

  absl::string_view name() const override { return "batchnorm-expander"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  BatchNormExpanderOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_BATCHNORM_EXPANDER_H_

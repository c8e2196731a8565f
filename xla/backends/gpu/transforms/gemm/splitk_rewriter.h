#ifndef XLA_BACKENDS_GPU_TRANSFORMS_GEMM_SPLITK_REWRITER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_GEMM_SPLITK_REWRITER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct SplitkRewriterOptions {
  std::string device = "h100";
  KernelTarget kernels_for = KernelTarget::kXla;
  bool priced = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit(
        "kernels-for", kernels_for,
        "who computes dots, if priced: xla, which splits them itself, or own");
    visit("priced", priced,
          "as many parts as take the least time by the prices of kernels, "
          "without zeros to fill them up");
  }
};

// Splits the long sums of dots with few results, which would leave most of a
// device idle, into parts that are added up afterwards. As in OpenXLA, whose
// compiler for dots keeps all parts in memory.
//
//   before: d = f32[192,192] dot(x, y), lhs_contracting_dims={0}, …
//             of f32[6272,192]
//   after:  p = f32[32,192,192] dot(reshape(x), reshape(y)), batches of
//             f32[32,196,192]
//           d = f32[192,192] reduce(p, 0), dimensions={0}, to_apply=add
//
// Parts of f16 and bf16 are f32, and their sum is converted. A single
// contracting dimension that is no multiple of the number of parts is filled up
// with zeros; of several, the first is split into as many parts as divide it. A
// dot that is only read by a transpose is exchanged first (gemm_epilogue.h).
//
// With `priced`, nothing is split for kernels of OpenXLA, whose libraries have
// memory to do so themselves. For those of our own, those are the most parts:
// fewer are as good if a tenth is all that more of them save, and a dot whose
// parts and their sum do not save a fifth of its time stays whole. Of a single
// contracting dimension, too, parts divide the first one.
//
// Leaves alone: dots of other types, or with an algorithm of their own, sparse
// ones and those with control dependencies. O(instructions), and prices
// of some kernels for each dot that is split.
class SplitkRewriter : public HloModulePass {
 public:
  explicit SplitkRewriter(SplitkRewriterOptions options = {})
      : options_(std::move(options)) {}

  absl::string_view name() const override { return "splitk-rewriter"; }

  struct Sizes {
    int64_t batches = 1;
    int64_t rows = 1;
    int64_t columns = 1;
    int64_t depth = 1;
  };

  // The number of parts, a power of two, of a dot on a device with so many
  // cores; 1: not split. Fitted to OpenXLA's choices on an H100: the square
  // root of depth over tiles (128 rows by 64 columns or 64 by 128, whichever
  // are fewer; two at least for each batch) while parts and tiles together are
  // less than three for each core.
  static int64_t PartsOf(const Sizes& sizes, int64_t cores);

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  SplitkRewriterOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_GEMM_SPLITK_REWRITER_H_

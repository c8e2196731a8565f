#ifndef XLA_BACKENDS_GPU_LOWERING_FUSION_LOWERING_TEST_BASE_H_
#define XLA_BACKENDS_GPU_LOWERING_FUSION_LOWERING_TEST_BASE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// The start of a module with computations that its reductions apply.
inline constexpr absl::string_view kReducers = R"(
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}
largest {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  same = pred[] compare(a, b), direction=EQ
  less = pred[] compare(i, j), direction=LT
  first = pred[] and(same, less)
  g = pred[] or(more, first)
  x = f32[] select(g, a, b)
  k = s32[] select(g, i, j)
  ROOT t = (f32[], s32[]) tuple(x, k)
}
)";

// Lowers fusions for small blocks, so that small arrays take all ways, and
// compares with the evaluator. Remembers what the last kernel was made of.
class FusionLoweringTestBase : public ::testing::Test {
 protected:
  absl::StatusOr<LoweredKernel> Lower(const HloInstruction& hlo) {
    FusionLoweringOptions options;
    options.threads_per_block = 32;
    options.threads_of_tiles = threads_;
    options.min_reduced = 2;
    options.min_transposed = min_transposed_;
    options.device_threads = device_threads_;
    options.min_vector_columns = min_vector_columns_;
    options.shared_bytes = shared_bytes_;
    absl::StatusOr<LoweredKernel> lowered = LowerFusion(hlo, options);
    kinds_.clear();
    ops_.clear();
    vectors_ = 0;
    if (!lowered.ok()) return lowered;
    updates_ = lowered->in_place.size();
    kir::ForEachStatement(
        lowered->kernel.body, [this](const kir::Statement& statement) {
          const auto* loop = statement.As<kir::Loop>();
          vectors_ +=
              loop != nullptr && loop->kind == kir::LoopKind::kVectorize;
          if (const auto* expr = statement.As<kir::Expr>()) ++ops_[expr->op];
        });
    std::set<int64_t> written;
    for (const KernelPart& part : lowered->parts) {
      kinds_.push_back(std::string(part.kind));
      why_ = part.why;
      for (int64_t result : part.results) {
        EXPECT_TRUE(written.insert(result).second) << result << " twice";
      }
    }
    return lowered;
  }
  absl::Status Compare(absl::string_view text) {
    return CompareWithEvaluator(
        text, [this](const HloInstruction& hlo) { return Lower(hlo); });
  }
  // The parts of a kernel that computes what the evaluator does.
  const std::vector<std::string>& KindsOf(absl::string_view text) {
    EXPECT_EQ(Compare(text), absl::OkStatus());
    return kinds_;
  }

  int64_t threads_ = 128;
  int64_t min_transposed_ = 16;
  int64_t device_threads_ = 1 << 18;
  int64_t min_vector_columns_ = 1024;
  int64_t shared_bytes_ = 48 * 1024;
  int64_t vectors_ = 0;             // accesses of vectors
  std::map<std::string, int> ops_;  // statements of the kernel
  size_t updates_ = 0;              // in place
  std::vector<std::string> kinds_;  // of its parts
  std::string why_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_FUSION_LOWERING_TEST_BASE_H_

#include "xla/backends/gpu/transforms/gemm/dynamic_slice_fusion_rewriter.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/model/library_dot.h"
#include "xla/backends/gpu/transforms/gemm/gemm_operand.h"
#include "xla/hlo/analysis/library_calls.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// The most readers that are looked at for one slice, views included.
constexpr int64_t kMaxReaders = 16;

// OpenXLA has no such fusions of other custom calls. Products with vectors, and
// those that sum nothing up, may become kernels that other ones fuse with.
bool IsLibraryCall(const HloInstruction& hlo, KernelTarget target) {
  if (hlo.opcode() != HloOpcode::kDot) {
    return hlo.IsCustomCall({"__cublas$gemm", "__cublas$lt$matmul"}) &&
           IsPureLibraryCall(hlo);
  }
  if (target != KernelTarget::kOwn) return false;
  const std::optional<LibraryDot> dot = MakeLibraryDot(hlo);
  return dot.has_value() && std::min({dot->rows, dot->columns, dot->depth}) > 1;
}

// All, directly or through views.
bool OnlyLibraryCallsRead(const HloInstruction& slice, KernelTarget target) {
  std::vector<const HloInstruction*> values = {&slice};
  int64_t readers = 0;
  while (!values.empty()) {
    const HloInstruction& value = *values.back();
    values.pop_back();
    readers += value.user_count();
    if (readers > kMaxReaders || value.IsRoot() ||
        value.HasControlDependencies()) {
      return false;
    }
    for (const HloInstruction* user : value.users()) {
      if (OperandOfView(*user) != nullptr) {
        values.push_back(user);
      } else if (!IsLibraryCall(*user, target)) {
        return false;
      }
    }
  }
  return true;
}

// Whether it begins where the library expects operands, and is worth a call of
// its own.
bool IsSuitable(const HloInstruction& slice, int64_t min_dynamic_bytes) {
  const Shape& from = slice.operand(0)->shape();
  int64_t offset = 0;
  int64_t stride = ShapeUtil::ByteSizeOfPrimitiveType(from.element_type());
  bool is_dynamic = false;
  if (primitive_util::IsSubByteNonPredType(from.element_type())) return false;
  for (int64_t dim : from.layout().minor_to_major()) {
    const int64_t most = from.dimensions(dim) - slice.shape().dimensions(dim);
    if (slice.opcode() == HloOpcode::kSlice) {
      offset += slice.slice_starts(dim) * stride;
    } else if (most != 0) {
      // Any multiple of the stride.
      offset |= stride % kLibraryAlignment;
      const HloInstruction& start = *slice.operand(1 + dim);
      if (!MayBeStart(start)) return false;
      is_dynamic |= start.opcode() != HloOpcode::kConstant;
    }
    stride *= from.dimensions(dim);
  }
  return offset % kLibraryAlignment == 0 &&
         (!is_dynamic ||
          ShapeUtil::ByteSizeOf(slice.shape()) >= min_dynamic_bytes);
}

// The slice that the operand is, and what it is seen through; nothing if it
// cannot be read where it is.
std::vector<HloInstruction*> FindSlice(
    HloInstruction* operand, const DynamicSliceFusionRewriterOptions& options) {
  std::vector<HloInstruction*> path = {operand};
  while (HloInstruction* viewed = OperandOfView(*path.back())) {
    path.push_back(viewed);
  }
  const HloInstruction& slice = *path.back();
  if (!HloPredicateIsOp<HloOpcode::kSlice, HloOpcode::kDynamicSlice>(&slice) ||
      ShapeUtil::IsZeroElementArray(slice.shape()) ||
      !IsContiguousSlice(slice) ||
      !IsSuitable(slice, options.min_dynamic_bytes) ||
      !IsInMemory(*slice.operand(0)) ||
      !OnlyLibraryCallsRead(slice, options.kernels_for)) {
    return {};
  }
  for (HloInstruction* start : path.back()->operands()) {
    if (start->opcode() != HloOpcode::kConstant || start == slice.operand(0)) {
      continue;
    }
    if (start->HasControlDependencies()) return {};
    path.push_back(start);
  }
  return path;
}

}  // namespace

absl::StatusOr<bool> DynamicSliceFusionRewriter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    const std::vector<HloInstruction*> order =
        computation->MakeInstructionPostOrder();
    absl::flat_hash_map<const HloInstruction*, size_t> places;
    std::vector<HloInstruction*> calls;
    for (size_t i = 0; i < order.size(); ++i) {
      places[order[i]] = i;
      if (IsLibraryCall(*order[i], options_.kernels_for)) {
        calls.push_back(order[i]);
      }
    }
    for (HloInstruction* call : calls) {
      std::vector<HloInstruction*> fused = {call};
      for (HloInstruction* operand : call->operands()) {
        for (HloInstruction* hlo : FindSlice(operand, options_)) {
          if (!absl::c_linear_search(fused, hlo)) fused.push_back(hlo);
        }
      }
      if (fused.size() == 1) continue;
      // Readers before what they read.
      absl::c_sort(fused,
                   [&](const HloInstruction* a, const HloInstruction* b) {
                     return places.at(a) > places.at(b);
                   });
      HloInstruction* fusion = computation->CreateFusionInstruction(
          fused, HloInstruction::FusionKind::kCustom);
      fusion->set_raw_backend_config_string(absl::StrCat(
          R"({"fusion_backend_config":{"kind":")", kCustomFusionKind,
          R"(","custom_fusion_config":{"name":")", kDynamicSliceFusion,
          R"("}}})"));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu

#include "xla/backends/gpu/transforms/gemm/cudnn_fused_conv_rewriter.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/backends/gpu/transforms/gemm/gemm_epilogue.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

// Made of a reversed filter, as gradients of inputs are.
bool IsReversed(const HloInstruction* filter) {
  while (HloPredicateIsOp<HloOpcode::kTranspose, HloOpcode::kBitcast,
                          HloOpcode::kReshape, HloOpcode::kCopy>(filter)) {
    filter = filter->operand(0);
  }
  return filter->opcode() == HloOpcode::kReverse;
}

// Whether the library's calls for convolutions that compute no gradients do it.
bool IsForward(const HloInstruction& convolution) {
  const PrimitiveType type = convolution.shape().element_type();
  return (type == F16 || type == BF16 || type == F32) &&
         convolution.operand(0)->shape().element_type() == type &&
         convolution.operand(1)->shape().element_type() == type &&
         !window_util::HasBaseDilation(convolution.window()) &&
         !window_util::HasWindowReversal(convolution.window()) &&
         !IsReversed(convolution.operand(1));
}

// Other than those of filters' gradients, whose windows are large.
bool IsConvolutionOfWindows(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kConvolution || hlo.operand_count() != 2 ||
      hlo.batch_group_count() != 1) {
    return false;
  }
  const ConvolutionDimensionNumbers& dims = hlo.convolution_dimension_numbers();
  int64_t window = 1, places = 1;
  for (int k = 0; k < hlo.window().dimensions_size(); ++k) {
    window *= hlo.window().dimensions(k).size();
    places *= hlo.shape().dimensions(dims.output_spatial_dimensions(k));
  }
  return window <= places;
}

// A broadcast that a call may have for itself: nothing waits for it or for what
// it broadcasts, nor do these wait.
bool IsFreeBroadcast(const HloInstruction& value) {
  return value.opcode() == HloOpcode::kBroadcast &&
         !value.HasControlDependencies() &&
         !value.operand(0)->HasControlDependencies();
}

bool IsBroadcastConstant(const HloInstruction& value) {
  return IsFreeBroadcast(value) &&
         hlo_query::IsScalarConstant(value.operand(0));
}

// The instructions that a call computes, the convolution first; with what they
// broadcast.
class Epilogue {
 public:
  Epilogue(HloInstruction* convolution,
           const CudnnFusedConvRewriterOptions& options)
      : convolution_(convolution),
        last_(convolution),
        takes_broadcasts_(options.broadcasts) {
    fused_ = {convolution};
    if (options.kernels_for == KernelTarget::kOwn &&
        convolution->control_successors().empty()) {
      for (HloInstruction* hlo :
           FindMatrixEpilogue(*convolution, convolution->shape().dimensions(),
                              MaxOperandsAndOutputsPerFusion() - 3)) {
        TakeAny(hlo);
      }
      is_worth_a_call_ = last_ != convolution_;
    } else {
      while (Continue()) {
      }
      is_worth_a_call_ = has_bias_ || has_side_ || has_relu_;
    }
  }

  // All but a factor.
  bool IsWorthACall() const { return is_worth_a_call_; }
  // The last first, operands after their readers.
  std::vector<HloInstruction*> Fused() const {
    return std::vector<HloInstruction*>(fused_.rbegin(), fused_.rend());
  }

 private:
  void TakeAny(HloInstruction* hlo) {
    for (HloInstruction* operand : hlo->operands()) {
      if (operand != last_ && IsFreeBroadcast(*operand)) AddBroadcast(operand);
    }
    Add(hlo);
    last_ = hlo;
  }

  // Takes in the only reader of the last one. What must run after the last one
  // may lead to another operand of its reader; what must run before either runs
  // before the call.
  bool Continue() {
    if (has_relu_ || last_->user_count() != 1 || last_->IsRoot() ||
        !last_->control_successors().empty()) {
      return false;
    }
    HloInstruction* user = last_->users()[0];
    if (user->operand_count() != 2 || user->operand(0) == user->operand(1) ||
        !ShapeUtil::Equal(user->shape(), convolution_->shape())) {
      return false;
    }
    HloInstruction* other =
        user->mutable_operand(user->operand(0) == last_ ? 1 : 0);
    const bool had_side = has_side_;
    if (!Takes(*user, *other)) return false;
    // The library reads all elements of another array, whatever they are.
    if (has_side_ == had_side) {
      AddBroadcast(other);
    } else if (HloInstruction* factor = FactorOf(*other)) {
      AddBroadcast(factor);
      Add(other);
    }
    Add(user);
    last_ = user;
    return true;
  }

  // The broadcast factor of a scaled array; null if there is none.
  HloInstruction* FactorOf(const HloInstruction& side) const {
    if (side.opcode() != HloOpcode::kMultiply ||
        side.HasControlDependencies()) {
      return nullptr;
    }
    for (int64_t i : {0, 1}) {
      if (IsBroadcastConstant(*side.operand(i)) &&
          ShapeUtil::Equal(side.operand(1 - i)->shape(),
                           convolution_->shape())) {
        return const_cast<HloInstruction*>(side.operand(i));
      }
    }
    return nullptr;
  }

  bool Takes(const HloInstruction& user, const HloInstruction& other) {
    switch (user.opcode()) {
      case HloOpcode::kMultiply:
        return last_ == convolution_ && IsBroadcastConstant(other);
      case HloOpcode::kAdd: {
        if (!has_bias_ && IsBias(other)) return has_bias_ = true;
        if (has_side_ ||
            (!takes_broadcasts_ && other.opcode() == HloOpcode::kBroadcast)) {
          return false;
        }
        return has_side_ = true;
      }
      case HloOpcode::kMaximum:
        return has_relu_ = IsBroadcastConstant(other) &&
                           hlo_query::IsAllConstant(&other, 0);
      default:  // Nothing that the library computes after a convolution.
        return false;
    }
  }

  // One value for each feature, or one for all.
  bool IsBias(const HloInstruction& value) const {
    const int64_t feature = convolution_->convolution_dimension_numbers()
                                .output_feature_dimension();
    return IsFreeBroadcast(value) &&
           absl::c_all_of(value.dimensions(),
                          [&](int64_t dim) { return dim == feature; });
  }

  void AddBroadcast(HloInstruction* broadcast) {
    if (hlo_query::IsScalarConstant(broadcast->operand(0))) {
      Add(broadcast->mutable_operand(0));
    }
    Add(broadcast);
  }

  void Add(HloInstruction* hlo) {
    if (!absl::c_linear_search(fused_, hlo)) fused_.push_back(hlo);
  }

  HloInstruction* convolution_;
  HloInstruction* last_;
  const bool takes_broadcasts_;
  // Operands before their readers.
  std::vector<HloInstruction*> fused_;
  bool has_bias_ = false;
  bool has_side_ = false;
  bool has_relu_ = false;
  bool is_worth_a_call_ = false;
};

}  // namespace

absl::StatusOr<bool> CudnnFusedConvRewriter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const bool own = options_.kernels_for == KernelTarget::kOwn;
  bool changed = false;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    std::vector<HloInstruction*> convolutions;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (IsConvolutionOfWindows(*hlo) &&
          (options_.groups || hlo->feature_group_count() == 1) &&
          (own || IsForward(*hlo))) {
        convolutions.push_back(hlo);
      }
    }
    for (HloInstruction* convolution : convolutions) {
      const Epilogue epilogue(convolution, options_);
      if (!epilogue.IsWorthACall()) continue;
      HloInstruction* fusion = computation->CreateFusionInstruction(
          epilogue.Fused(), HloInstruction::FusionKind::kCustom);
      fusion->set_raw_backend_config_string(absl::StrCat(
          R"({"fusion_backend_config":{"kind":")", kCuDnnFusionKind, R"("}})"));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu

#include "xla/hlo/transforms/operations/convolution_pad_folder.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// The window of the convolution on the pad's operand.
std::optional<Window> WindowOnUnpadded(
    const HloConvolutionInstruction& convolution, const HloInstruction& pad) {
  const ConvolutionDimensionNumbers& dims =
      convolution.convolution_dimension_numbers();
  const PaddingConfig& padding = pad.padding_config();
  Window window = convolution.window();
  for (int64_t d = 0; d < padding.dimensions_size(); ++d) {
    const auto& by = padding.dimensions(d);
    if (by.edge_padding_low() == 0 && by.edge_padding_high() == 0 &&
        by.interior_padding() == 0) {
      continue;
    }
    const auto spatial = absl::c_find(dims.input_spatial_dimensions(), d);
    if (spatial == dims.input_spatial_dimensions().end() ||
        by.edge_padding_low() < 0 || by.edge_padding_high() < 0) {
      return std::nullopt;
    }
    WindowDimension* dimension = window.mutable_dimensions(
        static_cast<int>(spatial - dims.input_spatial_dimensions().begin()));
    if (dimension->base_dilation() > 1) return std::nullopt;
    dimension->set_padding_low(dimension->padding_low() +
                               by.edge_padding_low());
    dimension->set_padding_high(dimension->padding_high() +
                                by.edge_padding_high());
    dimension->set_base_dilation(by.interior_padding() + 1);
  }
  return window;
}

// Whether the window is the whole padded image: a product of matrices, which
// would be one no longer if the window padded.
bool WindowIsWholeImage(const HloConvolutionInstruction& convolution) {
  const ConvolutionDimensionNumbers& dims =
      convolution.convolution_dimension_numbers();
  const Shape& image = convolution.operand(0)->shape();
  for (int i = 0; i < convolution.window().dimensions_size(); ++i) {
    const WindowDimension& window = convolution.window().dimensions(i);
    if (window.size() != image.dimensions(dims.input_spatial_dimensions(i)) ||
        window.padding_low() != 0 || window.padding_high() != 0 ||
        window.base_dilation() != 1 || window.window_dilation() != 1) {
      return false;
    }
  }
  return true;
}

// The convolution without the pad; null if that would be another one.
HloInstruction* Folded(HloConvolutionInstruction* convolution) {
  HloInstruction* pad = convolution->mutable_operand(0);
  // Sparse factors have indices as further operands.
  if (convolution->operand_count() != 2 || pad->opcode() != HloOpcode::kPad ||
      !hlo_query::IsAllConstant(pad->operand(1), 0) ||
      pad->shape().is_dynamic() || convolution->shape().is_dynamic() ||
      pad->shape().element_type() != pad->operand(0)->shape().element_type() ||
      convolution->HasControlDependencies() ||
      WindowIsWholeImage(*convolution)) {
    return nullptr;
  }
  const std::optional<Window> window = WindowOnUnpadded(*convolution, *pad);
  if (!window.has_value()) return nullptr;
  auto* folded = Cast<HloConvolutionInstruction>(
      convolution->parent()->AddInstruction(convolution->CloneWithNewOperands(
          convolution->shape(),
          {pad->mutable_operand(0), convolution->mutable_operand(1)})));
  folded->set_window(*window);
  return folded;
}

}  // namespace

absl::StatusOr<bool> ConvolutionPadFolder::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      auto* convolution = DynCast<HloConvolutionInstruction>(inst);
      while (convolution != nullptr) {
        HloInstruction* folded = Folded(convolution);
        if (folded == nullptr) break;
        HloInstruction* pad = convolution->mutable_operand(0);
        TF_RETURN_IF_ERROR(
            computation->ReplaceInstruction(convolution, folded));
        if (pad->IsDead() && computation->IsSafelyRemovable(pad)) {
          TF_RETURN_IF_ERROR(
              computation->RemoveInstructionAndUnusedOperands(pad));
        }
        convolution = Cast<HloConvolutionInstruction>(folded);
        changed = true;
      }
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla

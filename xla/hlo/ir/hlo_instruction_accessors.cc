// Accessors of attributes, forwarded to the subclass that has them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Ends the program: the opcode has no such attribute.
[[noreturn]] void NoSuchAttribute(const HloInstruction* inst,
                                  absl::string_view attribute) {
  LOG(FATAL) << inst->name() << ", a " << HloOpcodeString(inst->opcode())
             << ", has no " << attribute;
  ABSL_UNREACHABLE();
}

}  // namespace

int64_t HloInstruction::feature_index() const {
  return Cast<HloBatchNormInstruction>(this)->feature_index();
}

float HloInstruction::epsilon() const {
  return Cast<HloBatchNormInstruction>(this)->epsilon();
}

FftType HloInstruction::fft_type() const {
  return Cast<HloFftInstruction>(this)->fft_type();
}

const std::vector<int64_t>& HloInstruction::fft_length() const {
  return Cast<HloFftInstruction>(this)->fft_length();
}

std::optional<int64_t> HloInstruction::channel_id() const {
  // Asked of all collectives, of which some opcodes have no channels.
  const auto* channel = DynCast<HloChannelInstruction>(this);
  return channel != nullptr ? channel->channel_id() : std::nullopt;
}

void HloInstruction::set_channel_id(const std::optional<int64_t>& channel_id) {
  Cast<HloChannelInstruction>(this)->set_channel_id(channel_id);
}

int64_t HloInstruction::concatenate_dimension() const {
  return Cast<HloConcatenateInstruction>(this)->concatenate_dimension();
}

int64_t HloInstruction::inferred_dimension() const {
  return Cast<HloReshapeInstruction>(this)->inferred_dimension();
}

int64_t HloInstruction::slice_starts(int64_t dimension) const {
  return Cast<HloSliceInstruction>(this)->slice_starts(dimension);
}

const std::vector<int64_t>& HloInstruction::slice_starts() const {
  return Cast<HloSliceInstruction>(this)->slice_starts();
}

std::vector<int64_t>* HloInstruction::mutable_slice_starts() {
  return Cast<HloSliceInstruction>(this)->mutable_slice_starts();
}

int64_t HloInstruction::slice_limits(int64_t dimension) const {
  return Cast<HloSliceInstruction>(this)->slice_limits(dimension);
}

const std::vector<int64_t>& HloInstruction::slice_limits() const {
  return Cast<HloSliceInstruction>(this)->slice_limits();
}

std::vector<int64_t>* HloInstruction::mutable_slice_limits() {
  return Cast<HloSliceInstruction>(this)->mutable_slice_limits();
}

int64_t HloInstruction::slice_strides(int64_t dimension) const {
  return Cast<HloSliceInstruction>(this)->slice_strides(dimension);
}

const std::vector<int64_t>& HloInstruction::slice_strides() const {
  return Cast<HloSliceInstruction>(this)->slice_strides();
}

std::vector<int64_t>* HloInstruction::mutable_slice_strides() {
  return Cast<HloSliceInstruction>(this)->mutable_slice_strides();
}

void HloInstruction::RelayoutConstant(const Layout& new_layout,
                                      const ShapeIndex& shape_index) {
  Cast<HloConstantInstruction>(this)->RelayoutConstant(new_layout, shape_index);
}

RandomDistribution HloInstruction::random_distribution() const {
  return Cast<HloRngInstruction>(this)->random_distribution();
}

int64_t HloInstruction::parameter_number() const {
  return Cast<HloParameterInstruction>(this)->parameter_number();
}

void HloInstruction::set_parameter_replicated_at_leaf_buffers(
    absl::Span<const bool> parameter_replicated_at_leaf_buffers) {
  Cast<HloParameterInstruction>(this)->set_parameter_replicated_at_leaf_buffers(
      parameter_replicated_at_leaf_buffers);
}

void HloInstruction::set_parameter_replicated_at_leaf_buffers(
    const std::vector<bool>& parameter_replicated_at_leaf_buffers) {
  Cast<HloParameterInstruction>(this)->set_parameter_replicated_at_leaf_buffers(
      parameter_replicated_at_leaf_buffers);
}

const std::optional<std::vector<bool>>&
HloInstruction::parameter_replicated_at_leaf_buffers() const {
  return Cast<HloParameterInstruction>(this)
      ->parameter_replicated_at_leaf_buffers();
}

int64_t HloInstruction::tuple_index() const {
  return Cast<HloGetTupleElementInstruction>(this)->tuple_index();
}

void HloInstruction::set_tuple_index(int64_t new_tuple_index) {
  Cast<HloGetTupleElementInstruction>(this)->set_tuple_index(new_tuple_index);
}

int32_t HloInstruction::exponent_bits() const {
  return Cast<HloReducePrecisionInstruction>(this)->exponent_bits();
}

int32_t HloInstruction::mantissa_bits() const {
  return Cast<HloReducePrecisionInstruction>(this)->mantissa_bits();
}

std::string HloInstruction::infeed_config() const {
  return Cast<HloInfeedInstruction>(this)->infeed_config();
}

void HloInstruction::set_infeed_config(const std::string& config) {
  Cast<HloInfeedInstruction>(this)->set_infeed_config(config);
}

const std::string& HloInstruction::outfeed_config() const {
  return Cast<HloOutfeedInstruction>(this)->outfeed_config();
}

void HloInstruction::set_outfeed_config(const std::string& config) {
  Cast<HloOutfeedInstruction>(this)->set_outfeed_config(config);
}

const Shape& HloInstruction::outfeed_shape() const {
  return Cast<HloOutfeedInstruction>(this)->outfeed_shape();
}

Shape* HloInstruction::mutable_outfeed_shape() {
  return Cast<HloOutfeedInstruction>(this)->mutable_outfeed_shape();
}

const std::vector<ReplicaGroup>& HloInstruction::replica_groups() const {
  return Cast<HloCollectiveInstruction>(this)->replica_groups();
}

const std::shared_ptr<CollectiveDeviceListBase>& HloInstruction::device_list()
    const {
  return Cast<HloCollectiveInstruction>(this)->device_list();
}

const std::vector<std::pair<int64_t, int64_t>>&
HloInstruction::source_target_pairs() const {
  return Cast<HloCollectivePermuteInstruction>(this)->source_target_pairs();
}

bool HloInstruction::unique_indices() const {
  return Cast<HloScatterInstruction>(this)->unique_indices();
}

const std::string& HloInstruction::custom_call_target() const {
  return Cast<HloCustomCallInstruction>(this)->custom_call_target();
}

void HloInstruction::set_custom_call_target(absl::string_view target) {
  Cast<HloCustomCallInstruction>(this)->set_custom_call_target(target);
}

const PaddingConfig& HloInstruction::padding_config() const {
  return Cast<HloPadInstruction>(this)->padding_config();
}

PaddingConfig* HloInstruction::mutable_padding_config() {
  return Cast<HloPadInstruction>(this)->mutable_padding_config();
}

PaddingType HloInstruction::padding_type() const {
  return Cast<HloCustomCallInstruction>(this)->padding_type();
}

int64_t HloInstruction::slice_sizes(int64_t dimension) const {
  return Cast<HloDynamicSliceInstruction>(this)->slice_sizes(dimension);
}

const std::vector<int64_t>& HloInstruction::dynamic_slice_sizes() const {
  return Cast<HloDynamicSliceInstruction>(this)->dynamic_slice_sizes();
}

const std::vector<std::vector<int64_t>>&
HloInstruction::dynamic_slice_sizes_list() const {
  return Cast<HloCollectivePermuteInstruction>(this)
      ->dynamic_slice_sizes_list();
}

const GatherDimensionNumbers& HloInstruction::gather_dimension_numbers() const {
  return Cast<HloGatherInstruction>(this)->gather_dimension_numbers();
}

absl::Span<const int64_t> HloInstruction::gather_slice_sizes() const {
  return Cast<HloGatherInstruction>(this)->gather_slice_sizes();
}

const ScatterDimensionNumbers& HloInstruction::scatter_dimension_numbers()
    const {
  return Cast<HloScatterInstruction>(this)->scatter_dimension_numbers();
}

const RaggedDotDimensionNumbers& HloInstruction::ragged_dot_dimension_numbers()
    const {
  return Cast<HloRaggedDotInstruction>(this)->ragged_dot_dimension_numbers();
}

const DomainMetadata& HloInstruction::operand_side_metadata() const {
  return Cast<HloDomainInstruction>(this)->operand_side_metadata();
}

const DomainMetadata& HloInstruction::user_side_metadata() const {
  return Cast<HloDomainInstruction>(this)->user_side_metadata();
}

const SparsityConfig& HloInstruction::sparsity_config() const {
  return Cast<HloConvolutionInstruction>(this)->sparsity_config();
}

void HloInstruction::set_sparsity_config(const SparsityConfig& config) {
  Cast<HloConvolutionInstruction>(this)->set_sparsity_config(config);
}

std::optional<int> HloInstruction::cross_program_prefetch_index() const {
  return Cast<HloCopyStartInstruction>(this)->cross_program_prefetch_index();
}

const TriangularSolveOptions& HloInstruction::triangular_solve_options() const {
  return Cast<HloTriangularSolveInstruction>(this)->triangular_solve_options();
}

const CholeskyOptions& HloInstruction::cholesky_options() const {
  return Cast<HloCholeskyInstruction>(this)->cholesky_options();
}

// --- Attributes that several subclasses have ---------------------------------

absl::Span<const int64_t> HloInstruction::dimensions() const {
  NoSuchAttribute(this, "dimensions");
}

std::vector<int64_t>* HloInstruction::mutable_dimensions() {
  NoSuchAttribute(this, "mutable dimensions");
}

int64_t HloInstruction::dimension() const {
  if (const auto* set_size = DynCast<HloSetDimensionSizeInstruction>(this)) {
    return set_size->dimension();
  }
  return Cast<HloGetDimensionSizeInstruction>(this)->dimension();
}

const Literal& HloInstruction::literal() const {
  if (const auto* custom_call = DynCast<HloCustomCallInstruction>(this)) {
    return custom_call->literal();
  }
  return Cast<HloConstantInstruction>(this)->literal();
}

bool HloInstruction::IsConstant() const {
  return opcode_ == HloOpcode::kConstant;
}

bool HloInstruction::has_replica_groups() const {
  return HloCollectiveInstruction::ClassOf(this);
}

const Window& HloInstruction::window() const {
  switch (opcode_) {
    case HloOpcode::kConvolution:
      return Cast<HloConvolutionInstruction>(this)->window();
    case HloOpcode::kReduceWindow:
      return Cast<HloReduceWindowInstruction>(this)->window();
    case HloOpcode::kSelectAndScatter:
      return Cast<HloSelectAndScatterInstruction>(this)->window();
    case HloOpcode::kCustomCall:
      return Cast<HloCustomCallInstruction>(this)->window();
    default:  // An error of the caller.
      NoSuchAttribute(this, "window");
  }
}

void HloInstruction::set_window(const Window& window) {
  switch (opcode_) {
    case HloOpcode::kConvolution:
      return Cast<HloConvolutionInstruction>(this)->set_window(window);
    case HloOpcode::kReduceWindow:
      return Cast<HloReduceWindowInstruction>(this)->set_window(window);
    case HloOpcode::kSelectAndScatter:
      return Cast<HloSelectAndScatterInstruction>(this)->set_window(window);
    case HloOpcode::kCustomCall:
      return Cast<HloCustomCallInstruction>(this)->set_window(window);
    default:  // An error of the caller.
      NoSuchAttribute(this, "window");
  }
}

const ConvolutionDimensionNumbers&
HloInstruction::convolution_dimension_numbers() const {
  if (const auto* convolution = DynCast<HloConvolutionInstruction>(this)) {
    return convolution->convolution_dimension_numbers();
  }
  return Cast<HloCustomCallInstruction>(this)->convolution_dimension_numbers();
}

void HloInstruction::set_convolution_dimension_numbers(
    const ConvolutionDimensionNumbers& dnums) {
  if (auto* convolution = DynCast<HloConvolutionInstruction>(this)) {
    convolution->set_convolution_dimension_numbers(dnums);
  } else {
    Cast<HloCustomCallInstruction>(this)->set_convolution_dimension_numbers(
        dnums);
  }
}

int64_t HloInstruction::feature_group_count() const {
  if (const auto* convolution = DynCast<HloConvolutionInstruction>(this)) {
    return convolution->feature_group_count();
  }
  return Cast<HloCustomCallInstruction>(this)->feature_group_count();
}

void HloInstruction::set_feature_group_count(int64_t feature_group_count) {
  if (auto* convolution = DynCast<HloConvolutionInstruction>(this)) {
    convolution->set_feature_group_count(feature_group_count);
  } else {
    Cast<HloCustomCallInstruction>(this)->set_feature_group_count(
        feature_group_count);
  }
}

int64_t HloInstruction::batch_group_count() const {
  if (const auto* convolution = DynCast<HloConvolutionInstruction>(this)) {
    return convolution->batch_group_count();
  }
  return Cast<HloCustomCallInstruction>(this)->batch_group_count();
}

void HloInstruction::set_batch_group_count(int64_t batch_group_count) {
  if (auto* convolution = DynCast<HloConvolutionInstruction>(this)) {
    convolution->set_batch_group_count(batch_group_count);
  } else {
    Cast<HloCustomCallInstruction>(this)->set_batch_group_count(
        batch_group_count);
  }
}

const DotDimensionNumbers& HloInstruction::dot_dimension_numbers() const {
  if (const auto* scaled = DynCast<HloScaledDotInstruction>(this)) {
    return scaled->dot_dimension_numbers();
  }
  return Cast<HloDotInstruction>(this)->dot_dimension_numbers();
}

bool HloInstruction::SupportsPrecisionConfig() const {
  return HloOpcodeIsOneOf<HloOpcode::kConvolution, HloOpcode::kCustomCall,
                          HloOpcode::kDot, HloOpcode::kRaggedDot,
                          HloOpcode::kScaledDot>(opcode_);
}

const PrecisionConfig& HloInstruction::precision_config() const {
  return *const_cast<HloInstruction*>(this)->mutable_precision_config();
}

PrecisionConfig* HloInstruction::mutable_precision_config() {
  switch (opcode_) {
    case HloOpcode::kConvolution:
      return Cast<HloConvolutionInstruction>(this)->mutable_precision_config();
    case HloOpcode::kCustomCall:
      return Cast<HloCustomCallInstruction>(this)->mutable_precision_config();
    case HloOpcode::kDot:
      return Cast<HloDotInstruction>(this)->mutable_precision_config();
    case HloOpcode::kRaggedDot:
      return Cast<HloRaggedDotInstruction>(this)->mutable_precision_config();
    case HloOpcode::kScaledDot:
      return Cast<HloScaledDotInstruction>(this)->mutable_precision_config();
    default:  // An error of the caller.
      NoSuchAttribute(this, "precision config");
  }
}

ComparisonDirection HloInstruction::comparison_direction() const {
  return Cast<HloCompareInstruction>(this)->direction();
}

ComparisonOrder HloInstruction::comparison_order() const {
  return Cast<HloCompareInstruction>(this)->order();
}

}  // namespace xla

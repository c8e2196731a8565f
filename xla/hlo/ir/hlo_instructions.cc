// Subclasses with plain attributes. See the sibling files for the others.

#include "xla/hlo/ir/hlo_instructions.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_async_segments.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions_internal.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;
using google::protobuf::util::MessageDifferencer;

// --- Lists of dimensions
// ------------------------------------------------------

bool HloDimensionsInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                 EqComputations eq) const {
  return dimensions() == other.dimensions() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

void HloDimensionsInstruction::HashAdditionalAttributes(
    absl::HashState h) const {
  absl::HashState::combine(std::move(h), dimensions_);
}

HloReverseInstruction::HloReverseInstruction(
    const Shape& shape, HloInstruction* operand,
    absl::Span<const int64_t> dimensions)
    : HloDimensionsInstruction(HloOpcode::kReverse, shape, dimensions) {
  AppendOperand(operand);
}

HloPtr HloReverseInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                       Operands new_operands,
                                                       HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloReverseInstruction>(shape, new_operands[0],
                                                 dimensions());
}

HloConcatenateInstruction::HloConcatenateInstruction(const Shape& shape,
                                                     Operands operands,
                                                     int64_t dimension)
    : HloDimensionsInstruction(HloOpcode::kConcatenate, shape,
                               absl::MakeConstSpan(&dimension, 1)) {
  AppendOperands(operands);
}

HloPtr HloConcatenateInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  return std::make_unique<HloConcatenateInstruction>(shape, new_operands,
                                                     concatenate_dimension());
}

HloTransposeInstruction::HloTransposeInstruction(
    const Shape& shape, HloInstruction* operand,
    absl::Span<const int64_t> dimensions)
    : HloDimensionsInstruction(HloOpcode::kTranspose, shape, dimensions) {
  AppendOperand(operand);
}

bool HloTransposeInstruction::IsRank2Transpose() const {
  return dimensions_.size() == 2 && dimensions_[0] == 1;
}

HloPtr HloTransposeInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloTransposeInstruction>(shape, new_operands[0],
                                                   dimensions());
}

HloBroadcastInstruction::HloBroadcastInstruction(
    const Shape& shape, HloInstruction* operand,
    absl::Span<const int64_t> broadcast_dimension)
    : HloDimensionsInstruction(HloOpcode::kBroadcast, shape,
                               broadcast_dimension) {
  AppendOperand(operand);
}

HloPtr HloBroadcastInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloBroadcastInstruction>(shape, new_operands[0],
                                                   dimensions());
}

// --- Batch normalization, FFT, linear algebra
// ---------------------------------

HloBatchNormInstruction::HloBatchNormInstruction(HloOpcode opcode,
                                                 const Shape& shape,
                                                 Operands operands,
                                                 float epsilon,
                                                 int64_t feature_index)
    : HloInstruction(opcode, shape),
      epsilon_(epsilon),
      feature_index_(feature_index) {
  AppendOperands(operands);
}

bool HloBatchNormInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                EqComputations eq) const {
  const auto& that = As<HloBatchNormInstruction>(other);
  return feature_index() == that.feature_index() &&
         epsilon() == that.epsilon() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

void HloBatchNormInstruction::HashAdditionalAttributes(
    absl::HashState h) const {
  absl::HashState::combine(std::move(h), feature_index_, epsilon_);
}

HloBatchNormTrainingInstruction::HloBatchNormTrainingInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* scale,
    HloInstruction* offset, float epsilon, int64_t feature_index)
    : HloBatchNormInstruction(HloOpcode::kBatchNormTraining, shape,
                              {operand, scale, offset}, epsilon,
                              feature_index) {}

HloPtr HloBatchNormTrainingInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 3);
  return std::make_unique<HloBatchNormTrainingInstruction>(
      shape, new_operands[0], new_operands[1], new_operands[2], epsilon(),
      feature_index());
}

HloBatchNormInferenceInstruction::HloBatchNormInferenceInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* scale,
    HloInstruction* offset, HloInstruction* mean, HloInstruction* variance,
    float epsilon, int64_t feature_index)
    : HloBatchNormInstruction(HloOpcode::kBatchNormInference, shape,
                              {operand, scale, offset, mean, variance}, epsilon,
                              feature_index) {}

HloPtr HloBatchNormInferenceInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 5);
  return std::make_unique<HloBatchNormInferenceInstruction>(
      shape, new_operands[0], new_operands[1], new_operands[2], new_operands[3],
      new_operands[4], epsilon(), feature_index());
}

HloBatchNormGradInstruction::HloBatchNormGradInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* scale,
    HloInstruction* mean, HloInstruction* variance, HloInstruction* grad_output,
    float epsilon, int64_t feature_index)
    : HloBatchNormInstruction(HloOpcode::kBatchNormGrad, shape,
                              {operand, scale, mean, variance, grad_output},
                              epsilon, feature_index) {}

HloPtr HloBatchNormGradInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 5);
  return std::make_unique<HloBatchNormGradInstruction>(
      shape, new_operands[0], new_operands[1], new_operands[2], new_operands[3],
      new_operands[4], epsilon(), feature_index());
}

HloFftInstruction::HloFftInstruction(const Shape& shape,
                                     HloInstruction* operand, FftType fft_type,
                                     absl::Span<const int64_t> fft_length)
    : HloInstruction(HloOpcode::kFft, shape),
      fft_type_(fft_type),
      fft_length_(fft_length.begin(), fft_length.end()) {
  AppendOperand(operand);
}

bool HloFftInstruction::IdenticalSlowPath(const HloInstruction& other,
                                          EqComputations eq) const {
  const auto& that = As<HloFftInstruction>(other);
  return fft_type() == that.fft_type() && fft_length() == that.fft_length() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

void HloFftInstruction::HashAdditionalAttributes(absl::HashState h) const {
  absl::HashState::combine(std::move(h), fft_type_, fft_length_);
}

HloPtr HloFftInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                   Operands new_operands,
                                                   HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloFftInstruction>(shape, new_operands[0], fft_type_,
                                             fft_length_);
}

HloTriangularSolveInstruction::HloTriangularSolveInstruction(
    const Shape& shape, HloInstruction* a, HloInstruction* b,
    const TriangularSolveOptions& options)
    : HloInstruction(HloOpcode::kTriangularSolve, shape),
      triangular_solve_options_(options) {
  AppendOperands({a, b});
}

bool HloTriangularSolveInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  return MessageDifferencer::Equals(triangular_solve_options_,
                                    As<HloTriangularSolveInstruction>(other)
                                        .triangular_solve_options_) &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloTriangularSolveInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  return std::make_unique<HloTriangularSolveInstruction>(
      shape, new_operands[0], new_operands[1], triangular_solve_options_);
}

HloCholeskyInstruction::HloCholeskyInstruction(const Shape& shape,
                                               HloInstruction* a,
                                               const CholeskyOptions& options)
    : HloInstruction(HloOpcode::kCholesky, shape), cholesky_options_(options) {
  AppendOperand(a);
}

bool HloCholeskyInstruction::IdenticalSlowPath(const HloInstruction& other,
                                               EqComputations eq) const {
  return MessageDifferencer::Equals(
             cholesky_options_,
             As<HloCholeskyInstruction>(other).cholesky_options_) &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloCholeskyInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloCholeskyInstruction>(shape, new_operands[0],
                                                  cholesky_options_);
}

// --- Copy-start, compare, top-k
// -----------------------------------------------

HloCopyStartInstruction::HloCopyStartInstruction(
    const Shape& shape, HloInstruction* operand,
    std::optional<int> cross_program_prefetch_index)
    : HloInstruction(HloOpcode::kCopyStart, shape),
      cross_program_prefetch_index_(cross_program_prefetch_index) {
  AppendOperand(operand);
}

bool HloCopyStartInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                EqComputations eq) const {
  return cross_program_prefetch_index() ==
             As<HloCopyStartInstruction>(other)
                 .cross_program_prefetch_index() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloCopyStartInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloCopyStartInstruction>(
      shape, new_operands[0], cross_program_prefetch_index_);
}

namespace {

Comparison MakeComparison(const Shape& operand_shape,
                          ComparisonDirection direction,
                          std::optional<Comparison::Type> type) {
  return type.has_value()
             ? Comparison(direction, *type)
             : Comparison(direction, Comparison::DefaultComparisonType(
                                         operand_shape.element_type()));
}

}  // namespace

HloCompareInstruction::HloCompareInstruction(
    const Shape& shape, HloInstruction* lhs, HloInstruction* rhs,
    ComparisonDirection direction, std::optional<Comparison::Type> type)
    : HloInstruction(HloOpcode::kCompare, shape),
      compare_(MakeComparison(lhs->shape(), direction, type)) {
  AppendOperands({lhs, rhs});
}

bool HloCompareInstruction::IdenticalSlowPath(const HloInstruction& other,
                                              EqComputations eq) const {
  const auto& that = As<HloCompareInstruction>(other);
  return direction() == that.direction() && type() == that.type() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

void HloCompareInstruction::HashAdditionalAttributes(absl::HashState h) const {
  absl::HashState::combine(std::move(h), direction(), type());
}

HloPtr HloCompareInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                       Operands new_operands,
                                                       HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  return std::make_unique<HloCompareInstruction>(
      shape, new_operands[0], new_operands[1], direction(), type());
}

HloTopKInstruction::HloTopKInstruction(const Shape& shape,
                                       HloInstruction* input, int64_t k,
                                       bool largest, bool is_stable)
    : HloInstruction(HloOpcode::kTopK, shape),
      k_(k),
      largest_(largest),
      is_stable_(is_stable) {
  AppendOperand(input);
}

bool HloTopKInstruction::IdenticalSlowPath(const HloInstruction& other,
                                           EqComputations eq) const {
  const auto& that = As<HloTopKInstruction>(other);
  return k() == that.k() && largest() == that.largest() &&
         is_stable() == that.is_stable() &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloTopKInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                    Operands new_operands,
                                                    HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloTopKInstruction>(shape, new_operands[0], k_,
                                              largest_, is_stable_);
}

// --- Constants, parameters, tuples
// --------------------------------------------

HloConstantInstruction::HloConstantInstruction(Literal literal)
    : HloInstruction(HloOpcode::kConstant, literal.shape()),
      literal_(std::make_shared<Literal>(std::move(literal))) {}

HloConstantInstruction::HloConstantInstruction(Literal literal,
                                               const Shape& shape)
    : HloInstruction(HloOpcode::kConstant, shape),
      literal_(std::make_shared<Literal>(std::move(literal))) {}

HloConstantInstruction::HloConstantInstruction(std::shared_ptr<Literal> literal,
                                               const Shape& shape)
    : HloInstruction(HloOpcode::kConstant, shape),
      literal_(std::move(literal)) {}

HloConstantInstruction::HloConstantInstruction(const Shape& shape)
    : HloInstruction(HloOpcode::kConstant, shape) {}

Literal* HloConstantInstruction::mutable_literal() {
  CHECK(literal_ != nullptr) << name() << " has no literal";
  if (literal_.use_count() > 1) {
    literal_ = std::make_shared<Literal>(literal_->Clone());
  }
  return literal_.get();
}

void HloConstantInstruction::RelayoutConstant(const Layout& new_layout,
                                              const ShapeIndex& shape_index) {
  Shape* subshape = ShapeUtil::GetMutableSubshape(mutable_shape(), shape_index);
  CHECK(subshape->IsArray());
  if (literal_ != nullptr) {
    literal_ =
        std::make_shared<Literal>(literal_->Relayout(new_layout, shape_index));
  }
  *subshape->mutable_layout() = new_layout;
}

bool HloConstantInstruction::IsElementwiseImpl(
    const std::optional<int64_t>& operand_idx) const {
  return true;
}

bool HloConstantInstruction::IdenticalSlowPath(const HloInstruction& other,
                                               EqComputations eq) const {
  const auto& that = As<HloConstantInstruction>(other);
  if (literal_ == that.literal_) return true;
  // Equal literals may have a dynamic dimension and a static one.
  return HasLiteral() && that.HasLiteral() && literal() == that.literal() &&
         Shape::Equal().IgnoreLayout()(literal().shape(),
                                       that.literal().shape());
}

void HloConstantInstruction::HashAdditionalAttributes(absl::HashState h) const {
  if (HasLiteral()) {
    absl::HashState::combine(std::move(h), *literal_);
  }
}

HloPtr HloConstantInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK(new_operands.empty());
  if (shape.IsArray() && shape.has_layout() && this->shape().has_layout() &&
      shape.layout().minor_to_major() !=
          this->shape().layout().minor_to_major()) {
    auto clone =
        std::make_unique<HloConstantInstruction>(literal_, this->shape());
    clone->RelayoutConstant(shape.layout());
    return clone;
  }
  return std::make_unique<HloConstantInstruction>(literal_, shape);
}

HloParameterInstruction::HloParameterInstruction(int64_t parameter_number,
                                                 const Shape& shape,
                                                 absl::string_view name)
    : HloInstruction(HloOpcode::kParameter, shape),
      parameter_number_(parameter_number) {
  SetAndSanitizeName(name);
}

void HloParameterInstruction::set_parameter_replicated_at_leaf_buffers(
    absl::Span<const bool> parameter_replicated_at_leaf_buffers) {
  set_parameter_replicated_at_leaf_buffers(
      std::vector<bool>(parameter_replicated_at_leaf_buffers.begin(),
                        parameter_replicated_at_leaf_buffers.end()));
}

void HloParameterInstruction::set_parameter_replicated_at_leaf_buffers(
    const std::vector<bool>& parameter_replicated_at_leaf_buffers) {
  CHECK_EQ(ShapeUtil::GetLeafCount(shape()),
           parameter_replicated_at_leaf_buffers.size());
  parameter_replicated_at_leaf_buffers_ =
      std::make_unique<std::optional<std::vector<bool>>>(
          parameter_replicated_at_leaf_buffers);
}

const std::optional<std::vector<bool>>&
HloParameterInstruction::parameter_replicated_at_leaf_buffers() const {
  static const auto& none = *new std::optional<std::vector<bool>>();
  return parameter_replicated_at_leaf_buffers_
             ? *parameter_replicated_at_leaf_buffers_
             : none;
}

bool HloParameterInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                EqComputations eq) const {
  return parameter_number() ==
         As<HloParameterInstruction>(other).parameter_number();
}

void HloParameterInstruction::HashAdditionalAttributes(
    absl::HashState h) const {
  absl::HashState::combine(std::move(h), parameter_number_);
}

HloPtr HloParameterInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK(new_operands.empty());
  auto clone = std::make_unique<HloParameterInstruction>(parameter_number_,
                                                         shape, name());
  const auto& replicated = parameter_replicated_at_leaf_buffers();
  if (replicated.has_value() && ShapeUtil::GetLeafCount(shape) ==
                                    static_cast<int64_t>(replicated->size())) {
    clone->set_parameter_replicated_at_leaf_buffers(*replicated);
  }
  return clone;
}

HloGetTupleElementInstruction::HloGetTupleElementInstruction(
    const Shape& shape, HloInstruction* operand, int64_t index)
    : HloInstruction(HloOpcode::kGetTupleElement, shape), tuple_index_(index) {
  AppendOperand(operand);
}

void HloGetTupleElementInstruction::set_tuple_index(int64_t new_tuple_index) {
  async_segments::OperandsChange(*this);
  tuple_index_ = new_tuple_index;
}

bool HloGetTupleElementInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  return tuple_index() ==
         As<HloGetTupleElementInstruction>(other).tuple_index();
}

void HloGetTupleElementInstruction::HashAdditionalAttributes(
    absl::HashState h) const {
  absl::HashState::combine(std::move(h), tuple_index_);
}

HloPtr HloGetTupleElementInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloGetTupleElementInstruction>(shape, new_operands[0],
                                                         tuple_index());
}

// --- Infeed, outfeed, domain
// --------------------------------------------------

HloInfeedInstruction::HloInfeedInstruction(const Shape& infeed_shape,
                                           HloInstruction* token_operand,
                                           const std::string& config)
    : HloInstruction(HloOpcode::kInfeed,
                     ShapeUtil::MakeTupleShape(
                         {infeed_shape, ShapeUtil::MakeTokenShape()})),
      infeed_config_(config) {
  AppendOperand(token_operand);
}

bool HloInfeedInstruction::IdenticalSlowPath(const HloInstruction& other,
                                             EqComputations eq) const {
  return infeed_config_ == As<HloInfeedInstruction>(other).infeed_config_;
}

HloPtr HloInfeedInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                      Operands new_operands,
                                                      HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  auto clone = std::make_unique<HloInfeedInstruction>(
      infeed_shape(), new_operands[0], infeed_config());
  *clone->mutable_shape() = shape;
  return clone;
}

HloOutfeedInstruction::HloOutfeedInstruction(const Shape& outfeed_shape,
                                             HloInstruction* operand,
                                             HloInstruction* token_operand,
                                             absl::string_view outfeed_config)
    : HloInstruction(HloOpcode::kOutfeed, ShapeUtil::MakeTokenShape()),
      outfeed_shape_(outfeed_shape),
      outfeed_config_(outfeed_config) {
  AppendOperands({operand, token_operand});
}

bool HloOutfeedInstruction::IdenticalSlowPath(const HloInstruction& other,
                                              EqComputations eq) const {
  const auto& that = As<HloOutfeedInstruction>(other);
  return outfeed_config_ == that.outfeed_config_ &&
         ShapeUtil::Compatible(outfeed_shape_, that.outfeed_shape_);
}

HloPtr HloOutfeedInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                       Operands new_operands,
                                                       HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 2);
  return std::make_unique<HloOutfeedInstruction>(
      outfeed_shape(), new_operands[0], new_operands[1], outfeed_config());
}

HloDomainInstruction::HloDomainInstruction(
    const Shape& shape, HloInstruction* operand,
    std::unique_ptr<DomainMetadata> operand_side_metadata,
    std::unique_ptr<DomainMetadata> user_side_metadata)
    : HloInstruction(HloOpcode::kDomain, shape),
      operand_side_metadata_(std::move(operand_side_metadata)),
      user_side_metadata_(std::move(user_side_metadata)) {
  AppendOperand(operand);
}

bool HloDomainInstruction::IdenticalSlowPath(const HloInstruction& other,
                                             EqComputations eq) const {
  const auto& that = As<HloDomainInstruction>(other);
  return operand_side_metadata().Matches(that.operand_side_metadata()) &&
         user_side_metadata().Matches(that.user_side_metadata());
}

HloPtr HloDomainInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                      Operands new_operands,
                                                      HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 1);
  return std::make_unique<HloDomainInstruction>(shape, new_operands[0],
                                                operand_side_metadata_->Clone(),
                                                user_side_metadata_->Clone());
}

}  // namespace xla

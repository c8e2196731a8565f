#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_PLAIN_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_PLAIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_domain_metadata.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

// Subclasses with plain attributes. Include hlo_instructions.h for all.

namespace xla {

// Base of instructions with a list of dimensions, dimensions={...}.
class HloDimensionsInstruction : public HloInstruction {
 public:
  absl::Span<const int64_t> dimensions() const override { return dimensions_; }
  std::vector<int64_t>* mutable_dimensions() override { return &dimensions_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kBroadcast ||
           hlo->opcode() == HloOpcode::kConcatenate ||
           hlo->opcode() == HloOpcode::kReduce ||
           hlo->opcode() == HloOpcode::kReverse ||
           hlo->opcode() == HloOpcode::kScan ||
           hlo->opcode() == HloOpcode::kSort ||
           hlo->opcode() == HloOpcode::kTranspose;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 protected:
  HloDimensionsInstruction(HloOpcode opcode, const Shape& shape,
                           absl::Span<const int64_t> dimensions)
      : HloInstruction(opcode, shape),
        dimensions_(dimensions.begin(), dimensions.end()) {}
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  std::vector<int64_t> dimensions_;
};

// Base of the batch normalizations.
class HloBatchNormInstruction : public HloInstruction {
 public:
  int64_t feature_index() const { return feature_index_; }
  // Added to the variance.
  float epsilon() const { return epsilon_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kBatchNormGrad ||
           hlo->opcode() == HloOpcode::kBatchNormInference ||
           hlo->opcode() == HloOpcode::kBatchNormTraining;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 protected:
  HloBatchNormInstruction(HloOpcode opcode, const Shape& shape,
                          absl::Span<HloInstruction* const> operands,
                          float epsilon, int64_t feature_index);

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;

  float epsilon_ = 0.0f;
  int64_t feature_index_ = -1;
};

class HloBatchNormTrainingInstruction : public HloBatchNormInstruction {
 public:
  HloBatchNormTrainingInstruction(const Shape& shape, HloInstruction* operand,
                                  HloInstruction* scale, HloInstruction* offset,
                                  float epsilon, int64_t feature_index);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kBatchNormTraining;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloBatchNormInferenceInstruction : public HloBatchNormInstruction {
 public:
  HloBatchNormInferenceInstruction(const Shape& shape, HloInstruction* operand,
                                   HloInstruction* scale,
                                   HloInstruction* offset, HloInstruction* mean,
                                   HloInstruction* variance, float epsilon,
                                   int64_t feature_index);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kBatchNormInference;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloBatchNormGradInstruction : public HloBatchNormInstruction {
 public:
  HloBatchNormGradInstruction(const Shape& shape, HloInstruction* operand,
                              HloInstruction* scale, HloInstruction* mean,
                              HloInstruction* variance,
                              HloInstruction* grad_output, float epsilon,
                              int64_t feature_index);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kBatchNormGrad;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloFftInstruction : public HloInstruction {
 public:
  HloFftInstruction(const Shape& shape, HloInstruction* operand,
                    FftType fft_type, absl::Span<const int64_t> fft_length);
  FftType fft_type() const { return fft_type_; }
  const std::vector<int64_t>& fft_length() const { return fft_length_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kFft;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  FftType fft_type_ = FftType::FFT;
  std::vector<int64_t> fft_length_;
};

class HloCopyStartInstruction : public HloInstruction {
 public:
  HloCopyStartInstruction(const Shape& shape, HloInstruction* operand,
                          std::optional<int> cross_program_prefetch_index);
  std::optional<int> cross_program_prefetch_index() const {
    return cross_program_prefetch_index_;
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kCopyStart;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  std::optional<int> cross_program_prefetch_index_;
};

class HloCompareInstruction : public HloInstruction {
 public:
  HloCompareInstruction(const Shape& shape, HloInstruction* lhs,
                        HloInstruction* rhs, ComparisonDirection direction,
                        std::optional<Comparison::Type> type);
  ComparisonDirection direction() const { return compare_.GetDirection(); }
  ComparisonOrder order() const { return compare_.GetOrder(); }
  Comparison::Type type() const { return compare_.GetType(); }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kCompare;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  Comparison compare_;
};

class HloTriangularSolveInstruction : public HloInstruction {
 public:
  HloTriangularSolveInstruction(const Shape& shape, HloInstruction* a,
                                HloInstruction* b,
                                const TriangularSolveOptions& options);
  const TriangularSolveOptions& triangular_solve_options() const {
    return triangular_solve_options_;
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kTriangularSolve;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  TriangularSolveOptions triangular_solve_options_;
};

class HloCholeskyInstruction : public HloInstruction {
 public:
  HloCholeskyInstruction(const Shape& shape, HloInstruction* a,
                         const CholeskyOptions& options);
  const CholeskyOptions& cholesky_options() const { return cholesky_options_; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kCholesky;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  CholeskyOptions cholesky_options_;
};

class HloTopKInstruction : public HloInstruction {
 public:
  HloTopKInstruction(const Shape& shape, HloInstruction* input, int64_t k,
                     bool largest, bool is_stable);
  int64_t k() const { return k_; }
  bool largest() const { return largest_; }
  bool is_stable() const { return is_stable_; }
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kTopK;
  }

 private:
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  int64_t k_;
  bool largest_;
  bool is_stable_;
};

class HloReverseInstruction : public HloDimensionsInstruction {
 public:
  HloReverseInstruction(const Shape& shape, HloInstruction* operand,
                        absl::Span<const int64_t> dimensions);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kReverse;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloConcatenateInstruction : public HloDimensionsInstruction {
 public:
  HloConcatenateInstruction(const Shape& shape,
                            absl::Span<HloInstruction* const> operands,
                            int64_t dimension);
  int64_t concatenate_dimension() const { return dimensions_[0]; }
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kConcatenate;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloTransposeInstruction : public HloDimensionsInstruction {
 public:
  HloTransposeInstruction(const Shape& shape, HloInstruction* operand,
                          absl::Span<const int64_t> dimensions);
  // True for rank 2 with the dimensions swapped.
  bool IsRank2Transpose() const;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kTranspose;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

class HloBroadcastInstruction : public HloDimensionsInstruction {
 public:
  HloBroadcastInstruction(const Shape& shape, HloInstruction* operand,
                          absl::Span<const int64_t> broadcast_dimension);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kBroadcast;
  }

 private:
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

// A constant. Clones share the literal until one of them changes it. A constant
// may have no literal (after DropLiteral, or if a proto had none).
class HloConstantInstruction : public HloInstruction {
 public:
  explicit HloConstantInstruction(Literal literal);
  // With the layout of `shape`.
  HloConstantInstruction(Literal literal, const Shape& shape);
  HloConstantInstruction(std::shared_ptr<Literal> literal, const Shape& shape);
  explicit HloConstantInstruction(const Shape& shape);
  const Literal& literal() const {
    CHECK(literal_ != nullptr) << name() << " has no literal";
    return *literal_;
  }
  // Copies the literal first if it is shared.
  Literal* mutable_literal();
  bool HasLiteral() const { return literal_ != nullptr; }
  // Frees the literal unless others hold it.
  void DropLiteral() { literal_.reset(); }
  void RelayoutConstant(const Layout& new_layout,
                        const ShapeIndex& shape_index = {});
  void PrintOperandsWithCanonicalNameMap(
      Printer* printer, const HloPrintOptions& options,
      CanonicalNameMap* canonical_name_map) const override;
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kConstant;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 private:
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
  bool IsElementwiseImpl(
      const std::optional<int64_t>& operand_idx) const override;

  std::shared_ptr<Literal> literal_;
};

class HloParameterInstruction : public HloInstruction {
 public:
  HloParameterInstruction(int64_t parameter_number, const Shape& shape,
                          absl::string_view name);
  int64_t parameter_number() const { return parameter_number_; }
  // Called by the computation, which numbers its parameters.
  void set_parameter_number(int64_t number) { parameter_number_ = number; }
  // One flag per leaf: whether all replicas get the same value. Absent:
  // unknown.
  void set_parameter_replicated_at_leaf_buffers(
      absl::Span<const bool> parameter_replicated_at_leaf_buffers);
  void set_parameter_replicated_at_leaf_buffers(
      const std::vector<bool>& parameter_replicated_at_leaf_buffers);
  const std::optional<std::vector<bool>>& parameter_replicated_at_leaf_buffers()
      const;
  void PrintOperandsWithCanonicalNameMap(
      Printer* printer, const HloPrintOptions& options,
      CanonicalNameMap* canonical_name_map) const override;
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kParameter;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  int64_t parameter_number_ = 0;
  std::unique_ptr<std::optional<std::vector<bool>>>
      parameter_replicated_at_leaf_buffers_;
};

class HloGetTupleElementInstruction : public HloInstruction {
 public:
  HloGetTupleElementInstruction(const Shape& shape, HloInstruction* operand,
                                int64_t index);
  int64_t tuple_index() const { return tuple_index_; }
  void set_tuple_index(int64_t new_tuple_index);
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kGetTupleElement;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  int64_t tuple_index_;
};

class HloInfeedInstruction : public HloInstruction {
 public:
  HloInfeedInstruction(const Shape& infeed_shape, HloInstruction* token_operand,
                       const std::string& config);
  std::string infeed_config() const { return infeed_config_; }
  void set_infeed_config(const std::string& config) { infeed_config_ = config; }
  // Without the token.
  const Shape& infeed_shape() const { return shape().tuple_shapes(0); }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kInfeed;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  std::string infeed_config_;
};

class HloOutfeedInstruction : public HloInstruction {
 public:
  HloOutfeedInstruction(const Shape& outfeed_shape, HloInstruction* operand,
                        HloInstruction* token_operand,
                        absl::string_view outfeed_config);
  const Shape& outfeed_shape() const { return outfeed_shape_; }
  Shape* mutable_outfeed_shape() { return &outfeed_shape_; }
  const std::string& outfeed_config() const { return outfeed_config_; }
  void set_outfeed_config(const std::string& config) {
    outfeed_config_ = config;
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kOutfeed;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  Shape outfeed_shape_;
  std::string outfeed_config_;
};

class HloDomainInstruction : public HloInstruction {
 public:
  HloDomainInstruction(const Shape& shape, HloInstruction* operand,
                       std::unique_ptr<DomainMetadata> operand_side_metadata,
                       std::unique_ptr<DomainMetadata> user_side_metadata);
  const DomainMetadata& operand_side_metadata() const {
    return *operand_side_metadata_;
  }
  const DomainMetadata& user_side_metadata() const {
    return *user_side_metadata_;
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kDomain;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  std::unique_ptr<DomainMetadata> operand_side_metadata_;
  std::unique_ptr<DomainMetadata> user_side_metadata_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_PLAIN_H_

#include "xla/backends/gpu/transforms/gemm/gemm_body.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/transforms/gemm/gemm_epilogue.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// The compiler's smallest and largest tiles that are sensible for any dot.
constexpr int64_t kMinTile = 16;
constexpr int64_t kMaxTile = 64;

}  // namespace

int64_t SizeOf(const GemmOperand& operand, DotDimensionKind kind) {
  return operand
      .dims[absl::c_find(operand.kinds, kind) - operand.kinds.begin()];
}

int64_t GemmBody::TileOf(int64_t size) {
  int64_t tile = kMinTile;
  while (tile < std::min(size, kMaxTile)) tile *= 2;
  return tile;
}

std::unique_ptr<HloComputation> GemmBody::Build() {
  return builder_.Build(AddEpilogue(AddDot()));
}

HloInstruction* GemmBody::AddDot() {
  HloInstruction* factors[2];
  DotDimensionNumbers dnums;
  for (int i = 0; i < 2; ++i) {
    const GemmOperand& operand = gemm_.operands[i];
    factors[i] = i == 1 && gemm_.HasOneOperand() ? factors[0] : Add(operand);
    const int64_t contracting =
        absl::c_find(operand.kinds, DotDimensionKind::kContracting) -
        operand.kinds.begin();
    if (i == 0) {
      dnums.add_lhs_contracting_dimensions(contracting);
    } else {
      dnums.add_rhs_contracting_dimensions(contracting);
    }
  }
  if (gemm_.has_batch) {
    dnums.add_lhs_batch_dimensions(0);
    dnums.add_rhs_batch_dimensions(0);
  }
  HloInstruction* dot = builder_.AddInstruction(HloInstruction::CreateDot(
      ShapeUtil::MakeShapeWithDescendingLayout(
          gemm_.dot->shape().element_type(), gemm_.result_dims),
      factors[0], factors[1], dnums, gemm_.dot->precision_config()));
  dot->set_metadata_ptr(gemm_.dot->metadata_ptr());
  dot->set_raw_backend_config_string(
      absl::StrCat(R"({"sizes":[")", ContractingTile(), R"("]})"));
  return dot;
}

int64_t GemmBody::ContractingTile() const {
  const int64_t size =
      SizeOf(gemm_.operands[0], DotDimensionKind::kContracting);
  const bool is_wide = gemm_.dot->operand(0)->shape().element_type() == F32;
  return std::min<int64_t>(TileOf(size), is_wide ? 32 : 64);
}

HloInstruction* GemmBody::Parameter(HloInstruction* operand,
                                    const Shape& shape) {
  HloInstruction*& parameter = parameters_[{operand, shape}];
  if (parameter != nullptr) return parameter;
  const int64_t number = static_cast<int64_t>(operands_.size());
  operands_.push_back(ShapeUtil::Equal(operand->shape(), shape)
                          ? operand
                          : operand->AddInstruction(
                                HloInstruction::CreateBitcast(shape, operand)));
  parameter = builder_.AddInstruction(HloInstruction::CreateParameter(
      number, shape, absl::StrCat("param_", number)));
  return parameter;
}

HloInstruction* GemmBody::Add(const GemmOperand& operand) {
  const PrimitiveType type = operand.source->shape().element_type();
  HloInstruction* value = Parameter(
      operand.source,
      ShapeUtil::MakeShapeWithDescendingLayout(type, operand.source_dims));
  if (!operand.cuts.empty()) value = AddSlice(operand, value);
  if (value->shape().dimensions().size() != operand.dims.size()) {
    value = builder_.AddInstruction(HloInstruction::CreateBitcast(
        ShapeUtil::MakeShapeWithDescendingLayout(type, operand.dims), value));
  }
  for (const HloInstruction* step : operand.steps) {
    const HloInstruction* before = OnlyArrayOperand(*step);
    std::vector<HloInstruction*> operands;
    for (HloInstruction* read : step->operands()) {
      const PrimitiveType read_type = read->shape().element_type();
      operands.push_back(
          read == before
              ? value
              : builder_.AddInstruction(HloInstruction::CreateBroadcast(
                    ShapeUtil::ChangeElementType(value->shape(), read_type),
                    builder_.AddInstruction(read->operand(0)->Clone()), {})));
    }
    value = builder_.AddInstruction(step->CloneWithNewOperands(
        ShapeUtil::ChangeElementType(value->shape(),
                                     step->shape().element_type()),
        operands));
  }
  return value;
}

HloInstruction* GemmBody::AddSlice(const GemmOperand& operand,
                                   HloInstruction* value) {
  std::vector<int64_t> sizes, starts, limits;
  HloInstruction* any_at = nullptr;
  for (const GemmOperand::Cut& cut : operand.cuts) {
    sizes.push_back(cut.size);
    starts.push_back(cut.start);
    limits.push_back(cut.start + cut.size);
    if (cut.at != nullptr) any_at = cut.at;
  }
  const Shape shape = ShapeUtil::MakeShapeWithDescendingLayout(
      value->shape().element_type(), sizes);
  if (any_at == nullptr) {
    return builder_.AddInstruction(HloInstruction::CreateSlice(
        shape, value, starts, limits, std::vector<int64_t>(sizes.size(), 1)));
  }
  std::vector<HloInstruction*> places;
  HloInstruction* zero = nullptr;
  for (const GemmOperand::Cut& cut : operand.cuts) {
    if (cut.at != nullptr) {
      places.push_back(cut.at->opcode() == HloOpcode::kConstant
                           ? builder_.AddInstruction(cut.at->Clone())
                           : Parameter(cut.at, cut.at->shape()));
      continue;
    }
    if (zero == nullptr) {
      zero = builder_.AddInstruction(HloInstruction::CreateConstant(
          LiteralUtil::Zero(any_at->shape().element_type())));
    }
    places.push_back(zero);
  }
  return builder_.AddInstruction(
      HloInstruction::CreateDynamicSlice(shape, value, places, sizes));
}

HloInstruction* GemmBody::AddEpilogue(HloInstruction* dot) {
  if (gemm_.epilogue.empty()) return dot;
  HloInstruction* last = dot;
  if (!gemm_.epilogue_of_matrices &&
      !ShapeUtil::Equal(dot->shape(), gemm_.dot->shape())) {
    last = builder_.AddInstruction(
        HloInstruction::CreateBitcast(gemm_.dot->shape(), dot));
  }
  const auto shape_of = [&](const HloInstruction& hlo) {
    return gemm_.epilogue_of_matrices
               ? ShapeUtil::ChangeElementType(dot->shape(),
                                              hlo.shape().element_type())
               : hlo.shape();
  };
  const HloInstruction* before = gemm_.dot;
  for (const HloInstruction* hlo : gemm_.epilogue) {
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : hlo->operands()) {
      operands.push_back(operand == before
                             ? last
                             : AddEpilogueOperand(operand, shape_of(*operand)));
    }
    before = hlo;
    last = builder_.AddInstruction(
        hlo->CloneWithNewOperands(shape_of(*hlo), operands));
  }
  return last;
}

HloInstruction* GemmBody::AddEpilogueOperand(HloInstruction* operand,
                                             const Shape& shape) {
  if (operand->opcode() == HloOpcode::kBroadcast) {
    HloInstruction* of = operand->mutable_operand(0);
    return builder_.AddInstruction(HloInstruction::CreateBroadcast(
        shape, AddEpilogueOperand(of, of->shape()),
        *MatrixBroadcastDimensions(*operand, shape.dimensions())));
  }
  if (operand->opcode() == HloOpcode::kConstant &&
      ShapeUtil::IsEffectiveScalar(operand->shape()) &&
      ShapeUtil::Equal(operand->shape(), shape)) {
    return builder_.AddInstruction(operand->Clone());
  }
  return Parameter(operand, shape);
}

}  // namespace xla::gpu

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/builder/xla_ops.h"
#include "xla/hlo/builder/xla_ops_internal.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Elements that move.

namespace xla {

using xla_builder_internal::AddWith;
using xla_builder_internal::Made;
using xla_builder_internal::Operands;
using xla_builder_internal::Shapes;

namespace {

std::vector<Shape> ShapesFrom(const Operands& operands, size_t first) {
  std::vector<Shape> shapes;
  for (size_t i = first; i < operands.size(); ++i) {
    shapes.push_back(operands[i]->shape());
  }
  return shapes;
}

std::vector<XlaOp> Joined(absl::Span<const XlaOp> first,
                          absl::Span<const XlaOp> more) {
  std::vector<XlaOp> all(first.begin(), first.end());
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

absl::Span<HloInstruction* const> From(const Operands& operands, size_t first) {
  return absl::MakeConstSpan(operands).subspan(first);
}

}  // namespace

XlaOp Broadcast(XlaOp operand, absl::Span<const int64_t> broadcast_sizes) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        const Shape& from = operands[0]->shape();
        TF_ASSIGN_OR_RETURN(Shape shape, ShapeInference::InferBroadcastShape(
                                             from, broadcast_sizes));
        std::vector<int64_t> dims;
        for (size_t i = 0; i < from.dimensions().size(); ++i) {
          dims.push_back(broadcast_sizes.size() + i);
        }
        return HloInstruction::CreateBroadcast(shape, operands[0], dims);
      });
}

XlaOp BroadcastInDim(XlaOp operand, absl::Span<const int64_t> out_dim_size,
                     absl::Span<const int64_t> broadcast_dimensions) {
  XlaBuilder* builder = operand.builder();
  return AddWith(builder, {operand}, [&](const Operands& operands) -> Made {
    HloInstruction* from = operands[0];
    TF_ASSIGN_OR_RETURN(
        Shape shape, ShapeUtil::MakeValidatedShape(from->shape().element_type(),
                                                   out_dim_size));
    TF_RETURN_IF_ERROR(ShapeInference::InferBroadcastShape(from->shape(), shape,
                                                           broadcast_dimensions)
                           .status());
    // Dimensions of size 1 that grow are dropped first.
    std::vector<int64_t> kept;
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < broadcast_dimensions.size(); ++i) {
      const int64_t size = from->shape().dimensions(i);
      if (size == 1 && out_dim_size[broadcast_dimensions[i]] != 1) continue;
      kept.push_back(broadcast_dimensions[i]);
      sizes.push_back(size);
    }
    if (sizes.size() != from->shape().dimensions().size()) {
      TF_ASSIGN_OR_RETURN(from, builder->Instruction(Reshape(operand, sizes)));
    }
    return HloInstruction::CreateBroadcast(shape, from, kept);
  });
}

XlaOp Reshape(XlaOp operand, absl::Span<const int64_t> dimensions) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape, ShapeInference::InferReshapeShape(
                                             operands[0]->shape(), dimensions));
        return HloInstruction::CreateReshape(shape, operands[0]);
      });
}

XlaOp Transpose(XlaOp operand, absl::Span<const int64_t> permutation) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferTransposeShape(
                                operands[0]->shape(), permutation));
        return HloInstruction::CreateTranspose(shape, operands[0], permutation);
      });
}

XlaOp Rev(XlaOp operand, absl::Span<const int64_t> dimensions) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape, ShapeInference::InferReverseShape(
                                             operands[0]->shape(), dimensions));
        return HloInstruction::CreateReverse(shape, operands[0], dimensions);
      });
}

XlaOp Pad(XlaOp operand, XlaOp padding_value,
          const PaddingConfig& padding_config) {
  return AddWith(operand.builder(), {operand, padding_value},
                 [&](const Operands& operands) -> Made {
                   TF_ASSIGN_OR_RETURN(
                       Shape shape, ShapeInference::InferPadShape(
                                        operands[0]->shape(),
                                        operands[1]->shape(), padding_config));
                   return HloInstruction::CreatePad(
                       shape, operands[0], operands[1], padding_config);
                 });
}

XlaOp Slice(XlaOp operand, absl::Span<const int64_t> start_indices,
            absl::Span<const int64_t> limit_indices,
            absl::Span<const int64_t> strides) {
  return AddWith(
      operand.builder(), {operand}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(
            Shape shape,
            ShapeInference::InferSliceShape(operands[0]->shape(), start_indices,
                                            limit_indices, strides));
        return HloInstruction::CreateSlice(shape, operands[0], start_indices,
                                           limit_indices, strides);
      });
}

XlaOp SliceInDim(XlaOp operand, int64_t start_index, int64_t limit_index,
                 int64_t stride, int64_t dimno) {
  XlaBuilder* builder = operand.builder();
  return builder->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const Shape shape, builder->GetShape(operand));
    if (dimno < 0 || dimno >= static_cast<int64_t>(shape.dimensions().size())) {
      return InvalidArgument("cannot slice %s along dimension %d",
                             ShapeUtil::HumanString(shape), dimno);
    }
    std::vector<int64_t> starts(shape.dimensions().size(), 0);
    std::vector<int64_t> limits(shape.dimensions().begin(),
                                shape.dimensions().end());
    std::vector<int64_t> strides(shape.dimensions().size(), 1);
    starts[dimno] = start_index;
    limits[dimno] = limit_index;
    strides[dimno] = stride;
    return Slice(operand, starts, limits, strides);
  });
}

XlaOp DynamicSlice(XlaOp operand, absl::Span<const XlaOp> start_indices,
                   absl::Span<const int64_t> slice_sizes) {
  return AddWith(operand.builder(), Joined({operand}, start_indices),
                 [&](const Operands& operands) -> Made {
                   TF_ASSIGN_OR_RETURN(
                       Shape shape, ShapeInference::InferDynamicSliceShape(
                                        operands[0]->shape(),
                                        ShapesFrom(operands, 1), slice_sizes));
                   return HloInstruction::CreateDynamicSlice(
                       shape, operands[0], From(operands, 1), slice_sizes);
                 });
}

XlaOp DynamicUpdateSlice(XlaOp operand, XlaOp update,
                         absl::Span<const XlaOp> start_indices) {
  return AddWith(operand.builder(), Joined({operand, update}, start_indices),
                 [&](const Operands& operands) -> Made {
                   TF_ASSIGN_OR_RETURN(
                       Shape shape,
                       ShapeInference::InferDynamicUpdateSliceShape(
                           operands[0]->shape(), operands[1]->shape(),
                           ShapesFrom(operands, 2)));
                   return HloInstruction::CreateDynamicUpdateSlice(
                       shape, operands[0], operands[1], From(operands, 2));
                 });
}

XlaOp ConcatInDim(XlaBuilder* builder, absl::Span<const XlaOp> operands,
                  int64_t dimension) {
  return AddWith(builder, operands, [&](const Operands& instructions) -> Made {
    TF_ASSIGN_OR_RETURN(Shape shape, ShapeInference::InferConcatOpShape(
                                         Shapes(instructions), dimension));
    return HloInstruction::CreateConcatenate(shape, instructions, dimension);
  });
}

XlaOp Gather(XlaOp input, XlaOp start_indices,
             const GatherDimensionNumbers& dimension_numbers,
             absl::Span<const int64_t> slice_sizes, bool indices_are_sorted) {
  return AddWith(
      input.builder(), {input, start_indices},
      [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferGatherShape(
                                operands[0]->shape(), operands[1]->shape(),
                                dimension_numbers, slice_sizes));
        return HloInstruction::CreateGather(shape, operands[0], operands[1],
                                            dimension_numbers, slice_sizes,
                                            indices_are_sorted);
      });
}

XlaOp Scatter(XlaOp input, XlaOp scatter_indices, XlaOp updates,
              const XlaComputation& update_computation,
              const ScatterDimensionNumbers& dimension_numbers,
              bool indices_are_sorted, bool unique_indices) {
  XlaBuilder* builder = input.builder();
  return AddWith(builder, {input, scatter_indices, updates},
                 [&](const Operands& operands) -> Made {
                   TF_ASSIGN_OR_RETURN(HloComputation * update,
                                       builder->Import(update_computation));
                   TF_ASSIGN_OR_RETURN(
                       Shape shape,
                       ShapeInference::InferScatterShape(
                           Shapes(operands), update->ComputeProgramShape(),
                           dimension_numbers));
                   return HloInstruction::CreateScatter(
                       shape, operands[0], operands[1], operands[2], update,
                       dimension_numbers, indices_are_sorted, unique_indices);
                 });
}

XlaOp Tuple(XlaBuilder* builder, absl::Span<const XlaOp> elements) {
  return AddWith(builder, elements, [](const Operands& operands) -> Made {
    return HloInstruction::CreateTuple(operands);
  });
}

XlaOp GetTupleElement(XlaOp tuple_data, int64_t index) {
  return AddWith(tuple_data.builder(), {tuple_data},
                 [&](const Operands& operands) -> Made {
                   TF_ASSIGN_OR_RETURN(
                       Shape shape, ShapeInference::InferGetTupleElementShape(
                                        operands[0]->shape(), index));
                   return HloInstruction::CreateGetTupleElement(
                       shape, operands[0], index);
                 });
}

XlaOp GetDimensionSize(XlaOp operand, int64_t dimension) {
  return AddWith(operand.builder(), {operand},
                 [&](const Operands& operands) -> Made {
                   TF_ASSIGN_OR_RETURN(
                       Shape shape, ShapeInference::InferGetDimensionSizeShape(
                                        operands[0]->shape(), dimension));
                   return HloInstruction::CreateGetDimensionSize(
                       shape, operands[0], dimension);
                 });
}

XlaOp SetDimensionSize(XlaOp operand, XlaOp val, int64_t dimension) {
  return AddWith(
      operand.builder(), {operand, val}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(
            Shape shape,
            ShapeInference::InferSetDimensionSizeShape(
                operands[0]->shape(), operands[1]->shape(), dimension));
        return HloInstruction::CreateSetDimensionSize(shape, operands[0],
                                                      operands[1], dimension);
      });
}

XlaOp AfterAll(XlaBuilder* builder, absl::Span<const XlaOp> tokens) {
  return AddWith(builder, tokens, [](const Operands& operands) -> Made {
    if (operands.empty()) return InvalidArgument("after-all needs an operand");
    return HloInstruction::CreateAfterAll(operands);
  });
}

}  // namespace xla

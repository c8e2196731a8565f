#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/builder/padding.h"
#include "xla/hlo/builder/xla_ops.h"
#include "xla/hlo/builder/xla_ops_internal.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Computations that are applied or called.

namespace xla {

using xla_builder_internal::AddWith;
using xla_builder_internal::Made;
using xla_builder_internal::Operands;
using xla_builder_internal::Shapes;

XlaOp Map(XlaBuilder* builder, absl::Span<const XlaOp> operands,
          const XlaComputation& computation,
          absl::Span<const int64_t> dimensions) {
  return AddWith(builder, operands, [&](const Operands& instructions) -> Made {
    TF_ASSIGN_OR_RETURN(HloComputation * to_apply,
                        builder->Import(computation));
    TF_ASSIGN_OR_RETURN(
        Shape shape,
        ShapeInference::InferMapShape(
            Shapes(instructions), to_apply->ComputeProgramShape(), dimensions));
    return HloInstruction::CreateMap(shape, instructions, to_apply);
  });
}

XlaOp Reduce(XlaOp operand, XlaOp init_value, const XlaComputation& computation,
             absl::Span<const int64_t> dimensions_to_reduce) {
  return Reduce(operand.builder(), {operand}, {init_value}, computation,
                dimensions_to_reduce);
}

XlaOp Reduce(XlaBuilder* builder, absl::Span<const XlaOp> operands,
             absl::Span<const XlaOp> init_values,
             const XlaComputation& computation,
             absl::Span<const int64_t> dimensions_to_reduce) {
  std::vector<XlaOp> all(operands.begin(), operands.end());
  all.insert(all.end(), init_values.begin(), init_values.end());
  return AddWith(builder, all, [&](const Operands& instructions) -> Made {
    TF_ASSIGN_OR_RETURN(HloComputation * reducer, builder->Import(computation));
    TF_ASSIGN_OR_RETURN(Shape shape,
                        ShapeInference::InferReduceShape(
                            Shapes(instructions), dimensions_to_reduce,
                            reducer->ComputeProgramShape()));
    const auto values = absl::MakeConstSpan(instructions);
    return HloInstruction::CreateReduce(shape, values.first(operands.size()),
                                        values.subspan(operands.size()),
                                        dimensions_to_reduce, reducer);
  });
}

XlaOp ReduceAll(XlaOp operand, XlaOp init_value,
                const XlaComputation& computation) {
  XlaBuilder* builder = operand.builder();
  return builder->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const Shape shape, builder->GetShape(operand));
    std::vector<int64_t> dims(shape.dimensions().size());
    absl::c_iota(dims, 0);
    return Reduce(operand, init_value, computation, dims);
  });
}

XlaOp ReduceWindow(XlaOp operand, XlaOp init_value,
                   const XlaComputation& computation,
                   absl::Span<const int64_t> window_dimensions,
                   absl::Span<const int64_t> window_strides, Padding padding) {
  XlaBuilder* builder = operand.builder();
  return builder->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const Shape shape, builder->GetShape(operand));
    TF_RETURN_IF_ERROR(ValidatePaddingValues(
        shape.dimensions(), window_dimensions, window_strides));
    return ReduceWindowWithGeneralPadding(
        operand, init_value, computation, window_dimensions, window_strides,
        /*base_dilations=*/{}, /*window_dilations=*/{},
        MakePadding(shape.dimensions(), window_dimensions, window_strides,
                    padding));
  });
}

XlaOp ReduceWindowWithGeneralPadding(
    XlaOp operand, XlaOp init_value, const XlaComputation& computation,
    absl::Span<const int64_t> window_dimensions,
    absl::Span<const int64_t> window_strides,
    absl::Span<const int64_t> base_dilations,
    absl::Span<const int64_t> window_dilations,
    absl::Span<const std::pair<int64_t, int64_t>> padding) {
  XlaBuilder* builder = operand.builder();
  return AddWith(
      builder, {operand, init_value}, [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(HloComputation * reducer,
                            builder->Import(computation));
        TF_ASSIGN_OR_RETURN(Window window,
                            ShapeInference::InferWindowFromDimensions(
                                window_dimensions, window_strides, padding,
                                base_dilations, window_dilations));
        TF_ASSIGN_OR_RETURN(
            Shape shape, ShapeInference::InferReduceWindowShape(
                             operands[0]->shape(), operands[1]->shape(), window,
                             reducer->ComputeProgramShape()));
        return HloInstruction::CreateReduceWindow(shape, operands[0],
                                                  operands[1], window, reducer);
      });
}

XlaOp SelectAndScatter(XlaOp operand, const XlaComputation& select,
                       absl::Span<const int64_t> window_dimensions,
                       absl::Span<const int64_t> window_strides,
                       Padding padding, XlaOp source, XlaOp init_value,
                       const XlaComputation& scatter) {
  XlaBuilder* builder = operand.builder();
  return AddWith(
      builder, {operand, source, init_value},
      [&](const Operands& operands) -> Made {
        TF_ASSIGN_OR_RETURN(HloComputation * selects, builder->Import(select));
        TF_ASSIGN_OR_RETURN(HloComputation * scatters,
                            builder->Import(scatter));
        const Shape& base = operands[0]->shape();
        TF_RETURN_IF_ERROR(ValidatePaddingValues(
            base.dimensions(), window_dimensions, window_strides));
        TF_ASSIGN_OR_RETURN(
            Window window, ShapeInference::InferWindowFromDimensions(
                               window_dimensions, window_strides,
                               MakePadding(base.dimensions(), window_dimensions,
                                           window_strides, padding),
                               /*lhs_dilation=*/{}, /*rhs_dilation=*/{}));
        TF_ASSIGN_OR_RETURN(Shape shape,
                            ShapeInference::InferSelectAndScatterShape(
                                base, selects->ComputeProgramShape(), window,
                                operands[1]->shape(), operands[2]->shape(),
                                scatters->ComputeProgramShape()));
        return HloInstruction::CreateSelectAndScatter(
            shape, operands[0], selects, window, operands[1], operands[2],
            scatters);
      });
}

XlaOp Sort(absl::Span<const XlaOp> operands, const XlaComputation& comparator,
           int64_t dimension, bool is_stable) {
  CHECK(!operands.empty());
  XlaBuilder* builder = operands[0].builder();
  return AddWith(builder, operands, [&](const Operands& instructions) -> Made {
    TF_ASSIGN_OR_RETURN(HloComputation * compare, builder->Import(comparator));
    TF_ASSIGN_OR_RETURN(Shape shape,
                        ShapeInference::InferVariadicOpShape(
                            HloOpcode::kSort, Shapes(instructions)));
    const int64_t rank = instructions[0]->shape().dimensions().size();
    const int64_t along = dimension == -1 ? rank - 1 : dimension;
    if (along < 0 || along >= rank) {
      return InvalidArgument("cannot sort %s along dimension %d",
                             ShapeUtil::HumanString(instructions[0]->shape()),
                             dimension);
    }
    return HloInstruction::CreateSort(shape, along, instructions, compare,
                                      is_stable);
  });
}

XlaOp Call(XlaBuilder* builder, const XlaComputation& computation,
           absl::Span<const XlaOp> operands) {
  return AddWith(builder, operands, [&](const Operands& instructions) -> Made {
    TF_ASSIGN_OR_RETURN(HloComputation * callee, builder->Import(computation));
    TF_ASSIGN_OR_RETURN(
        Shape shape, ShapeInference::InferCallShape(
                         Shapes(instructions), callee->ComputeProgramShape()));
    return HloInstruction::CreateCall(shape, instructions, callee);
  });
}

XlaOp While(const XlaComputation& condition, const XlaComputation& body,
            XlaOp init) {
  XlaBuilder* builder = init.builder();
  return AddWith(builder, {init}, [&](const Operands& operands) -> Made {
    TF_ASSIGN_OR_RETURN(HloComputation * goes_on, builder->Import(condition));
    TF_ASSIGN_OR_RETURN(HloComputation * runs, builder->Import(body));
    TF_ASSIGN_OR_RETURN(Shape shape,
                        ShapeInference::InferWhileShape(
                            goes_on->ComputeProgramShape(),
                            runs->ComputeProgramShape(), operands[0]->shape()));
    return HloInstruction::CreateWhile(shape, goes_on, runs, operands[0]);
  });
}

XlaOp Conditional(XlaOp predicate, XlaOp true_operand,
                  const XlaComputation& true_computation, XlaOp false_operand,
                  const XlaComputation& false_computation) {
  return Conditional(predicate, {&true_computation, &false_computation},
                     {true_operand, false_operand});
}

XlaOp Conditional(XlaOp branch_index,
                  absl::Span<const XlaComputation* const> branch_computations,
                  absl::Span<const XlaOp> branch_operands) {
  XlaBuilder* builder = branch_index.builder();
  std::vector<XlaOp> all = {branch_index};
  all.insert(all.end(), branch_operands.begin(), branch_operands.end());
  return AddWith(builder, all, [&](const Operands& operands) -> Made {
    std::vector<HloComputation*> branches;
    std::vector<ProgramShape> programs;
    for (const XlaComputation* computation : branch_computations) {
      TF_ASSIGN_OR_RETURN(HloComputation * branch,
                          builder->Import(*computation));
      branches.push_back(branch);
      programs.push_back(branch->ComputeProgramShape());
    }
    std::vector<Shape> shapes;
    for (size_t i = 1; i < operands.size(); ++i) {
      shapes.push_back(operands[i]->shape());
    }
    TF_ASSIGN_OR_RETURN(
        Shape shape, ShapeInference::InferConditionalShape(operands[0]->shape(),
                                                           programs, shapes));
    return HloInstruction::CreateConditional(
        shape, operands[0], branches, absl::MakeConstSpan(operands).subspan(1));
  });
}

XlaOp CustomCall(XlaBuilder* builder, const std::string& call_target_name,
                 absl::Span<const XlaOp> operands, const Shape& shape,
                 const std::string& opaque) {
  return AddWith(builder, operands, [&](const Operands& instructions) -> Made {
    return HloInstruction::CreateCustomCall(shape, instructions,
                                            call_target_name, opaque);
  });
}

XlaOp AllReduce(XlaOp operand, const XlaComputation& computation,
                absl::Span<const ReplicaGroup> replica_groups) {
  XlaBuilder* builder = operand.builder();
  return AddWith(builder, {operand}, [&](const Operands& operands) -> Made {
    TF_ASSIGN_OR_RETURN(HloComputation * reducer, builder->Import(computation));
    TF_ASSIGN_OR_RETURN(Shape shape,
                        ShapeInference::InferAllReduceShape(Shapes(operands)));
    return HloInstruction::CreateAllReduce(
        shape, operands, reducer, replica_groups, /*constrain_layout=*/false,
        /*channel_id=*/std::nullopt, /*use_global_device_ids=*/false);
  });
}

}  // namespace xla

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::verifier {
namespace {

// The result, or the first of several.
const Shape& FirstOf(const Shape& shape) {
  return shape.IsTuple() && shape.tuple_shapes_size() > 0
             ? shape.tuple_shapes(0)
             : shape;
}

// How many times `whole` is as large as `part` in the dimension; 1 if that
// makes no sense, for inference to complain about.
int64_t Ratio(const Shape& whole, const Shape& part, int64_t dimension) {
  if (!whole.IsArray() || !part.IsArray() || dimension < 0 ||
      dimension >= RankOf(whole) || dimension >= RankOf(part)) {
    return 1;
  }
  const int64_t larger = whole.dimensions(dimension);
  const int64_t smaller = part.dimensions(dimension);
  return larger > 0 && smaller > 0 && larger % smaller == 0 ? larger / smaller
                                                            : 1;
}

}  // namespace

absl::Status CheckAllGather(const Context& context,
                            const HloInstruction& inst) {
  const auto* gather = Cast<HloAllGatherInstruction>(&inst);
  const int64_t dimension = gather->all_gather_dimension();
  const bool is_start = inst.opcode() == HloOpcode::kAllGatherStart;
  int64_t parts = GroupSize(inst);
  if (parts <= 0) {
    const Shape* result = &inst.shape();
    if (is_start && result->tuple_shapes_size() == 2) {
      result = &result->tuple_shapes(1);
    }
    parts = Ratio(FirstOf(*result), inst.operand(0)->shape(), dimension);
  }
  const ShapePtrs operands = OperandShapes(inst);
  return context.Expect(
      Invariant::V150, inst,
      is_start
          ? ShapeInference::InferAllGatherStartShape(operands, dimension, parts)
          : ShapeInference::InferAllGatherShape(operands, dimension, parts));
}

absl::Status CheckAllGatherDone(const Context& context,
                                const HloInstruction& inst) {
  return context.Expect(
      Invariant::V150, inst,
      ShapeInference::InferAllGatherDoneShape(inst.operand(0)->shape()));
}

absl::Status CheckAllReduce(const Context& context,
                            const HloInstruction& inst) {
  absl::Status status =
      CheckReducer(context, inst, *inst.called_computations()[0]);
  if (!status.ok()) return status;
  if (inst.operand_count() == 1 &&
      SameArrays(inst.operand(0)->shape(), inst.shape())) {
    return absl::OkStatus();
  }
  const ShapePtrs operands = OperandShapes(inst);
  return context.Expect(Invariant::V151, inst,
                        inst.opcode() == HloOpcode::kAllReduceStart
                            ? ShapeInference::InferAllReduceStartShape(operands)
                            : ShapeInference::InferAllReduceShape(operands));
}

absl::Status CheckAllReduceDone(const Context& context,
                                const HloInstruction& inst) {
  return context.Expect(
      Invariant::V151, inst,
      ShapeInference::InferAllReduceDoneShape(inst.operand(0)->shape()));
}

absl::Status CheckReduceScatter(const Context& context,
                                const HloInstruction& inst) {
  absl::Status status =
      CheckReducer(context, inst, *inst.called_computations()[0]);
  if (!status.ok()) return status;
  const int64_t dimension =
      Cast<HloReduceScatterInstruction>(&inst)->scatter_dimension();
  int64_t parts = GroupSize(inst);
  if (parts <= 0) {
    parts = Ratio(inst.operand(0)->shape(), FirstOf(inst.shape()), dimension);
  }
  return context.Expect(Invariant::V152, inst,
                        ShapeInference::InferReduceScatterShape(
                            OperandShapes(inst), dimension, parts));
}

absl::Status CheckAllToAll(const Context& context, const HloInstruction& inst) {
  const int64_t parts = GroupSize(inst);
  const std::optional<int64_t> split =
      Cast<HloAllToAllInstruction>(&inst)->split_dimension();
  if (split.has_value()) {
    if (inst.operand_count() != 1) {
      return Broken(Invariant::V153, inst,
                    absl::StrCat("expected one operand to split, found ",
                                 inst.operand_count()));
    }
    return context.Expect(
        Invariant::V153, inst,
        ShapeInference::InferAllToAllShape(inst.operand(0)->shape(), *split,
                                           *split, parts <= 0 ? 1 : parts));
  }
  if (parts > 0 && inst.operand_count() != parts) {
    return Broken(Invariant::V153, inst,
                  absl::StrCat("expected ", parts, " operands, found ",
                               inst.operand_count()));
  }
  // Received data takes the place of sent data.
  const Shape& first = inst.operand(0)->shape();
  for (const HloInstruction* operand : inst.operands()) {
    const Shape& shape = operand->shape();
    if (shape.IsArray() && first.IsArray() && shape.has_layout() &&
        first.has_layout() &&
        shape.layout().minor_to_major() != first.layout().minor_to_major()) {
      return Broken(
          Invariant::V153, inst,
          absl::StrCat("expected operands of one layout, found ",
                       ShapeUtil::HumanStringWithLayout(first), " and ",
                       ShapeUtil::HumanStringWithLayout(shape)));
    }
  }
  return context.Expect(
      Invariant::V153, inst,
      ShapeInference::InferAllToAllTupleShape(OperandShapes(inst)));
}

absl::Status CheckRaggedAllToAll(const Context& context,
                                 const HloInstruction& inst) {
  // After operand and output come offsets and sizes: one for each device, or
  // several for each.
  for (int64_t i = 2; i < inst.operand_count(); ++i) {
    const Shape& shape = inst.operand(i)->shape();
    if (shape.IsArray() && RankOf(shape) > 2) {
      return Broken(Invariant::V153, inst,
                    absl::StrCat("expected one or two dimensions as operand ",
                                 i, ", found ", context.Str(shape)));
    }
  }
  return context.Expect(
      Invariant::V153, inst,
      ShapeInference::InferRaggedAllToAllShape(OperandShapes(inst)));
}

// Lists of slice sizes take turns over the input's arrays, with a size for each
// dimension.
absl::Status CheckSliceSizes(const HloCollectivePermuteInstruction& permute) {
  const Shape& input = permute.operand(0)->shape();
  std::vector<int64_t> ranks;
  for (const Shape& part : input.IsTuple()
                               ? absl::MakeConstSpan(input.tuple_shapes())
                               : absl::MakeConstSpan(&input, 1)) {
    if (part.IsArray()) ranks.push_back(RankOf(part));
  }
  const auto& lists = permute.dynamic_slice_sizes_list();
  if (lists.empty()) return absl::OkStatus();
  bool fit = !ranks.empty() && lists.size() % ranks.size() == 0;
  for (size_t i = 0; fit && i < lists.size(); ++i) {
    fit = static_cast<int64_t>(lists[i].size()) == ranks[i % ranks.size()];
  }
  if (fit) return absl::OkStatus();
  return Broken(Invariant::V154, permute,
                absl::StrCat("slice sizes do not fit the input, ",
                             ShapeUtil::HumanString(input)));
}

absl::Status CheckCollectivePermute(const Context& context,
                                    const HloInstruction& inst) {
  const auto* permute = Cast<HloCollectivePermuteInstruction>(&inst);
  const ShapePtrs operands = OperandShapes(inst);
  if (permute->inplace() && operands.size() != 4) {
    return Broken(
        Invariant::V154, inst,
        absl::StrCat("expected 4 operands in place, found ", operands.size()));
  }
  TF_RETURN_IF_ERROR(CheckSliceSizes(*permute));
  if (inst.opcode() == HloOpcode::kCollectivePermute) {
    return context.Expect(Invariant::V154, inst,
                          ShapeInference::InferCollectivePermuteShape(
                              operands, permute->inplace()));
  }
  // Targets put context behind operands and results.
  std::vector<Shape> contexts;
  for (int i = 2; i < inst.shape().tuple_shapes_size(); ++i) {
    contexts.push_back(inst.shape().tuple_shapes(i));
  }
  return context.Expect(Invariant::V154, inst,
                        ShapeInference::InferCollectivePermuteStartShape(
                            operands, contexts, permute->inplace()));
}

absl::Status CheckCollectivePermuteDone(const Context& context,
                                        const HloInstruction& inst) {
  return context.Expect(Invariant::V154, inst,
                        ShapeInference::InferCollectivePermuteDoneShape(
                            inst.operand(0)->shape()));
}

absl::Status CheckCollectiveBroadcast(const Context& context,
                                      const HloInstruction& inst) {
  return context.Expect(
      Invariant::V155, inst,
      ShapeInference::InferCollectiveBroadcastShape(
          OperandShapes(inst),
          Cast<HloCollectiveBroadcastInstruction>(&inst)->has_dynamic_root()));
}

}  // namespace xla::verifier

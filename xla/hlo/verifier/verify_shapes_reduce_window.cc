#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::verifier {
namespace {

// One array, one initial value, and all of one type.
bool IsPlainReduce(const HloInstruction& inst) {
  if (inst.operand_count() != 2) return false;
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  if (!IsPlainArray(operand) || !IsPlainArray(result)) return false;
  const PrimitiveType type = operand.element_type();
  const HloComputation& reducer = *inst.called_computations()[0];
  if (result.element_type() != type ||
      !IsScalarOf(inst.operand(1)->shape(), type) ||
      reducer.num_parameters() != 2 ||
      !IsScalarOf(reducer.parameter_instruction(0)->shape(), type) ||
      !IsScalarOf(reducer.parameter_instruction(1)->shape(), type) ||
      !IsScalarOf(reducer.root_instruction()->shape(), type)) {
    return false;
  }
  const int64_t rank = RankOf(operand);
  DimSet reduced;
  for (int64_t dim : inst.dimensions()) {
    if (!reduced.Add(dim, rank)) return false;
  }
  if (rank > DimSet::kMaxRank ||
      RankOf(result) != rank - static_cast<int64_t>(inst.dimensions().size())) {
    return false;
  }
  int64_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (reduced.Has(d)) continue;
    if (result.dimensions(next++) != operand.dimensions(d)) return false;
  }
  return true;
}

absl::Status CheckPairs(Invariant invariant, const HloInstruction& inst) {
  if (inst.operand_count() % 2 == 0) return absl::OkStatus();
  return Broken(invariant, inst,
                absl::StrCat("expected an initial value for each operand, "
                             "found ",
                             inst.operand_count(), " of both"));
}

}  // namespace

absl::Status CheckReduce(const Context& context, const HloInstruction& inst) {
  if (IsPlainReduce(inst)) return absl::OkStatus();
  absl::Status status = CheckPairs(Invariant::V100, inst);
  if (!status.ok()) return status;
  // XLA does not compare the last initial value.
  status = CheckAppliedTypes(context, Invariant::V100, inst,
                             inst.operand_count() - 1);
  if (!status.ok()) return status;
  return context.Expect(Invariant::V100, inst,
                        ShapeInference::InferReduceShape(
                            OperandShapes(inst), inst.dimensions(),
                            SignatureOf(*inst.called_computations()[0])));
}

absl::Status CheckReduceWindow(const Context& context,
                               const HloInstruction& inst) {
  absl::Status status = CheckPairs(Invariant::V101, inst);
  if (!status.ok()) return status;
  status = CheckAppliedTypes(context, Invariant::V101, inst,
                             inst.operand_count() - 1);
  if (!status.ok()) return status;
  const ShapePtrs shapes = OperandShapes(inst);
  const absl::Span<const Shape* const> all = shapes;
  return context.Expect(
      Invariant::V101, inst,
      ShapeInference::InferReduceWindowShape(
          all.subspan(0, all.size() / 2), all.subspan(all.size() / 2),
          inst.window(), SignatureOf(*inst.called_computations()[0])));
}

absl::Status CheckSelectAndScatter(const Context& context,
                                   const HloInstruction& inst) {
  const auto* scatter = Cast<HloSelectAndScatterInstruction>(&inst);
  return context.Expect(
      Invariant::V102, inst,
      ShapeInference::InferSelectAndScatterShape(
          inst.operand(0)->shape(), SignatureOf(*scatter->select()),
          scatter->window(), inst.operand(1)->shape(), inst.operand(2)->shape(),
          SignatureOf(*scatter->scatter())));
}

absl::Status CheckSort(const Context& context, const HloInstruction& inst) {
  absl::Status status =
      context.Expect(Invariant::V103, inst,
                     ShapeInference::InferVariadicOpShape(HloOpcode::kSort,
                                                          OperandShapes(inst)));
  if (!status.ok()) return status;
  const int64_t rank = RankOf(inst.operand(0)->shape());
  if (inst.dimensions().size() != 1 || inst.dimensions(0) < 0 ||
      inst.dimensions(0) >= rank) {
    return Broken(Invariant::V103, inst,
                  absl::StrCat("expected a dimension below ", rank));
  }
  // The comparator sees two elements of each operand.
  const HloComputation& comparator = *inst.called_computations()[0];
  if (comparator.num_parameters() != 2 * inst.operand_count()) {
    return Broken(Invariant::V103, inst,
                  absl::StrCat("%", comparator.name(), " takes ",
                               comparator.num_parameters(), " operands, found ",
                               2 * inst.operand_count()));
  }
  for (int64_t i = 0; i < comparator.num_parameters(); ++i) {
    const Shape& parameter = comparator.parameter_instruction(i)->shape();
    const Shape& operand = inst.operand(i / 2)->shape();
    if (!ShapeUtil::IsScalar(parameter) ||
        (context.opts().allow_mixed_precision
             ? !ShapeUtil::SameElementTypeIgnoringFpPrecision(parameter,
                                                              operand)
             : !ShapeUtil::SameElementType(parameter, operand))) {
      return Broken(
          Invariant::V103, inst,
          absl::StrCat("expected a scalar of the type of ",
                       context.Str(operand), " as parameter ", i, " of %",
                       comparator.name(), ", found ", context.Str(parameter)));
    }
  }
  const Shape& result = comparator.root_instruction()->shape();
  if (IsScalarOf(result, PRED)) return absl::OkStatus();
  return Broken(
      Invariant::V103, inst,
      absl::StrCat("expected pred[] as the result of %", comparator.name(),
                   ", found ", context.Str(result)));
}

namespace {

// The element of a value that may be a tuple or stand alone.
const Shape* PartOf(const Shape& shape, int64_t i, int64_t parts) {
  if (shape.IsTuple()) {
    return shape.tuple_shapes_size() == parts ? &shape.tuple_shapes(i)
                                              : nullptr;
  }
  return parts == 1 ? &shape : nullptr;
}

// `whole` without the scanned dimension is `step`.
bool IsStepOf(const Shape& step, const Shape& whole, int64_t dimension,
              int64_t size) {
  if (!IsPlainArray(step) || !IsPlainArray(whole) ||
      RankOf(step) + 1 != RankOf(whole) || dimension >= RankOf(whole) ||
      !ShapeUtil::SameElementTypeIgnoringFpPrecision(step, whole) ||
      whole.dimensions(dimension) != size) {
    return false;
  }
  for (int64_t d = 0, next = 0; d < RankOf(whole); ++d) {
    if (d != dimension && whole.dimensions(d) != step.dimensions(next++)) {
      return false;
    }
  }
  return true;
}

}  // namespace

// Inputs are cut into steps along the dimension; the computation takes a step
// of each and the carries, and gives a step of each output and the carries. The
// result is the outputs, put together again, and the last carries.
absl::Status CheckScan(const Context& context, const HloInstruction& inst) {
  const auto* scan = Cast<HloScanInstruction>(&inst);
  // By the time layouts are there, such scans have become loops.
  if (context.opts().layout_sensitive &&
      scan->is_associative() == TRI_STATE_FALSE) {
    return Broken(Invariant::V104, inst, "found is_associative=false");
  }
  const HloComputation& body = *inst.called_computations()[0];
  const int64_t carries = scan->num_carries();
  const int64_t inputs = inst.operand_count() - carries;
  if (body.num_parameters() != inst.operand_count()) {
    return Broken(
        Invariant::V104, inst,
        absl::StrCat("%", body.name(), " takes ", body.num_parameters(),
                     " operands, found ", inst.operand_count()));
  }
  const Shape& stepped = body.root_instruction()->shape();
  const int64_t results = stepped.IsTuple() ? stepped.tuple_shapes_size() : 1;
  const absl::StatusOr<int64_t> size = scan->GetScanDimSize();
  if (!size.ok()) return Broken(Invariant::V104, inst, size.status().message());
  const int64_t dimension = scan->scan_dimension();
  if (results < carries || dimension < 0) {
    return Broken(Invariant::V104, inst,
                  absl::StrCat("expected ", carries, " carries, found ",
                               results, " results of %", body.name()));
  }
  for (int64_t i = 0; i < inputs; ++i) {
    if (!IsStepOf(body.parameter_instruction(i)->shape(),
                  inst.operand(i)->shape(), dimension, *size)) {
      return Broken(
          Invariant::V104, inst,
          absl::StrCat("parameter ", i, " of %", body.name(), ", ",
                       context.Str(body.parameter_instruction(i)->shape()),
                       ", is not a step of ",
                       context.Str(inst.operand(i)->shape())));
    }
  }
  for (int64_t i = 0; i < results; ++i) {
    const Shape* step = PartOf(stepped, i, results);
    const Shape* whole = PartOf(inst.shape(), i, results);
    if (whole == nullptr) {
      return Broken(Invariant::V104, inst,
                    absl::StrCat("expected ", results, " results"));
    }
    const int64_t carry = i - (results - carries);
    if (carry < 0) {
      if (IsStepOf(*step, *whole, dimension, *size)) continue;
      return Broken(Invariant::V104, inst,
                    absl::StrCat("result ", i, " of %", body.name(), ", ",
                                 context.Str(*step), ", is not a step of ",
                                 context.Str(*whole)));
    }
    const Shape& init = inst.operand(inputs + carry)->shape();
    for (const Shape* shape :
         {step, whole, &body.parameter_instruction(inputs + carry)->shape()}) {
      if (!context.Matches(*shape, init, Match::kLoose)) {
        return Broken(
            Invariant::V104, inst,
            absl::StrCat("expected ", context.Str(init), " for carry ", carry,
                         ", found ", context.Str(*shape)));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::verifier

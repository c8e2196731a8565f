#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/evaluator/scalar_function.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// reduce. A reducer that is one associative operation runs over the operand in
// memory order, sums of floats in double with one rounding at the end; others
// run as lane programs over all results at once, step by step.

namespace xla {
namespace evaluator {
namespace {

// A run of neighboring dimensions that are all reduced, or all kept.
//
// The shape of a reduction is first simplified: neighboring dimensions that
// are all reduced or all kept are contiguous in row-major order and act as one
// dimension, and dimensions of size 1 drop out. What remains alternates between
// reduced and kept runs. The operand is then read once, front to back; only the
// offset into the result jumps, with stride 0 along reduced runs.
//
// Two paths compute the result. A single operand whose computation is one known
// binary operation is folded by a template instance per operation and lane
// type, without calling the computation. Everything else (several operands,
// arbitrary computations) goes through ReduceByFunction.
struct Run {
  int64_t size;
  bool reduced;
};
using Runs = absl::InlinedVector<Run, 6>;

Runs MakeRuns(absl::Span<const int64_t> dims,
              const std::vector<bool>& reduced) {
  Runs runs;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    if (!runs.empty() && runs.back().reduced == reduced[d]) {
      runs.back().size *= dims[d];
    } else {
      runs.push_back({dims[d], reduced[d]});
    }
  }
  if (runs.empty()) runs.push_back({1, true});
  return runs;
}

// Calls row(operand offset, result offset) for each innermost run.
template <typename Row>
void ForEachRow(const Runs& runs, const Row& row) {
  const int64_t outer = static_cast<int64_t>(runs.size()) - 1;
  absl::InlinedVector<int64_t, 6> strides(runs.size());
  int64_t stride = 1;
  for (int64_t d = outer; d >= 0; --d) {
    strides[d] = runs[d].reduced ? 0 : stride;
    if (!runs[d].reduced) stride *= runs[d].size;
  }
  absl::InlinedVector<int64_t, 6> index(runs.size(), 0);
  int64_t in = 0;
  int64_t out = 0;
  while (true) {
    row(in, out);
    in += runs[outer].size;
    int64_t d = outer - 1;
    for (; d >= 0; --d) {
      out += strides[d];
      if (++index[d] < runs[d].size) break;
      out -= strides[d] * runs[d].size;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

struct Sum {
  template <typename T>
  static T Apply(T x, T y) {
    return x + y;
  }
};
struct Multiply {
  template <typename T>
  static T Apply(T x, T y) {
    return x * y;
  }
};
// As of single elements: NaN wins, and -0 is less than 0.
struct Minimum {
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (y != y || (y == x && std::signbit(y))) return y;
    }
    return y < x ? y : x;
  }
};
struct Maximum {
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      if (y != y || (y == x && !std::signbit(y))) return y;
    }
    return y > x ? y : x;
  }
};
struct And {
  template <typename T>
  static T Apply(T x, T y) {
    return x & y;
  }
};
struct Or {
  template <typename T>
  static T Apply(T x, T y) {
    return x | y;
  }
};
struct Xor {
  template <typename T>
  static T Apply(T x, T y) {
    return x ^ y;
  }
};

// Folds lanes of type T into accumulators of type Acc.
//
// The innermost run decides the loop: if it is reduced, a row collapses into
// one accumulator; if it is kept, a row updates as many neighboring
// accumulators.
template <typename Op, typename T, typename Acc>
void Fold(const Value& operand, const Runs& runs, Acc* results) {
  const PrimitiveType type = operand.type();
  const bool direct = StoredAsLanes(type);
  const int64_t bytes = operand.element_bytes();
  alignas(16) char block[kLaneBlock * 16];
  const Run inner = runs.back();
  ForEachRow(runs, [&](int64_t in, int64_t out) {
    for (int64_t start = 0; start < inner.size; start += kLaneBlock) {
      const int64_t n = std::min(kLaneBlock, inner.size - start);
      const void* elements = operand.raw() + (in + start) * bytes;
      if (!direct) {
        LoadLanes(type, elements, n, block);
        elements = block;
      }
      const T* lanes = static_cast<const T*>(elements);
      if (inner.reduced) {
        Acc acc = results[out];
        for (int64_t i = 0; i < n; ++i) {
          acc = Op::Apply(acc, static_cast<Acc>(lanes[i]));
        }
        results[out] = acc;
      } else {
        Acc* row = results + out + start;
        for (int64_t i = 0; i < n; ++i) {
          row[i] = Op::Apply(row[i], static_cast<Acc>(lanes[i]));
        }
      }
    }
  });
}

// Accumulators start at `init` and end in `result`. T are lanes of the type.
//
// Sums and products of floats accumulate in double precision, because HLO
// leaves the order of a reduction open: a result close to the exact one is the
// best reference for any order that a back-end chooses.
template <typename Op, typename T, typename Acc>
absl::Status FoldAll(const Value& operand, const Value& init, const Runs& runs,
                     Value* result) {
  T first;
  LoadLanes(init.type(), init.raw(), 1, &first);
  std::vector<Acc> results(result->count(), static_cast<Acc>(first));
  if (operand.count() > 0) Fold<Op, T, Acc>(operand, runs, results.data());
  // Narrow floats are rounded once, from the accumulator.
  LaneParams params;
  params.to = result->type();
  if constexpr (std::is_same_v<T, Acc>) {
    StoreLanes(result->type(), results.data(), result->count(),
               result->mutable_raw());
  } else {
    params.from = std::is_same_v<Acc, double> ? F64 : C128;
    alignas(16) char lanes[kLaneBlock * 16];
    for (int64_t i = 0; i < result->count(); i += kLaneBlock) {
      const int64_t n = std::min(kLaneBlock, result->count() - i);
      const void* in[1] = {results.data() + i};
      ConvertLanes(in, lanes, n, params);
      StoreLanes(result->type(), lanes, n,
                 result->mutable_raw() + i * result->element_bytes());
    }
  }
  return absl::OkStatus();
}

using Folder = absl::Status (*)(const Value&, const Value&, const Runs&,
                                Value*);

template <typename T, typename Acc>
Folder FloatFolder(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return FoldAll<Sum, T, Acc>;
    case HloOpcode::kMultiply:
      return FoldAll<Multiply, T, Acc>;
    default:  // Below, or not compiled.
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (opcode == HloOpcode::kMinimum) return FoldAll<Minimum, T, T>;
    if (opcode == HloOpcode::kMaximum) return FoldAll<Maximum, T, T>;
  }
  return nullptr;
}

// Sums and products of signed numbers are those of unsigned ones.
Folder IntegerFolder(HloOpcode opcode, bool is_signed) {
  switch (opcode) {
    case HloOpcode::kAdd:
      return FoldAll<Sum, uint64_t, uint64_t>;
    case HloOpcode::kMultiply:
      return FoldAll<Multiply, uint64_t, uint64_t>;
    case HloOpcode::kAnd:
      return FoldAll<And, uint64_t, uint64_t>;
    case HloOpcode::kOr:
      return FoldAll<Or, uint64_t, uint64_t>;
    case HloOpcode::kXor:
      return FoldAll<Xor, uint64_t, uint64_t>;
    case HloOpcode::kMinimum:
      return is_signed ? FoldAll<Minimum, int64_t, int64_t>
                       : FoldAll<Minimum, uint64_t, uint64_t>;
    case HloOpcode::kMaximum:
      return is_signed ? FoldAll<Maximum, int64_t, int64_t>
                       : FoldAll<Maximum, uint64_t, uint64_t>;
    default:  // Not compiled.
      return nullptr;
  }
}

Folder FindFolder(HloOpcode opcode, PrimitiveType type) {
  switch (LaneTypeOf(type)) {
    case LaneType::kS64:
      return IntegerFolder(opcode, true);
    case LaneType::kU64:
      return IntegerFolder(opcode, false);
    case LaneType::kF32:
      return FloatFolder<float, double>(opcode);
    case LaneType::kF64:
      return FloatFolder<double, double>(opcode);
    case LaneType::kC64:
      return FloatFolder<std::complex<float>, std::complex<double>>(opcode);
    case LaneType::kC128:
      return FloatFolder<std::complex<double>, std::complex<double>>(opcode);
    case LaneType::kPred:
      return nullptr;
  }
  return nullptr;
}

// A copy of the operand with the reduced dimensions first, or the operand.
absl::StatusOr<Value> ReducedFirst(const Value& operand,
                                   const std::vector<bool>& reduced,
                                   MemoryBudget* budget) {
  const DimensionVector strides = RowMajorStrides(operand.dims());
  DimensionVector dims;
  DimensionVector from;
  for (bool pass : {true, false}) {
    for (int64_t d = 0; d < operand.rank(); ++d) {
      if (reduced[d] != pass) continue;
      dims.push_back(operand.dim(d));
      from.push_back(strides[d]);
    }
  }
  if (from == strides) return operand;
  TF_ASSIGN_OR_RETURN(Value copy, Value::Make(operand.type(), dims, budget));
  if (copy.count() > 0) {
    CopyStridedBox(copy.mutable_raw(), RowMajorStrides(dims), operand.raw(),
                   from, dims, operand.element_bytes());
  }
  return copy;
}

// The general path. With the reduced dimensions moved to the front, each index
// of them selects a contiguous slice with one element per result, so one call
// of the computation combines a whole slice with all accumulators at once. The
// elements of each result are combined in row-major order of the reduced
// dimensions.
absl::StatusOr<std::vector<Value>> ReduceByFunction(
    const HloInstruction* instruction, absl::Span<Value> inputs,
    absl::Span<const Value> inits, const std::vector<bool>& reduced,
    absl::Span<const int64_t> kept_dims, KernelContext& context) {
  const size_t n = inputs.size();
  std::vector<Value> results;
  std::vector<PrimitiveType> signature;
  for (const Value& init : inits) {
    TF_ASSIGN_OR_RETURN(Value result,
                        Value::Make(init.type(), kept_dims, context.budget));
    const DimensionVector zeros(kept_dims.size(), 0);
    if (result.count() > 0) {
      CopyStridedBox(result.mutable_raw(), RowMajorStrides(kept_dims),
                     init.raw(), zeros, kept_dims, init.element_bytes());
    }
    results.push_back(std::move(result));
    signature.push_back(init.type());
  }
  for (const Value& input : inputs) signature.push_back(input.type());
  TF_RETURN_IF_ERROR(
      CheckSignature(instruction->to_apply(), signature,
                     absl::MakeConstSpan(signature).subspan(0, n)));

  ScalarFunction function(instruction->to_apply(), signature,
                          absl::MakeConstSpan(signature).subspan(0, n),
                          context);
  const int64_t kept = results[0].count();
  const int64_t steps = kept == 0 ? 0 : inputs[0].count() / kept;
  std::vector<const void*> in(2 * n);
  std::vector<void*> out(n);
  for (size_t k = 0; k < n; ++k) {
    TF_ASSIGN_OR_RETURN(inputs[k],
                        ReducedFirst(inputs[k], reduced, context.budget));
    in[k] = out[k] = results[k].mutable_raw();
  }
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t k = 0; k < n; ++k) {
      in[n + k] = inputs[k].raw() + step * kept * inputs[k].element_bytes();
    }
    TF_RETURN_IF_ERROR(function.Apply(in, out, kept));
  }
  return results;
}

}  // namespace

absl::Status ConvertToParameters(const HloComputation& function,
                                 absl::Span<Value> operands,
                                 MemoryBudget* budget) {
  const size_t n = operands.size() / 2;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (static_cast<int64_t>(k % n) >= function.num_parameters()) break;
    TF_RETURN_IF_ERROR(ConvertInPlace(
        operands[k],
        function.parameter_instruction(k % n)->shape().element_type(), budget));
  }
  return absl::OkStatus();
}

absl::StatusOr<Value> EvaluateReduce(const HloInstruction* instruction,
                                     absl::Span<Value> operands,
                                     KernelContext& context) {
  const size_t n = operands.size() / 2;
  TF_RETURN_IF_ERROR(
      ConvertToParameters(*instruction->to_apply(), operands, context.budget));
  const absl::Span<Value> inputs = operands.subspan(0, n);
  const absl::Span<const Value> inits = operands.subspan(n);
  const Value& first = inputs[0];
  std::vector<bool> reduced(first.rank(), false);
  for (int64_t d : instruction->dimensions()) {
    if (d < 0 || d >= first.rank()) {
      return InvalidArgument("dimension %d is out of bounds", d);
    }
    reduced[d] = true;
  }
  for (size_t k = 0; k < n; ++k) {
    if (inputs[k].dims() != first.dims() || inits[k].rank() != 0 ||
        inits[k].type() != inputs[k].type()) {
      return InvalidArgument("operands %d and %d do not match the others", k,
                             n + k);
    }
  }
  DimensionVector kept_dims;
  for (int64_t d = 0; d < first.rank(); ++d) {
    if (!reduced[d]) kept_dims.push_back(first.dim(d));
  }

  const LaneProgram* program =
      context.device.program().LanesFor(instruction->to_apply());
  const std::optional<HloOpcode> simple =
      n == 1 && program != nullptr ? program->AsBinary() : std::nullopt;
  if (simple.has_value() && program->input_type(0) == first.type()) {
    if (const Folder folder = FindFolder(*simple, first.type());
        folder != nullptr) {
      TF_ASSIGN_OR_RETURN(Value result,
                          Value::Make(first.type(), kept_dims, context.budget));
      TF_RETURN_IF_ERROR(
          folder(first, inits[0], MakeRuns(first.dims(), reduced), &result));
      return result;
    }
  }
  TF_ASSIGN_OR_RETURN(std::vector<Value> results,
                      ReduceByFunction(instruction, inputs, inits, reduced,
                                       kept_dims, context));
  if (!instruction->shape().IsTuple()) return std::move(results[0]);
  return Value::Tuple(std::move(results));
}

}  // namespace evaluator
}  // namespace xla

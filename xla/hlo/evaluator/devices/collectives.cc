#include "xla/hlo/evaluator/devices/collectives.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/lane_program.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

using Operands = absl::Span<const Value>;
using Members = absl::Span<const Operands>;
using Results = std::vector<Value>;

// Bytes before and after a dimension: an array is `outer` runs of dim * inner.
struct Runs {
  int64_t outer = 1;
  int64_t inner = 1;  // Bytes.

  Runs(const Value& value, int64_t dimension) {
    inner = value.element_bytes();
    for (int64_t d = 0; d < value.rank(); ++d) {
      (d < dimension ? outer : inner) *= d == dimension ? 1 : value.dim(d);
    }
  }
};

// Copies `count` slices along `dimension`.
void CopySlices(const Value& from, int64_t from_start, Value& to,
                int64_t to_start, int64_t count, int64_t dimension) {
  const Runs runs(from, dimension);
  if (count * runs.inner == 0) return;
  for (int64_t i = 0; i < runs.outer; ++i) {
    std::memcpy(
        to.mutable_raw() + (i * to.dim(dimension) + to_start) * runs.inner,
        from.raw() + (i * from.dim(dimension) + from_start) * runs.inner,
        count * runs.inner);
  }
}

absl::StatusOr<Value> MakeWithDim(const Value& like, int64_t dimension,
                                  int64_t size, MemoryBudget* budget) {
  DimensionVector dims = like.dims();
  dims[dimension] = size;
  return Value::Make(like.type(), dims, budget);
}

// accumulator = computation(accumulator, x), element by element: compiled to
// lanes if possible, otherwise by running the computation for each element.
absl::StatusOr<Value> Combine(const HloComputation* computation,
                              Value accumulator, const Value& x,
                              CollectiveContext& context) {
  if (accumulator.dims() != x.dims() || accumulator.type() != x.type()) {
    return absl::InvalidArgumentError(
        "the operands of the members have different sizes or types");
  }
  // In mixed precision it may be one of other floats.
  const PrimitiveType type =
      computation->root_instruction()->shape().element_type();
  if (type != x.type() &&
      absl::c_all_of(computation->parameter_instructions(),
                     [&](const HloInstruction* parameter) {
                       return parameter->shape().element_type() == type;
                     })) {
    TF_ASSIGN_OR_RETURN(
        Value a, ConvertValue(std::move(accumulator), type, context.budget));
    TF_ASSIGN_OR_RETURN(Value b, ConvertValue(x, type, context.budget));
    TF_ASSIGN_OR_RETURN(a, Combine(computation, std::move(a), b, context));
    return ConvertValue(std::move(a), x.type(), context.budget);
  }
  TF_ASSIGN_OR_RETURN(
      accumulator, Value::MakeUnique(std::move(accumulator), context.budget));
  const int64_t bytes = x.element_bytes();
  if (const LaneProgram* lanes = context.program.LanesFor(computation)) {
    if (lanes->num_inputs() != 2 || lanes->num_outputs() != 1 ||
        lanes->input_type(0) != x.type() || lanes->input_type(1) != x.type() ||
        lanes->output_type(0) != x.type()) {
      return absl::UnimplementedError(absl::StrCat(
          "reduction of ", primitive_util::LowercasePrimitiveTypeName(x.type()),
          " by a computation of different types"));
    }
    LaneMachine machine(*lanes);
    for (int64_t i = 0; i < x.count(); i += kLaneBlock) {
      const int64_t n = std::min(kLaneBlock, x.count() - i);
      machine.LoadInput(0, accumulator.raw() + i * bytes, n);
      machine.LoadInput(1, x.raw() + i * bytes, n);
      machine.Run(n);
      machine.StoreOutput(0, accumulator.mutable_raw() + i * bytes, n);
    }
    return accumulator;
  }
  for (int64_t i = 0; i < x.count(); ++i) {
    std::vector<Value> scalars;
    for (const Value* from : {&std::as_const(accumulator), &x}) {
      TF_ASSIGN_OR_RETURN(Value scalar,
                          Value::Make(x.type(), {}, context.budget));
      std::memcpy(scalar.mutable_raw(), from->raw() + i * bytes, bytes);
      scalars.push_back(std::move(scalar));
    }
    TF_ASSIGN_OR_RETURN(
        const Value result,
        context.device.RunEmbedded(computation, std::move(scalars)));
    std::memcpy(accumulator.mutable_raw() + i * bytes, result.raw(), bytes);
  }
  return accumulator;
}

// Reduces one operand over all members, either one after the other in group
// order or pairwise as a tree. Floating-point results differ between the two,
// as they do between real implementations.
// Both keep the order of the members, so that computations that are associative
// but not commutative get a right result.
absl::StatusOr<Value> Fold(const HloComputation* computation, Members members,
                           int64_t operand, CollectiveContext& context) {
  std::vector<Value> level;
  for (const Operands& operands : members) level.push_back(operands[operand]);
  if (context.order == ReductionOrder::kGroup) {
    Value accumulator = level[0];
    for (size_t k = 1; k < level.size(); ++k) {
      TF_ASSIGN_OR_RETURN(
          accumulator,
          Combine(computation, std::move(accumulator), level[k], context));
    }
    return accumulator;
  }
  while (level.size() > 1) {
    std::vector<Value> next;
    for (size_t k = 0; k < level.size(); k += 2) {
      if (k + 1 == level.size()) {
        next.push_back(level[k]);
        continue;
      }
      TF_ASSIGN_OR_RETURN(
          Value pair, Combine(computation, level[k], level[k + 1], context));
      next.push_back(std::move(pair));
    }
    level = std::move(next);
  }
  return level[0];
}

absl::StatusOr<Results> AllReduce(const HloInstruction* instruction,
                                  Members members, CollectiveContext& context) {
  std::vector<Value> reduced;
  for (int64_t i = 0; i < instruction->operand_count(); ++i) {
    TF_ASSIGN_OR_RETURN(Value value,
                        Fold(instruction->to_apply(), members, i, context));
    reduced.push_back(std::move(value));
  }
  return Results(members.size(),
                 PackResults(instruction->shape(), std::move(reduced)));
}

absl::StatusOr<Results> AllGather(const HloInstruction* instruction,
                                  Members members, CollectiveContext& context) {
  const int64_t dimension =
      Cast<HloAllGatherInstruction>(instruction)->all_gather_dimension();
  std::vector<Value> gathered;
  for (int64_t i = 0; i < instruction->operand_count(); ++i) {
    int64_t total = 0;
    for (const Operands& operands : members) {
      total += operands[i].dim(dimension);
    }
    TF_ASSIGN_OR_RETURN(Value whole, MakeWithDim(members[0][i], dimension,
                                                 total, context.budget));
    int64_t at = 0;
    for (const Operands& operands : members) {
      const int64_t size = operands[i].dim(dimension);
      CopySlices(operands[i], 0, whole, at, size, dimension);
      at += size;
    }
    gathered.push_back(std::move(whole));
  }
  if (instruction->opcode() == HloOpcode::kAllGather) {
    return Results(members.size(),
                   PackResults(instruction->shape(), std::move(gathered)));
  }
  // (operands, results), each a tuple where there are several.
  const Value result =
      PackResults(instruction->shape().tuple_shapes(1), std::move(gathered));
  Results results;
  for (const Operands& operands : members) {
    results.push_back(Value::Tuple(
        {PackResults(instruction->shape().tuple_shapes(0),
                     std::vector<Value>(operands.begin(), operands.end())),
         result}));
  }
  return results;
}

// The k-th of n equal pieces along a dimension.
absl::StatusOr<Value> Piece(const Value& whole, int64_t dimension, int64_t k,
                            int64_t n, MemoryBudget* budget) {
  const int64_t size = whole.dim(dimension) / n;
  if (size * n != whole.dim(dimension)) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimension ", dimension, " of size ", whole.dim(dimension),
                     " does not split into ", n));
  }
  TF_ASSIGN_OR_RETURN(Value piece, MakeWithDim(whole, dimension, size, budget));
  CopySlices(whole, k * size, piece, 0, size, dimension);
  return piece;
}

absl::StatusOr<Results> ReduceScatter(const HloInstruction* instruction,
                                      Members members,
                                      CollectiveContext& context) {
  const int64_t dimension =
      Cast<HloReduceScatterInstruction>(instruction)->scatter_dimension();
  const auto n = static_cast<int64_t>(members.size());
  std::vector<std::vector<Value>> pieces(n);
  for (int64_t i = 0; i < instruction->operand_count(); ++i) {
    TF_ASSIGN_OR_RETURN(const Value reduced,
                        Fold(instruction->to_apply(), members, i, context));
    for (int64_t k = 0; k < n; ++k) {
      TF_ASSIGN_OR_RETURN(Value piece,
                          Piece(reduced, dimension, k, n, context.budget));
      pieces[k].push_back(std::move(piece));
    }
  }
  Results results;
  for (std::vector<Value>& values : pieces) {
    results.push_back(PackResults(instruction->shape(), std::move(values)));
  }
  return results;
}

absl::StatusOr<Results> AllToAll(const HloInstruction* instruction,
                                 Members members, CollectiveContext& context) {
  const auto n = static_cast<int64_t>(members.size());
  const auto split =
      Cast<HloAllToAllInstruction>(instruction)->split_dimension();
  Results results;
  if (!split.has_value()) {
    if (instruction->operand_count() != n) {
      return absl::InvalidArgumentError(absl::StrCat(
          instruction->operand_count(), " operands for a group of ", n));
    }
    for (int64_t k = 0; k < n; ++k) {
      std::vector<Value> received;
      for (const Operands& operands : members) received.push_back(operands[k]);
      results.push_back(PackResults(instruction->shape(), std::move(received)));
    }
    return results;
  }
  for (int64_t k = 0; k < n; ++k) {
    TF_ASSIGN_OR_RETURN(Value whole,
                        MakeWithDim(members[0][0], *split,
                                    members[0][0].dim(*split), context.budget));
    const int64_t size = whole.dim(*split) / n;
    if (size * n != whole.dim(*split)) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", *split, " of size ", whole.dim(*split),
                       " does not split into ", n));
    }
    for (int64_t from = 0; from < n; ++from) {
      CopySlices(members[from][0], k * size, whole, from * size, size, *split);
    }
    results.push_back(std::move(whole));
  }
  return results;
}

// Operands: input, output, then per peer (one or several updates each): where
// in my input, how many rows, where in the peer's output, how many I receive.
// Sender and receiver must agree on the numbers of rows.
absl::StatusOr<Results> RaggedAllToAll(Members members,
                                       CollectiveContext& context) {
  const auto n = static_cast<int64_t>(members.size());
  Results results;
  for (const Operands& operands : members) {
    TF_ASSIGN_OR_RETURN(Value output,
                        Value::MakeUnique(operands[1], context.budget));
    results.push_back(std::move(output));
  }
  for (int64_t from = 0; from < n; ++from) {
    const Operands& sender = members[from];
    const int64_t entries = sender[2].count();
    if (entries % n != 0 || sender[3].count() != entries ||
        sender[4].count() != entries || sender[5].count() != entries) {
      return absl::InvalidArgumentError(absl::StrCat(
          "offsets and sizes for ", entries, " updates in a group of ", n));
    }
    const int64_t updates = entries / n;
    for (int64_t e = 0; e < entries; ++e) {
      const int64_t to = e / updates;
      const int64_t start = sender[2].Int64At(e), rows = sender[3].Int64At(e),
                    target = sender[4].Int64At(e);
      const int64_t expected =
          members[to][5].Int64At(from * updates + e % updates);
      if (rows != expected) {
        return absl::InvalidArgumentError(
            absl::StrCat("member ", from, " sends ", rows, " rows to member ",
                         to, ", which expects ", expected));
      }
      Value& output = results[to];
      if (start < 0 || rows < 0 || start + rows > sender[0].dim(0) ||
          target < 0 || target + rows > output.dim(0)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "rows [", start, ", ", start + rows, ") of member ", from,
            " to row ", target, " of member ", to, " are out of bounds"));
      }
      CopySlices(sender[0], start, output, target, rows, 0);
    }
  }
  return results;
}

absl::StatusOr<Results> CollectiveBroadcast(const HloInstruction* instruction,
                                            Members members) {
  const bool dynamic =
      Cast<HloCollectiveBroadcastInstruction>(instruction)->has_dynamic_root();
  int64_t root = 0;
  if (dynamic) {
    root = members[0].back().AsInt64();
    for (const Operands& operands : members) {
      if (operands.back().AsInt64() != root) {
        return absl::InvalidArgumentError("the members have different roots");
      }
    }
    if (root < 0 || root >= static_cast<int64_t>(members.size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("root ", root, " of a group of ", members.size()));
    }
  }
  std::vector<Value> values(members[root].begin(), members[root].end());
  if (dynamic) values.pop_back();
  return Results(members.size(),
                 PackResults(instruction->shape(), std::move(values)));
}

}  // namespace

Value PackResults(const Shape& shape, std::vector<Value> values) {
  return shape.IsTuple() ? Value::Tuple(std::move(values))
                         : std::move(values[0]);
}

absl::StatusOr<std::vector<Value>> EvaluateCollective(
    const HloInstruction* instruction, Members members,
    CollectiveContext& context) {
  switch (instruction->opcode()) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
      return AllReduce(instruction, members, context);
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
      return AllGather(instruction, members, context);
    case HloOpcode::kReduceScatter:
      return ReduceScatter(instruction, members, context);
    case HloOpcode::kAllToAll:
      return AllToAll(instruction, members, context);
    case HloOpcode::kRaggedAllToAll:
      return RaggedAllToAll(members, context);
    case HloOpcode::kCollectiveBroadcast:
      return CollectiveBroadcast(instruction, members);
    default:  // An error.
      return absl::UnimplementedError(absl::StrCat(
          "not a collective: ", HloOpcodeString(instruction->opcode())));
  }
}

}  // namespace evaluator
}  // namespace xla

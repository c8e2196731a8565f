#include "xla/hlo/evaluator/spmd_custom_calls.h"

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/block_scaled_dot.h"
#include "xla/hlo/evaluator/dot.h"
#include "xla/hlo/evaluator/opaque_attributes.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace evaluator {
namespace {

// A rotation or a slice has at most this many results.
constexpr int64_t kMostResults = 1 << 16;

// The operand's slices of these numbers along a dimension, one after the other;
// -1 stands for the scalar `padding`.
absl::StatusOr<Value> TakeSlices(const Value& x, int64_t dimension,
                                 absl::Span<const int64_t> places,
                                 const Value* padding) {
  DimensionVector dims = x.dims();
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d < dimension) outer *= dims[d];
    if (d > dimension) inner *= dims[d];
  }
  const auto count = static_cast<int64_t>(places.size());
  const int64_t size = dims[dimension];
  dims[dimension] = count;
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(x.type(), dims, nullptr));
  const int64_t bytes = x.element_bytes();
  for (int64_t o = 0; o < outer && inner > 0; ++o) {
    for (int64_t k = 0; k < count; ++k) {
      char* to = result.mutable_raw() + (o * count + k) * inner * bytes;
      if (places[k] >= 0) {
        std::memcpy(to, x.raw() + (o * size + places[k]) * inner * bytes,
                    inner * bytes);
        continue;
      }
      for (int64_t i = 0; i < inner; ++i) {
        std::memcpy(to + i * bytes, padding->raw(), bytes);
      }
    }
  }
  return result;
}

// Common to all of them: an array, and one of its dimensions.
struct Along {
  OpaqueAttributes attributes;
  int64_t dimension;
  int64_t size;
};

absl::StatusOr<Along> ReadCall(const HloCustomCallInstruction& call,
                               absl::Span<const Value> operands,
                               size_t operand_count) {
  if (operands.size() != operand_count || !operands[0].IsArray() ||
      operands[0].rank() == 0) {
    return InvalidArgument("%s takes %d operands, the first one an array",
                           call.custom_call_target(), operand_count);
  }
  Along along;
  TF_ASSIGN_OR_RETURN(along.attributes, OpaqueAttributes::Parse(call.opaque()));
  TF_ASSIGN_OR_RETURN(
      along.dimension,
      along.attributes.Number("dimension", operands[0].rank() - 1));
  along.size = operands[0].dim(along.dimension);
  return along;
}

absl::Status CheckResults(const HloCustomCallInstruction& call, int64_t count) {
  if (call.shape().IsTuple() && call.shape().tuple_shapes_size() == count) {
    return absl::OkStatus();
  }
  return InvalidArgument("%s has %d results", call.custom_call_target(), count);
}

std::vector<int64_t> Range(int64_t first, int64_t count) {
  std::vector<int64_t> range(count);
  for (int64_t i = 0; i < count; ++i) range[i] = first + i;
  return range;
}

std::vector<int64_t> Rotated(int64_t size, int64_t by) {
  std::vector<int64_t> places(size);
  for (int64_t j = 0; j < size; ++j) {
    places[j] = ((j - by) % size + size) % size;
  }
  return places;
}

absl::StatusOr<Value> RotateRight(const HloCustomCallInstruction& call,
                                  absl::Span<const Value> operands) {
  TF_ASSIGN_OR_RETURN(const Along along, ReadCall(call, operands, 1));
  TF_ASSIGN_OR_RETURN(const int64_t amount,
                      along.attributes.Number("amount", int64_t{1} << 40));
  return TakeSlices(operands[0], along.dimension, Rotated(along.size, amount),
                    nullptr);
}

absl::StatusOr<Value> MultiRotate(const HloCustomCallInstruction& call,
                                  absl::Span<const Value> operands) {
  TF_ASSIGN_OR_RETURN(const Along along, ReadCall(call, operands, 1));
  TF_ASSIGN_OR_RETURN(const int64_t left,
                      along.attributes.Number("left_amount", kMostResults));
  TF_ASSIGN_OR_RETURN(const int64_t right,
                      along.attributes.Number("right_amount", kMostResults));
  TF_RETURN_IF_ERROR(CheckResults(call, left + right + 1));
  std::vector<Value> results;
  for (int64_t i = 0; i <= left + right; ++i) {
    TF_ASSIGN_OR_RETURN(Value rotated,
                        TakeSlices(operands[0], along.dimension,
                                   Rotated(along.size, i - left), nullptr));
    results.push_back(std::move(rotated));
  }
  return Value::Tuple(std::move(results));
}

absl::StatusOr<Value> Wrap(const HloCustomCallInstruction& call,
                           absl::Span<const Value> operands) {
  TF_ASSIGN_OR_RETURN(const Along along, ReadCall(call, operands, 1));
  TF_ASSIGN_OR_RETURN(const int64_t left,
                      along.attributes.Number("left_amount", along.size));
  TF_ASSIGN_OR_RETURN(const int64_t right,
                      along.attributes.Number("right_amount", along.size));
  std::vector<int64_t> places = Range(along.size - left, left);
  for (int64_t place : Range(0, along.size)) places.push_back(place);
  for (int64_t place : Range(0, right)) places.push_back(place);
  return TakeSlices(operands[0], along.dimension, places, nullptr);
}

absl::StatusOr<Value> MultiSlice(const HloCustomCallInstruction& call,
                                 absl::Span<const Value> operands) {
  TF_ASSIGN_OR_RETURN(const Along along, ReadCall(call, operands, 1));
  TF_ASSIGN_OR_RETURN(const int64_t amount,
                      along.attributes.Number("amount", kMostResults));
  std::vector<std::vector<int64_t>> lists;
  for (const char* name : {"start_indices", "limit_indices", "strides"}) {
    TF_ASSIGN_OR_RETURN(lists.emplace_back(), along.attributes.List(name));
    if (lists.back().size() != operands[0].dims().size()) {
      return InvalidArgument("attribute \"%s\" has %d numbers for rank %d",
                             name, lists.back().size(), operands[0].rank());
    }
  }
  TF_RETURN_IF_ERROR(CheckResults(call, amount + 1));
  std::vector<Value> results;
  for (int64_t i = 0; i <= amount; ++i) {
    Value result = operands[0];
    for (int64_t d = 0; d < operands[0].rank(); ++d) {
      const int64_t move = d == along.dimension ? i : 0;
      const int64_t start = lists[0][d], limit = lists[1][d],
                    stride = lists[2][d];
      if (start < 0 || start > limit || stride < 1 ||
          limit > operands[0].dim(d) - move) {
        return InvalidArgument(
            "slice [%d:%d:%d], moved by %d, of dimension %d of size %d", start,
            limit, stride, move, d, operands[0].dim(d));
      }
      std::vector<int64_t> places;
      for (int64_t j = start; j < limit; j += stride) {
        places.push_back(j + move);
      }
      TF_ASSIGN_OR_RETURN(result, TakeSlices(result, d, places, nullptr));
    }
    results.push_back(std::move(result));
  }
  return Value::Tuple(std::move(results));
}

absl::StatusOr<Value> MultiPad(const HloCustomCallInstruction& call,
                               absl::Span<const Value> operands) {
  TF_ASSIGN_OR_RETURN(const Along along, ReadCall(call, operands, 2));
  TF_ASSIGN_OR_RETURN(const int64_t amount,
                      along.attributes.Number("amt", kMostResults));
  if (!operands[1].IsArray() || operands[1].count() != 1 ||
      operands[1].type() != operands[0].type()) {
    return InvalidArgument(
        "the padding value is not an element of the operand");
  }
  TF_RETURN_IF_ERROR(CheckResults(call, amount + 1));
  std::vector<Value> results;
  for (int64_t i = 0; i <= amount; ++i) {
    std::vector<int64_t> places(along.size + amount, -1);
    for (int64_t j = 0; j < along.size; ++j) places[amount - i + j] = j;
    TF_ASSIGN_OR_RETURN(Value padded, TakeSlices(operands[0], along.dimension,
                                                 places, &operands[1]));
    results.push_back(std::move(padded));
  }
  return Value::Tuple(std::move(results));
}

absl::StatusOr<Value> BlockScaledDot(const HloCustomCallInstruction& call,
                                     absl::Span<const Value> operands) {
  const std::optional<DotDimensionNumbers> numbers =
      BlockScaledDotDimensions(call);
  if (!numbers.has_value()) {
    return InvalidArgument(
        "not a block-scaled dot of two or three dimensions: %s",
        call.ToString());
  }
  return ScaledDotValues(operands[0], operands[1], operands[2], operands[3],
                         *numbers, call.shape().element_type(), nullptr);
}

bool IsCallOf(const HloInstruction* instruction, absl::string_view target,
              absl::string_view other) {
  if (instruction->opcode() != HloOpcode::kCustomCall) return false;
  const std::string& called =
      Cast<HloCustomCallInstruction>(instruction)->custom_call_target();
  return called == target || called == other;
}

}  // namespace

void RegisterSpmdCustomCalls(CustomCallRegistry& registry) {
  registry.Register("_SPMDInternalOp_RotateRight", RotateRight);
  registry.Register("_SPMDInternalOp_MultiRotate", MultiRotate);
  registry.Register("_SPMDInternalOp_Wrap", Wrap);
  registry.Register("_SPMDInternalOp_MultiSlice", MultiSlice);
  registry.Register("_SPMDInternalOp_MultiPad", MultiPad);
  registry.Register("__op$block_scaled_dot", BlockScaledDot);
}

bool EntersManualRegion(const HloInstruction* instruction) {
  return IsCallOf(instruction, "SPMDFullToShardShape",
                  "xla.sdy.GlobalToLocalShape");
}

bool LeavesManualRegion(const HloInstruction* instruction) {
  return IsCallOf(instruction, "SPMDShardToFullShape",
                  "xla.sdy.LocalToGlobalShape");
}

}  // namespace evaluator
}  // namespace xla

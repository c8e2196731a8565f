#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/devices/collectives.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"

namespace xla {
namespace evaluator {
namespace {

using Operands = absl::Span<const Value>;

// Whether `index` is the place of one element: a vector, or scalars in a tuple;
// a scalar of its own in one dimension.
bool IsPlace(const Value& index, int64_t rank) {
  if (index.IsArray()) {
    return primitive_util::IsIntegralType(index.type()) &&
           index.count() == rank && (rank == 1 || index.rank() == 1);
  }
  if (!index.IsTuple() || index.element_count() != rank) return false;
  for (const Value& element : index.elements()) {
    if (!element.IsArray() || element.rank() != 0 ||
        !primitive_util::IsIntegralType(element.type())) {
      return false;
    }
  }
  return true;
}

// Appends the places that `index` names: itself, or the elements of a tuple.
absl::Status AppendPlaces(const Value& index, int64_t rank,
                          std::vector<DimensionVector>& places) {
  if (IsPlace(index, rank)) {
    DimensionVector& place = places.emplace_back(rank);
    for (int64_t d = 0; d < rank; ++d) {
      place[d] =
          index.IsArray() ? index.Int64At(d) : index.element(d).AsInt64();
    }
    return absl::OkStatus();
  }
  if (!index.IsTuple()) {
    return absl::InvalidArgumentError(
        absl::StrCat("not start indices of an array of rank ", rank));
  }
  for (const Value& element : index.elements()) {
    if (!IsPlace(element, rank)) {
      return absl::InvalidArgumentError(
          absl::StrCat("not start indices of an array of rank ", rank));
    }
    TF_RETURN_IF_ERROR(AppendPlaces(element, rank, places));
  }
  return absl::OkStatus();
}

absl::Status CheckBox(absl::string_view what, const Value& array,
                      const DimensionVector& start,
                      absl::Span<const int64_t> sizes) {
  bool inside = sizes.size() == array.dims().size();
  for (size_t d = 0; inside && d < sizes.size(); ++d) {
    inside = start[d] >= 0 && start[d] + sizes[d] <= array.dim(d);
  }
  if (inside) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the slice of ", absl::StrJoin(sizes, "x"), " at [",
                   absl::StrJoin(start, ","), "] is not within the ", what,
                   " of ", absl::StrJoin(array.dims(), "x")));
}

int64_t Offset(const DimensionVector& index, const DimensionVector& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

// Slices of the source's input, written into the receiver's output.
// Operands are (input, output, places in the input, places in the output). The
// receiver's own output is what the slices go into, and the source says which
// ones it sends; both have to name the same places in the output. With n
// arrays, slice k of array i has size number k * n + i.
class InPlace {
 public:
  InPlace(const HloCollectivePermuteInstruction* permute, Operands source,
          Operands own, MemoryBudget* budget)
      : permute_(permute), source_(source), own_(own), budget_(budget) {}

  absl::StatusOr<Value> Result() const {
    if (source_[3] != own_[3]) {
      return absl::InvalidArgumentError(
          "source and target disagree about the position in the output");
    }
    const bool tuple = source_[0].IsTuple();
    if (tuple != own_[1].IsTuple())
      return absl::InvalidArgumentError("input and output do not match");
    if (!tuple) return Array(0, 1, source_[0], own_[1], source_[2], own_[3]);
    const int64_t n = source_[0].element_count();
    for (const Value& value : {own_[1], source_[2], own_[3]}) {
      if (!value.IsTuple() || value.element_count() != n) {
        return absl::InvalidArgumentError(
            absl::StrCat("not all operands have ", n, " elements"));
      }
    }
    std::vector<Value> results;
    for (int64_t i = 0; i < n; ++i) {
      TF_ASSIGN_OR_RETURN(Value result,
                          Array(i, n, source_[0].element(i), own_[1].element(i),
                                source_[2].element(i), own_[3].element(i)));
      results.push_back(std::move(result));
    }
    return Value::Tuple(std::move(results));
  }

 private:
  // The i-th of n arrays, which take turns in the list of slice sizes.
  absl::StatusOr<Value> Array(int64_t i, int64_t n, const Value& input,
                              Value output, const Value& from,
                              const Value& to) const {
    if (!input.IsArray() || !output.IsArray() ||
        input.type() != output.type()) {
      return absl::InvalidArgumentError("input and output do not match");
    }
    std::vector<DimensionVector> sources, targets;
    TF_RETURN_IF_ERROR(AppendPlaces(from, input.rank(), sources));
    TF_RETURN_IF_ERROR(AppendPlaces(to, output.rank(), targets));
    const std::vector<std::vector<int64_t>>& sizes =
        permute_->dynamic_slice_sizes_list();
    const size_t slices = sizes.size() / n;
    if (sizes.size() % n != 0 || sources.size() != slices ||
        targets.size() != slices) {
      return absl::InvalidArgumentError(absl::StrCat(
          sizes.size(), " slice sizes for ", n, " arrays, ", sources.size(),
          " positions in the input and ", targets.size(), " in the output"));
    }
    TF_ASSIGN_OR_RETURN(Value result,
                        Value::MakeUnique(std::move(output), budget_));
    const DimensionVector in = RowMajorStrides(input.dims());
    const DimensionVector out = RowMajorStrides(result.dims());
    const int64_t bytes = input.element_bytes();
    for (size_t k = 0; k < slices; ++k) {
      const std::vector<int64_t>& box = sizes[k * n + i];
      TF_RETURN_IF_ERROR(CheckBox("input", input, sources[k], box));
      TF_RETURN_IF_ERROR(CheckBox("output", result, targets[k], box));
      CopyStridedBox(result.mutable_raw() + Offset(targets[k], out) * bytes,
                     out, input.raw() + Offset(sources[k], in) * bytes, in, box,
                     bytes);
    }
    return result;
  }

  const HloCollectivePermuteInstruction* const permute_;
  const Operands source_;
  const Operands own_;
  MemoryBudget* const budget_;
};

absl::StatusOr<Value> Received(const HloCollectivePermuteInstruction* permute,
                               const Shape& shape, Operands operands,
                               const Operands* source, MemoryBudget* budget) {
  if (permute->inplace()) {
    if (source == nullptr) return operands[1];
    return InPlace(permute, *source, operands, budget).Result();
  }
  std::vector<Value> received;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (source != nullptr) {
      received.push_back((*source)[i]);
      continue;
    }
    TF_ASSIGN_OR_RETURN(
        Value zeros,
        Value::MakeZeros(operands[i].type(), operands[i].dims(), budget));
    received.push_back(std::move(zeros));
  }
  return PackResults(shape, std::move(received));
}

}  // namespace

absl::StatusOr<Value> EvaluatePermute(const HloInstruction* instruction,
                                      Operands operands, const Operands* source,
                                      MemoryBudget* budget) {
  const auto* permute = Cast<HloCollectivePermuteInstruction>(instruction);
  const Shape& shape = instruction->shape();
  if (instruction->opcode() == HloOpcode::kCollectivePermute) {
    return Received(permute, shape, operands, source, budget);
  }
  if (!shape.IsTuple() || shape.tuple_shapes_size() < 2) {
    return absl::InvalidArgumentError(
        "the shape is not a tuple of operands and results");
  }
  // (operands, results, contexts...); in place, the input may stand for all.
  TF_ASSIGN_OR_RETURN(Value received, Received(permute, shape.tuple_shapes(1),
                                               operands, source, budget));
  const Shape& held = shape.tuple_shapes(0);
  const bool first_only =
      permute->inplace() &&
      ShapeUtil::Compatible(held, instruction->operand(0)->shape());
  std::vector<Value> parts;
  parts.push_back(first_only
                      ? operands[0]
                      : PackResults(held, std::vector<Value>(operands.begin(),
                                                             operands.end())));
  parts.push_back(std::move(received));
  for (int64_t i = 2; i < shape.tuple_shapes_size(); ++i) {
    TF_ASSIGN_OR_RETURN(Value value,
                        Value::ZerosOfShape(shape.tuple_shapes(i), budget));
    parts.push_back(std::move(value));
  }
  return Value::Tuple(std::move(parts));
}

}  // namespace evaluator
}  // namespace xla

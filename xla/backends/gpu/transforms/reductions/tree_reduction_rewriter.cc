#include "xla/backends/gpu/transforms/reductions/tree_reduction_rewriter.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/backends/gpu/transforms/reductions/reduction_forms.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/evaluator/run/init_values.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

// Splits reductions that are too long for one block into two stages, so that no
// atomic operations are needed: n elements become about sqrt(n) rows of sqrt(n)
// elements, each reduced by itself, and a second reduction combines the
// results. A reduction over two separate dimensions is split by dimension
// instead. Stages that are still too long are split again. Columns that a few
// blocks would reduce become as many parts as fill the device.
//
// The initial value takes part in every partial result, and pads rows where n
// has no suitable factors; the rewrite therefore requires that combining the
// initial values with themselves leaves them unchanged, which is checked by
// evaluation.

namespace xla::gpu {
namespace {

// A block of threads reads so many bytes of each row next to each other, and
// takes long if that is so much altogether; a part is worth a block from so
// many bytes on.
constexpr int64_t kBytesOfRow = 128;
constexpr int64_t kManyBytesOfBlock = int64_t{128} << 10;
constexpr int64_t kLeastBytesOfPart = int64_t{16} << 10;
// Blocks for each multiprocessor whose reads keep memory busy.
constexpr int64_t kBlocksOfCore = 4;

// Into how many parts columns are best split, 1 for none: a block of threads
// takes columns next to each other from one end to the other, and where there
// are few such blocks most of the device idles.
int64_t PartsThatFill(const HloInstruction& reduce,
                      const se::DeviceDescription& device) {
  const ReductionDimensions dims = *ReductionDimensionsOf(reduce);
  if (dims.is_row_reduction) return 1;
  int64_t bytes = 1;
  for (int64_t i = 0; i < reduce.operand_count() / 2; ++i) {
    bytes = std::max(bytes, ShapeUtil::ByteSizeOfPrimitiveType(
                                reduce.operand(i)->shape().element_type()));
  }
  const int64_t row =
      bytes * dims.dimensions[ReductionDimensions::kColMinorKeptDimension];
  const int64_t blocks =
      dims.dimensions[ReductionDimensions::kColMajorKeptDimension] *
      CeilOfRatio(row, kBytesOfRow);
  const int64_t of_block =
      dims.dimensions[ReductionDimensions::kColReducedDimension] *
      std::min(row, kBytesOfRow);
  if (blocks == 0 || of_block < kManyBytesOfBlock) return 1;
  return std::min(CeilOfRatio(kBlocksOfCore * device.core_count(), blocks),
                  of_block / kLeastBytesOfPart);
}

// `parts` or up to twice as many, and the length of each: without a rest if
// there is such a number.
std::pair<int64_t, int64_t> PartsOf(int64_t length, int64_t parts) {
  for (int64_t number = parts; number < 2 * parts; ++number) {
    if (length % number == 0) return {number, length / number};
  }
  return {parts, CeilOfRatio(length, parts)};
}

// Two factors of `length`, or of a little more, near its root.
std::pair<int64_t, int64_t> Factors(int64_t length) {
  const auto root = static_cast<int64_t>(std::sqrt(length));
  for (int64_t factor = root; factor > root / 2; --factor) {
    if (length % factor == 0) return {factor, length / factor};
  }
  const int64_t factor = root + 1;
  return {factor, (length + factor - 1) / factor};
}

// Reduces `values` as `reduce` does its operands; one result for each.
std::vector<HloInstruction*> Reduce(HloInstruction* reduce,
                                    absl::Span<HloInstruction* const> values,
                                    const std::vector<int64_t>& dims) {
  HloComputation* computation = reduce->parent();
  const int64_t count = values.size();
  std::vector<Shape> shapes;
  std::vector<HloInstruction*> inits;
  for (int64_t i = 0; i < count; ++i) {
    const Shape& shape = values[i]->shape();
    std::vector<int64_t> sizes;
    for (int64_t d = 0; d < shape.dimensions_size(); ++d) {
      if (!absl::c_linear_search(dims, d)) {
        sizes.push_back(shape.dimensions(d));
      }
    }
    shapes.push_back(ShapeUtil::MakeShape(shape.element_type(), sizes));
    inits.push_back(reduce->mutable_operand(count + i));
  }
  HloInstruction* result =
      computation->AddInstruction(HloInstruction::CreateReduce(
          count == 1 ? shapes[0] : ShapeUtil::MakeTupleShape(shapes), values,
          inits, dims, reduce->to_apply()));
  result->set_metadata(reduce->metadata());
  if (count == 1) return {result};
  std::vector<HloInstruction*> results;
  for (int64_t i = 0; i < count; ++i) {
    results.push_back(computation->AddInstruction(
        HloInstruction::CreateGetTupleElement(shapes[i], result, i)));
  }
  return results;
}

// [.., n, ..] as [.., factor, n / factor, ..]; padded with the initial value
// where that is uneven.
HloInstruction* Cut(HloInstruction* reduce, HloInstruction* value,
                    HloInstruction* init, int64_t dim, int64_t parts) {
  HloComputation* computation = reduce->parent();
  const int64_t length = value->shape().dimensions(dim);
  const auto [major, minor] =
      parts > 1 ? PartsOf(length, parts) : Factors(length);
  std::vector<int64_t> sizes(value->shape().dimensions().begin(),
                             value->shape().dimensions().end());
  const PrimitiveType type = value->shape().element_type();
  if (major * minor != length) {
    PaddingConfig padding;
    for (size_t d = 0; d < sizes.size(); ++d) {
      padding.add_dimensions()->set_edge_padding_high(
          static_cast<int64_t>(d) == dim ? major * minor - length : 0);
    }
    sizes[dim] = major * minor;
    value = computation->AddInstruction(HloInstruction::CreatePad(
        ShapeUtil::MakeShape(type, sizes), value, init, padding));
    value->set_metadata(reduce->metadata());
  }
  sizes[dim] = minor;
  sizes.insert(sizes.begin() + dim, major);
  HloInstruction* cut = computation->AddInstruction(
      HloInstruction::CreateBitcast(ShapeUtil::MakeShape(type, sizes), value));
  cut->set_metadata(reduce->metadata());
  return cut;
}

bool IsRowMajor(const Shape& shape) {
  return shape.IsArray() && shape.is_static() && shape.has_layout() &&
         shape.layout().is_plain() &&
         LayoutUtil::IsMonotonicWithDim0Major(shape.layout());
}

// Into how many parts it is to be split, or 1 where its length alone decides;
// nothing where it stays whole.
std::optional<int64_t> PartsOfSplit(const HloInstruction& reduce,
                                    const se::DeviceDescription& device,
                                    bool fill) {
  if (reduce.opcode() != HloOpcode::kReduce ||
      reduce.HasControlDependencies()) {
    return std::nullopt;
  }
  for (const HloInstruction* operand : reduce.operands()) {
    if (!IsRowMajor(operand->shape())) return std::nullopt;
  }
  // What the parts are padded to is less than twice as long, in the type of the
  // result; its size in bytes has to fit in 63 bits.
  const int64_t count = reduce.operand_count() / 2;
  for (int64_t i = 0; i < count; ++i) {
    const PrimitiveType type =
        reduce.operand(count + i)->shape().element_type();
    if (ShapeUtil::ElementsIn(reduce.operand(i)->shape()) >
        std::numeric_limits<int64_t>::max() / 2 /
            primitive_util::ByteWidth(type)) {
      return std::nullopt;
    }
  }
  for (const Shape* leaf : ShapeUtil::FlattenTupleShape(reduce.shape())) {
    if (!IsRowMajor(*leaf)) return std::nullopt;
  }
  if (!IsReductionFromOrToContiguousDimensions(reduce, device)) {
    return std::nullopt;
  }
  int64_t parts = 1;
  if (ReductionIsRaceFree(*ReductionDimensionsOf(reduce), device)) {
    if (fill) parts = PartsThatFill(reduce, device);
    if (parts <= 1) return std::nullopt;
  }
  // Neighbors are one dimension.
  for (int64_t dim : reduce.dimensions()) {
    if (absl::c_linear_search(reduce.dimensions(), dim + 1)) {
      return std::nullopt;
    }
  }
  if (!InitMayRepeat(reduce)) return std::nullopt;
  return parts;
}

// Replaces `reduce` by two reductions, which are returned. `parts`: as above.
absl::StatusOr<std::pair<HloInstruction*, HloInstruction*>> SplitInTwo(
    HloInstruction* reduce, int64_t parts) {
  HloComputation* computation = reduce->parent();
  const int64_t count = reduce->operand_count() / 2;
  std::vector<int64_t> dims(reduce->dimensions().begin(),
                            reduce->dimensions().end());
  absl::c_sort(dims);
  // In the type of the result, which may be wider: the stages meet in it.
  std::vector<HloInstruction*> values;
  for (int64_t i = 0; i < count; ++i) {
    HloInstruction* value = reduce->mutable_operand(i);
    const PrimitiveType type =
        reduce->operand(count + i)->shape().element_type();
    if (value->shape().element_type() != type) {
      value = computation->AddInstruction(HloInstruction::CreateConvert(
          ShapeUtil::ChangeElementType(value->shape(), type), value));
    }
    values.push_back(value);
  }
  int64_t first_dim = dims.back();
  if (dims.size() > 1) {
    dims.pop_back();
  } else {
    for (int64_t i = 0; i < count; ++i) {
      values[i] = Cut(reduce, values[i], reduce->mutable_operand(count + i),
                      first_dim, parts);
    }
    ++first_dim;
  }
  values = Reduce(reduce, values, {first_dim});
  HloInstruction* first =
      count == 1 ? values[0] : values[0]->mutable_operand(0);
  values = Reduce(reduce, values, dims);
  HloInstruction* second =
      count == 1 ? values[0] : values[0]->mutable_operand(0);
  RETURN_IF_ERROR(computation->ReplaceInstruction(reduce, second));
  return std::make_pair(first, second);
}

}  // namespace

absl::StatusOr<bool> TreeReductionRewriter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  ASSIGN_OR_RETURN(const se::DeviceDescription device,
                   GivenOrLoadedGpuDevice(device_, options_.device));
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    std::vector<HloInstruction*> work = computation->MakeInstructionPostOrder();
    // Halves may be too long themselves.
    while (!work.empty()) {
      HloInstruction* reduce = work.back();
      work.pop_back();
      const std::optional<int64_t> parts =
          PartsOfSplit(*reduce, device, options_.fill);
      if (!parts.has_value()) continue;
      ASSIGN_OR_RETURN(const auto halves, SplitInTwo(reduce, *parts));
      work.push_back(halves.first);
      work.push_back(halves.second);
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu

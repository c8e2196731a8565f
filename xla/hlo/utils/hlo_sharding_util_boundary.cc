// Shardings of products' operands, and what the caller of a module sees.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

using dot_as_convolution_util::DotConvolutionDimsInfo;
using DimNums = DotConvolutionDimsInfo::DimNums;

// A dimension of two tensors of a product.
struct DimPair {
  int64_t from;
  int64_t to;
};

// `sharding` along the pairs, everything else replicated.
std::optional<HloSharding> Renamed(const HloSharding* sharding,
                                   absl::Span<const DimPair> pairs,
                                   int64_t from_rank, int64_t to_rank) {
  if (sharding == nullptr || !sharding->IsTiled() || sharding->IsTuple() ||
      sharding->TiledDataRank() != from_rank) {
    return std::nullopt;
  }
  std::vector<int64_t> src_to_tgt(from_rank, -1);
  std::vector<int64_t> tgt_to_src(to_rank, -1);
  for (const DimPair& pair : pairs) {
    if (pair.from < 0 || pair.to < 0) continue;
    src_to_tgt[pair.from] = pair.to;
    tgt_to_src[pair.to] = pair.from;
  }
  return TransposeShardingWithCollapsedDims(*sharding, src_to_tgt, tgt_to_src);
}

// Flags speak of all, or of one each.
bool FlagOf(absl::Span<const bool> flags, size_t i) {
  if (flags.size() == 1) return flags[0];
  return i < flags.size() && flags[i];
}

// Uneven leaves become replicated, among the top-level elements with a flag.
void ReplicateUneven(HloInstruction* inst, absl::Span<const bool> flags) {
  if (!inst->has_sharding()) return;
  if (!inst->shape().IsTuple()) {
    if (FlagOf(flags, 0) &&
        !EvenlyPartitions(inst->shape(), inst->sharding())) {
      inst->set_sharding(HloSharding::Replicate());
    }
    return;
  }
  if (!inst->sharding().IsTuple()) return;
  std::vector<HloSharding> leaves = inst->sharding().tuple_elements();
  bool changed = false;
  size_t leaf = 0;
  for (size_t i = 0; i < inst->shape().tuple_shapes().size(); ++i) {
    for (const Shape* shape :
         ShapeUtil::FlattenTupleShape(inst->shape().tuple_shapes(i))) {
      if (FlagOf(flags, i) && !EvenlyPartitions(*shape, leaves[leaf])) {
        leaves[leaf] = HloSharding::Replicate();
        changed = true;
      }
      ++leaf;
    }
  }
  if (changed) inst->set_sharding(HloSharding::Tuple(inst->shape(), leaves));
}

// `layout` takes the elements of `canonical` with a flag.
absl::Status TakeLayout(absl::Span<const bool> flags, const Shape& canonical,
                        ShapeLayout* layout) {
  Shape shape = layout->shape();
  if (!ShapeUtil::Compatible(shape, canonical)) {
    return absl::InvalidArgumentError(
        "the module's layout callback gave a shape of other dimensions");
  }
  if (!shape.IsTuple() || flags.size() == 1) {
    return FlagOf(flags, 0) ? layout->CopyLayoutFromShape(canonical)
                            : absl::OkStatus();
  }
  for (size_t i = 0; i < shape.tuple_shapes().size(); ++i) {
    if (FlagOf(flags, i)) {
      *shape.mutable_tuple_shapes(i) = canonical.tuple_shapes(i);
    }
  }
  return layout->CopyLayoutFromShape(shape);
}

}  // namespace

// Batch and free dimensions follow the result, batch and contracting dimensions
// the other operand. The result's suggestion comes first; the other operand's
// is merged into it where compatible.
HloSharding InferDotOperandSharding(const HloSharding* dot_sharding,
                                    const HloSharding* other_operand_sharding,
                                    int64_t operand_index,
                                    const DotConvolutionDimsInfo& dnums,
                                    bool consider_other_operand,
                                    bool may_combine_partial_sharding) {
  const bool lhs = operand_index == 0;
  auto own = [&](const DimNums& dim) { return lhs ? dim.lhs : dim.rhs; };
  auto other = [&](const DimNums& dim) { return lhs ? dim.rhs : dim.lhs; };
  const int64_t rank = lhs ? dnums.lhs_shape_rank : dnums.rhs_shape_rank;
  const int64_t other_rank = lhs ? dnums.rhs_shape_rank : dnums.lhs_shape_rank;
  std::vector<DimPair> from_dot;
  std::vector<DimPair> from_other;
  for (const DimNums& dim : dnums.batch_dims) {
    from_dot.push_back({dim.output, own(dim)});
    from_other.push_back({other(dim), own(dim)});
  }
  for (const DimNums& dim :
       lhs ? dnums.lhs_non_contracting_dims : dnums.rhs_non_contracting_dims) {
    from_dot.push_back({dim.output, own(dim)});
  }
  for (const DimNums& dim : dnums.contracting_dims) {
    from_other.push_back({other(dim), own(dim)});
  }
  HloSharding result =
      Renamed(dot_sharding, from_dot, dnums.output_shape_rank, rank)
          .value_or(HloSharding::Replicate());
  if (!consider_other_operand) return result;
  std::optional<HloSharding> second =
      Renamed(other_operand_sharding, from_other, other_rank, rank);
  if (!second) return result;
  return BetterSharding(*second, result, may_combine_partial_sharding)
      .value_or(result);
}

HloSharding InferDotOperandSharding(const HloInstruction* dot,
                                    int64_t operand_index,
                                    const DotConvolutionDimsInfo& dnums,
                                    bool consider_other_operand,
                                    bool may_combine_partial_sharding) {
  auto sharding_of = [](const HloInstruction* inst) {
    return inst->has_sharding() ? &inst->sharding() : nullptr;
  };
  return InferDotOperandSharding(sharding_of(dot),
                                 sharding_of(dot->operand(1 - operand_index)),
                                 operand_index, dnums, consider_other_operand,
                                 may_combine_partial_sharding);
}

bool EvenlyPartitions(const Shape& shape, const HloSharding& sharding) {
  if (shape.IsTuple()) {
    for (int64_t i = 0; i < shape.tuple_shapes().size(); ++i) {
      if (!EvenlyPartitions(shape.tuple_shapes(i),
                            sharding.IsTuple()
                                ? sharding.GetSubSharding(shape, {i})
                                : sharding)) {
        return false;
      }
    }
    return true;
  }
  if (!shape.IsArray() || !sharding.IsTiledLeaf()) return true;
  for (int64_t d = 0; d < sharding.TiledDataRank(); ++d) {
    if (shape.dimensions(d) % sharding.dimension(d) != 0) return false;
  }
  return true;
}

void ReplicateBoundaryShardingsIfIndivisible(
    HloModule* module, absl::Span<const bool> process_output,
    absl::Span<const bool> process_parameters) {
  HloComputation* entry = module->entry_computation();
  ReplicateUneven(entry->root_instruction(), process_output);
  const bool single_tuple = entry->num_parameters() == 1 &&
                            entry->parameter_instruction(0)->shape().IsTuple();
  for (HloInstruction* parameter : entry->parameter_instructions()) {
    if (single_tuple) {
      ReplicateUneven(parameter, process_parameters);
    } else {
      const bool flag =
          FlagOf(process_parameters, parameter->parameter_number());
      ReplicateUneven(parameter, {flag});
    }
  }
}

absl::Status CanonicalizeLayoutAfterShardingPropagation(
    HloModule* module, absl::Span<const bool> update_output_layout,
    absl::Span<const bool> update_parameters_layout) {
  const LayoutCanonicalizationCallback callback =
      module->layout_canonicalization_callback();
  if (callback == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto layouts, callback(*module));
  const auto& [parameters, result] = layouts;
  ComputationLayout* layout = module->mutable_entry_computation_layout();
  RETURN_IF_ERROR(TakeLayout(update_output_layout, result,
                             layout->mutable_result_layout()));
  if (static_cast<int64_t>(parameters.size()) != layout->parameter_count()) {
    return absl::InvalidArgumentError(
        "the module's layout callback gave layouts of other parameters");
  }
  const bool single_tuple = parameters.size() == 1 && parameters[0].IsTuple();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const bool flag = FlagOf(update_parameters_layout, i);
    RETURN_IF_ERROR(TakeLayout(
        single_tuple ? update_parameters_layout : absl::MakeConstSpan(&flag, 1),
        parameters[i], layout->mutable_parameter_layout(i)));
  }
  return absl::OkStatus();
}

}  // namespace hlo_sharding_util
}  // namespace xla

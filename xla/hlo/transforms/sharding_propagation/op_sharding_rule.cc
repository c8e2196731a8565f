#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using FactorKind = OpShardingRule::Kind;

// Builds a rule tensor by tensor; dimensions start without factors.
class RuleBuilder {
 public:
  explicit RuleBuilder(const HloInstruction& inst) {
    for (const HloInstruction* operand : inst.operands()) {
      AddTensors(operand->shape());
    }
    rule_.num_operands = static_cast<int>(rule_.tensors.size());
    AddTensors(inst.shape());
  }

  int AddFactor(int64_t size, FactorKind kind = FactorKind::kPassThrough) {
    rule_.factors.push_back({size, kind});
    return static_cast<int>(rule_.factors.size()) - 1;
  }
  void Map(int tensor, int64_t dim, int factor) {
    rule_.tensors[tensor].dims[dim].push_back(factor);
  }
  // One factor on dimension `dims[i]` of tensor i; -1: not on that tensor.
  // Where sizes differ, as for slices and pads, the factor has the greatest
  // common divisor of all sizes and counts as a permutation, since shards do
  // not line up.
  void MapAll(absl::Span<const int64_t> dims) {
    int64_t size = 0;
    bool same = true;
    for (size_t t = 0; t < dims.size(); ++t) {
      if (dims[t] < 0) continue;
      const int64_t other = shapes_[t]->dimensions(dims[t]);
      same = same && (size == 0 || size == other);
      size = std::gcd(size, other);
    }
    const int factor = AddFactor(
        size, same ? FactorKind::kPassThrough : FactorKind::kPermutation);
    for (size_t t = 0; t < dims.size(); ++t) {
      if (dims[t] >= 0) Map(static_cast<int>(t), dims[t], factor);
    }
  }

  int num_tensors() const { return static_cast<int>(rule_.tensors.size()); }
  int result() const { return rule_.num_operands; }
  const Shape& shape(int tensor) const { return *shapes_[tensor]; }
  bool all_arrays() const { return all_arrays_; }
  OpShardingRule Build() { return std::move(rule_); }

 private:
  void AddTensors(const Shape& shape) {
    for (const Shape* leaf : ShapeUtil::FlattenTupleShape(shape)) {
      all_arrays_ = all_arrays_ && leaf->IsArray();
      OpShardingRule::Tensor tensor;
      if (leaf->IsArray()) tensor.dims.resize(leaf->dimensions().size());
      rule_.tensors.push_back(std::move(tensor));
      shapes_.push_back(leaf);
    }
  }

  OpShardingRule rule_;
  std::vector<const Shape*> shapes_;
  bool all_arrays_ = true;
};

using Rule = std::optional<OpShardingRule>;

// All tensors of the result's rank share their dimensions, except `skipped`.
Rule ElementwiseRule(const HloInstruction& inst,
                     absl::Span<const int64_t> skipped = {}) {
  RuleBuilder b(inst);
  const int64_t rank = b.shape(b.result()).dimensions().size();
  for (int64_t d = 0; d < rank; ++d) {
    if (absl::c_linear_search(skipped, d)) continue;
    std::vector<int64_t> dims;
    for (int t = 0; t < b.num_tensors(); ++t) {
      const bool has =
          static_cast<int64_t>(b.shape(t).dimensions().size()) == rank;
      dims.push_back(has ? d : -1);
    }
    b.MapAll(dims);
  }
  return b.Build();
}

Rule BroadcastRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  for (int64_t d = 0;
       d < static_cast<int64_t>(inst.shape().dimensions().size()); ++d) {
    int64_t from = -1;
    for (size_t i = 0; i < inst.dimensions().size(); ++i) {
      if (inst.dimensions(i) == d) from = i;
    }
    b.MapAll({from, d});
  }
  return b.Build();
}

Rule TransposeRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  for (int64_t d = 0; d < static_cast<int64_t>(inst.dimensions().size()); ++d) {
    b.MapAll({inst.dimensions(d), d});
  }
  return b.Build();
}

// Matches both dimension lists from major to minor and splits off common
// factors. Where two dimensions have a proper common divisor that is none of
// them, only the major part corresponds, and the rest of the run up to the next
// common boundary is left without factors.
Rule ReshapeRule(const HloInstruction& inst) {
  if (ShapeUtil::IsZeroElementArray(inst.shape())) return std::nullopt;
  RuleBuilder b(inst);
  const absl::Span<const int64_t> from = inst.operand(0)->shape().dimensions();
  const absl::Span<const int64_t> to = inst.shape().dimensions();
  size_t i = 0;
  size_t j = 0;
  int64_t left_from = 1;
  int64_t left_to = 1;
  while (true) {
    // Dimensions of size 1 that stand opposite each other stay together.
    if (left_from == 1 && left_to == 1 && i < from.size() && j < to.size() &&
        from[i] == to[j]) {
      b.MapAll({static_cast<int64_t>(i++), static_cast<int64_t>(j++)});
      continue;
    }
    while (left_from == 1 && i < from.size()) left_from = from[i++];
    while (left_to == 1 && j < to.size()) left_to = to[j++];
    if (left_from == 1 || left_to == 1) break;
    const int64_t common = std::gcd(left_from, left_to);
    if (common == 1 || common != std::min(left_from, left_to)) {
      // [6] → [4,..]: what is common is the major part of both; the rest of
      // the run of dimensions does not correspond.
      if (common > 1) {
        const int factor = b.AddFactor(common);
        b.Map(0, i - 1, factor);
        b.Map(1, j - 1, factor);
      }
      int64_t product_from = left_from;
      int64_t product_to = left_to;
      while (product_from != product_to) {
        if (product_from < product_to) {
          if (i == from.size()) break;
          product_from *= from[i++];
        } else {
          if (j == to.size()) break;
          product_to *= to[j++];
        }
      }
      left_from = 1;
      left_to = 1;
      continue;
    }
    const int factor = b.AddFactor(common);
    b.Map(0, i - 1, factor);
    b.Map(1, j - 1, factor);
    left_from /= common;
    left_to /= common;
  }
  return b.Build();
}

// n operands, n initial values, results.
Rule ReduceRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  const int n = static_cast<int>(inst.operand_count() / 2);
  const int64_t rank = inst.operand(0)->shape().dimensions().size();
  int64_t kept = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const bool reduced = absl::c_linear_search(inst.dimensions(), d);
    const int factor = b.AddFactor(
        inst.operand(0)->shape().dimensions(d),
        reduced ? FactorKind::kReduction : FactorKind::kPassThrough);
    for (int t = 0; t < n; ++t) b.Map(t, d, factor);
    if (reduced) continue;
    for (int t = b.result(); t < b.num_tensors(); ++t) b.Map(t, kept, factor);
    ++kept;
  }
  return b.Build();
}

// Of scaled dots also: their scales go with the values, in the partitioner.
Rule DotRule(const HloInstruction& inst) {
  if (inst.opcode() == HloOpcode::kDot && inst.operand_count() != 2) {
    return std::nullopt;
  }
  RuleBuilder b(inst);
  const DotDimensionNumbers& dims = inst.dot_dimension_numbers();
  int64_t out = 0;
  for (int i = 0; i < dims.lhs_batch_dimensions_size(); ++i) {
    const int64_t d = dims.lhs_batch_dimensions(i);
    const int factor = b.AddFactor(inst.operand(0)->shape().dimensions(d));
    b.Map(0, d, factor);
    b.Map(1, dims.rhs_batch_dimensions(i), factor);
    b.Map(b.result(), out++, factor);
  }
  auto map_free = [&](int operand, const auto& batch, const auto& contracting) {
    const int64_t rank = inst.operand(operand)->shape().dimensions().size();
    for (int64_t d = 0; d < rank; ++d) {
      if (absl::c_linear_search(batch, d) ||
          absl::c_linear_search(contracting, d)) {
        continue;
      }
      const int factor =
          b.AddFactor(inst.operand(operand)->shape().dimensions(d));
      b.Map(operand, d, factor);
      b.Map(b.result(), out++, factor);
    }
  };
  map_free(0, dims.lhs_batch_dimensions(), dims.lhs_contracting_dimensions());
  map_free(1, dims.rhs_batch_dimensions(), dims.rhs_contracting_dimensions());
  for (int i = 0; i < dims.lhs_contracting_dimensions_size(); ++i) {
    const int64_t d = dims.lhs_contracting_dimensions(i);
    const int factor = b.AddFactor(inst.operand(0)->shape().dimensions(d),
                                   FactorKind::kReduction);
    b.Map(0, d, factor);
    b.Map(1, dims.rhs_contracting_dimensions(i), factor);
  }
  return b.Build();
}

Rule ConvolutionRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  const ConvolutionDimensionNumbers& dims =
      inst.convolution_dimension_numbers();
  const bool grouped =
      inst.feature_group_count() != 1 || inst.batch_group_count() != 1;
  if (inst.batch_group_count() == 1) {
    b.MapAll({dims.input_batch_dimension(), -1, dims.output_batch_dimension()});
  }
  if (!grouped) {
    b.MapAll({-1, dims.kernel_output_feature_dimension(),
              dims.output_feature_dimension()});
    const int factor = b.AddFactor(
        inst.operand(0)->shape().dimensions(dims.input_feature_dimension()),
        FactorKind::kReduction);
    b.Map(0, dims.input_feature_dimension(), factor);
    b.Map(1, dims.kernel_input_feature_dimension(), factor);
  } else if (inst.batch_group_count() == 1 &&
             inst.feature_group_count() ==
                 inst.operand(0)->shape().dimensions(
                     dims.input_feature_dimension()) &&
             inst.feature_group_count() ==
                 inst.shape().dimensions(dims.output_feature_dimension())) {
    // Depthwise: one feature in, one out.
    b.MapAll({dims.input_feature_dimension(),
              dims.kernel_output_feature_dimension(),
              dims.output_feature_dimension()});
  }
  for (int i = 0; i < dims.input_spatial_dimensions_size(); ++i) {
    const WindowDimension& window = inst.window().dimensions(i);
    const int64_t in =
        inst.operand(0)->shape().dimensions(dims.input_spatial_dimensions(i));
    const int64_t out =
        inst.shape().dimensions(dims.output_spatial_dimensions(i));
    // Windows small beside the input: neighbours exchange their edges.
    if (window.base_dilation() == 1 && in == out * window.stride() &&
        window.size() * window.window_dilation() * 2 <= in) {
      b.MapAll({dims.input_spatial_dimensions(i), -1,
                dims.output_spatial_dimensions(i)});
    }
  }
  return b.Build();
}

// Operand and result have the same dimensions, of which some change their size.
Rule SliceOrPadRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  for (int64_t d = 0;
       d < static_cast<int64_t>(inst.shape().dimensions().size()); ++d) {
    if (inst.opcode() == HloOpcode::kPad) {
      b.MapAll({d, -1, d});
    } else {
      b.MapAll({d, d});
    }
  }
  return b.Build();
}

Rule DynamicSliceRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  for (int64_t d = 0;
       d < static_cast<int64_t>(inst.shape().dimensions().size()); ++d) {
    if (inst.shape().dimensions(d) != b.shape(0).dimensions(d)) continue;
    const int factor = b.AddFactor(inst.shape().dimensions(d));
    b.Map(0, d, factor);
    b.Map(b.result(), d, factor);
  }
  return b.Build();
}

Rule DynamicUpdateSliceRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  for (int64_t d = 0;
       d < static_cast<int64_t>(inst.shape().dimensions().size()); ++d) {
    const int factor = b.AddFactor(inst.shape().dimensions(d));
    b.Map(0, d, factor);
    if (b.shape(1).dimensions(d) == inst.shape().dimensions(d)) {
      b.Map(1, d, factor);
    }
    b.Map(b.result(), d, factor);
  }
  return b.Build();
}

Rule GatherRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  const GatherDimensionNumbers& dims = inst.gather_dimension_numbers();
  const Shape& operand = b.shape(0);
  const Shape& indices = b.shape(1);
  std::vector<int> index_factor(indices.dimensions().size(), -1);
  for (int i = 0; i < dims.operand_batching_dims_size(); ++i) {
    const int64_t index_dim = dims.start_indices_batching_dims(i);
    index_factor[index_dim] = b.AddFactor(indices.dimensions(index_dim));
    b.Map(0, dims.operand_batching_dims(i), index_factor[index_dim]);
  }
  // Batch dimensions of the result follow those of the indices.
  int64_t index_dim = 0;
  std::vector<int64_t> window_dims;
  for (int64_t d = 0; d < static_cast<int64_t>(operand.dimensions().size());
       ++d) {
    if (!absl::c_linear_search(dims.collapsed_slice_dims(), d) &&
        !absl::c_linear_search(dims.operand_batching_dims(), d)) {
      window_dims.push_back(d);
    }
  }
  size_t window = 0;
  for (int64_t d = 0;
       d < static_cast<int64_t>(inst.shape().dimensions().size()); ++d) {
    if (absl::c_linear_search(dims.offset_dims(), d)) {
      const int64_t from = window_dims[window++];
      if (inst.shape().dimensions(d) == operand.dimensions(from)) {
        b.MapAll({from, -1, d});
      }
      continue;
    }
    if (index_dim == dims.index_vector_dim()) ++index_dim;
    int& factor = index_factor[index_dim];
    if (factor < 0) factor = b.AddFactor(indices.dimensions(index_dim));
    b.Map(1, index_dim, factor);
    b.Map(b.result(), d, factor);
    ++index_dim;
  }
  return b.Build();
}

// n operands, indices, n updates, n results.
Rule ScatterRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  const ScatterDimensionNumbers& dims = inst.scatter_dimension_numbers();
  const int n = static_cast<int>(inst.operand_count() / 2);
  const Shape& operand = b.shape(0);
  const Shape& indices = b.shape(n);
  const Shape& update = b.shape(n + 1);
  auto map_operands = [&](int64_t d, int factor) {
    for (int i = 0; i < n; ++i) {
      b.Map(i, d, factor);
      b.Map(b.result() + i, d, factor);
    }
  };
  auto map_updates = [&](int64_t d, int factor) {
    for (int i = 0; i < n; ++i) b.Map(n + 1 + i, d, factor);
  };
  std::vector<int> operand_factor(operand.dimensions().size());
  for (int64_t d = 0; d < static_cast<int64_t>(operand.dimensions().size());
       ++d) {
    operand_factor[d] = b.AddFactor(operand.dimensions(d));
    map_operands(d, operand_factor[d]);
  }
  std::vector<int> index_factor(indices.dimensions().size(), -1);
  for (int i = 0; i < dims.input_batching_dims_size(); ++i) {
    index_factor[dims.scatter_indices_batching_dims(i)] =
        operand_factor[dims.input_batching_dims(i)];
  }
  std::vector<int64_t> window_dims;
  for (int64_t d = 0; d < static_cast<int64_t>(operand.dimensions().size());
       ++d) {
    if (!absl::c_linear_search(dims.inserted_window_dims(), d) &&
        !absl::c_linear_search(dims.input_batching_dims(), d)) {
      window_dims.push_back(d);
    }
  }
  size_t window = 0;
  int64_t index_dim = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(update.dimensions().size());
       ++d) {
    if (absl::c_linear_search(dims.update_window_dims(), d)) {
      const int64_t to = window_dims[window++];
      if (update.dimensions(d) == operand.dimensions(to)) {
        map_updates(d, operand_factor[to]);
      }
      continue;
    }
    if (index_dim == dims.index_vector_dim()) ++index_dim;
    int& factor = index_factor[index_dim];
    if (factor < 0) {
      factor =
          b.AddFactor(indices.dimensions(index_dim), FactorKind::kReduction);
    }
    b.Map(n, index_dim, factor);
    map_updates(d, factor);
    ++index_dim;
  }
  return b.Build();
}

// Windows over every operand of the result's rank.
Rule WindowRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  const int64_t rank = b.shape(b.result()).dimensions().size();
  for (int64_t d = 0; d < rank; ++d) {
    const WindowDimension& window = inst.window().dimensions(d);
    const int64_t in = b.shape(0).dimensions(d);
    const bool trivial = window_util::IsTrivialWindowDimension(window);
    if (!trivial && (window.base_dilation() != 1 ||
                     window.window_dilation() != 1 || window.size() * 2 > in)) {
      continue;
    }
    std::vector<int64_t> dims;
    for (int t = 0; t < b.num_tensors(); ++t) {
      dims.push_back(
          static_cast<int64_t>(b.shape(t).dimensions().size()) == rank ? d
                                                                       : -1);
    }
    b.MapAll(dims);
  }
  return b.Build();
}

// The leading dimensions without the last `matrix_rank`, on all operands.
Rule BatchRule(const HloInstruction& inst, int64_t matrix_rank) {
  RuleBuilder b(inst);
  const int64_t rank = b.shape(b.result()).dimensions().size();
  for (int64_t d = 0; d + matrix_rank < rank; ++d) {
    std::vector<int64_t> dims;
    for (int t = 0; t < b.num_tensors(); ++t) {
      const int64_t other = b.shape(t).dimensions().size();
      dims.push_back(other == rank ? d : -1);
    }
    b.MapAll(dims);
  }
  return b.Build();
}

Rule BitcastConvertRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  const size_t rank =
      std::min(b.shape(0).dimensions().size(), b.shape(1).dimensions().size());
  for (size_t d = 0; d < rank; ++d) {
    b.MapAll({static_cast<int64_t>(d), static_cast<int64_t>(d)});
  }
  return b.Build();
}

// Dimensions that a manual region leaves whole are one inside and outside.
Rule BorderRule(const HloInstruction& inst) {
  const Shape& operand = inst.operand(0)->shape();
  const Shape& result = inst.shape();
  if (!operand.IsArray() || !result.IsArray() ||
      operand.dimensions().size() != result.dimensions().size()) {
    return std::nullopt;
  }
  std::vector<int64_t> cut;
  for (size_t d = 0; d < result.dimensions().size(); ++d) {
    if (operand.dimensions(d) != result.dimensions(d)) cut.push_back(d);
  }
  return ElementwiseRule(inst, cut);
}

Rule CustomCallRule(const HloInstruction& inst) {
  if (inst.IsCustomCall({"SPMDFullToShardShape", "SPMDShardToFullShape"}) &&
      inst.operand_count() == 1) {
    return BorderRule(inst);
  }
  if (inst.IsCustomCall({"Sharding", "LayoutConstraint", "MoveToHost",
                         "MoveToDevice", "PinToDevice", "PinToDeviceSram",
                         "X64Combine"})) {
    return ElementwiseRule(inst);
  }
  if (inst.IsCustomCall("TopK") && inst.operand_count() == 1) {
    return BatchRule(inst, 1);
  }
  return std::nullopt;
}

bool HasOnlyArrays(const HloInstruction& inst) {
  if (inst.operand_count() == 0) return false;
  for (const HloInstruction* operand : inst.operands()) {
    if (!operand->shape().IsArray()) return false;
  }
  for (const Shape* leaf : ShapeUtil::FlattenTupleShape(inst.shape())) {
    if (!leaf->IsArray()) return false;
  }
  return true;
}

std::string FactorName(int factor) {
  if (factor < 18) return std::string(1, static_cast<char>('i' + factor));
  return absl::StrCat("z_", factor - 17);
}

}  // namespace

std::string OpShardingRule::ToString() const {
  auto tensor_list = [&](int begin, int end) {
    std::vector<std::string> texts;
    for (int t = begin; t < end; ++t) {
      std::vector<std::string> dims;
      for (const std::vector<int>& dim : tensors[t].dims) {
        std::string text;
        for (int factor : dim) absl::StrAppend(&text, FactorName(factor));
        dims.push_back(text.empty() ? "-" : text);
      }
      texts.push_back(absl::StrCat("[", absl::StrJoin(dims, ","), "]"));
    }
    return absl::StrCat("(", absl::StrJoin(texts, ","), ")");
  };
  std::vector<std::string> sizes;
  std::vector<std::string> reductions;
  std::vector<std::string> permutations;
  for (size_t f = 0; f < factors.size(); ++f) {
    const std::string name = FactorName(static_cast<int>(f));
    sizes.push_back(absl::StrCat(name, "=", factors[f].size));
    if (factors[f].kind == FactorKind::kReduction) reductions.push_back(name);
    if (factors[f].kind == FactorKind::kPermutation)
      permutations.push_back(name);
  }
  std::string text =
      absl::StrCat(tensor_list(0, num_operands), "->",
                   tensor_list(num_operands, static_cast<int>(tensors.size())),
                   " {", absl::StrJoin(sizes, ","), "}");
  if (!reductions.empty()) {
    absl::StrAppend(&text, " reduction={", absl::StrJoin(reductions, ","), "}");
  }
  if (!permutations.empty()) {
    absl::StrAppend(&text, " permutation={", absl::StrJoin(permutations, ","),
                    "}");
  }
  return text;
}

OpShardingRule IdentityRule(const Shape& shape, int num_tensors,
                            int num_operands) {
  OpShardingRule rule;
  OpShardingRule::Tensor tensor;
  for (int64_t size : shape.dimensions()) {
    tensor.dims.push_back({static_cast<int>(rule.factors.size())});
    rule.factors.push_back({size, FactorKind::kPassThrough});
  }
  rule.tensors.assign(num_tensors, tensor);
  rule.num_operands = num_operands;
  return rule;
}

std::optional<OpShardingRule> GetOpShardingRule(const HloInstruction& inst) {
  if (!HasOnlyArrays(inst)) return std::nullopt;
  switch (inst.opcode()) {
    case HloOpcode::kBroadcast:
      return BroadcastRule(inst);
    case HloOpcode::kTranspose:
      return TransposeRule(inst);
    case HloOpcode::kReshape:
      return ReshapeRule(inst);
    case HloOpcode::kReduce:
      return ReduceRule(inst);
    case HloOpcode::kDot:
    case HloOpcode::kScaledDot:
      return DotRule(inst);
    case HloOpcode::kConvolution:
      return ConvolutionRule(inst);
    case HloOpcode::kSlice:
    case HloOpcode::kPad:
      return SliceOrPadRule(inst);
    case HloOpcode::kDynamicSlice:
      return DynamicSliceRule(inst);
    case HloOpcode::kDynamicUpdateSlice:
      return DynamicUpdateSliceRule(inst);
    case HloOpcode::kGather:
      return GatherRule(inst);
    case HloOpcode::kScatter:
      return ScatterRule(inst);
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      return WindowRule(inst);
    case HloOpcode::kSort:
      return ElementwiseRule(inst, inst.dimensions());
    case HloOpcode::kConcatenate:
      return ElementwiseRule(inst, inst.dimensions());
    case HloOpcode::kReverse:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kCopy:
    case HloOpcode::kMap:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kStochasticConvert:
      return ElementwiseRule(inst);
    case HloOpcode::kAllReduce:
    case HloOpcode::kCollectivePermute:
      return inst.shape().IsArray() ? ElementwiseRule(inst) : std::nullopt;
    case HloOpcode::kBitcastConvert:
      return BitcastConvertRule(inst);
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
      return BatchRule(inst, 2);
    case HloOpcode::kFft:
      return BatchRule(inst, inst.fft_length().size());
    case HloOpcode::kCustomCall:
      return CustomCallRule(inst);
    default:
      return inst.IsElementwise() ? ElementwiseRule(inst) : std::nullopt;
  }
}

}  // namespace xla

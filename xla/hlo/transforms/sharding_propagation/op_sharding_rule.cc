#include "xla/hlo/transforms/sharding_propagation/op_sharding_rule.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/block_scaled_dot.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/transforms/sharding_propagation/indexing_sharding_rules.h"
#include "xla/hlo/transforms/sharding_propagation/product_sharding_rules.h"
#include "xla/hlo/transforms/sharding_propagation/rule_builder.h"
#include "xla/hlo/utils/custom_call_sharding_helper.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/shape_util.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using FactorKind = OpShardingRule::Kind;

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
//
//   [8,3] -> [2,12]: factors 2, then 4 (of the 8 and the 12), then 3
//   [6,2] -> [4,3]:  factor 2, the major part of both; the rest has none
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

// Only dimensions that are taken as a whole correspond: which tiles a shorter
// slice reads is known at run time only.
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

// Windows over every operand of the result's rank.
//
// A tile along a windowed dimension needs the ends of its neighbors. That is
// worth sharding while windows are small: at most half of the dimension, and
// without dilation, which would spread a window over many tiles. Other
// dimensions get no factor, so nothing propagates along them.
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

// n inputs, initial carries, n outputs, last carries. Carries have no scanned
// dimension, along which an associative step lets shards be scanned apart.
Rule ScanRule(const HloInstruction& inst) {
  const auto& scan = *Cast<HloScanInstruction>(&inst);
  RuleBuilder b(inst);
  const int64_t dim = scan.scan_dimension();
  const int64_t rank = b.rank(0);
  for (int t = 0; t < b.num_tensors(); ++t) {
    if (b.rank(t) != rank && b.rank(t) != rank - 1) return std::nullopt;
  }
  for (int64_t d = 0; d < rank; ++d) {
    if (d == dim && scan.is_associative() != TRI_STATE_TRUE) continue;
    std::vector<int64_t> dims;
    for (int t = 0; t < b.num_tensors(); ++t) {
      const bool carry = b.rank(t) != rank;
      dims.push_back(!carry ? d : d == dim ? -1 : d - (d > dim ? 1 : 0));
    }
    b.MapAll(dims);
  }
  return b.Build();
}

// Collectives of a region that is manual along other axes: operand i and result
// i have the same dimensions, except `changed`, along which devices exchange
// parts.
Rule CollectiveRule(const HloInstruction& inst,
                    absl::Span<const int64_t> changed) {
  RuleBuilder b(inst);
  if (b.num_tensors() != 2 * b.result()) return std::nullopt;
  for (int t = 0; t < b.result(); ++t) {
    if (b.rank(t) != b.rank(b.result() + t)) return std::nullopt;
    for (int64_t d = 0; d < b.rank(t); ++d) {
      if (absl::c_linear_search(changed, d)) continue;
      std::vector<int64_t> dims(b.num_tensors(), -1);
      dims[t] = d;
      dims[b.result() + t] = d;
      b.MapAll(dims);
    }
  }
  return b.Build();
}

Rule AllToAllRule(const HloInstruction& inst) {
  const auto split = Cast<HloAllToAllInstruction>(&inst)->split_dimension();
  if (split.has_value()) return CollectiveRule(inst, {*split});
  // One operand for each device: all are parts of one value.
  return ElementwiseRule(inst);
}

// Rows of operand and output, whose numbers the other operands hold.
Rule RaggedAllToAllRule(const HloInstruction& inst) {
  RuleBuilder b(inst);
  for (int64_t d = 1; d < b.rank(0); ++d) {
    std::vector<int64_t> dims(b.num_tensors(), -1);
    dims[0] = dims[1] = dims[b.result()] = d;
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
  if (IsManualBorder(inst) && inst.operand_count() == 1) {
    return BorderRule(inst);
  }
  if (inst.IsCustomCall({"Sharding", "LayoutConstraint", "MoveToHost",
                         "MoveToDevice", "PinToDevice", "PinToDeviceSram",
                         "X64Combine"})) {
    return ElementwiseRule(inst);
  }
  if (const auto dims = BlockScaledDotDimensions(inst)) {
    return DotShardingRule(inst, *dims);
  }
  if (inst.IsCustomCall("TopK") && inst.operand_count() == 1) {
    return BatchRule(inst, 1);
  }
  if (const int64_t batch_dims = CustomCallBatchDims(inst)) {
    RuleBuilder b(inst);
    for (int64_t d = 0; d < batch_dims; ++d) {
      b.MapAll(std::vector<int64_t>(b.num_tensors(), d));
    }
    return b.Build();
  }
  return std::nullopt;
}

bool HasOnlyArrays(const HloInstruction& inst) {
  if (inst.operand_count() == 0) return false;
  for (const HloInstruction* operand : inst.operands()) {
    if (!operand->shape().IsArray()) return false;
  }
  const std::vector<const Shape*> results =
      ShapeUtil::FlattenTupleShape(inst.shape());
  return !results.empty() && absl::c_all_of(results, [](const Shape* leaf) {
    return leaf->IsArray();
  });
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
  std::vector<std::string> whole;
  std::vector<std::string> permutations;
  std::vector<std::string> blocked;
  for (size_t f = 0; f < factors.size(); ++f) {
    const std::string name = FactorName(static_cast<int>(f));
    sizes.push_back(absl::StrCat(name, "=", factors[f].size));
    if (factors[f].blocked) blocked.push_back(name);
    switch (factors[f].kind) {
      case FactorKind::kPassThrough:
        break;
      case FactorKind::kReduction:
        reductions.push_back(name);
        break;
      case FactorKind::kNeedReplication:
        whole.push_back(name);
        break;
      case FactorKind::kPermutation:
        permutations.push_back(name);
        break;
    }
  }
  std::string text =
      absl::StrCat(tensor_list(0, num_operands), "->",
                   tensor_list(num_operands, static_cast<int>(tensors.size())),
                   " {", absl::StrJoin(sizes, ","), "}");
  const auto add_list = [&](absl::string_view name,
                            const std::vector<std::string>& list) {
    if (list.empty()) return;
    absl::StrAppend(&text, " ", name, "={", absl::StrJoin(list, ","), "}");
  };
  add_list("reduction", reductions);
  add_list("need_replication", whole);
  add_list("permutation", permutations);
  add_list("blocked_propagation", blocked);
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

std::optional<OpShardingRule> GetOpShardingRule(const HloInstruction& inst,
                                                const CallGraph* calls) {
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
      return DotShardingRule(inst, inst.dot_dimension_numbers());
    case HloOpcode::kConvolution:
      return ConvolutionShardingRule(inst);
    case HloOpcode::kSlice:
    case HloOpcode::kPad:
      return SliceOrPadRule(inst);
    case HloOpcode::kDynamicSlice:
      return DynamicSliceRule(inst);
    case HloOpcode::kDynamicUpdateSlice:
      return DynamicUpdateSliceRule(inst);
    case HloOpcode::kGather:
      return GatherShardingRule(inst, calls);
    case HloOpcode::kScatter:
      return ScatterShardingRule(inst, calls);
    case HloOpcode::kScan:
      return ScanRule(inst);
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
    case HloOpcode::kCollectiveBroadcast:
    case HloOpcode::kCollectivePermute:
      return CollectiveRule(inst, {});
    case HloOpcode::kAllGather:
      return CollectiveRule(
          inst, {Cast<HloAllGatherInstruction>(&inst)->all_gather_dimension()});
    case HloOpcode::kReduceScatter:
      return CollectiveRule(
          inst,
          {Cast<HloReduceScatterInstruction>(&inst)->scatter_dimension()});
    case HloOpcode::kAllToAll:
      return AllToAllRule(inst);
    case HloOpcode::kRaggedAllToAll:
      return RaggedAllToAllRule(inst);
    case HloOpcode::kBitcastConvert:
      return BitcastConvertRule(inst);
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
      return BatchRule(inst, 2);
    case HloOpcode::kFft:
      return BatchRule(inst, inst.fft_length().size());
    case HloOpcode::kCustomCall:
      return CustomCallRule(inst);
    case HloOpcode::kAddDependency:
    case HloOpcode::kAfterAll:
    case HloOpcode::kBitcast:
    case HloOpcode::kConvert:
    case HloOpcode::kDomain:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kRaggedDot:
    case HloOpcode::kTopK:
    case HloOpcode::kTuple:
    case XLA_ANY_UNARY_FUNCTION:
    case XLA_ANY_BINARY_FUNCTION:
    case XLA_ANY_CHOICE:
    case XLA_ANY_DYNAMIC_SIZE:
    case XLA_ANY_BATCH_NORM:
    case XLA_ANY_RANDOM:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_ASYNC:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return inst.IsElementwise() ? ElementwiseRule(inst) : std::nullopt;
}

}  // namespace xla

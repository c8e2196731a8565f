#include "xla/hlo/transforms/sharding_propagation/sdy_sharding_rule.h"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_lexer.h"
#include "xla/hlo/transforms/sharding_propagation/shardy_constants.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

class RuleParser : public SdyLexer {
 public:
  using SdyLexer::SdyLexer;

  absl::StatusOr<OpShardingRule> Rule() {
    RETURN_IF_ERROR(Expect("#sdy.op_sharding_rule"));
    RETURN_IF_ERROR(Expect("<"));
    RETURN_IF_ERROR(Tensors());
    rule_.num_operands = static_cast<int>(rule_.tensors.size());
    RETURN_IF_ERROR(Expect("->"));
    RETURN_IF_ERROR(Tensors());
    RETURN_IF_ERROR(Sizes());
    RETURN_IF_ERROR(Kinds());
    // Who wrote it is of no interest.
    if (Accept(",")) {
      RETURN_IF_ERROR(Expect("custom"));
    }
    RETURN_IF_ERROR(Expect(">"));
    RETURN_IF_ERROR(End());
    return std::move(rule_);
  }

 private:
  // `([ij, k], [k])`
  absl::Status Tensors() {
    RETURN_IF_ERROR(Expect("("));
    if (Accept(")")) return absl::OkStatus();
    do {
      OpShardingRule::Tensor tensor;
      RETURN_IF_ERROR(Expect("["));
      if (!Accept("]")) {
        do {
          std::vector<int> dim;
          if (!Accept("-")) {
            do {
              ASSIGN_OR_RETURN(const int factor, Factor());
              dim.push_back(factor);
            } while (AtFactor());
          }
          tensor.dims.push_back(std::move(dim));
        } while (Accept(","));
        RETURN_IF_ERROR(Expect("]"));
      }
      rule_.tensors.push_back(std::move(tensor));
    } while (Accept(","));
    return Expect(")");
  }

  bool AtFactor() {
    SkipSpace();
    return !rest().empty() && rest()[0] >= 'i' && rest()[0] <= 'z';
  }

  // i .. z, z_1, z_2, ..: its number, a new one where it was not seen before.
  absl::StatusOr<int> Factor() {
    if (!AtFactor()) return Error("expected a factor, i to z or z_1, z_2, ..");
    size_t length = 1;
    if (rest().size() > 1 && rest()[1] == '_') {
      length = 2;
      while (length < rest().size() && absl::ascii_isdigit(rest()[length])) {
        ++length;
      }
    }
    const std::string name(rest().substr(0, length));
    const auto [it, added] =
        factors_.emplace(name, static_cast<int>(rule_.factors.size()));
    if (added) {
      rule_.factors.push_back({0, OpShardingRule::Kind::kPassThrough});
    }
    Skip(length);
    return it->second;
  }

  // `{i=2, j=4}`, of all factors.
  absl::Status Sizes() {
    RETURN_IF_ERROR(Expect("{"));
    if (!Accept("}")) {
      do {
        ASSIGN_OR_RETURN(const int factor, Factor());
        RETURN_IF_ERROR(Expect("="));
        ASSIGN_OR_RETURN(const int64_t size, Int());
        if (size < 1) return Error("sizes of factors are positive");
        if (rule_.factors[factor].size != 0) {
          return Error("a factor has two sizes");
        }
        rule_.factors[factor].size = size;
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("}"));
    }
    for (const auto& [name, factor] : factors_) {
      if (rule_.factors[factor].size == 0) {
        return Error(absl::StrCat("factor ", name, " has no size"));
      }
    }
    for (const OpShardingRule::Tensor& tensor : rule_.tensors) {
      for (const std::vector<int>& dim : tensor.dims) {
        int64_t left = std::numeric_limits<int64_t>::max();
        for (int factor : dim) left /= rule_.factors[factor].size;
        if (left == 0) return Error("the sizes of a dimension are too large");
      }
    }
    return absl::OkStatus();
  }

  // `reduction={k} blocked_propagation={i}`
  absl::Status Kinds() {
    using Kind = OpShardingRule::Kind;
    while (true) {
      Kind kind = Kind::kPassThrough;
      bool blocks = false;
      if (Accept("reduction")) {
        kind = Kind::kReduction;
      } else if (Accept("need_replication")) {
        kind = Kind::kNeedReplication;
      } else if (Accept("permutation")) {
        kind = Kind::kPermutation;
      } else if (Accept("blocked_propagation")) {
        blocks = true;
      } else {
        return absl::OkStatus();
      }
      RETURN_IF_ERROR(Expect("="));
      RETURN_IF_ERROR(Expect("{"));
      do {
        ASSIGN_OR_RETURN(const int number, Factor());
        OpShardingRule::Factor& factor = rule_.factors[number];
        if (factor.size == 0) return Error("a factor that no tensor has");
        if (blocks ? factor.blocked : factor.kind != Kind::kPassThrough) {
          return Error("a factor is listed twice");
        }
        if (blocks) {
          factor.blocked = true;
        } else {
          factor.kind = kind;
        }
      } while (Accept(","));
      RETURN_IF_ERROR(Expect("}"));
    }
  }

  OpShardingRule rule_;
  std::map<std::string, int> factors_;
};

}  // namespace

absl::StatusOr<OpShardingRule> ParseSdyShardingRule(absl::string_view text) {
  return RuleParser(text).Rule();
}

absl::StatusOr<std::optional<OpShardingRule>> GivenShardingRule(
    const HloInstruction& inst) {
  std::optional<OpShardingRule> none;
  // Where a call has several results, what takes them out of the tuple has
  // copies of the call's attributes.
  if (!inst.has_frontend_attributes() ||
      inst.opcode() == HloOpcode::kGetTupleElement) {
    return none;
  }
  const std::optional<std::string> text =
      inst.get_frontend_attribute(std::string(sdy::kShardingRuleRoundTripAttr));
  if (!text.has_value()) return none;
  const auto error = [&](absl::string_view message) {
    return absl::InvalidArgumentError(
        absl::StrCat("instruction ", inst.name(), ": ", message));
  };
  absl::StatusOr<OpShardingRule> rule = ParseSdyShardingRule(*text);
  if (!rule.ok()) return error(rule.status().message());
  std::vector<const Shape*> leaves;
  for (const HloInstruction* operand : inst.operands()) {
    absl::c_copy(ShapeUtil::FlattenTupleShape(operand->shape()),
                 std::back_inserter(leaves));
  }
  const size_t num_operands = leaves.size();
  absl::c_copy(ShapeUtil::FlattenTupleShape(inst.shape()),
               std::back_inserter(leaves));
  if (rule->tensors.size() != leaves.size() ||
      static_cast<size_t>(rule->num_operands) != num_operands) {
    return error(absl::StrCat("a sharding rule of ", rule->num_operands,
                              " operands and ",
                              rule->tensors.size() - rule->num_operands,
                              " results for ", inst.ToString()));
  }
  for (size_t t = 0; t < leaves.size(); ++t) {
    const OpShardingRule::Tensor& tensor = rule->tensors[t];
    const size_t rank =
        leaves[t]->IsArray() ? leaves[t]->dimensions().size() : 0;
    // Only ranks are compared: the sizes of a dimension's factors may multiply
    // to less or more than it has, and shards are padded or empty then.
    if (tensor.dims.size() != rank) {
      return error(absl::StrCat("value ", t, " of its sharding rule is not ",
                                ShapeUtil::HumanString(*leaves[t]), ": ",
                                *text));
    }
  }
  return std::make_optional(*std::move(rule));
}

}  // namespace xla

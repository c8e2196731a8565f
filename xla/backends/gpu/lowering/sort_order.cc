#include "xla/backends/gpu/lowering/sort_order.h"

#include <array>
#include <cstddef>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr size_t kMostKeys = 4;
// Of a comparator, as a tree.
constexpr int kMostNodes = 1 << 8;

// Parameters 2k are of the first element, 2k + 1 of the second.
enum class Side { kNone, kFirst, kSecond, kBoth };

absl::Status Unknown(const HloInstruction& hlo, absl::string_view reason) {
  return absl::UnimplementedError(absl::StrCat(
      "its comparator is not known to be an order: ", hlo.name(), " ", reason));
}

// The ranks of three elements in all ways, equals included: 0 for the least.
std::vector<std::array<int, 3>> Rankings() {
  std::vector<std::array<int, 3>> rankings;
  for (int code = 0; code < 27; ++code) {
    const std::array<int, 3> ranks = {code / 9, code / 3 % 3, code % 3};
    // Ranks without gaps, so that each way is there once.
    const int most = *absl::c_max_element(ranks);
    bool dense = true;
    for (int rank = 0; rank < most; ++rank) {
      dense &= absl::c_linear_search(ranks, rank);
    }
    if (dense) rankings.push_back(ranks);
  }
  return rankings;
}

class OrderChecker {
 public:
  absl::Status Check(const HloInstruction& root) {
    int nodes = 0;
    SideOf(root, &nodes);
    if (nodes > kMostNodes) return Unknown(root, "is too large");
    RETURN_IF_ERROR(Collect(root));
    ranks_.resize(keys_.size());
    return CheckRanks(root, 0);
  }

 private:
  // What is compared, of the first element. -0 and 0 are equal in one order and
  // not in another, so that these are two.
  struct Key {
    const HloInstruction* first;
    ComparisonOrder order;
  };
  struct Comparison {
    size_t key;
    bool swapped;  // the second element is on the left
  };

  // Finds what is compared, and refuses what is no comparison.
  absl::Status Collect(const HloInstruction& hlo) {
    if (!seen_.insert(&hlo).second) {
      return absl::OkStatus();
    }
    switch (hlo.opcode()) {
      case HloOpcode::kAnd:
      case HloOpcode::kNot:
      case HloOpcode::kOr:
      case HloOpcode::kSelect:
      case HloOpcode::kXor:
        for (const HloInstruction* operand : hlo.operands()) {
          RETURN_IF_ERROR(Collect(*operand));
        }
        return absl::OkStatus();
      case HloOpcode::kConstant:
        return hlo.literal().is_elided() ? Unknown(hlo, "is elided")
                                         : absl::OkStatus();
      case HloOpcode::kCompare:
        return AddComparison(hlo);
      default:  // No logic.
        return Unknown(
            hlo, absl::StrCat("is of opcode ", HloOpcodeString(hlo.opcode())));
    }
  }

  absl::Status AddComparison(const HloInstruction& hlo) {
    const HloInstruction &left = *hlo.operand(0), &right = *hlo.operand(1);
    int nodes = 0;
    const Side side = SideOf(left, &nodes);
    const Side other = SideOf(right, &nodes);
    if (nodes > kMostNodes ||
        !((side == Side::kFirst && other == Side::kSecond) ||
          (side == Side::kSecond && other == Side::kFirst)) ||
        !Alike(left, right, /*mirrored=*/true)) {
      return Unknown(hlo, "compares no expression of both elements");
    }
    const bool swapped = side == Side::kSecond;
    const HloInstruction& first = swapped ? right : left;
    size_t key = 0;
    while (key < keys_.size() &&
           (keys_[key].order != hlo.comparison_order() ||
            !Alike(*keys_[key].first, first, /*mirrored=*/false))) {
      ++key;
    }
    if (key == keys_.size()) keys_.push_back({&first, hlo.comparison_order()});
    if (keys_.size() > kMostKeys) {
      return Unknown(hlo, absl::StrCat("is one of more than ", kMostKeys));
    }
    comparisons_[&hlo] = {key, swapped};
    return absl::OkStatus();
  }

  Side SideOf(const HloInstruction& hlo, int* nodes) const {
    if (++*nodes > kMostNodes) return Side::kBoth;
    if (hlo.opcode() == HloOpcode::kParameter) {
      return hlo.parameter_number() % 2 == 0 ? Side::kFirst : Side::kSecond;
    }
    if (!hlo.called_computations().empty()) return Side::kBoth;
    Side side = Side::kNone;
    for (const HloInstruction* operand : hlo.operands()) {
      const Side next = SideOf(*operand, nodes);
      if (next == Side::kNone || next == side) continue;
      side = side == Side::kNone ? next : Side::kBoth;
    }
    return side;
  }

  // `mirrored`: of the other element.
  bool Alike(const HloInstruction& a, const HloInstruction& b,
             bool mirrored) const {
    if (a.opcode() != b.opcode()) return false;
    if (a.opcode() == HloOpcode::kParameter) {
      return b.parameter_number() ==
             (a.parameter_number() ^ (mirrored ? 1 : 0));
    }
    return a.Identical(b,
                       [&](const HloInstruction* x, const HloInstruction* y) {
                         return Alike(*x, *y, mirrored);
                       });
  }

  // Whether element i is less than element j, by the ranks.
  bool IsLess(const HloInstruction& hlo, int i, int j) const {
    switch (hlo.opcode()) {
      case HloOpcode::kAnd:
        return IsLess(*hlo.operand(0), i, j) && IsLess(*hlo.operand(1), i, j);
      case HloOpcode::kOr:
        return IsLess(*hlo.operand(0), i, j) || IsLess(*hlo.operand(1), i, j);
      case HloOpcode::kXor:
        return IsLess(*hlo.operand(0), i, j) != IsLess(*hlo.operand(1), i, j);
      case HloOpcode::kNot:
        return !IsLess(*hlo.operand(0), i, j);
      case HloOpcode::kSelect:
        return IsLess(*hlo.operand(IsLess(*hlo.operand(0), i, j) ? 1 : 2), i,
                      j);
      case HloOpcode::kConstant:
        return hlo.literal().IsAll(1);
      default:  // Collect has seen to it that this is a comparison.
        break;
    }
    const Comparison& comparison = comparisons_.at(&hlo);
    const std::array<int, 3>& ranks = ranks_[comparison.key];
    const int left = ranks[comparison.swapped ? j : i];
    const int right = ranks[comparison.swapped ? i : j];
    switch (hlo.comparison_direction()) {
      case ComparisonDirection::kEq:
        return left == right;
      case ComparisonDirection::kNe:
        return left != right;
      case ComparisonDirection::kGe:
        return left >= right;
      case ComparisonDirection::kGt:
        return left > right;
      case ComparisonDirection::kLe:
        return left <= right;
      case ComparisonDirection::kLt:
        return left < right;
    }
    return false;
  }

  absl::Status CheckRanks(const HloInstruction& root, size_t key) {
    static const auto& rankings =
        *new std::vector<std::array<int, 3>>(Rankings());
    if (key < keys_.size()) {
      for (const std::array<int, 3>& ranks : rankings) {
        ranks_[key] = ranks;
        RETURN_IF_ERROR(CheckRanks(root, key + 1));
      }
      return absl::OkStatus();
    }
    // 0 and 1 are any two elements, as 2 is any third.
    const bool less = IsLess(root, 0, 1), greater = IsLess(root, 1, 0);
    if (less && greater) {
      return Unknown(root, "can hold for two elements both ways");
    }
    const bool third = IsLess(root, 1, 2), back = IsLess(root, 2, 1);
    const bool all = IsLess(root, 0, 2), none = IsLess(root, 2, 0);
    const bool equal = !less && !greater && !third && !back;
    if ((less && third && !all) || (equal && (all || none))) {
      return Unknown(root, "is not transitive");
    }
    return absl::OkStatus();
  }

  // Looked up only.
  absl::flat_hash_set<const HloInstruction*> seen_;
  absl::flat_hash_map<const HloInstruction*, Comparison> comparisons_;
  std::vector<Key> keys_;
  std::vector<std::array<int, 3>> ranks_;
};

}  // namespace

absl::Status CheckOrder(const HloComputation& comparator) {
  return OrderChecker().Check(*comparator.root_instruction());
}

}  // namespace xla::gpu

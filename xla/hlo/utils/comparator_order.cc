#include "xla/hlo/utils/comparator_order.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Nodes of a comparator that is expanded to a tree.
constexpr int kMostNodes = 1 << 8;
// Ways in which two elements can differ: 10 keys, if none is a truth.
constexpr size_t kMostCases = 1 << 16;

// Parameters 2k are of the first element, 2k + 1 of the second.
enum class Side { kNone, kFirst, kSecond, kBoth };

absl::Status Unknown(const HloInstruction& hlo, absl::string_view reason) {
  return absl::UnimplementedError(absl::StrCat(
      "its comparator is not known to be an order: ", hlo.name(), " ", reason));
}

bool IsKnown(const HloInstruction& constant) {
  return Cast<HloConstantInstruction>(&constant)->HasLiteral() &&
         !constant.literal().is_elided();
}

// What an order looks at, one expression of each element: how two of them
// compare, or the two truths. -0 and 0 are equal in one order of floats and not
// in another, so that these are two keys.
struct Key {
  const HloInstruction* value;  // of one of them
  ComparisonOrder order;
  bool is_truth;

  // A case's digit: 0 where the first is less, 1, 2 where it is greater; of
  // truths, the first one's times two and the second one's.
  int digits() const { return is_truth ? 4 : 3; }
  int less() const { return is_truth ? 1 : 0; }
  int greater() const { return 2; }
  bool IsEqual(int digit) const {
    return is_truth ? digit == 0 || digit == 3 : digit == 1;
  }
  // The digit of the elements in the other order.
  int Mirrored(int digit) const {
    return IsEqual(digit) ? digit : less() + greater() - digit;
  }
};

// Whether a function of the digits of all keys is true, by the number of the
// case, of which the first key has the least digit.
using Table = std::vector<bool>;

// Tells orders from other functions. By Arrow's theorem, one that is transitive
// whatever numbers are compared looks at one key after the other: the first
// decides unless it is equal, and then the next.
class TableChecker {
 public:
  TableChecker(const std::vector<Key>& keys, const Table& table)
      : keys_(keys), table_(table), digits_(keys.size(), kAny) {}

  // Whether no two elements are each less than the other.
  bool IsAsymmetric() const {
    for (size_t number = 0; number < table_.size(); ++number) {
      size_t mirrored = 0, place = 1, rest = number;
      for (const Key& key : keys_) {
        mirrored += place * key.Mirrored(static_cast<int>(rest % key.digits()));
        place *= key.digits();
        rest /= key.digits();
      }
      if (table_[number] && table_[mirrored]) return false;
    }
    return true;
  }

  // Whether the other keys make an order in the cases that have the digits.
  bool IsOrder() {
    if (All(false)) return true;
    for (size_t k = 0; k < keys_.size(); ++k) {
      if (digits_[k] != kAny || !Decides(k)) continue;
      for (int digit = 0; digit < keys_[k].digits(); ++digit) {
        if (!keys_[k].IsEqual(digit)) continue;
        digits_[k] = digit;
        const bool is_order = IsOrder();
        digits_[k] = kAny;
        if (!is_order) return false;
      }
      return true;
    }
    return false;
  }

 private:
  static constexpr int kAny = -1;

  bool Decides(size_t k) {
    const auto all = [&](int digit, bool value) {
      digits_[k] = digit;
      const bool result = All(value);
      digits_[k] = kAny;
      return result;
    };
    const Key& key = keys_[k];
    return (all(key.less(), true) && all(key.greater(), false)) ||
           (all(key.greater(), true) && all(key.less(), false));
  }

  bool All(bool value) const { return All(value, keys_.size(), 0); }
  // `number`: of the digits from `end` on.
  bool All(bool value, size_t end, size_t number) const {
    if (end == 0) return table_[number] == value;
    const Key& key = keys_[end - 1];
    for (int digit = 0; digit < key.digits(); ++digit) {
      if (digits_[end - 1] != kAny && digits_[end - 1] != digit) continue;
      if (!All(value, end - 1, number * key.digits() + digit)) return false;
    }
    return true;
  }

  const std::vector<Key>& keys_;
  const Table& table_;
  std::vector<int> digits_;
};

class OrderChecker {
 public:
  explicit OrderChecker(FloatOrders floats) : floats_(floats) {}

  absl::Status Check(const HloInstruction& root) {
    int nodes = 0;
    SideOf(root, &nodes);
    if (nodes > kMostNodes) return Unknown(root, "is too large");
    RETURN_IF_ERROR(Collect(root));
    TableChecker checker(keys_, TableOf(root));
    if (!checker.IsAsymmetric()) {
      return Unknown(root, "can hold for two elements both ways");
    }
    if (!checker.IsOrder()) return Unknown(root, "is not transitive");
    return absl::OkStatus();
  }

 private:
  // The part of an element that an instruction reads.
  struct Reading {
    size_t key;
    bool swapped;   // of the second element, or with it on the left
    bool compares;  // both elements
  };

  // Finds what is compared, and refuses what is no comparison.
  absl::Status Collect(const HloInstruction& hlo) {
    if (!seen_.insert(&hlo).second) return absl::OkStatus();
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
        return IsKnown(hlo) ? absl::OkStatus() : Unknown(hlo, "is elided");
      default:  // No logic.
        break;
    }
    int nodes = 0;
    const Side side = SideOf(hlo, &nodes);
    if (side == Side::kFirst || side == Side::kSecond) {
      return AddTruth(hlo, side);
    }
    if (hlo.opcode() == HloOpcode::kCompare) return AddComparison(hlo);
    return Unknown(
        hlo, absl::StrCat("is of opcode ", HloOpcodeString(hlo.opcode())));
  }

  absl::Status AddComparison(const HloInstruction& hlo) {
    const HloInstruction &left = *hlo.operand(0), &right = *hlo.operand(1);
    if (floats_ == FloatOrders::kTotalOnly &&
        Cast<HloCompareInstruction>(&hlo)->type() == Comparison::Type::kFloat) {
      return Unknown(hlo, "has no place for NaNs");
    }
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
    const bool is_truth = left.shape().element_type() == PRED;
    return Add({keys_.size(), swapped, true}, hlo,
               {swapped ? &right : &left,
                is_truth ? ComparisonOrder::kTotal : hlo.comparison_order(),
                is_truth});
  }

  // A truth of one element alone.
  absl::Status AddTruth(const HloInstruction& hlo, Side side) {
    return Add({keys_.size(), side == Side::kSecond, false}, hlo,
               {&hlo, ComparisonOrder::kTotal, /*is_truth=*/true});
  }

  // The reading's key is this one, unless an earlier one is the same.
  absl::Status Add(Reading reading, const HloInstruction& hlo, const Key& key) {
    for (size_t k = 0; k < keys_.size(); ++k) {
      const Key& known = keys_[k];
      if (known.is_truth == key.is_truth && known.order == key.order &&
          (Alike(*known.value, *key.value, /*mirrored=*/false) ||
           Alike(*known.value, *key.value, /*mirrored=*/true))) {
        reading.key = k;
      }
    }
    if (reading.key == keys_.size()) {
      keys_.push_back(key);
      cases_ *= key.digits();
    }
    if (cases_ > kMostCases) {
      return Unknown(hlo, "is one of too many comparisons");
    }
    readings_[&hlo] = reading;
    return absl::OkStatus();
  }

  // Whether it gives equal values of equal operands, whenever and on whatever
  // device it runs.
  static bool IsExpression(const HloInstruction& hlo) {
    if (!hlo.called_computations().empty()) return false;
    switch (hlo.opcode()) {
      case HloOpcode::kBitcast:
      case HloOpcode::kBroadcast:
      case HloOpcode::kReshape:
        return true;
      case HloOpcode::kConstant:
        return IsKnown(hlo);
      case HloOpcode::kRng:
        return false;
      default:  // Functions of their operands alone, if elementwise.
        return hlo.IsElementwise();
    }
  }

  // Each node of the tree counts, and no more than kMostNodes are looked at.
  Side SideOf(const HloInstruction& hlo, int* nodes) const {
    if (++*nodes > kMostNodes) return Side::kBoth;
    if (hlo.opcode() == HloOpcode::kParameter) {
      return hlo.parameter_number() % 2 == 0 ? Side::kFirst : Side::kSecond;
    }
    if (!IsExpression(hlo)) return Side::kBoth;
    Side side = Side::kNone;
    for (const HloInstruction* operand : hlo.operands()) {
      const Side next = SideOf(*operand, nodes);
      if (next == Side::kNone || next == side) continue;
      side = side == Side::kNone ? next : Side::kBoth;
    }
    return side;
  }

  // `mirrored`: of the other element. Of sides that read one element each, so
  // that what they share reads none.
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

  bool Read(const HloInstruction& hlo, size_t number) const {
    const Reading& reading = readings_.at(&hlo);
    for (size_t k = 0; k < reading.key; ++k) number /= keys_[k].digits();
    const Key& key = keys_[reading.key];
    int digit = static_cast<int>(number % key.digits());
    if (!reading.compares) {
      return (reading.swapped ? digit & 1 : digit >> 1) != 0;
    }
    if (reading.swapped) digit = key.Mirrored(digit);
    const bool equal = key.IsEqual(digit), less = digit == key.less();
    switch (hlo.comparison_direction()) {
      case ComparisonDirection::kEq:
        return equal;
      case ComparisonDirection::kNe:
        return !equal;
      case ComparisonDirection::kGe:
        return !less;
      case ComparisonDirection::kGt:
        return !less && !equal;
      case ComparisonDirection::kLe:
        return less || equal;
      case ComparisonDirection::kLt:
        return less;
    }
    return false;
  }

  static bool Logic(const HloInstruction& hlo,
                    const std::vector<const Table*>& in, size_t number) {
    const auto at = [&](int k) { return (*in[k])[number]; };
    switch (hlo.opcode()) {
      case HloOpcode::kAnd:
        return at(0) && at(1);
      case HloOpcode::kOr:
        return at(0) || at(1);
      case HloOpcode::kXor:
        return at(0) != at(1);
      case HloOpcode::kNot:
        return !at(0);
      case HloOpcode::kSelect:
        return at(at(0) ? 1 : 2);
      case HloOpcode::kConstant:
        return hlo.literal().IsAll(1);
      default:  // Collect has seen to it that there is no other.
        return false;
    }
  }

  const Table& TableOf(const HloInstruction& hlo) {
    const auto [known, added] = tables_.try_emplace(&hlo);
    if (!added) return *known->second;
    const bool reads = readings_.contains(&hlo);
    std::vector<const Table*> in;
    if (!reads) {
      for (const HloInstruction* operand : hlo.operands()) {
        in.push_back(&TableOf(*operand));
      }
    }
    auto table = std::make_unique<Table>(cases_);
    for (size_t number = 0; number < cases_; ++number) {
      (*table)[number] = reads ? Read(hlo, number) : Logic(hlo, in, number);
    }
    return *(tables_[&hlo] = std::move(table));
  }

  const FloatOrders floats_;
  // Looked up only.
  absl::flat_hash_set<const HloInstruction*> seen_;
  absl::flat_hash_map<const HloInstruction*, Reading> readings_;
  absl::flat_hash_map<const HloInstruction*, std::unique_ptr<Table>> tables_;
  std::vector<Key> keys_;
  size_t cases_ = 1;
};

}  // namespace

absl::Status CheckComparatorOrder(const HloComputation& comparator,
                                  FloatOrders floats) {
  return OrderChecker(floats).Check(*comparator.root_instruction());
}

}  // namespace xla

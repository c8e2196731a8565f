#ifndef XLA_HLO_ANALYSIS_VALUE_RANGE_H_
#define XLA_HLO_ANALYSIS_VALUE_RANGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

class HloDataflowAnalysis;

// An integer of a width in bits, signed or not.
class ConstantValue {
 public:
  static ConstantValue GetZero(uint8_t bitwidth, bool is_signed) {
    return ConstantValue(0, bitwidth, is_signed);
  }
  static ConstantValue GetOne(uint8_t bitwidth, bool is_signed) {
    return ConstantValue(1, bitwidth, is_signed);
  }
  static ConstantValue GetSigned(int64_t value, uint8_t bitwidth) {
    return ConstantValue(static_cast<uint64_t>(value), bitwidth, true);
  }
  static ConstantValue GetUnsigned(uint64_t value, uint8_t bitwidth) {
    return ConstantValue(value, bitwidth, false);
  }

  int64_t GetSignedValue() const { return static_cast<int64_t>(value_); }
  uint64_t GetUnsignedValue() const { return value_; }
  int32_t GetBitwidth() const { return bitwidth_; }
  bool IsSigned() const { return is_signed_; }

  bool operator==(const ConstantValue& other) const {
    return value_ == other.value_ && bitwidth_ == other.bitwidth_ &&
           is_signed_ == other.is_signed_;
  }
  bool operator!=(const ConstantValue& other) const {
    return !(*this == other);
  }
  std::string ToString() const {
    return is_signed_ ? absl::StrCat(GetSignedValue()) : absl::StrCat(value_);
  }

 private:
  ConstantValue(uint64_t value, uint8_t bitwidth, bool is_signed)
      : value_(value), bitwidth_(bitwidth), is_signed_(is_signed) {}

  uint64_t value_;
  uint8_t bitwidth_;
  bool is_signed_;
};

// The possible values of an integer: min, min + step, ..., max. The maximum or
// the step may be unknown. Linear: it takes these values in order.
class Range {
 public:
  // Unknown: no values.
  Range()
      : min_(ConstantValue::GetZero(/*bitwidth=*/64, /*is_signed=*/false)),
        empty_(true) {}
  Range(const ConstantValue& min, const std::optional<ConstantValue>& max,
        const std::optional<ConstantValue>& step, bool is_linear)
      : min_(min), max_(max), step_(step), is_linear_(is_linear) {}
  Range(const ConstantValue& min, const ConstantValue& max, bool is_linear)
      : min_(min), max_(max), is_linear_(is_linear) {}

  const ConstantValue& min() const { return min_; }
  const std::optional<ConstantValue>& max() const { return max_; }
  const std::optional<ConstantValue>& step() const { return step_; }

  bool IsEmpty() const { return empty_; }
  bool IsBounded() const { return max_.has_value(); }
  bool IsStepKnown() const { return step_.has_value(); }
  bool IsLinear() const { return is_linear_; }
  bool IsSingleValue() const { return !empty_ && max_ == min_; }
  std::optional<int64_t> GetSingleSignedValue() const {
    if (!IsSingleValue()) return std::nullopt;
    return min_.GetSignedValue();
  }

  // `min: 0, max: 9, step: 1, linear`
  std::string ToString() const {
    if (empty_) return "empty";
    return absl::StrCat("min: ", min_.ToString(),
                        ", max: ", max_ ? max_->ToString() : "unknown",
                        ", step: ", step_ ? step_->ToString() : "unknown",
                        is_linear_ ? ", linear" : "");
  }
  bool operator==(const Range& other) const {
    return empty_ == other.empty_ && min_ == other.min_ && max_ == other.max_ &&
           step_ == other.step_ && is_linear_ == other.is_linear_;
  }
  bool operator!=(const Range& other) const { return !(*this == other); }

 private:
  ConstantValue min_;
  std::optional<ConstantValue> max_;
  std::optional<ConstantValue> step_;
  bool is_linear_ = false;
  bool empty_ = false;
};

// The range of an integer scalar (or pred), from the ranges of its inputs;
// empty if unknown.
//
//   i = 0 … 8, step 2                            known
//   add(multiply(i, 3), constant(1))             min: 1, max: 25, step: 6
//   select(compare(i, constant(9)), LT, a, b)    that of a
//
// Follows arithmetic, minimum, maximum, clamp, comparisons, select, converts,
// shifts, and and or, copies and reshapes, elements of tuples, the induction
// variable of a loop in its body, and, given a dataflow analysis, results of
// called computations. Values that may wrap around are unknown; an unknown
// maximum is assumed not to. A range stays linear if the other operand is a
// single value.
//
// `known_ranges` takes precedence, and ranges found are added to it.
// O(instructions reached), without recursion.
Range RecursivelyIdentifyRange(
    const HloInstruction* instr,
    absl::flat_hash_map<const HloInstruction*, Range>& known_ranges,
    const HloDataflowAnalysis* dataflow_analysis = nullptr);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_VALUE_RANGE_H_

#ifndef XLA_HLO_TRANSFORMS_SPMD_OFFSET_CALCULATION_H_
#define XLA_HLO_TRANSFORMS_SPMD_OFFSET_CALCULATION_H_

#include <cstdint>
#include <memory>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"

// Numbers that depend on the ordinal of a shard: at compile time for all
// shards, and as instructions for the current one.

namespace xla::spmd {

class OffsetCalculation;

// (ordinal * multiplier + offset) / divisor, rounded towards zero; the divisor
// is positive. Monotone in the ordinal.
class MultiplyAddDivideOffsetCalculation {
 public:
  // 0.
  MultiplyAddDivideOffsetCalculation() = default;
  // In lowest terms. CHECK-fails for divisors below 1.
  MultiplyAddDivideOffsetCalculation(int64_t multiplier, int64_t offset,
                                     int64_t divisor);

  OffsetCalculation operator-(
      const MultiplyAddDivideOffsetCalculation& other) const;
  OffsetCalculation operator+(
      const MultiplyAddDivideOffsetCalculation& other) const;
  bool operator==(const MultiplyAddDivideOffsetCalculation& other) const {
    return multiplier_ == other.multiplier_ && offset_ == other.offset_ &&
           divisor_ == other.divisor_;
  }

  // The same for every shard.
  bool IsConstant() const { return multiplier_ == 0; }
  // Divides by the greatest common divisor of all three; a constant gets
  // divisor 1.
  void Simplify();

  int64_t Calculate(int64_t shard_ordinal) const;
  // `shard_ordinal` is a scalar of S32, and so is the result.
  HloInstruction* Calculate(HloInstruction* shard_ordinal,
                            SpmdBuilder* b) const;
  // Over the ordinals [start, limit), which must not be empty.
  int64_t MaxInRange(int64_t start_ordinal, int64_t limit_ordinal) const;

 private:
  friend class OffsetCalculation;

  int64_t multiplier_ = 0;
  int64_t offset_ = 0;
  int64_t divisor_ = 1;
};

// Such a term, or an add, subtract, multiply of two calculations.
class OffsetCalculation {
 public:
  // 0.
  OffsetCalculation() = default;
  // Implicit, so that functions of ordinals can be written as a single term.
  OffsetCalculation(  // NOLINT
      const MultiplyAddDivideOffsetCalculation& copy_from)
      : term_(copy_from) {}
  OffsetCalculation(const OffsetCalculation& copy_from) { *this = copy_from; }
  // `opcode` is kAdd, kSubtract or kMultiply.
  OffsetCalculation(HloOpcode opcode,
                    const MultiplyAddDivideOffsetCalculation& lhs,
                    const MultiplyAddDivideOffsetCalculation& rhs);
  OffsetCalculation(HloOpcode opcode, const OffsetCalculation& lhs,
                    const OffsetCalculation& rhs);
  OffsetCalculation& operator=(const OffsetCalculation& other);

  OffsetCalculation operator-(const OffsetCalculation& other) const;
  OffsetCalculation operator+(const OffsetCalculation& other) const;
  // Whether both have the same form, not merely equal values.
  bool operator==(const OffsetCalculation& other) const;
  bool IsConstant() const;

  int64_t Calculate(int64_t shard_ordinal) const;
  HloInstruction* Calculate(HloInstruction* shard_ordinal,
                            SpmdBuilder* b) const;
  // O(limit - start) unless it is a single term.
  int64_t MaxInRange(int64_t start_ordinal, int64_t limit_ordinal) const;

 private:
  bool IsTerm() const { return lhs_ == nullptr; }

  // kCopy: term_.
  HloOpcode opcode_ = HloOpcode::kCopy;
  MultiplyAddDivideOffsetCalculation term_;
  std::unique_ptr<OffsetCalculation> lhs_, rhs_;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_OFFSET_CALCULATION_H_

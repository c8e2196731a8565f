#include "xla/hlo/transforms/spmd/offset_calculation.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>

#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"

namespace xla::spmd {

MultiplyAddDivideOffsetCalculation::MultiplyAddDivideOffsetCalculation(
    int64_t multiplier, int64_t offset, int64_t divisor)
    : multiplier_(multiplier), offset_(offset), divisor_(divisor) {
  CHECK_GT(divisor, 0);
  Simplify();
}

void MultiplyAddDivideOffsetCalculation::Simplify() {
  if (multiplier_ == 0) {
    offset_ /= divisor_;
    divisor_ = 1;
    return;
  }
  const int64_t common = std::gcd(std::gcd(multiplier_, offset_), divisor_);
  multiplier_ /= common;
  offset_ /= common;
  divisor_ /= common;
}

OffsetCalculation MultiplyAddDivideOffsetCalculation::operator-(
    const MultiplyAddDivideOffsetCalculation& other) const {
  // Quotients are rounded one by one.
  if (divisor_ == 1 && other.divisor_ == 1) {
    return MultiplyAddDivideOffsetCalculation(multiplier_ - other.multiplier_,
                                              offset_ - other.offset_, 1);
  }
  return OffsetCalculation(HloOpcode::kSubtract, *this, other);
}

OffsetCalculation MultiplyAddDivideOffsetCalculation::operator+(
    const MultiplyAddDivideOffsetCalculation& other) const {
  if (divisor_ == 1 && other.divisor_ == 1) {
    return MultiplyAddDivideOffsetCalculation(multiplier_ + other.multiplier_,
                                              offset_ + other.offset_, 1);
  }
  return OffsetCalculation(HloOpcode::kAdd, *this, other);
}

int64_t MultiplyAddDivideOffsetCalculation::Calculate(
    int64_t shard_ordinal) const {
  return (shard_ordinal * multiplier_ + offset_) / divisor_;
}

HloInstruction* MultiplyAddDivideOffsetCalculation::Calculate(
    HloInstruction* shard_ordinal, SpmdBuilder* b) const {
  if (IsConstant()) return CreateR0(Calculate(0), S32, b);
  HloInstruction* result = shard_ordinal;
  if (multiplier_ != 1) {
    result = AddBinary(HloOpcode::kMultiply, result,
                       CreateR0(multiplier_, S32, b), b);
  }
  if (offset_ != 0) {
    result = AddBinary(HloOpcode::kAdd, result, CreateR0(offset_, S32, b), b);
  }
  if (divisor_ != 1) {
    result =
        AddBinary(HloOpcode::kDivide, result, CreateR0(divisor_, S32, b), b);
  }
  return result;
}

// A quotient of a linear function is monotonic in the ordinal, rounding
// included, so its maximum is at one end of the range. Sums and products of
// such terms need not be; for them OffsetCalculation tries each ordinal.
int64_t MultiplyAddDivideOffsetCalculation::MaxInRange(
    int64_t start_ordinal, int64_t limit_ordinal) const {
  CHECK_LT(start_ordinal, limit_ordinal);
  return std::max(Calculate(start_ordinal), Calculate(limit_ordinal - 1));
}

OffsetCalculation::OffsetCalculation(
    HloOpcode opcode, const MultiplyAddDivideOffsetCalculation& lhs,
    const MultiplyAddDivideOffsetCalculation& rhs)
    : OffsetCalculation(opcode, OffsetCalculation(lhs),
                        OffsetCalculation(rhs)) {}

OffsetCalculation::OffsetCalculation(HloOpcode opcode,
                                     const OffsetCalculation& lhs,
                                     const OffsetCalculation& rhs)
    : opcode_(opcode),
      lhs_(std::make_unique<OffsetCalculation>(lhs)),
      rhs_(std::make_unique<OffsetCalculation>(rhs)) {
  CHECK(opcode == HloOpcode::kAdd || opcode == HloOpcode::kSubtract ||
        opcode == HloOpcode::kMultiply)
      << HloOpcodeString(opcode);
}

OffsetCalculation& OffsetCalculation::operator=(
    const OffsetCalculation& other) {
  if (this == &other) return *this;
  opcode_ = other.opcode_;
  term_ = other.term_;
  lhs_ = other.IsTerm() ? nullptr
                        : std::make_unique<OffsetCalculation>(*other.lhs_);
  rhs_ = other.IsTerm() ? nullptr
                        : std::make_unique<OffsetCalculation>(*other.rhs_);
  return *this;
}

OffsetCalculation OffsetCalculation::operator-(
    const OffsetCalculation& other) const {
  if (IsTerm() && other.IsTerm()) return term_ - other.term_;
  return OffsetCalculation(HloOpcode::kSubtract, *this, other);
}

OffsetCalculation OffsetCalculation::operator+(
    const OffsetCalculation& other) const {
  if (IsTerm() && other.IsTerm()) return term_ + other.term_;
  return OffsetCalculation(HloOpcode::kAdd, *this, other);
}

bool OffsetCalculation::operator==(const OffsetCalculation& other) const {
  if (opcode_ != other.opcode_) return false;
  if (IsTerm()) return term_ == other.term_;
  return *lhs_ == *other.lhs_ && *rhs_ == *other.rhs_;
}

bool OffsetCalculation::IsConstant() const {
  if (IsTerm()) return term_.IsConstant();
  // What is subtracted from itself is 0.
  if (opcode_ == HloOpcode::kSubtract && *lhs_ == *rhs_) return true;
  return lhs_->IsConstant() && rhs_->IsConstant();
}

int64_t OffsetCalculation::Calculate(int64_t shard_ordinal) const {
  if (IsTerm()) return term_.Calculate(shard_ordinal);
  const int64_t lhs = lhs_->Calculate(shard_ordinal);
  const int64_t rhs = rhs_->Calculate(shard_ordinal);
  if (opcode_ == HloOpcode::kAdd) return lhs + rhs;
  return opcode_ == HloOpcode::kSubtract ? lhs - rhs : lhs * rhs;
}

HloInstruction* OffsetCalculation::Calculate(HloInstruction* shard_ordinal,
                                             SpmdBuilder* b) const {
  if (IsConstant()) return CreateR0(Calculate(int64_t{0}), S32, b);
  if (IsTerm()) return term_.Calculate(shard_ordinal, b);
  return AddBinary(opcode_, lhs_->Calculate(shard_ordinal, b),
                   rhs_->Calculate(shard_ordinal, b), b);
}

int64_t OffsetCalculation::MaxInRange(int64_t start_ordinal,
                                      int64_t limit_ordinal) const {
  if (IsTerm()) return term_.MaxInRange(start_ordinal, limit_ordinal);
  CHECK_LT(start_ordinal, limit_ordinal);
  int64_t most = Calculate(start_ordinal);
  for (int64_t i = start_ordinal + 1; i < limit_ordinal; ++i) {
    most = std::max(most, Calculate(i));
  }
  return most;
}

}  // namespace xla::spmd

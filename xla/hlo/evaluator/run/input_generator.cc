#include "xla/hlo/evaluator/run/input_generator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/run/parameter_uses.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using primitive_util::IsComplexType;
using primitive_util::IsFloatingPointType;

// Fills one array.
class Filler {
 public:
  Filler(const InputOptions& options, const ParameterNeeds& needs,
         uint64_t stream)
      : options_(options), needs_(needs), rng_(stream) {}

  absl::Status Fill(Literal& array) {
    const Shape& shape = array.shape();
    const PrimitiveType type = shape.element_type();
    count_ = ShapeUtil::ElementsIn(shape);
    if (needs_.unique) Shuffle();
    int64_t position = 0;
    absl::Status status;
    ShapeUtil::ForEachIndex(shape, [&](absl::Span<const int64_t> index) {
      if (type == PRED) {
        array.Set<bool>(index, Below(2) != 0);
      } else if (IsComplexType(type)) {
        status = SetComplex(array, index);
      } else if (IsFloatingPointType(type)) {
        status = array.SetFromDouble(index, Float(type, position));
      } else {
        status = array.SetIntegralAsS64(index, Integer(type, position));
      }
      ++position;
      return status.ok();
    });
    TF_RETURN_IF_ERROR(status);
    if (needs_.matrix != ParameterNeeds::Matrix::kAny) MakeSymmetric(array);
    return absl::OkStatus();
  }

 private:
  int64_t Below(int64_t n) {
    return n <= 1 ? 0 : static_cast<int64_t>(rng_() % static_cast<uint64_t>(n));
  }
  // In [-1, 1], with 20 bits.
  double Unit() {
    return static_cast<double>(Below((1 << 20) + 1)) / (1 << 19) - 1;
  }

  // Fisher and Yates: every order is about equally likely, and the same on
  // every platform, which std::shuffle does not promise.
  void Shuffle() {
    order_.resize(count_);
    std::iota(order_.begin(), order_.end(), 0);
    for (int64_t i = count_ - 1; i > 0; --i) {
      std::swap(order_[i], order_[Below(i + 1)]);
    }
  }

  double Float(PrimitiveType type, int64_t position) {
    if (options_.with_nan && Below(16) == 0) {
      const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity()};
      return odd[Below(3)];
    }
    // It has neither zero nor negative numbers.
    if (type == F8E8M0FNU) return std::ldexp(1.0, Below(9) - 4);
    if (options_.small_integers) {
      const double top = std::min(
          4.0, std::ldexp(1.0, primitive_util::SignificandWidth(type) - 1));
      const auto bound = static_cast<int64_t>(top);
      if (needs_.positive) return static_cast<double>(1 + Below(bound));
      return static_cast<double>(Below(2 * bound + 1) - bound);
    }
    if (needs_.unique) {
      const double n = static_cast<double>(std::max<int64_t>(count_, 1));
      return 2 * (static_cast<double>(order_[position]) + 0.5) / n - 1;
    }
    double value = Unit();
    if (needs_.positive) value = 0.125 + 0.875 * std::abs(value);
    return value;
  }

  int64_t Integer(PrimitiveType type, int64_t position) {
    const bool is_signed = primitive_util::IsSignedIntegralType(type);
    if (needs_.sum.has_value()) {
      // Cuts of the sum; the last takes the rest.
      const int64_t size = position + 1 == count_ ? left() : Below(left() + 1);
      used_ += size;
      return size;
    }
    int64_t lo = is_signed ? -8 : 0, hi = 8;
    const int bits = primitive_util::BitWidth(type);
    if (bits < 8) {
      lo = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
      hi = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    }
    if (needs_.positive) lo = 1;
    if (needs_.bounds.has_value()) {
      // The type may be too narrow for all of them.
      const int digits = std::min(bits - (is_signed ? 1 : 0), 62);
      lo = needs_.bounds->first;
      hi = std::min(needs_.bounds->second, (int64_t{1} << digits) - 1);
    } else if (options_.large_integers && !needs_.positive && !needs_.unique) {
      return static_cast<int64_t>(rng_());
    }
    if (needs_.unique) {
      // All of 0, 1, ...; wrapped only where there are not enough values.
      const int64_t vector = position / needs_.vector_size;
      const int64_t rank = order_[vector] + position % needs_.vector_size;
      if (!needs_.bounds.has_value()) {
        return is_signed ? rank - count_ / 2 : rank;
      }
      const int64_t vectors = std::max<int64_t>(count_ / needs_.vector_size, 1);
      return lo + (rank % std::max<int64_t>(vectors, 1)) % (hi - lo + 1);
    }
    return lo + Below(hi - lo + 1);
  }

  int64_t left() const { return *needs_.sum - used_; }

  absl::Status SetComplex(Literal& array, absl::Span<const int64_t> index) {
    const PrimitiveType type = array.shape().element_type();
    const PrimitiveType part = primitive_util::ComplexComponentType(type);
    const double re = Float(part, 0), im = Float(part, 0);
    if (type == C64) {
      array.Set<complex64>(
          index, complex64(static_cast<float>(re), static_cast<float>(im)));
    } else {
      array.Set<complex128>(index, complex128(re, im));
    }
    return absl::OkStatus();
  }

  // Makes the diagonal larger than the sum of its row (positive definite by
  // Gershgorin's circles, where the matrix is symmetric too).
  void MakeSymmetric(Literal& array) {
    const auto rank = array.shape().dimensions().size();
    if (rank < 2) return;
    const int64_t n = array.shape().dimensions(rank - 1);
    ShapeUtil::ForEachIndex(
        array.shape(), [&](absl::Span<const int64_t> index) {
          std::vector<int64_t> mirror(index.begin(), index.end());
          std::swap(mirror[rank - 1], mirror[rank - 2]);
          if (index[rank - 1] > index[rank - 2] &&
              needs_.matrix == ParameterNeeds::Matrix::kPositiveDefinite &&
              !IsComplexType(array.shape().element_type())) {
            array.CopyElementFrom(array, mirror, index);
          } else if (index[rank - 1] == index[rank - 2] &&
                     IsFloatingPointType(array.shape().element_type())) {
            array.SetFromDouble(index, static_cast<double>(n) + 1)
                .IgnoreError();
          }
          return true;
        });
  }

  const InputOptions& options_;
  const ParameterNeeds& needs_;
  std::mt19937_64 rng_;
  int64_t count_ = 0;
  int64_t used_ = 0;
  std::vector<int64_t> order_;
};

// Numbers of streams that have nothing in common (SplitMix64's finalizer).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

absl::StatusOr<Literal> GenerateArray(const HloInstruction* parameter,
                                      const ShapeUtil::IndexedShape& leaf,
                                      uint64_t stream,
                                      const InputOptions& options) {
  TF_ASSIGN_OR_RETURN(Literal array, Literal::Make(leaf.shape));
  const ParameterNeeds needs = options.ignore_uses
                                   ? ParameterNeeds()
                                   : FindParameterNeeds(parameter, leaf.index);
  TF_RETURN_IF_ERROR(Filler(options, needs, stream).Fill(array));
  return array;
}

absl::StatusOr<Literal> GenerateParameter(const HloInstruction* parameter,
                                          const InputOptions& options) {
  TF_ASSIGN_OR_RETURN(Literal value, Literal::Make(parameter->shape()));
  uint64_t stream = Mix(
      options.seed ^ Mix(static_cast<uint64_t>(parameter->parameter_number())));
  for (const ShapeUtil::IndexedShape& leaf :
       ShapeUtil::GetLeafShapes(parameter->shape())) {
    stream = Mix(stream);
    if (leaf.shape.IsToken()) continue;
    if (!leaf.shape.IsArray()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no value for ", ShapeUtil::HumanString(leaf.shape)));
    }
    TF_ASSIGN_OR_RETURN(Literal array,
                        GenerateArray(parameter, leaf, stream, options));
    TF_RETURN_IF_ERROR(value.MoveFrom(std::move(array), leaf.index));
  }
  return value;
}

// A value that shows in any result computed from it: NaN or, of a type without
// one, the largest on even devices and the smallest on odd ones.
absl::StatusOr<Literal> Poison(PrimitiveType type, int64_t device) {
  if (IsComplexType(type) ||
      (IsFloatingPointType(type) && primitive_util::HasNaN(type))) {
    return LiteralUtil::NanValue(type);
  }
  return device % 2 == 0 ? LiteralUtil::MaxValue(type)
                         : LiteralUtil::MinValue(type);
}

}  // namespace

absl::StatusOr<std::vector<Literal>> GenerateInputs(
    const HloModule& module, const InputOptions& options) {
  std::vector<Literal> inputs;
  for (const HloInstruction* parameter :
       module.entry_computation()->parameter_instructions()) {
    absl::StatusOr<Literal> value = GenerateParameter(parameter, options);
    if (!value.ok()) {
      return absl::Status(
          value.status().code(),
          absl::StrCat("%", parameter->name(), ": ", value.status().message()));
    }
    inputs.push_back(*std::move(value));
  }
  return inputs;
}

absl::StatusOr<Literal> PoisonLiteral(const Shape& shape, int64_t device) {
  TF_ASSIGN_OR_RETURN(Literal literal, Literal::Make(shape));
  for (const ShapeUtil::IndexedShape& leaf : ShapeUtil::GetLeafShapes(shape)) {
    if (!leaf.shape.IsArray()) continue;
    TF_ASSIGN_OR_RETURN(Literal array, Literal::Make(leaf.shape));
    TF_ASSIGN_OR_RETURN(const Literal poison,
                        Poison(leaf.shape.element_type(), device));
    ShapeUtil::ForEachIndex(leaf.shape, [&](absl::Span<const int64_t> index) {
      array.CopyElementFrom(poison, {}, index);
      return true;
    });
    TF_RETURN_IF_ERROR(literal.MoveFrom(std::move(array), leaf.index));
  }
  return literal;
}

}  // namespace xla

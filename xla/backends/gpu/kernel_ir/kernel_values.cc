#include "xla/backends/gpu/kernel_ir/kernel_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla::gpu {
namespace {

using kir::ElementType;

// Keeps `bits` bits of the significand, ties to even.
double RoundSignificand(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double m = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(m, bits)), exponent - bits);
}

double Wrap(double value, int bits, bool is_signed) {
  if (!std::isfinite(value)) return 0;
  const double modulus = std::ldexp(1.0, bits);
  double v = std::fmod(std::trunc(value), modulus);
  if (v < 0) v += modulus;
  if (is_signed && v >= modulus / 2) v -= modulus;
  return v;
}

int64_t Integer(double v) {
  return static_cast<int64_t>(std::max(-9.0e18, std::min(9.0e18, v)));
}

}  // namespace

double RoundToType(double value, ElementType type) {
  switch (type) {
    case ElementType::kPred:
      return value != 0;
    case ElementType::kS8:
      return Wrap(value, 8, true);
    case ElementType::kU8:
      return Wrap(value, 8, false);
    case ElementType::kS16:
      return Wrap(value, 16, true);
    case ElementType::kU16:
      return Wrap(value, 16, false);
    case ElementType::kS32:
      return Wrap(value, 32, true);
    case ElementType::kU32:
      return Wrap(value, 32, false);
    case ElementType::kS64:
    case ElementType::kU64:
      return std::trunc(value);
    case ElementType::kF16:
      return RoundSignificand(value, 11);
    case ElementType::kBF16:
      return RoundSignificand(value, 8);
    case ElementType::kF8E4M3FN:
      return RoundSignificand(value, 4);
    case ElementType::kF8E5M2:
      return RoundSignificand(value, 3);
    case ElementType::kF32:
      return static_cast<float>(value);
    default:
      return value;
  }
}

double ApplyKernelOp(absl::string_view op, absl::Span<const double> x) {
  const double a = x.empty() ? 0 : x[0];
  const double b = x.size() > 1 ? x[1] : 0;
  const double c = x.size() > 2 ? x[2] : 0;
  using Unary = double (*)(double);
  static constexpr std::pair<absl::string_view, Unary> kUnary[] = {
      {"neg", [](double v) { return -v; }},
      {"abs", [](double v) { return std::fabs(v); }},
      {"exp", [](double v) { return std::exp(v); }},
      {"log", [](double v) { return std::log(v); }},
      {"sqrt", [](double v) { return std::sqrt(v); }},
      {"rsqrt", [](double v) { return 1 / std::sqrt(v); }},
      {"rcp", [](double v) { return 1 / v; }},
      {"tanh", [](double v) { return std::tanh(v); }},
      {"sin", [](double v) { return std::sin(v); }},
      {"cos", [](double v) { return std::cos(v); }},
      {"floor", [](double v) { return std::floor(v); }},
      {"ceil", [](double v) { return std::ceil(v); }},
      {"relu", [](double v) { return std::max(v, 0.0); }},
      {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"not", [](double v) { return v == 0 ? 1.0 : 0.0; }},
  };
  for (const auto& [name, function] : kUnary) {
    if (name == op) return function(a);
  }
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "mul") return a * b;
  if (op == "div") return a / b;
  if (op == "rem") return std::fmod(a, b);
  if (op == "max") return std::max(a, b);
  if (op == "min") return std::min(a, b);
  if (op == "pow") return std::pow(a, b);
  if (op == "and") return static_cast<double>(Integer(a) & Integer(b));
  if (op == "or") return static_cast<double>(Integer(a) | Integer(b));
  if (op == "xor") return static_cast<double>(Integer(a) ^ Integer(b));
  if (op == "eq") return a == b;
  if (op == "lt") return a < b;
  if (op == "le") return a <= b;
  if (op == "gt") return a > b;
  if (op == "ge") return a >= b;
  if (op == "select") return a != 0 ? b : c;
  if (op == "fma") return a * b + c;
  if (op == "clamp") return std::min(std::max(a, b), c);
  // Those that hand their input on.
  return a;
}

double ApplyCombiner(kir::Combiner combiner, double a, double b) {
  switch (combiner) {
    case kir::Combiner::kMul:
      return a * b;
    case kir::Combiner::kMax:
      return std::max(a, b);
    case kir::Combiner::kMin:
      return std::min(a, b);
    default:
      return a + b;
  }
}

double CombinerIdentity(kir::Combiner combiner) {
  switch (combiner) {
    case kir::Combiner::kMul:
      return 1;
    case kir::Combiner::kMax:
      return -std::numeric_limits<double>::infinity();
    case kir::Combiner::kMin:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

}  // namespace xla::gpu

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/odometer.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// Random numbers by the counter-based generators of Salmon, Moraes, Dror and
// Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011): each block of
// words is a keyed mixing function of its number, so any part of a stream can
// be computed by itself. Which word of which block goes where is as on XLA's
// backends.

namespace xla {
namespace evaluator {
namespace {

using Wide = unsigned __int128;

// Threefry-2x32 with 20 rounds, a key injection after every 4.
std::array<uint32_t, 2> Threefry(uint64_t key, uint64_t counter) {
  const uint32_t low = static_cast<uint32_t>(key);
  const uint32_t high = static_cast<uint32_t>(key >> 32);
  const uint32_t keys[3] = {low, high, 0x1bd11bda ^ low ^ high};
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t x = static_cast<uint32_t>(counter) + keys[0];
  uint32_t y = static_cast<uint32_t>(counter >> 32) + keys[1];
  for (int i = 0; i < 5; ++i) {
    for (int rotation : kRotations[i % 2]) {
      x += y;
      y = ((y << rotation) | (y >> (32 - rotation))) ^ x;
    }
    x += keys[(i + 1) % 3];
    y += keys[(i + 2) % 3] + i + 1;
  }
  return {x, y};
}

// Philox-4x32 with 10 rounds.
std::array<uint32_t, 4> Philox(uint64_t key, Wide counter) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> x;
  for (int i = 0; i < 4; ++i) x[i] = static_cast<uint32_t>(counter >> (32 * i));
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xd2511f53} * x[0];
    const uint64_t b = uint64_t{0xcd9e8d57} * x[2];
    x = {static_cast<uint32_t>(b >> 32) ^ x[1] ^ k0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ x[3] ^ k1, static_cast<uint32_t>(a)};
    k0 += 0x9e3779b9;
    k1 += 0xbb67ae85;
  }
  return x;
}

// The dimension along which the two words of a block lie next to one another:
// the first even one, or else the first of the largest.
int64_t PairedDimension(absl::Span<const int64_t> dims) {
  int64_t largest = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] % 2 == 0) return d;
    if (dims[d] > dims[largest]) largest = d;
  }
  return largest;
}

// Words for all elements; returns how many blocks they took. Of a 32-bit type
// two neighboring elements along one dimension share a block.
int64_t ThreefryBits(uint64_t key, uint64_t counter,
                     absl::Span<const int64_t> dims, bool wide,
                     std::vector<uint64_t>& bits) {
  const int64_t n = bits.size();
  if (wide) {
    for (int64_t i = 0; i < n; ++i) {
      const auto block = Threefry(key, counter + i);
      bits[i] = block[0] | uint64_t{block[1]} << 32;
    }
    return n;
  }
  DimensionVector half(dims.begin(), dims.end());
  const int64_t axis = dims.empty() ? -1 : PairedDimension(dims);
  if (axis >= 0) half[axis] = CeilOfRatio<int64_t>(half[axis], 2);
  const DimensionVector strides = RowMajorStrides(dims);
  Odometer at(half);
  if (at.empty()) return 0;
  int64_t blocks = 0;
  do {
    const auto block = Threefry(key, counter + blocks++);
    int64_t offset = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
      offset += at[d] * strides[d] * (d == axis ? 2 : 1);
    }
    bits[offset] = block[0];
    if (axis >= 0 && 2 * at[axis] + 1 < dims[axis]) {
      bits[offset + strides[axis]] = block[1];
    }
  } while (at.Next());
  return blocks;
}

int64_t PhiloxBits(uint64_t key, Wide counter, bool wide,
                   std::vector<uint64_t>& bits) {
  const int64_t n = bits.size();
  const int64_t per_block = wide ? 2 : 4;
  const int64_t blocks = CeilOfRatio(n, per_block);
  for (int64_t i = 0; i < blocks; ++i) {
    const auto block = Philox(key, counter + i);
    for (int64_t j = 0; j < per_block && i * per_block + j < n; ++j) {
      bits[i * per_block + j] =
          wide ? block[2 * j] | uint64_t{block[2 * j + 1]} << 32 : block[j];
    }
  }
  return blocks;
}

// The state as 64-bit words; pairs of u32 are words too, low half first.
absl::StatusOr<Value> StateWords(const Value& state, MemoryBudget* budget) {
  const bool narrow = state.type() == U32;
  if ((!narrow && state.type() != U64) || state.rank() != 1 ||
      (narrow && state.count() % 2 != 0)) {
    return InvalidArgument("the state is not u64[n]");
  }
  TF_ASSIGN_OR_RETURN(Value words,
                      Value::Make(U64, {state.bytes() / 8}, budget));
  std::copy_n(state.raw(), state.bytes(), words.mutable_raw());
  return words;
}

// --- rng ---------------------------------------------------------------------

// A stream of random words that depends on the seed and on what was drawn.
class Stream {
 public:
  Stream(uint64_t seed, Device::RandomState& state)
      : seed_(seed), state_(state) {}
  uint64_t Next() {
    const auto block = Philox(seed_, state_.drawn++);
    return block[0] | uint64_t{block[1]} << 32;
  }
  // In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  double Normal() {
    // Box and Muller, 1958.
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * M_PI * Uniform());
  }

 private:
  uint64_t seed_;
  Device::RandomState& state_;
};

}  // namespace

absl::StatusOr<Value> EvaluateRngBitGenerator(const HloInstruction* instruction,
                                              absl::Span<Value> operands,
                                              KernelContext& context) {
  const Shape& shape = instruction->shape();
  if (!shape.IsTuple() || shape.tuple_shapes_size() != 2) {
    return InvalidArgument("the result is not a pair of state and bits");
  }
  const Shape& bits_shape = shape.tuple_shapes(1);
  const PrimitiveType type = bits_shape.element_type();
  if (!primitive_util::IsIntegralType(type) &&
      !primitive_util::IsFloatingPointType(type)) {
    return Unimplemented("random bits of type %s are not supported",
                         primitive_util::LowercasePrimitiveTypeName(type));
  }
  const RandomAlgorithm algorithm =
      Cast<HloRngBitGeneratorInstruction>(instruction)->algorithm();
  TF_ASSIGN_OR_RETURN(Value state, StateWords(operands[0], context.budget));
  const bool threefry = algorithm == RNG_THREE_FRY;
  if (state.count() != 2 && (threefry || state.count() != 3)) {
    return InvalidArgument("the state has %d words", state.count());
  }
  uint64_t* words = state.mutable_data<uint64_t>();
  const bool wide = primitive_util::BitWidth(type) == 64;
  std::vector<uint64_t> bits(ShapeUtil::ElementsIn(bits_shape));
  if (threefry) {
    words[1] +=
        ThreefryBits(words[0], words[1], bits_shape.dimensions(), wide, bits);
  } else if (state.count() == 2) {
    // The key is the upper half of the counter as well.
    const Wide counter = words[1] | static_cast<Wide>(words[0]) << 64;
    words[1] += PhiloxBits(words[0], counter, wide, bits);
  } else {
    Wide counter = words[1] | static_cast<Wide>(words[2]) << 64;
    counter += PhiloxBits(words[0], counter, wide, bits);
    words[1] = static_cast<uint64_t>(counter);
    words[2] = static_cast<uint64_t>(counter >> 64);
  }
  TF_ASSIGN_OR_RETURN(
      Value result, Value::Make(U64, bits_shape.dimensions(), context.budget));
  std::copy(bits.begin(), bits.end(), result.mutable_data<uint64_t>());
  // Floating-point numbers have these bits, whatever they mean.
  const PrimitiveType bits_type =
      primitive_util::IsFloatingPointType(type)
          ? primitive_util::UnsignedIntegralTypeForBitWidth(
                primitive_util::BitWidth(type))
          : type;
  TF_ASSIGN_OR_RETURN(
      result, ConvertValue(std::move(result), bits_type, context.budget));
  if (bits_type != type) result = result.Retyped(type);
  TF_ASSIGN_OR_RETURN(
      Value new_state,
      Value::Make(operands[0].type(), operands[0].dims(), context.budget));
  std::copy_n(state.raw(), state.bytes(), new_state.mutable_raw());
  return Value::Tuple({std::move(new_state), std::move(result)});
}

absl::StatusOr<Value> EvaluateRng(const HloInstruction* instruction,
                                  absl::Span<Value> operands,
                                  KernelContext& context) {
  const Shape& shape = instruction->shape();
  const PrimitiveType type = shape.element_type();
  const RandomDistribution distribution = instruction->random_distribution();
  if (operands.size() != 2 || operands[0].rank() != 0 ||
      operands[1].rank() != 0) {
    return InvalidArgument("the parameters are not two scalars");
  }
  Stream stream(context.device.options().seed, context.device.random_state());
  if (primitive_util::IsFloatingPointType(type)) {
    TF_ASSIGN_OR_RETURN(Value a,
                        ConvertValue(operands[0], F64, context.budget));
    TF_ASSIGN_OR_RETURN(Value b,
                        ConvertValue(operands[1], F64, context.budget));
    const double low = a.scalar<double>();
    const double high = b.scalar<double>();
    TF_ASSIGN_OR_RETURN(Value result,
                        Value::Make(F64, shape.dimensions(), context.budget));
    double* x = result.mutable_data<double>();
    for (int64_t i = 0; i < result.count(); ++i) {
      x[i] = distribution == RNG_NORMAL ? low + high * stream.Normal()
                                        : low + (high - low) * stream.Uniform();
    }
    return ConvertValue(std::move(result), type, context.budget);
  }
  if (distribution == RNG_NORMAL ||
      (type != PRED && !primitive_util::IsIntegralType(type))) {
    return Unimplemented("%s of type %s",
                         RandomDistributionToString(distribution),
                         primitive_util::LowercasePrimitiveTypeName(type));
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::Make(U64, shape.dimensions(), context.budget));
  const uint64_t low = static_cast<uint64_t>(operands[0].AsInt64());
  const uint64_t range = static_cast<uint64_t>(operands[1].AsInt64()) - low;
  uint64_t* x = result.mutable_data<uint64_t>();
  for (int64_t i = 0; i < result.count(); ++i) {
    x[i] = low + (range == 0 ? 0 : stream.Next() % range);
  }
  return ConvertValue(std::move(result), type, context.budget);
}

absl::StatusOr<Value> EvaluateRngGetAndUpdateState(
    const HloInstruction* instruction, absl::Span<Value> operands,
    KernelContext& context) {
  Wide& global = context.device.random_state().global;
  if (global == 0) global = Wide{context.device.options().seed} + 1;
  TF_ASSIGN_OR_RETURN(Value result, Value::Make(U64, {2}, context.budget));
  result.mutable_data<uint64_t>()[0] = static_cast<uint64_t>(global);
  result.mutable_data<uint64_t>()[1] = static_cast<uint64_t>(global >> 64);
  global += Cast<HloRngGetAndUpdateStateInstruction>(instruction)->delta();
  return result;
}

}  // namespace evaluator
}  // namespace xla

#include "xla/hlo/ir/hlo_opcode.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace xla {
namespace hlo_opcode_internal {

enum Trait : uint16_t {
  kNone = 0,
  kUnary = 1 << 0,
  kBinary = 1 << 1,
  kOtherElementwise = 1 << 2,
  kTranscendental = 1 << 3,
  kCommutative = 1 << 4,
  kSideEffect = 1 << 5,
  kAsync = 1 << 6,
  kControlFlowCalls = 1 << 7,
  kEmbeddedCalls = 1 << 8,
};

constexpr uint32_t kCount = HloOpcodeCount();

constexpr std::array<absl::string_view, kCount> kTexts = {
#define XLA_TEXT(enumerator, text, ...) absl::string_view(text),
    HLO_OPCODE_LIST(XLA_TEXT)
#undef XLA_TEXT
};

constexpr std::array<int8_t, kCount> kArities = {
#define XLA_ARITY(enumerator, text, arity, ...) arity,
    HLO_OPCODE_LIST(XLA_ARITY)
#undef XLA_ARITY
};

constexpr std::array<uint16_t, kCount> kTraits = {
#define XLA_TRAITS(enumerator, text, arity, handler, traits) \
  static_cast<uint16_t>(traits),
    HLO_OPCODE_LIST(XLA_TRAITS)
#undef XLA_TRAITS
};

bool Has(HloOpcode opcode, int traits) {
  return (kTraits[static_cast<uint8_t>(opcode)] & traits) != 0;
}

// The first two letters and the length tell most opcodes apart.
constexpr uint32_t kBuckets = 512;

uint32_t Bucket(absl::string_view text) {
  const uint8_t first = text[0], last = text[text.size() - 1];
  const uint8_t middle = text[text.size() / 2];
  return (first * 31u + middle * 7u + last * 3u + text.size() * 101u) %
         kBuckets;
}

// Open addressing: a slot holds opcode + 1, 0 is free.
std::array<uint8_t, kBuckets> MakeSlots() {
  std::array<uint8_t, kBuckets> slots = {};
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t slot = Bucket(kTexts[i]);
    while (slots[slot] != 0) slot = (slot + 1) % kBuckets;
    slots[slot] = static_cast<uint8_t>(i + 1);
  }
  return slots;
}

}  // namespace hlo_opcode_internal

using hlo_opcode_internal::Has;
using hlo_opcode_internal::kArities;
using hlo_opcode_internal::kTexts;

absl::string_view HloOpcodeString(HloOpcode opcode) {
  return kTexts[static_cast<uint8_t>(opcode)];
}

std::optional<HloOpcode> TryStringToHloOpcode(absl::string_view opcode_name) {
  using hlo_opcode_internal::kBuckets;
  static const std::array<uint8_t, kBuckets>& slots =
      *new std::array<uint8_t, kBuckets>(hlo_opcode_internal::MakeSlots());
  if (opcode_name.empty()) return std::nullopt;
  uint32_t slot = hlo_opcode_internal::Bucket(opcode_name);
  for (; slots[slot] != 0; slot = (slot + 1) % kBuckets) {
    if (kTexts[slots[slot] - 1] == opcode_name) {
      return static_cast<HloOpcode>(slots[slot] - 1);
    }
  }
  return std::nullopt;
}

absl::StatusOr<HloOpcode> StringToHloOpcode(absl::string_view opcode_name) {
  if (std::optional<HloOpcode> opcode = TryStringToHloOpcode(opcode_name)) {
    return *opcode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Unknown opcode: ", opcode_name));
}

std::optional<int8_t> HloOpcodeArity(HloOpcode opcode) {
  const int8_t arity = kArities[static_cast<uint8_t>(opcode)];
  if (arity == kHloOpcodeIsVariadic) return std::nullopt;
  return arity;
}

bool HloOpcodeIsVariadic(HloOpcode opcode) {
  return kArities[static_cast<uint8_t>(opcode)] == kHloOpcodeIsVariadic;
}

bool HloOpcodeIsAsync(HloOpcode opcode) {
  return Has(opcode, hlo_opcode_internal::kAsync);
}

bool HloOpcodeIsBinaryCommutative(HloOpcode opcode) {
  return Has(opcode, hlo_opcode_internal::kCommutative);
}

bool HloOpcodeIsElementwiseUnary(HloOpcode opcode) {
  return Has(opcode, hlo_opcode_internal::kUnary);
}

bool HloOpcodeIsElementwiseBinary(HloOpcode opcode) {
  return Has(opcode, hlo_opcode_internal::kBinary);
}

bool HloOpcodeIsElementwise(HloOpcode opcode) {
  return Has(opcode, hlo_opcode_internal::kUnary |
                         hlo_opcode_internal::kBinary |
                         hlo_opcode_internal::kOtherElementwise);
}

bool HloOpcodeIsTranscendental(HloOpcode opcode) {
  return Has(opcode, hlo_opcode_internal::kTranscendental);
}

bool HloOpcodeAlwaysHasSideEffect(HloOpcode opcode) {
  return Has(opcode, hlo_opcode_internal::kSideEffect);
}

std::string CallContextToString(CallContext context) {
  switch (context) {
    case CallContext::kEmbedded:
      return "kEmbedded";
    case CallContext::kControlFlow:
      return "kControlFlow";
    case CallContext::kBoth:
      return "kBoth";
    case CallContext::kNone:
      return "kNone";
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, const CallContext& context) {
  return out << CallContextToString(context);
}

CallContext GetInstructionCallContext(HloOpcode opcode) {
  if (Has(opcode, hlo_opcode_internal::kControlFlowCalls)) {
    return CallContext::kControlFlow;
  }
  if (Has(opcode, hlo_opcode_internal::kEmbeddedCalls)) {
    return CallContext::kEmbedded;
  }
  return CallContext::kNone;
}

}  // namespace xla

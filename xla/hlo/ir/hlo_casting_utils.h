#ifndef XLA_HLO_IR_HLO_CASTING_UTILS_H_
#define XLA_HLO_IR_HLO_CASTING_UTILS_H_

#include <type_traits>

#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_instruction.h"

// Casts from HloInstruction to its subclasses, decided by T::ClassOf, which
// looks at the opcode; no RTTI.

namespace xla {

template <class T>
using EnableIfDerivedFromHlo =
    std::enable_if_t<std::is_base_of<HloInstruction, T>::value>;

// The instruction as a T, which it must be; it must not be null.
template <class T, EnableIfDerivedFromHlo<T>* = nullptr>
const T* Cast(const HloInstruction* instr) {
  CHECK(instr != nullptr);
  CHECK(T::ClassOf(instr)) << "wrong cast of " << instr->name() << ", a "
                           << HloOpcodeString(instr->opcode());
  return static_cast<const T*>(instr);
}
template <class T, EnableIfDerivedFromHlo<T>* = nullptr>
T* Cast(HloInstruction* instr) {
  return const_cast<T*>(Cast<T>(const_cast<const HloInstruction*>(instr)));
}

// Null if the instruction is not a T; it must not be null itself.
template <class T, EnableIfDerivedFromHlo<T>* = nullptr>
const T* DynCast(const HloInstruction* i) {
  CHECK(i != nullptr);
  return T::ClassOf(i) ? static_cast<const T*>(i) : nullptr;
}
template <class T, EnableIfDerivedFromHlo<T>* = nullptr>
T* DynCast(HloInstruction* i) {
  CHECK(i != nullptr);
  return T::ClassOf(i) ? static_cast<T*>(i) : nullptr;
}

// Null if the instruction is null or not a T.
template <class T, EnableIfDerivedFromHlo<T>* = nullptr>
const T* DynCastOrNull(const HloInstruction* i) {
  return i != nullptr ? DynCast<T>(i) : nullptr;
}
template <class T, EnableIfDerivedFromHlo<T>* = nullptr>
T* DynCastOrNull(HloInstruction* i) {
  return i != nullptr ? DynCast<T>(i) : nullptr;
}

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_CASTING_UTILS_H_

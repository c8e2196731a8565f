#ifndef XLA_HLO_TESTLIB_MUTATOR_MODULE_DETOURS_H_
#define XLA_HLO_TESTLIB_MUTATOR_MODULE_DETOURS_H_

#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/literal.h"
#include "xla/shape.h"

// The instructions that module_mutator.h adds.

namespace xla {
namespace module_mutator_internal {

class Picker {
 public:
  // Draws from `random`, which must outlive it.
  explicit Picker(std::mt19937_64& random) : random_(random) {}

  size_t Below(size_t limit) { return random_() % limit; }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <typename T>
  T From(const std::vector<T>& values) {
    CHECK(!values.empty());
    return values[Below(values.size())];
  }

 private:
  std::mt19937_64& random_;
};

// Both add to the computation of `beside`.
HloInstruction* Add(HloInstruction* beside,
                    std::unique_ptr<HloInstruction> instruction);
HloInstruction* Constant(HloInstruction* beside, Literal literal);

// The instructions whose values are or hold the state of something
// asynchronous. The links of its chain read it, and what hands it on to them;
// nothing else may.
absl::flat_hash_set<const HloInstruction*> AsyncStateHolders(
    const HloModule& module);

// Adds instructions that read `inst` and give a value equal to it, of its
// shape; null where the one that was drawn does not fit the shape. If `inst`
// `holds_state`, only those are drawn that hand it on.
HloInstruction* Detour(HloInstruction* inst, bool holds_state, Picker& pick);

// Adds an instruction that reads `inst` and gives anything: another type, fewer
// or no elements, a dynamic size, a token; null where it does not fit.
HloInstruction* OddReader(HloInstruction* inst, Picker& pick);

// A token, a tuple with tokens, an array without elements, a dynamic one, ….
Shape OddShape(Picker& pick);

// On up to 16 devices, whether the module has them or not.
HloSharding RandomSharding(const Shape& shape, Picker& pick);

}  // namespace module_mutator_internal
}  // namespace xla

#endif  // XLA_HLO_TESTLIB_MUTATOR_MODULE_DETOURS_H_

#ifndef XLA_HLO_PIPELINE_DIFF_MODULE_MATCHING_H_
#define XLA_HLO_PIPELINE_DIFF_MODULE_MATCHING_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Which instructions of two modules are the same ones, whatever they are
// called. Names play no part: a renamed module matches as a whole.
//
//   before: a = add(p, q), op_name="mlp/add"   after: x = add(r, s), "mlp/add"
//           b = negate(a)                             y = abs(x)
//   → pairs (a, x) kSame; removed b; added y
//
// Instructions that run by themselves take part: those of the entry and of what
// it calls, not those inside of fusions and reducers, which count as part of
// the instruction that has them. Rules are tried one after the other, each on
// what is left; among equals the order of the modules decides:
//
//   1. computed from the same and used by the same, with the same op_name
//   2. the same without op_name
//   3. computed from the same, with, then without op_name
//   4. the same operation, used by the same, with the same op_name; another one
//      in the same place
//   5. the same operation on the same kinds of operands, and op_name
//   6. the same operation and op_name; the parameter of the same number
//   7. the same opcode and op_name: shape or attributes differ
//   8. without op_names: the same operation on the same kinds of operands, then
//      the same operation
//   9. the same opcode, and operands that are pairs
//
// O(instructions + operands) hashes. Of two graphs that hash alike (64 bits)
// one cannot be told from the other.
struct ModuleMatching {
  enum class Kind {
    kSame,     // also what it is computed from and what uses it
    kContext,  // the same, but something before or after it is not
    kRewired,  // the same operation on other operands
    kChanged,  // another shape, other attributes, or other things inside
  };
  struct Pair {
    const HloInstruction* before;
    const HloInstruction* after;
    Kind kind;
  };
  // In the order of the module before; of the module after for `added`.
  std::vector<Pair> pairs;
  std::vector<const HloInstruction*> removed;
  std::vector<const HloInstruction*> added;
  // Both have orders, and matching instructions run in another one.
  bool order_differs = false;

  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> after_of;
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*> before_of;

  // Every instruction is kSame.
  bool Equal() const;
};

ModuleMatching MatchModules(const HloModule& before, const HloModule& after);

// The text of an instruction without any names: "f32[8]{0} add(),
// dimensions={1}".
std::string OperationText(const HloInstruction& instruction);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_DIFF_MODULE_MATCHING_H_

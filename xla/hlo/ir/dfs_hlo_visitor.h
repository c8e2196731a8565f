#ifndef XLA_HLO_IR_DFS_HLO_VISITOR_H_
#define XLA_HLO_IR_DFS_HLO_VISITOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

class HloInstruction;

// A visitor of the instructions of a computation, operands before users. It has
// one Handle* method per opcode, named in the opcode table; HloInstruction's
// Visit() dispatches to it and the Accept() family walks.
//
// Handlers of elementwise opcodes fall back to HandleElementwiseUnary/Binary,
// so that a visitor may treat them alike; every other handler falls back to
// HandleUnclassified.
//
//   kAbs -> HandleAbs -> HandleElementwiseUnary
//   kDot -> HandleDot -> HandleUnclassified -> Unimplemented
//
// Instructions are visited at most once. An error ends the walk.
template <typename HloInstructionPtr>
class DfsHloVisitorBase {
  static_assert(
      std::is_same<HloInstruction*, HloInstructionPtr>::value ||
          std::is_same<const HloInstruction*, HloInstructionPtr>::value,
      "visitors take HloInstruction* or const HloInstruction*");

 public:
  DfsHloVisitorBase() = default;
  virtual ~DfsHloVisitorBase() = default;
  DfsHloVisitorBase(const DfsHloVisitorBase&) = delete;
  DfsHloVisitorBase& operator=(const DfsHloVisitorBase&) = delete;

  // Common handlers of the elementwise opcodes with one / two operands. Domain
  // counts as unary and stochastic-convert as binary.
  virtual absl::Status HandleElementwiseUnary(HloInstructionPtr hlo);
  virtual absl::Status HandleElementwiseBinary(HloInstructionPtr hlo);

  // HandleAbs, HandleAdd, ...: one per opcode.
#define XLA_DECLARE_HANDLER(enumerator, text, arity, method, traits) \
  virtual absl::Status method(HloInstructionPtr hlo) {               \
    return HandleByClass(hlo, HloOpcode::enumerator);                \
  }
  HLO_OPCODE_LIST(XLA_DECLARE_HANDLER)
#undef XLA_DECLARE_HANDLER

  // Called with the root after all instructions have been visited, if the walk
  // requests it.
  virtual absl::Status FinishVisit(HloInstructionPtr root) = 0;

  // kVisiting: on the walk's stack, its operands not finished yet.
  enum VisitState { kNotVisited = 0, kVisiting = 1, kVisited = 2 };

  // `id` is an instruction's unique id. O(1).
  VisitState GetVisitState(int64_t id) const;
  VisitState GetVisitState(const HloInstruction& instruction) const;

  // A hint: about `num` instructions of a computation will be visited.
  void ReserveVisitStates(int num) { reserved_ = num; }
  size_t VisitStateCapacity() const;

  // Forgets all states, so that the visitor may walk again.
  void ResetVisitStates();
  // The same, and frees their memory.
  void DestroyVisitState() { ResetVisitStates(); }

  void SetVisitState(int64_t id, VisitState state);
  void SetVisiting(const HloInstruction& instruction);
  void SetVisited(const HloInstruction& instruction);
  bool IsVisiting(const HloInstruction& instruction) const {
    return GetVisitState(instruction) == kVisiting;
  }
  bool DidVisit(const HloInstruction& instruction) const {
    return GetVisitState(instruction) == kVisited;
  }
  bool NotVisited(const HloInstruction& instruction) const {
    return GetVisitState(instruction) == kNotVisited;
  }

  // Run right before / after each instruction's handler.
  virtual absl::Status Preprocess(HloInstructionPtr hlo) {
    return absl::OkStatus();
  }
  virtual absl::Status Postprocess(HloInstructionPtr hlo) {
    return absl::OkStatus();
  }

  // Instructions for which this is false are neither handled nor walked
  // through.
  virtual bool ShouldProcessNode(HloInstructionPtr hlo) { return true; }

 protected:
  // The default of handlers that are not overridden.
  virtual absl::Status HandleUnclassified(HloInstructionPtr hlo);

 private:
  // States of a computation's instructions, by local id.
  struct Page {
    int64_t computation_id;
    std::vector<uint8_t> states;
  };

  absl::Status HandleByClass(HloInstructionPtr hlo, HloOpcode opcode);
  Page* FindPage(int64_t computation_id) const;

  int reserved_ = 0;
  // Walks rarely cross computations, so the page used last comes first.
  mutable Page* last_page_ = nullptr;
  absl::flat_hash_map<int64_t, std::unique_ptr<Page>> pages_;
  // Instructions that have no local id.
  absl::flat_hash_map<int64_t, VisitState> other_states_;
};

extern template class DfsHloVisitorBase<HloInstruction*>;
extern template class DfsHloVisitorBase<const HloInstruction*>;

using DfsHloVisitor = DfsHloVisitorBase<HloInstruction*>;
using ConstDfsHloVisitor = DfsHloVisitorBase<const HloInstruction*>;

}  // namespace xla

#endif  // XLA_HLO_IR_DFS_HLO_VISITOR_H_

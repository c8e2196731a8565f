#ifndef XLA_HLO_UTILS_HLO_TRAVERSAL_H_
#define XLA_HLO_UTILS_HLO_TRAVERSAL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace xla {

class HloFusionAdaptor;

template <HloOpcode... kOpcodes>
bool IsOpcodeAnyOf(const HloInstruction* instr) {
  return (false || ... || (instr->opcode() == kOpcodes));
}

// An instruction seen as part of a fusion that exists or that is considered.
// Edges run straight from instruction to instruction: fusions, their
// parameters, and the tuples and get-tuple-elements that take several results
// out of them are passed through.
//
//   f { p = parameter(0)  ROOT r = negate(p) }     operands of negate: exp
//   e { x = exp(..)  y = fusion(x), calls=f  z = add(y, y) }   users: add
//
// A small value; valid as long as the fusion adaptor.
class HloInstructionAdaptor {
 public:
  HloInstructionAdaptor() = default;
  HloInstructionAdaptor(const HloInstruction& instruction,
                        const HloFusionAdaptor* parent)
      : instruction_(&instruction), parent_(parent) {}

  HloOpcode opcode() const { return instruction_->opcode(); }
  absl::string_view name() const { return instruction_->name(); }
  const Shape& shape() const { return instruction_->shape(); }
  std::string ToString() const { return instruction_->ToString(); }
  const HloInstruction& instruction() const { return *instruction_; }
  const HloFusionAdaptor& parent() const { return *parent_; }
  // The attribute of the same name; false for instructions that lack it.
  bool use_global_device_ids() const;

  // The instructions that compute the operands, in the fusion or outside of it.
  // For a parameter: what the fusion gets there, if that is known.
  HloInstructionAdaptor GetOperand(int index) const;
  absl::InlinedVector<HloInstructionAdaptor, 2> GetOperands() const;
  // The instructions of the fusion that use this value, each once.
  absl::InlinedVector<HloInstructionAdaptor, 2> GetUsers() const;

  // The same instruction; adaptors of different fusions may be equal.
  friend bool operator==(const HloInstructionAdaptor& a,
                         const HloInstructionAdaptor& b) {
    return a.instruction_ == b.instruction_;
  }
  friend bool operator!=(const HloInstructionAdaptor& a,
                         const HloInstructionAdaptor& b) {
    return !(a == b);
  }
  template <typename H>
  friend H AbslHashValue(H h, const HloInstructionAdaptor& m) {
    return H::combine(std::move(h), m.instruction_);
  }

 private:
  const HloInstruction* instruction_ = nullptr;
  const HloFusionAdaptor* parent_ = nullptr;
};

// A fusion, one instruction that might become one, or a producer and a consumer
// that might be fused: one flat graph in all cases. Looks at the instructions
// when asked, so they must stay and keep their edges.
class HloFusionAdaptor {
 public:
  static std::unique_ptr<HloFusionAdaptor> ForInstruction(
      const HloInstruction* instruction);
  // Each may be a fusion. `with_extra_outputs`: results of the producer that
  // others than the consumer use are roots too.
  static std::unique_ptr<HloFusionAdaptor> ForProducerConsumer(
      const HloInstruction* producer, const HloInstruction* consumer,
      bool with_extra_outputs = false);
  static std::unique_ptr<HloFusionAdaptor> ForComputation(
      const HloComputation* computation);

  // Also true for fusions, parameters and tuples that are passed through.
  bool ContainsInstruction(HloInstructionAdaptor instruction) const {
    return ContainsInstruction(&instruction.instruction());
  }
  bool ContainsInstruction(const HloInstruction* instruction) const;

  // The results, in order; elements of the tuple if there are several. What is
  // two results is there twice.
  absl::InlinedVector<HloInstructionAdaptor, 2> GetRoots() const;
  // The instructions outside that are used, each once; the parameters of a
  // computation that is not a fusion's.
  absl::InlinedVector<const HloInstruction*, 2> GetParameters() const;
  // Operands first. Without what is passed through.
  absl::InlinedVector<HloInstructionAdaptor, 2> MakeInstructionPostOrder()
      const;
  HloInstructionAdaptor GetInstruction(
      const HloInstruction* instruction) const {
    return HloInstructionAdaptor(*instruction, this);
  }
  // In post-order.
  void ForEach(const std::function<void(HloInstructionAdaptor)>& fn) const;
  std::string ToString() const;

 private:
  friend class HloInstructionAdaptor;

  // A single instruction (computation is null), or a computation with the
  // fusion that calls it, or null if there is none.
  struct Region {
    const HloInstruction* instruction;
    const HloComputation* computation;
  };
  // Items in the order in which they came, each once.
  template <typename T>
  class UniqueList {
   public:
    void Add(const T& item) {
      if (list_.size() < kSearchLimit) {
        if (absl::c_linear_search(list_, item)) return;
      } else {
        if (seen_.empty()) seen_.insert(list_.begin(), list_.end());
        if (!seen_.insert(item).second) return;
      }
      list_.push_back(item);
    }
    absl::InlinedVector<T, 2> list() && { return std::move(list_); }

   private:
    static constexpr size_t kSearchLimit = 16;
    absl::InlinedVector<T, 2> list_;
    absl::flat_hash_set<T> seen_;
  };

  static Region RegionFor(const HloInstruction* instruction);

  HloFusionAdaptor() = default;

  // The region whose computation `instruction`, a fusion, calls; or null.
  const Region* RegionOfFusion(const HloInstruction* instruction) const;
  // The region in whose computation the instruction is; or null.
  const Region* RegionAround(const HloInstruction* instruction) const;
  // The values that leave a region.
  static absl::InlinedVector<const HloInstruction*, 2> RootsOf(
      const Region& region);
  // Nothing is computed there: a parameter, or the tuple of results.
  bool IsPassedThrough(const HloInstruction* instruction) const;
  // Follows a value up to the instruction that computes it.
  const HloInstruction* Producer(const HloInstruction* value) const;
  // Adds the instructions that use a value.
  void AddConsumers(const HloInstruction* value,
                    UniqueList<HloInstructionAdaptor>* consumers) const;
  // These, each once, also those outside of the fusion.
  absl::InlinedVector<HloInstructionAdaptor, 2> Consumers(
      const HloInstruction* value) const;
  void AddConsumersOfElement(
      const HloInstruction* fusion, int64_t index,
      UniqueList<HloInstructionAdaptor>* consumers) const;

  // Producers before consumers.
  absl::InlinedVector<Region, 2> regions_;
  bool with_extra_outputs_ = false;
};

enum class TraversalResult {
  kAdvance,    // on, with the neighbors of this node
  kInterrupt,  // stop
  kSkip,       // on, without the neighbors of this node
};

// Breadth-first from `roots` to operands (from `producers` to users) within the
// fusion, each node once.
void HloBfsConsumersFirstTraversal(
    absl::Span<const HloInstructionAdaptor> roots,
    const HloFusionAdaptor& fusion,
    const std::function<TraversalResult(HloInstructionAdaptor node)>&
        visit_node);
void HloBfsProducersFirstTraversal(
    absl::Span<const HloInstructionAdaptor> producers,
    const HloFusionAdaptor& fusion,
    const std::function<TraversalResult(HloInstructionAdaptor node)>&
        visit_node);

// The first node, breadth-first over operands (or users), for which `visit` is
// true. Without a fusion: in the computation, which is not left.
std::optional<HloInstructionAdaptor> HloBfsFindIf(
    absl::Span<const HloInstructionAdaptor> roots,
    const HloFusionAdaptor& fusion,
    const std::function<bool(HloInstructionAdaptor node)>& visit,
    bool visit_operands = true);
std::optional<const HloInstruction*> HloBfsFindIf(
    absl::Span<const HloInstruction* const> roots,
    const std::function<bool(const HloInstruction* node)>& visit,
    bool visit_operands = true);
// All such nodes.
std::vector<const HloInstruction*> HloBfsFindAll(
    absl::Span<const HloInstruction* const> roots,
    const std::function<bool(const HloInstruction* node)>& visit,
    bool visit_operands = true);
// Whether there is one.
bool HloBfsAnyOf(absl::Span<const HloInstructionAdaptor> roots,
                 const HloFusionAdaptor& fusion,
                 const std::function<bool(HloInstructionAdaptor node)>& visit,
                 bool visit_operands = true);
bool HloBfsAnyOf(absl::Span<const HloInstruction* const> roots,
                 const std::function<bool(const HloInstruction* node)>& visit,
                 bool visit_operands = true);

// Some instruction of the fusion passes.
template <typename Pred>
bool HloAnyOf(const HloFusionAdaptor& fusion, Pred&& pred) {
  for (const HloInstructionAdaptor& instr : fusion.MakeInstructionPostOrder()) {
    if (pred(instr)) return true;
  }
  return false;
}

// A path of uses from `parent` to `root`, both included, in the fusion of
// `root`: the first that a depth-first search finds. Empty if there is none.
std::vector<HloInstructionAdaptor> HloFindUseChain(HloInstructionAdaptor parent,
                                                   HloInstructionAdaptor root);

}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_TRAVERSAL_H_

// Structural equality of computations, and hashes that go with it.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using ComputationPair = std::pair<const HloComputation*, const HloComputation*>;
using InstructionPair = std::pair<const HloInstruction*, const HloInstruction*>;

struct EqualOptions {
  bool layout_sensitive;
  bool ignore_channel_id_values;
  bool ignore_execution_thread;
};

// Instructions whose effects count although the root does not depend on them.
std::vector<const HloInstruction*> EffectRoots(
    const HloComputation& computation) {
  std::vector<const HloInstruction*> roots;
  for (const HloInstruction* instruction : computation.instructions()) {
    if (instruction->IsDead() && instruction->HasSideEffect()) {
      roots.push_back(instruction);
    }
  }
  return roots;
}

// Compares pairs of instructions reached from pairs of roots. Everything must
// be equal, so that callees are compared later, from a list, instead of by
// recursion.
//
// Each pair of instructions or computations is compared once, on the assumption
// that all other pairs on the lists are equal; a difference anywhere makes the
// whole comparison fail. This is linear in the number of pairs even for graphs
// with heavy sharing, where naive recursion over operands would be exponential.
class Comparer {
 public:
  Comparer(const EqualOptions& options,
           std::optional<HloComputation::ComputationComparator> comparator)
      : options_(options), comparator_(comparator) {}

  bool Equal(const HloComputation* a, const HloComputation* b) {
    Require(a, b);
    while (!computations_.empty()) {
      const ComputationPair pair = computations_.back();
      computations_.pop_back();
      if (!EqualBodies(*pair.first, *pair.second)) return false;
    }
    return true;
  }

 private:
  // Notes that the computations must be equal.
  void Require(const HloComputation* a, const HloComputation* b) {
    if (a != b && seen_computations_.insert({a, b}).second) {
      computations_.push_back({a, b});
    }
  }
  void Require(const HloInstruction* a, const HloInstruction* b) {
    if (a != b && seen_instructions_.insert({a, b}).second) {
      instructions_.push_back({a, b});
    }
  }

  bool EqualBodies(const HloComputation& a, const HloComputation& b) {
    if (a.num_parameters() != b.num_parameters()) return false;
    for (int64_t i = 0; i < a.num_parameters(); ++i) {
      Require(a.parameter_instruction(i), b.parameter_instruction(i));
    }
    if (!options_.ignore_execution_thread &&
        a.execution_thread() != b.execution_thread()) {
      return false;
    }
    const std::vector<const HloInstruction*> effects_a = EffectRoots(a);
    const std::vector<const HloInstruction*> effects_b = EffectRoots(b);
    if (effects_a.size() != effects_b.size()) return false;
    for (size_t i = 0; i < effects_a.size(); ++i) {
      Require(effects_a[i], effects_b[i]);
    }
    Require(a.root_instruction(), b.root_instruction());
    while (!instructions_.empty()) {
      const InstructionPair pair = instructions_.back();
      instructions_.pop_back();
      if (!EqualInstructions(*pair.first, *pair.second)) return false;
    }
    return true;
  }

  bool EqualInstructions(const HloInstruction& a, const HloInstruction& b) {
    auto eq_operands = [](const HloInstruction*, const HloInstruction*) {
      return true;
    };
    auto eq_computations = [&](const HloComputation* x,
                               const HloComputation* y) {
      if (comparator_.has_value()) return (*comparator_)(x, y);
      Require(x, y);
      return true;
    };
    const bool identical =
        options_.ignore_channel_id_values
            ? a.IdenticalIgnoringChannelIdValues(
                  b, eq_operands, eq_computations, options_.layout_sensitive)
            : a.Identical(b, eq_operands, eq_computations,
                          options_.layout_sensitive);
    if (!identical || a.operand_count() != b.operand_count()) return false;
    for (int64_t i = 0; i < a.operand_count(); ++i) {
      Require(a.operand(i), b.operand(i));
    }
    return true;
  }

  const EqualOptions options_;
  const std::optional<HloComputation::ComputationComparator> comparator_;
  absl::flat_hash_set<ComputationPair> seen_computations_;
  absl::flat_hash_set<InstructionPair> seen_instructions_;
  std::vector<ComputationPair> computations_;
  std::vector<InstructionPair> instructions_;
};

}  // namespace

size_t HloComputation::StructuralHash() const {
  // What Equal cannot tell apart must hash alike, in particular a shared value
  // and two equal ones: so the hash of a value is made of the hashes of its
  // operands, not of their positions.
  std::vector<size_t> hashes(instructions_.size(), 0);
  std::vector<size_t> operand_hashes;
  for (const HloInstruction* instruction :
       MakeInstructionPostOrderFrom(*root_instruction_)) {
    operand_hashes.clear();
    for (const HloInstruction* operand : instruction->operands()) {
      operand_hashes.push_back(hashes[operand->local_id()]);
    }
    hashes[instruction->local_id()] =
        absl::HashOf(*instruction, operand_hashes);
  }
  return hashes[root_instruction_->local_id()];
}

// A fingerprint of the whole module that does not depend on names or ids.
// Computations and instructions are numbered in post order, and the hash of an
// instruction includes the numbers of the operands, control predecessors and
// callees instead of their hashes: the graph is hashed as it is, in linear
// time.
size_t HloModule::ContentHash() const {
  const std::vector<HloComputation*> computations = MakeComputationPostOrder();
  absl::flat_hash_map<const HloComputation*, size_t> computation_positions;
  size_t hash = computations.size();
  std::vector<size_t> positions;
  std::vector<size_t> edges;
  for (const HloComputation* computation : computations) {
    computation_positions.try_emplace(computation,
                                      computation_positions.size());
    positions.assign(computation->instructions_.size(), 0);
    size_t position = 0;
    for (const HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      edges.clear();
      for (const HloInstruction* operand : instruction->operands()) {
        edges.push_back(positions[operand->local_id()]);
      }
      for (const HloInstruction* predecessor :
           instruction->control_predecessors()) {
        edges.push_back(positions[predecessor->local_id()]);
      }
      for (const HloComputation* callee : instruction->called_computations()) {
        edges.push_back(computation_positions[callee]);
      }
      edges.push_back(instruction->IsRoot());
      hash = absl::HashOf(hash, *instruction, edges);
      positions[instruction->local_id()] = ++position;
    }
    hash = absl::HashOf(hash, computation == entry_computation_);
  }
  return hash;
}

bool HloComputation::EqualInternal(
    const HloComputation& other, bool is_layout_sensitive,
    std::optional<ComputationComparator> comparator,
    bool ignore_channel_id_values, bool ignore_execution_thread) const {
  const EqualOptions options = {is_layout_sensitive, ignore_channel_id_values,
                                ignore_execution_thread};
  return this == &other || Comparer(options, comparator).Equal(this, &other);
}

bool HloComputation::Equal(
    const HloComputation& other, bool is_layout_sensitive,
    std::optional<ComputationComparator> computations_comparator) const {
  return EqualInternal(other, is_layout_sensitive, computations_comparator,
                       /*ignore_channel_id_values=*/false,
                       /*ignore_execution_thread=*/false);
}

bool HloComputation::EqualIgnoringChannelIdValues(
    const HloComputation& other, bool is_layout_sensitive,
    std::optional<ComputationComparator> computations_comparator) const {
  return EqualInternal(other, is_layout_sensitive, computations_comparator,
                       /*ignore_channel_id_values=*/true,
                       /*ignore_execution_thread=*/false);
}

bool HloComputation::EqualIgnoringExecutionThread(
    const HloComputation& other, bool is_layout_sensitive,
    bool ignore_channel_id_values,
    std::optional<ComputationComparator> computations_comparator) const {
  return EqualInternal(other, is_layout_sensitive, computations_comparator,
                       ignore_channel_id_values,
                       /*ignore_execution_thread=*/true);
}

}  // namespace xla

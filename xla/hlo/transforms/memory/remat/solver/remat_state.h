#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_STATE_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_STATE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "xla/hlo/transforms/memory/remat/solver/excess_tree.h"
#include "xla/hlo/transforms/memory/remat/solver/remat_problem.h"

namespace xla::remat_plan {

// A program that is being changed: runs of nodes are inserted and removed at
// positions of a line, and the bytes live at each position are known at any
// time.
//
// Step s of the initial program is at position 2s+1; runs inserted before it
// are at 2s, in dependency order. Values that are computed and die at a
// position 2s take room there as the search says (AddTransient). A value that
// shares the memory of another takes room of its own from the next position on:
// exact unless the other one is read later, too, and then never too little.
// Inserted runs take no memory of their operands.
class RematState {
 public:
  // Ascending; nearly always few.
  using Positions = absl::InlinedVector<int32_t, 4>;

  RematState(const RematProblem& problem, const RematTrace& trace,
             int64_t limit);

  int32_t end_position() const { return 2 * step_count_ + 1; }
  // Bytes of a value while it lives: 0 for those that outlive the program.
  int64_t bytes(ValueId value) const { return bytes_[value]; }

  const ExcessTree& tree() const { return tree_; }

  // Positions of a node's runs, and of the readers of a value, ascending.
  const Positions& runs(NodeId node) const { return runs_[node]; }
  const Positions& uses(ValueId value) const { return uses_[value]; }

  // Last run at or before `position`, first one after it; -1: none.
  int32_t RunAtOrBefore(NodeId node, int32_t position) const;
  int32_t RunAfter(NodeId node, int32_t position) const;
  // Last reader of the value from the run at `run`; `run` if there is none.
  int32_t LastUse(ValueId value, int32_t run) const;
  // Last reader before `use` of the same run's value, or the run itself.
  int32_t UseBefore(ValueId value, int32_t run, int32_t use) const;
  // Whether the value from the run at `run` is overwritten before `position`.
  bool IsOverwritten(ValueId value, int32_t run, int32_t position) const;
  // First position at which a value computed by `run` takes room.
  int32_t FirstPosition(ValueId value, int32_t run) const {
    return problem_.values[value].alias_of >= 0 ? run + 1 : run;
  }

  // A run of `node`, which must be recomputable, at an even position.
  void Insert(NodeId node, int32_t position);
  // Removes a run. Its readers then read from the one before.
  void Remove(NodeId node, int32_t position);
  // Removes this run if it is unread, then operands' runs that only it read;
  // returns the seconds saved.
  double RemoveIfUseless(NodeId node, int32_t position);
  // Whether a value of this run is read.
  bool IsRead(NodeId node, int32_t position) const;
  // At least `bytes` are needed in addition at an even position.
  void AddTransient(int32_t position, int64_t bytes);

  double seconds() const { return seconds_; }

  // The program as it is now.
  std::vector<NodeId> Program() const;

 private:
  // Positions at which the run at `run` takes room; false if none.
  bool Room(ValueId value, int32_t run, int32_t* first, int32_t* last) const;
  // Adds (or subtracts) what the runs in [first, last], and the one before
  // them, hold of a value.
  void Count(ValueId value, int32_t first, int32_t last, int sign);
  // The values that may take the memory of each value; may be empty.
  void FindOverwriters();
  // Counts which of them do, after a change of its runs or readers.
  void UpdateInPlace(ValueId operand);
  bool IsInPlace(ValueId value, int32_t run) const;
  // Counts, or stops counting, that a value is computed in its operand's
  // memory.
  void SetInPlace(ValueId value, int32_t run, bool in_place);
  // Live bytes of each position at the start.
  std::vector<int64_t> LiveBytes() const;
  void AddUse(ValueId value, int32_t position);
  void RemoveUse(ValueId value, int32_t position);

  const RematProblem& problem_;
  int32_t step_count_;
  double seconds_;
  std::vector<Positions> runs_;                               // by node
  std::vector<Positions> uses_;                               // by value
  std::vector<int64_t> bytes_;                                // by value
  std::vector<int64_t> transient_;                            // by position
  std::vector<absl::InlinedVector<ValueId, 1>> overwriters_;  // by value
  // Results computed in place of their operand: values and runs.
  absl::flat_hash_set<std::pair<ValueId, int32_t>> in_place_;
  std::vector<int32_t> rank_;  // of each node in problem.order
  ExcessTree tree_;            // by position
};

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_STATE_H_

#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_PROBLEM_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace xla::remat_plan {

using NodeId = int32_t;
using ValueId = int32_t;

// Rematerialization without HLO: nodes make values from values; some may run
// more than once.
//
// A program is a sequence of nodes. A step reads of each value the result of
// the latest step of its node; so a second step of a node serves all readers
// after it, and the result of the first one dies with its last reader before.
// Results and operands are both live while a step runs, unless a result takes
// the memory of an operand.
//
//   0 1 2 3 4        4 reads 0's value: live over steps 0 … 4
//   0 1 2 3 0 4      … dropped after 1, recomputed before 4
struct RematProblem {
  struct Node {
    // The cost of one more run.
    double seconds = 0;
    // May run again, run later, or be left out if nothing reads it.
    bool recomputable = false;
    // Whether its results may take memory of its operands in ways other than
    // in_place_of says, if the caller counts so.
    bool shares_memory = true;
    // Bytes needed while it runs besides values: callees.
    int64_t internal_bytes = 0;
    // Its values are first_value … first_value + value_count - 1.
    ValueId first_value = 0;
    int32_t value_count = 0;
    // Without repetitions, ascending.
    std::vector<ValueId> reads;
  };
  struct Value {
    NodeId node = 0;
    int64_t bytes = 0;
    // Shares the memory of this one, which its node reads; -1: none.
    ValueId alias_of = -1;
    // Takes the memory of this one, which its node reads, if nothing reads it
    // later; -1: none. It has as many bytes, and no other value of the node
    // takes it.
    ValueId in_place_of = -1;
    // This node overwrites the memory of the value: the value is lost for later
    // readers, unless it is recomputed after that. It is not recomputable, and
    // has no later readers in `order`; -1: none.
    NodeId overwritten_by = -1;
  };

  std::vector<Node> nodes;
  std::vector<Value> values;
  // Live at the end, where they (and what they alias) do not count.
  std::vector<ValueId> outputs;
  // Bytes that are live all the time.
  int64_t base_bytes = 0;

  // Each node once; dependencies first.
  std::vector<NodeId> order;
};

// A run of a program: which step serves which reader, and what is live when.
// Instances are (step, value of its node), numbered step by step.
struct RematTrace {
  std::vector<NodeId> steps;
  // The instances of step s are first_instance[s] … first_instance[s + 1] - 1.
  std::vector<int32_t> first_instance;
  // For each instance, the last step that reads it or an instance in its
  // memory; its own step if there is none.
  std::vector<int32_t> last_use;
  // For each instance: the bytes that it holds from its step to last_use. 0 for
  // outputs and for instances that share the memory of another.
  std::vector<int64_t> bytes;
  // Bytes live during each step.
  std::vector<int64_t> live;

  int64_t peak_bytes = 0;
  int32_t peak_step = 0;
  double seconds = 0;  // sum over steps

  int64_t step_count() const { return static_cast<int64_t>(steps.size()); }
};

// Runs a program. InvalidArgument for a step whose operands were never
// computed, or are overwritten by then. Linear in steps and their reads.
absl::Status TraceProgram(const RematProblem& problem,
                          absl::Span<const NodeId> program, RematTrace* trace);

// The program without unread steps, but with each node that must run at least
// once. Linear.
std::vector<NodeId> RemoveUselessSteps(const RematProblem& problem,
                                       absl::Span<const NodeId> program);

// Bytes that every program needs: the most that a node needs while it runs,
// with its operands and results, and while the last of its operands is
// computed, with the other operands.
//
//   a = f(p); b = g(q); h(a, b)
//   → h: a + b; and either a + what g(q) needs, or b + what f(p) needs
//
// Applied recursively to the last operand of f or g, within a budget of some
// thousand steps. `in_place`: if results of nodes that share memory may take
// that of operands, the greater of both. Near-linear.
int64_t LowerBoundBytes(const RematProblem& problem, bool in_place = false);

}  // namespace xla::remat_plan

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_SOLVER_REMAT_PROBLEM_H_

#ifndef XLA_HLO_EVALUATOR_LANE_PROGRAM_H_
#define XLA_HLO_EVALUATOR_LANE_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/lanes.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace evaluator {

// A scalar computation as straight-line code on lanes: element-wise operations
// on registers, each operation run over a whole block of lanes. Reducers,
// comparators and the like are compiled once and then cost a few nanoseconds
// per element and operation instead of an interpretation.
//
//   {p0 = f32[] parameter(0)  p1 = f32[] parameter(1)
//    s = f32[] add(p0, p1)  ROOT r = f32[] maximum(s, p1)}
//   ->  r2 = add r0 r1;  r3 = max r2 r1;  return r3
class LaneProgram {
 public:
  struct Op {
    LaneKernel kernel;
    LaneParams params;
    absl::InlinedVector<int32_t, 3> inputs;  // Registers.
    int32_t output;
    bool round;  // The result needs RoundLanes(params.to).
    HloOpcode opcode;
  };

  // Compiles a computation whose parameters and results are all scalars (the
  // root may be a flat tuple) and whose instructions are all element-wise,
  // moves of scalars, or calls and fusions of such. Null for other
  // computations.
  static std::unique_ptr<LaneProgram> Compile(
      const HloComputation* computation);
  // The same for one trip of a loop over arrays: of a computation whose arrays
  // all have the result's number of elements, each computed from the elements
  // in its place and from scalars. Element i of each result is then the
  // program's result on elements i of the array parameters and on the scalar
  // ones.
  static std::unique_ptr<LaneProgram> CompileLoop(
      const HloComputation* computation);
  // Compiles one element-wise instruction, whose operands are the inputs.
  // Unimplemented, naming opcode and type, if there is no such operation.
  static absl::StatusOr<LaneProgram> CompileInstruction(
      const HloInstruction* instruction);

  // Bytes that the registers of a lane take.
  int64_t bytes_per_lane() const;
  int64_t num_inputs() const { return input_types_.size(); }
  PrimitiveType input_type(int64_t i) const { return input_types_[i]; }
  int64_t num_outputs() const { return outputs_.size(); }
  PrimitiveType output_type(int64_t i) const {
    return registers_[outputs_[i]].type;
  }
  // The opcode, if the program is op(input 0, input 1) in either order (of a
  // commutative opcode), both and the result of one type.
  std::optional<HloOpcode> AsBinary() const;
  // The input that is the result, if the program does nothing else.
  std::optional<int64_t> AsInput() const;
  // The compare, if the program is compare(input i, input j).
  struct SimpleCompare {
    Comparison::Direction direction;
    Comparison::Order order;
    int lhs;
    int rhs;
  };
  const std::optional<SimpleCompare>& AsCompare() const { return compare_; }

 private:
  friend class LaneMachine;
  friend class LaneCompiler;

  struct Register {
    PrimitiveType type;
    // Constants: the value in lane form.
    bool is_constant = false;
    alignas(16) char constant[16] = {};
  };

  std::vector<PrimitiveType> input_types_;  // Registers 0, 1, ...
  std::vector<Register> registers_;
  std::vector<Op> ops_;
  std::vector<int32_t> outputs_;
  std::optional<SimpleCompare> compare_;
};

// The registers of one execution of a program. Not for several threads.
class LaneMachine {
 public:
  // Blocks have at most `max_lanes` lanes, at most kLaneBlock.
  explicit LaneMachine(const LaneProgram& program,
                       int64_t max_lanes = kLaneBlock);

  // The lanes of an input, to be filled before Run.
  void* Input(int64_t i) { return own_[i]; }
  // From and to elements in memory. LoadInput reads in place where it can.
  void LoadInput(int64_t i, const void* elements, int64_t n);
  void StoreOutput(int64_t i, void* elements, int64_t n) const;
  // The same element for all lanes, until the next LoadInput.
  void SpreadInput(int64_t i, const void* element);

  // Where an output that no operation reads goes, instead of a register.
  void SetOutput(int64_t i, void* lanes) {
    own_[program_.outputs_[i]] = lanes;
    at_[program_.outputs_[i]] = lanes;
  }

  void Run(int64_t n);
  // Lanes of an output; may be those of an input or constant.
  const void* Output(int64_t i) const { return at_[program_.outputs_[i]]; }

 private:
  const LaneProgram& program_;
  const int64_t max_lanes_;
  std::vector<char> storage_;
  std::vector<void*> own_;
  std::vector<const void*> at_;
  // Inputs that are copied although they are lanes.
  std::vector<bool> keeps_;
};

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_LANE_PROGRAM_H_

#ifndef XLA_HLO_TRANSFORMS_COPIES_EXECUTION_LINE_H_
#define XLA_HLO_TRANSFORMS_COPIES_EXECUTION_LINE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/instruction_slots.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/transforms/copies/copy_sites.h"

namespace xla {

// When each instruction of a scheduled module reads its operands and writes its
// result, on one line of distinct times:
//
//   computation starts: its parameters are there
//   copies of parameters: read, write
//   for each instruction: copies before it (read, write), its read, what it
//     calls (a while's condition before its body), its write, copies after it
//   copies of results: read, write
//   computation ends
//
// Computations with more than one caller are laid out once, in the first.
class ExecutionLine {
 public:
  using Time = int64_t;

  // Lays out what the entry reaches in the order of `schedule`, and sets the
  // times of the sites. Linear, without recursion.
  ExecutionLine(const HloModule& module, const HloSchedule& schedule,
                CopySites& sites);

  struct Span {
    Time start = -1;
    Time end = -1;
    // Its caller; null for the entry.
    HloInstruction* caller = nullptr;
    // Nesting depth of loops around it.
    int depth = 0;
  };
  // Null for a computation that is off the line.
  const Span* Find(const HloComputation* computation) const {
    auto it = spans_.find(computation);
    return it == spans_.end() ? nullptr : &it->second;
  }

  // -1 off the line.
  Time Read(const HloInstruction* inst) const { return At(reads_, inst); }
  Time Write(const HloInstruction* inst) const { return At(writes_, inst); }

  Time end() const { return now_; }

 private:
  struct Frame;

  Time At(const std::vector<Time>& times, const HloInstruction* inst) const {
    const int32_t slot = slots_.Find(inst);
    return slot < 0 ? -1 : times[slot];
  }
  void Enter(HloComputation* computation, HloInstruction* caller, int depth,
             std::vector<Frame>* stack);
  void Leave(const HloComputation* computation);
  void Pass(const std::vector<int32_t>& sites);

  const HloSchedule& schedule_;
  CopySites& sites_;
  InstructionSlots slots_;
  std::vector<Time> reads_;
  std::vector<Time> writes_;
  absl::flat_hash_map<const HloComputation*, Span> spans_;
  Time now_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_EXECUTION_LINE_H_

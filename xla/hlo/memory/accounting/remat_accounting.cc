#include "xla/hlo/memory/accounting/remat_accounting.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {

std::vector<HloComputation*> ComputationsThatRun(
    const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  // Callers come later, and are few; instructions are many.
  absl::flat_hash_set<const HloComputation*> runs = {
      module.entry_computation()};
  const std::vector<HloComputation*> callees_first =
      module.MakeComputationPostOrder();
  for (auto it = callees_first.rbegin(); it != callees_first.rend(); ++it) {
    for (const HloInstruction* caller : (*it)->caller_instructions()) {
      if (RunsComputations(*caller) && runs.contains(caller->parent())) {
        runs.insert(*it);
        break;
      }
    }
  }
  const auto wanted = [&](const HloComputation* computation) {
    return execution_threads.empty() ||
           execution_threads.contains(computation->execution_thread());
  };
  std::vector<HloComputation*> result;
  for (HloComputation* computation : callees_first) {
    if (runs.contains(computation) && wanted(computation) &&
        computation != module.entry_computation()) {
      result.push_back(computation);
    }
  }
  if (wanted(module.entry_computation())) {
    result.push_back(module.entry_computation());
  }
  return result;
}

int64_t RematOutputBytes(const HloModule& module,
                         const RematSizeOptions& options) {
  int64_t bytes = 0;
  ShapeUtil::ForEachSubshape(
      module.result_shape(), [&](const Shape& subshape, const ShapeIndex&) {
        bytes += options.shape_size ? options.shape_size(subshape)
                                    : ShapeUtil::ByteSizeOf(subshape, 8);
      });
  return bytes;
}

absl::StatusOr<RematPeak::OfComputation> ComputeRematPeakOfComputation(
    const HloInstructionSequence& sequence, const RematSizeOptions& options,
    const absl::flat_hash_map<const HloComputation*, RematPeak::OfComputation>&
        callees) {
  TF_ASSIGN_OR_RETURN(const RematBuffers buffers,
                      RematBuffers::Build(sequence, options));
  return ComputeRematPeakOfComputation(buffers, callees);
}

// One sweep over the schedule. Buffers become live at their definer and die
// after their last reader; computations called by an instruction add their
// peaks while it runs.
RematPeak::OfComputation ComputeRematPeakOfComputation(
    const RematBuffers& buffers,
    const absl::flat_hash_map<const HloComputation*, RematPeak::OfComputation>&
        callees) {
  RematPeak::OfComputation peak;
  int64_t live = 0;
  for (RematItemId id = 0; id < buffers.item_count(); ++id) {
    const RematBuffers::Item& item = buffers.item(id);
    const RematBufferId end = item.first_defined + item.defined_count;
    for (RematBufferId b = item.first_defined; b < end; ++b) {
      live += buffers.buffer(b).bytes;
    }
    int64_t inside = 0;
    if (item.runs_computations) {
      for (const HloComputation* callee :
           item.instruction->called_computations()) {
        auto it = callees.find(callee);
        if (it != callees.end()) inside += it->second.bytes;
      }
    }
    if (live + inside > peak.bytes) {
      peak.bytes = live + inside;
      peak.at = item.instruction;
    }
    for (RematBufferId b : item.used) {
      const RematBuffer& buffer = buffers.buffer(b);
      if (buffer.users.back() == id) live -= buffer.bytes;
    }
    for (RematBufferId b = item.first_defined; b < end; ++b) {
      const RematBuffer& buffer = buffers.buffer(b);
      if (buffer.users.empty()) live -= buffer.bytes;
    }
  }
  return peak;
}

// Computations come callees first, so each peak is known when its caller needs
// it. Afterwards the path of `at` instructions is followed from the entry into
// the callee that contributes most at each level.
absl::StatusOr<RematPeak> ComputeRematPeak(
    const HloModule& module, const HloSchedule& schedule,
    const RematSizeOptions& options,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    const absl::flat_hash_map<HloComputation*, int64_t>& beside,
    RematBuffersByComputation* buffers) {
  RematPeak result;
  for (HloComputation* computation :
       ComputationsThatRun(module, execution_threads)) {
    if (beside.contains(computation)) continue;
    if (!schedule.is_computation_scheduled(computation)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "computation ", computation->name(), " has no schedule"));
    }
    TF_ASSIGN_OR_RETURN(
        RematBuffers built,
        RematBuffers::Build(schedule.sequence(computation), options));
    const RematPeak::OfComputation peak =
        ComputeRematPeakOfComputation(built, result.computations);
    result.computations[computation] = peak;
    if (buffers != nullptr) buffers->emplace(computation, std::move(built));
  }
  result.output_bytes = RematOutputBytes(module, options);
  const HloComputation* at = module.entry_computation();
  result.bytes = result.output_bytes + result.computations[at].bytes;
  while (at != nullptr && result.computations[at].at != nullptr) {
    const HloInstruction* inst = result.computations[at].at;
    result.at.push_back(inst);
    at = nullptr;
    if (!RunsComputations(*inst)) break;
    int64_t most = 0;
    for (const HloComputation* callee : inst->called_computations()) {
      auto it = result.computations.find(callee);
      if (it != result.computations.end() && it->second.bytes > most) {
        most = it->second.bytes;
        at = callee;
      }
    }
  }
  return result;
}

}  // namespace xla

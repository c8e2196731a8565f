#include "xla/hlo/transforms/memory/remat_fuel.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr absl::string_view kSuffix = ".remat";

// One computation, from its first instruction to its last.
//
// Clones are recognized after the fact, by name and structure, because planner
// and greedy algorithms do not report them alike. While there is fuel, a clone
// stays; after that, its users read the original again. Bisecting over the fuel
// finds the clone that makes a module fail.
class CloneCounter {
 public:
  CloneCounter(const absl::flat_hash_set<std::string>& names_before,
               int64_t* fuel)
      : names_before_(names_before), fuel_(fuel) {}

  absl::Status Visit(HloInstruction* inst) {
    const absl::string_view name = inst->name();
    const size_t suffix = name.find(kSuffix);
    const bool is_new = !names_before_.contains(name);
    // Without the suffix only where that was added: a module may have been
    // rematerialized before.
    const absl::string_view stem =
        is_new && suffix != name.npos ? name.substr(0, suffix) : name;
    const auto [it, is_first] = first_.emplace(stem, inst);
    if (is_first || !IsCloneOf(*inst, *it->second)) return absl::OkStatus();
    HloInstruction* original = it->second;
    original_of_[inst] = original;
    if (*fuel_ > 0) {
      --*fuel_;
      return absl::OkStatus();
    }
    ++taken_back_;
    return inst->ReplaceAllUsesWith(original);
  }

  int64_t taken_back() const { return taken_back_; }

 private:
  const HloInstruction* Original(const HloInstruction* inst) const {
    const auto it = original_of_.find(inst);
    return it == original_of_.end() ? inst : it->second;
  }

  bool IsCloneOf(const HloInstruction& inst,
                 const HloInstruction& original) const {
    if (inst.HasControlDependencies() || inst.HasSideEffect()) return false;
    return inst.Identical(
        original,
        [this](const HloInstruction* a, const HloInstruction* b) {
          return Original(a) == Original(b);
        },
        [](const HloComputation* a, const HloComputation* b) {
          return *a == *b;
        });
  }

  const absl::flat_hash_set<std::string>& names_before_;
  int64_t* fuel_;
  int64_t taken_back_ = 0;
  // By name without suffix.
  absl::flat_hash_map<std::string, HloInstruction*> first_;
  absl::flat_hash_map<const HloInstruction*, const HloInstruction*>
      original_of_;
};

}  // namespace

absl::flat_hash_set<std::string> InstructionNames(const HloModule& module) {
  absl::flat_hash_set<std::string> names;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      names.insert(std::string(inst->name()));
    }
  }
  return names;
}

absl::StatusOr<int64_t> KeepFirstRematClones(
    const absl::flat_hash_set<std::string>& names_before, HloModule* module,
    int64_t* fuel) {
  int64_t taken_back = 0;
  for (HloComputation* computation : ComputationsThatRun(*module)) {
    if (!module->schedule().is_computation_scheduled(computation)) continue;
    CloneCounter counter(names_before, fuel);
    for (HloInstruction* inst :
         module->schedule().sequence(computation).instructions()) {
      TF_RETURN_IF_ERROR(counter.Visit(inst));
    }
    taken_back += counter.taken_back();
  }
  if (taken_back > 0) TF_RETURN_IF_ERROR(HloDCE().Run(module).status());
  return taken_back;
}

}  // namespace xla

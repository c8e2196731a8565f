#include "xla/hlo/analysis/buffers/value_chains.h"

#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

// Answers whether a buffer fits into an allocation without comparing it with
// every value that the allocation holds. The values of one computation in one
// allocation are totally ordered in time (otherwise they could not share it),
// so they form a chain, sorted here by the place of their definitions in a
// topological order. "Before" is transitive: a new value that is before its
// successor in the chain and after its predecessor is ordered with respect to
// all. Values whose lifetime involves calls, loops or other computations are
// kept apart and compared one by one, against a budget; when that is spent, the
// answer is a conflict, which is always safe.

namespace xla {
namespace {

// Whether values that it reads or defines live by the rules of one computation.
bool IsPlain(const HloInstruction& inst) {
  return !inst.IsAsynchronous() &&
         (inst.called_computations().empty() ||
          GetInstructionCallContext(inst.opcode()) == CallContext::kEmbedded);
}

}  // namespace

ValueChains::ValueChains(const HloModule& module, Relation conflict,
                         Relation is_before)
    : conflict_(std::move(conflict)), is_before_(std::move(is_before)) {
  for (const HloComputation* computation : module.computations()) {
    std::vector<int32_t>& places = places_[computation];
    places.resize(computation->next_unique_instruction_internal_id(), -1);
    int32_t next = 0;
    for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      // Parameters are there before all else.
      if (inst->opcode() != HloOpcode::kParameter) {
        places[inst->local_id()] = next++;
      }
    }
  }
}

const HloComputation* ValueChains::HomeOf(const HloValue& value) {
  const HloComputation* home = value.instruction()->parent();
  if (home->IsAsyncComputation() || !IsPlain(*value.instruction())) {
    return nullptr;
  }
  for (const HloPosition& position : value.positions()) {
    if (position.instruction->parent() != home) return nullptr;
  }
  for (const HloUse& use : value.GetUses()) {
    if (use.instruction->parent() != home || !IsPlain(*use.instruction)) {
      return nullptr;
    }
  }
  return home;
}

const ValueChains::Facts& ValueChains::FactsOf(const HloValue& value) {
  if (facts_.value != &value) {
    const HloInstruction& def = *value.instruction();
    facts_ = {&value, HomeOf(value), places_.at(def.parent())[def.local_id()]};
  }
  return facts_;
}

void ValueChains::Add(BufferAllocation::Index allocation,
                      const HloBuffer& buffer) {
  if (allocation >= static_cast<int64_t>(contents_.size())) {
    contents_.resize(allocation + 1);
  }
  Contents& contents = contents_[allocation];
  contents.num_values += static_cast<int64_t>(buffer.values().size());
  const HloValue* value = buffer.values()[0];
  const Facts& facts = FactsOf(*value);
  if (buffer.values().size() > 1 || facts.home == nullptr) {
    contents.others.insert(contents.others.end(), buffer.values().begin(),
                           buffer.values().end());
    return;
  }
  auto it = absl::c_find_if(contents.chains, [&](const auto& chain) {
    return chain.first == facts.home;
  });
  if (it == contents.chains.end()) {
    it = contents.chains.emplace(it, facts.home, Chain());
  }
  it->second[facts.place].push_back(value);
}

int64_t ValueChains::NumValues(BufferAllocation::Index allocation) const {
  return allocation < static_cast<int64_t>(contents_.size())
             ? contents_[allocation].num_values
             : 0;
}

bool ValueChains::Conflicts(const HloValue& value, const HloValue& held,
                            int64_t* budget) {
  return --*budget < 0 || conflict_(value, held);
}

bool ValueChains::FitsInto(const Chain& chain, const HloValue& value,
                           int64_t* budget) {
  auto after = chain.lower_bound(FactsOf(value).place);
  if (after != chain.end()) {
    for (const HloValue* other : after->second) {
      if (--*budget < 0 || !is_before_(value, *other)) return false;
    }
  }
  if (after == chain.begin()) return true;
  for (const HloValue* other : std::prev(after)->second) {
    if (--*budget < 0 || !is_before_(*other, value)) return false;
  }
  return true;
}

bool ValueChains::ValueFits(const Contents& contents, const HloValue& value,
                            int64_t* budget) {
  for (const HloValue* other : contents.others) {
    if (Conflicts(value, *other, budget)) return false;
  }
  const HloComputation* home = FactsOf(value).home;
  for (const auto& [computation, chain] : contents.chains) {
    if (computation == home) {
      if (!FitsInto(chain, value, budget)) return false;
      continue;
    }
    for (const auto& [place, held] : chain) {
      for (const HloValue* other : held) {
        if (Conflicts(value, *other, budget)) return false;
      }
    }
  }
  return true;
}

bool ValueChains::Fits(BufferAllocation::Index allocation,
                       const HloBuffer& buffer, int64_t* budget) {
  if (NumValues(allocation) == 0) return true;
  const Contents& contents = contents_[allocation];
  return absl::c_all_of(buffer.values(), [&](const HloValue* value) {
    return ValueFits(contents, *value, budget);
  });
}

}  // namespace xla

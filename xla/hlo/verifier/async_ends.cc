#include "xla/hlo/verifier/async_ends.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::verifier {
namespace {

// An element of what an instruction returns.
struct Element {
  const HloInstruction* inst;
  ShapeIndex index;

  bool operator==(const Element& other) const {
    return inst == other.inst && index == other.index;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Element& element) {
    return H::combine(std::move(h), element.inst, element.index);
  }
};

// Looks through tuples and what hands states on, and earlier links.
Element SourceOfElement(Element element) {
  while (true) {
    const HloInstruction& inst = *element.inst;
    if (inst.opcode() == HloOpcode::kGetTupleElement) {
      element.index.push_front(inst.tuple_index());
      element.inst = inst.operand(0);
    } else if (inst.opcode() == HloOpcode::kTuple && !element.index.empty() &&
               element.index.front() >= 0 &&
               element.index.front() < inst.operand_count()) {
      element.inst = inst.operand(element.index.front());
      element.index.pop_front();
    } else if (ForwardsAsyncState(inst) ||
               (inst.opcode() == HloOpcode::kAsyncUpdate &&
                inst.operand_count() > 0)) {
      element.inst = inst.operand(0);
    } else {
      return element;
    }
  }
}

using Visitor = absl::FunctionRef<void(const Element&)>;

void VisitSources(const Element& element, InitialElements& found,
                  Visitor visit);

// The elements of the initial value that the state in an element behind the
// loop may come from: in the loop it may move to another. The reference is
// valid until the next call.
const std::vector<ShapeIndex>& FindInitialElements(const HloInstruction& loop,
                                                   const ShapeIndex& last,
                                                   InitialElements& found) {
  const HloComputation* body = loop.while_body();
  const auto it = found.find({body, last});
  if (it != found.end()) return it->second;
  std::vector<ShapeIndex> elements = {last};
  for (size_t i = 0; i < elements.size(); ++i) {
    const Element next = {body->root_instruction(), elements[i]};
    VisitSources(next, found, [&](const Element& source) {
      if (source.inst->opcode() == HloOpcode::kParameter &&
          !absl::c_linear_search(elements, source.index)) {
        elements.push_back(source.index);
      }
    });
  }
  return found.try_emplace({body, last}, std::move(elements)).first->second;
}

// Where the state in an element may come from in its computation: `visit` is
// told of each once, loops that it leaves and what is before them.
void VisitSources(const Element& element, InitialElements& found,
                  Visitor visit) {
  absl::flat_hash_set<Element> seen;
  std::vector<Element> work = {element};
  while (!work.empty()) {
    const Element source = SourceOfElement(std::move(work.back()));
    work.pop_back();
    if (!seen.insert(source).second) continue;
    visit(source);
    if (source.inst->opcode() != HloOpcode::kWhile) continue;
    for (const ShapeIndex& index :
         FindInitialElements(*source.inst, source.index, found)) {
      work.push_back({source.inst->operand(0), index});
    }
  }
}

}  // namespace

bool AsyncEnds::Differ(const Sources& a, const Sources& b) {
  bool share_loop = false;
  for (const auto& [loop, elements] : a.loops) {
    const auto it = b.loops.find(loop);
    if (it == b.loops.end()) continue;
    share_loop = true;
    const absl::flat_hash_set<ShapeIndex>& others = it->second;
    if (absl::c_none_of(elements, [&](const ShapeIndex& element) {
          return others.contains(element);
        })) {
      return true;
    }
  }
  return !share_loop && !a.may_be_others && !b.may_be_others &&
         absl::c_none_of(a.starts, [&](const HloInstruction* start) {
           return b.starts.contains(start);
         });
}

bool AsyncEnds::Add(const HloInstruction& link) {
  Sources sources;
  VisitSources(
      {link.operand(0), {}}, initial_elements_, [&](const Element& source) {
        if (source.inst->opcode() == HloOpcode::kWhile) {
          sources.loops[source.inst].insert(source.index);
        } else if (HloPredicateIsOp<HloOpcode::kCall, HloOpcode::kConditional,
                                    HloOpcode::kParameter>(source.inst)) {
          sources.may_be_others = true;
        } else {
          sources.starts.insert(source.inst);
        }
      });
  std::vector<Sources>& others = taken_[link.parent()];
  const bool is_new = absl::c_all_of(
      others, [&](const Sources& other) { return Differ(sources, other); });
  others.push_back(std::move(sources));
  return is_new;
}

int64_t AsyncEnds::CountIn(const HloComputation* computation) const {
  const auto it = taken_.find(computation);
  return it == taken_.end() ? 0 : it->second.size();
}

}  // namespace xla::verifier

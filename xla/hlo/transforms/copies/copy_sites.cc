#include "xla/hlo/transforms/copies/copy_sites.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/async_in_place.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

// The part of an operand that an operation that runs holds.
struct HeldOperand {
  HloInstruction* start;
  int64_t number;
  ShapeIndex index;
};

class SiteFinder {
 public:
  SiteFinder(const HloDataflowAnalysis& dataflow, const AliasInfo& alias_info,
             const absl::flat_hash_set<absl::string_view>& threads,
             bool with_new)
      : dataflow_(dataflow),
        alias_info_(alias_info),
        threads_(threads),
        with_new_(with_new),
        in_place_(dataflow, alias_info, UseToCopyFor) {
    found_.num_values = static_cast<int32_t>(dataflow.value_count());
  }

  CopySites Find() {
    AddAliases();
    for (const CallGraphNode& node : dataflow_.call_graph().nodes()) {
      HloComputation* computation = node.computation();
      if (node.context() == CallContext::kEmbedded ||
          computation->IsFusionComputation() || !IsIncluded(computation)) {
        continue;
      }
      for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
        AddInstruction(inst);
      }
    }
    for (CopySite& site : found_.sites) ReadCopyOfStart(&site);
    return std::move(found_);
  }

 private:
  bool IsIncluded(const HloComputation* computation) const {
    return threads_.empty() ||
           threads_.contains(computation->execution_thread());
  }

  bool MayCopyIn(const HloComputation* computation) const {
    return with_new_ && IsIncluded(computation);
  }

  // The value there, null if it is none or not the only one.
  const HloValue* ValueAt(const HloInstruction* inst,
                          const ShapeIndex& index) const {
    if (!dataflow_.HasValues(inst)) return nullptr;
    const auto& values = dataflow_.GetValueSet(inst, index).values();
    return values.size() == 1 ? values[0] : nullptr;
  }
  // An operand that is, in a state, where the result is: that one's copies are
  // its own.
  bool IsInPlace(const HloInstruction* inst, const ShapeIndex& index) {
    return !in_place_.ResultsInPlaceOf(inst, index).empty();
  }
  static int32_t NodeOf(const HloValue* value) {
    return static_cast<int32_t>(value->id());
  }

  int32_t Add(CopySite site) {
    const auto id = static_cast<int32_t>(found_.sites.size());
    found_.sites.push_back(std::move(site));
    return id;
  }

  void AddInstruction(HloInstruction* inst) {
    if (inst->opcode() == HloOpcode::kCopy) AddExisting(inst);
    if (inst->opcode() == HloOpcode::kWhile) AddWhile(inst);
    if (inst->opcode() == HloOpcode::kConditional) AddConditional(inst);
    AddUpdates(inst);
  }

  void AddExisting(HloInstruction* copy);
  void AddAliases();
  void AddWhile(HloInstruction* loop);
  void AddConditional(HloInstruction* conditional);
  void AddUpdates(HloInstruction* inst);

  // `node`: what the copy shares memory with.
  void AddOperand(HloInstruction* inst, int64_t number, const ShapeIndex& index,
                  int32_t node);
  // Whether the copy is to be made at the end of the computation.
  bool AddResult(HloComputation* computation, const ShapeIndex& index,
                 int32_t node);
  // The operand that the operation returns, as it is, at `index` of its state.
  std::optional<HeldOperand> ReturnedOperand(HloInstruction* start,
                                             ShapeIndex index) const;
  // If the part of `holder` at `index` is an operand in the state of an
  // operation, adds a site for it before its start and returns its number.
  // `taker`: see CopySite.
  std::optional<int32_t> AddBeforeStart(HloInstruction* holder,
                                        const ShapeIndex& index,
                                        const HloInstruction* taker,
                                        int32_t node);
  // Where the value, which is a parameter's, is the result of an operation that
  // runs when its computation starts; null if it is none.
  const HloPosition* AfterDone(const HloValue& value) const;
  // Returns the node of what arrives. `value` is the parameter's.
  int32_t AddParameter(HloInstruction* parameter, const ShapeIndex& index,
                       const HloValue* value);
  // What the site copies in an operation that runs asynchronously is, if it is
  // copied before the start, that copy.
  void ReadCopyOfStart(CopySite* site) const;
  void SortResults(HloComputation* computation,
                   absl::Span<const HloValue* const> overwritten);

  const HloDataflowAnalysis& dataflow_;
  const AliasInfo& alias_info_;
  const absl::flat_hash_set<absl::string_view>& threads_;
  const bool with_new_;
  AsyncInPlace in_place_;
  CopySites found_;
};

// Whether a loop or a conditional may be sharded otherwise than what its
// computation would return without the copy.
bool KeepsShardingsApart(const HloInstruction& copy) {
  const HloInstruction* copied = copy.operand(0);
  while (copied->opcode() == HloOpcode::kCopy && !copied->has_sharding()) {
    copied = copied->operand(0);
  }
  return copy.IsRoot() && copied->has_sharding() &&
         absl::c_any_of(
             copy.parent()->caller_instructions(),
             HloPredicateIsOp<HloOpcode::kWhile, HloOpcode::kConditional>);
}

// A copy that only moves bytes, without control dependencies or sharding.
void SiteFinder::AddExisting(HloInstruction* copy) {
  const HloInstruction* operand = copy->operand(0);
  if (!copy->shape().IsArray() ||
      !ShapeUtil::Equal(copy->shape(), operand->shape()) ||
      copy->HasControlDependencies() || copy->has_sharding() ||
      KeepsShardingsApart(*copy)) {
    return;
  }
  const HloValue* source = ValueAt(operand, {});
  const HloValue* result = ValueAt(copy, {});
  if (source == nullptr || result == nullptr) return;
  CopySite site = {CopySite::Kind::kExisting, copy, copy->parent()};
  site.source = NodeOf(source);
  site.copy = NodeOf(result);
  Add(std::move(site));
}

// The operand that the chain of `link` holds as the one with that number, if it
// was bound in the same computation.
std::optional<HeldOperand> OperandOfChain(HloInstruction* link, int64_t number,
                                          ShapeIndex index) {
  const HloComputation* computation = link->parent();
  while (link != nullptr && link->parent() == computation) {
    if (link->opcode() == HloOpcode::kAsyncStart) {
      return HeldOperand{link, number, std::move(index)};
    }
    const int64_t bound =
        link->operand(0)->shape().tuple_shapes(0).tuple_shapes_size();
    if (number >= bound) {
      return HeldOperand{link, number - bound + 1, std::move(index)};
    }
    link = AsyncStateProducer(link->operand(0));
  }
  return std::nullopt;
}

// The operand that `start` returns at `index`, and where in it.
std::optional<HeldOperand> OperandInState(HloInstruction* start,
                                          ShapeIndex index) {
  const int64_t element = index.empty() ? -1 : index.front();
  if (!index.empty()) index.pop_front();
  switch (start->opcode()) {
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate: {
      if (element != 0 || index.empty()) return std::nullopt;
      const int64_t number = index.front();
      index.pop_front();
      return OperandOfChain(start, number, std::move(index));
    }
    case HloOpcode::kCopyStart:
      if (element != 1) return std::nullopt;
      return HeldOperand{start, 0, std::move(index)};
    case HloOpcode::kSend:
      if (element != 0) return std::nullopt;
      // The token may come first.
      return HeldOperand{start, start->operand(0)->shape().IsToken() ? 1 : 0,
                         std::move(index)};
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kCollectivePermuteStart:
      if (element != 0) return std::nullopt;
      if (!index.empty() && start->operand(0)->shape().IsArray()) {
        const int64_t number = index.front();
        index.pop_front();
        return HeldOperand{start, number, std::move(index)};
      }
      return HeldOperand{start, 0, std::move(index)};
    default:  // Holds no operands.
      return std::nullopt;
  }
}

std::optional<HeldOperand> SiteFinder::ReturnedOperand(HloInstruction* start,
                                                       ShapeIndex index) const {
  if (start->opcode() != HloOpcode::kAsyncStart || index.front() != 1) {
    return std::nullopt;
  }
  index.pop_front();
  auto [returned, part] = FollowTuplesToTheEnd(
      start->async_wrapped_computation()->root_instruction(), std::move(index));
  if (returned->opcode() != HloOpcode::kParameter) return std::nullopt;
  return HeldOperand{start, returned->parameter_number(), std::move(part)};
}

// What runs goes on reading the memory that it was started with, so a copy of
// an operand made later, where a loop or a result takes the state, would come
// too late: it has to be made before the start. From the part outward, the
// first tuple around it that one start defines tells which operand it is.
std::optional<int32_t> SiteFinder::AddBeforeStart(HloInstruction* holder,
                                                  const ShapeIndex& index,
                                                  const HloInstruction* taker,
                                                  int32_t node) {
  if (index.empty()) return std::nullopt;
  const HloValue* source = ValueAt(holder, index);
  ShapeIndex state = index;
  ShapeIndex in_state;
  do {
    in_state.push_front(state.back());
    state.pop_back();
    const HloValue* whole = ValueAt(holder, state);
    if (whole == nullptr || !whole->defining_index().empty()) continue;
    HloInstruction* link = whole->defining_instruction();
    auto operand = OperandInState(link, in_state);
    if (!operand.has_value()) operand = ReturnedOperand(link, in_state);
    if (!operand.has_value()) continue;
    const auto& [start, number, part] = *operand;
    HloUse use(start, number, part);
    if (start->parent() != holder->parent() ||
        number >= start->operand_count() ||
        ValueAt(start->operand(number), part) != source ||
        found_.of_use.contains(use) ||
        absl::c_any_of(alias_info_.GetInPlaceInputOutputPairs(start),
                       [number = number](const auto& pair) {
                         return pair.first.operand_number == number;
                       })) {
      return std::nullopt;
    }
    CopySite site = {CopySite::Kind::kOperand, start, start->parent(), number,
                     part};
    site.is_in_state = true;
    site.taker = taker;
    site.source = NodeOf(source);
    const int32_t id = Add(std::move(site));
    found_.sites[id].copy = found_.NodeOf(id);
    found_.before[start].push_back(id);
    found_.of_use.emplace(std::move(use), id);
    found_.united.emplace_back(found_.NodeOf(id), node);
    return id;
  } while (!state.empty());
  return std::nullopt;
}

void SiteFinder::AddOperand(HloInstruction* inst, int64_t number,
                            const ShapeIndex& index, int32_t node) {
  const std::optional<HloUse> place = UseToCopyFor(HloUse(inst, number, index));
  if (!place.has_value()) return;
  inst = place->instruction;
  number = place->operand_number;
  const HloValue* source = ValueAt(inst->operand(number), index);
  HloUse use(inst, number, index);
  if (source == nullptr || NodeOf(source) == node ||
      found_.of_use.contains(use)) {
    return;
  }
  if (!MayCopyIn(inst->parent())) {
    found_.united.emplace_back(NodeOf(source), node);
    return;
  }
  if (const auto id =
          AddBeforeStart(inst->mutable_operand(number), index, inst, node)) {
    found_.of_use.emplace(std::move(use), *id);
    return;
  }
  CopySite site = {CopySite::Kind::kOperand, inst, inst->parent(), number,
                   index};
  site.source = NodeOf(source);
  const int32_t id = Add(std::move(site));
  found_.sites[id].copy = found_.NodeOf(id);
  found_.before[inst].push_back(id);
  found_.of_use.emplace(std::move(use), id);
  found_.united.emplace_back(found_.NodeOf(id), node);
}

bool SiteFinder::AddResult(HloComputation* computation, const ShapeIndex& index,
                           int32_t node) {
  HloInstruction* root = computation->root_instruction();
  const HloValue* source = ValueAt(root, index);
  if (source == nullptr) return false;
  if (!MayCopyIn(computation)) {
    found_.united.emplace_back(NodeOf(source), node);
    return false;
  }
  if (const auto id = AddBeforeStart(root, index, nullptr, node)) {
    found_.of_root.emplace(HloPosition{root, index}, *id);
    for (const HloUse& use : source->GetUses()) {
      if (use.instruction == root) found_.of_use.emplace(use, *id);
    }
    return false;
  }
  CopySite site = {CopySite::Kind::kResult, nullptr, computation, 0, index};
  site.source = NodeOf(source);
  const int32_t id = Add(std::move(site));
  found_.sites[id].copy = found_.NodeOf(id);
  found_.at_end[computation].push_back(id);
  found_.of_root.emplace(HloPosition{root, index}, id);
  found_.united.emplace_back(found_.NodeOf(id), node);
  return true;
}

const HloPosition* SiteFinder::AfterDone(const HloValue& value) const {
  for (const HloPosition& position : value.positions()) {
    const HloInstruction* inst = position.instruction;
    if (HloDataflowAnalysis::IsAsynchronousOperationDone(inst->opcode()) &&
        inst->parent() == value.defining_instruction()->parent() &&
        ArrivesInState(dataflow_, value, *inst)) {
      return &position;
    }
  }
  return nullptr;
}

int32_t SiteFinder::AddParameter(HloInstruction* parameter,
                                 const ShapeIndex& index,
                                 const HloValue* value) {
  HloComputation* computation = parameter->parent();
  if (!MayCopyIn(computation)) return NodeOf(value);
  CopySite site = {CopySite::Kind::kParameter, parameter, computation, 0,
                   index};
  std::vector<int32_t>* place = &found_.at_start[computation];
  if (const HloPosition* done = AfterDone(*value)) {
    site.instruction = done->instruction;
    site.index = done->index;
    place = &found_.after[done->instruction];
  }
  site.copy = NodeOf(value);
  const int32_t id = Add(std::move(site));
  found_.sites[id].source = found_.NodeOf(id);
  place->push_back(id);
  found_.of_parameter.emplace(value, id);
  return found_.sites[id].source;
}

void SiteFinder::ReadCopyOfStart(CopySite* site) const {
  if (site->source >= found_.num_values) return;
  const HloValue* source = &dataflow_.GetValue(site->source);
  const HloComputation* computation = site->computation;
  while (site->start_copy < 0) {
    // Of an asynchronous computation, the start is the first.
    const auto callers =
        dataflow_.call_graph().GetNode(computation).caller_callsites();
    if (callers.empty()) return;
    HloInstruction* caller = callers[0].instruction();
    computation = caller->parent();
    if (caller->opcode() != HloOpcode::kAsyncStart) continue;
    for (int64_t i = 0; i < caller->operand_count(); ++i) {
      for (const auto& [index, values] :
           dataflow_.GetInstructionValueSet(caller->operand(i))) {
        auto copy = found_.of_use.find(HloUse(caller, i, index));
        // Of several, one that lives on in the state.
        if (copy != found_.of_use.end() &&
            absl::c_linear_search(values.values(), source) &&
            (site->start_copy < 0 || found_.sites[copy->second].is_in_state)) {
          site->start_copy = found_.NodeOf(copy->second);
        }
      }
    }
  }
}

// Results are copied one after the other: what one reads must not have been
// overwritten by another, so that (a, b, c) -> (new, a, b) starts with the last
// one. A cycle keeps the copy of a parameter. `overwritten`, by result: the
// parameter's value that was in its buffer.
//
// Each result reads one value and so holds up at most one other; the graph is
// chains that lead into each other or into cycles. Emitting those whose old
// value nobody is still to read (Kahn's algorithm) leaves the cycles, each of
// which is broken at its first result: linear in their number.
void SiteFinder::SortResults(HloComputation* computation,
                             absl::Span<const HloValue* const> overwritten) {
  std::vector<int32_t>& results = found_.at_end[computation];
  if (results.size() != overwritten.size()) return;
  const size_t count = results.size();
  absl::flat_hash_map<int32_t, size_t> result_over;
  for (size_t i = 0; i < count; ++i) {
    result_over.emplace(NodeOf(overwritten[i]), i);
  }
  // For each result, the one that overwrites what it reads and has to wait.
  std::vector<int64_t> waits(count, -1);
  std::vector<int32_t> readers(count, 0);
  for (size_t i = 0; i < count; ++i) {
    auto it = result_over.find(found_.sites[results[i]].source);
    if (it == result_over.end() || it->second == i) continue;
    waits[i] = static_cast<int64_t>(it->second);
    ++readers[it->second];
  }
  std::vector<int32_t> order;
  std::vector<bool> done(count, false);
  auto emit_from = [&](int64_t i) {
    while (i >= 0 && !done[i] && readers[i] == 0) {
      done[i] = true;
      order.push_back(results[i]);
      i = waits[i];
      if (i >= 0) --readers[i];
    }
  };
  for (size_t i = 0; i < count; ++i) emit_from(static_cast<int64_t>(i));
  for (size_t i = 0; i < count; ++i) {
    if (done[i]) continue;
    readers[i] = 0;
    emit_from(static_cast<int64_t>(i));
  }
  results = std::move(order);
}

void SiteFinder::AddAliases() {
  const HloModule& module = dataflow_.module();
  HloComputation* entry = module.entry_computation();
  std::vector<const HloValue*> overwritten;
  module.input_output_alias_config().ForEachAlias(
      [&](const ShapeIndex& output,
          const HloInputOutputAliasConfig::Alias& alias) {
        HloInstruction* parameter =
            entry->parameter_instruction(alias.parameter_number);
        const HloValue* before = ValueAt(parameter, alias.parameter_index);
        const HloValue* after = ValueAt(entry->root_instruction(), output);
        if (before == after || before == nullptr || after == nullptr) return;
        if (AddResult(entry, output,
                      AddParameter(parameter, alias.parameter_index, before))) {
          overwritten.push_back(before);
        }
      });
  SortResults(entry, overwritten);
}

void SiteFinder::AddWhile(HloInstruction* loop) {
  HloComputation* body = loop->while_body();
  HloInstruction* state = body->parameter_instruction(0);
  HloInstruction* tested = loop->while_condition()->parameter_instruction(0);
  std::vector<const HloValue*> overwritten;
  ShapeUtil::ForEachLeafShape(
      loop->shape(), [&](const Shape& shape, const ShapeIndex& index) {
        const HloValue* result = ValueAt(loop, index);
        const HloValue* arrives = ValueAt(state, index);
        // Not what the body hands on.
        if (!shape.IsArray() || result == nullptr || arrives == nullptr ||
            result->defining_instruction() != loop ||
            arrives->defining_instruction() != state) {
          return;
        }
        if (IsInPlace(loop, index)) return;
        const int32_t node = NodeOf(result);
        AddOperand(loop, 0, index, node);
        if (const HloValue* value = ValueAt(tested, index)) {
          if (value != result) found_.united.emplace_back(NodeOf(value), node);
        }
        found_.united.emplace_back(AddParameter(state, index, arrives), node);
        if (AddResult(body, index, node)) overwritten.push_back(arrives);
      });
  SortResults(body, overwritten);
}

void SiteFinder::AddConditional(HloInstruction* conditional) {
  ShapeUtil::ForEachLeafShape(
      conditional->shape(), [&](const Shape& shape, const ShapeIndex& index) {
        const HloValue* result = ValueAt(conditional, index);
        if (!shape.IsArray() || result == nullptr ||
            result->defining_instruction() != conditional ||
            IsInPlace(conditional, index)) {
          return;
        }
        for (HloComputation* branch : conditional->branch_computations()) {
          AddResult(branch, index, NodeOf(result));
        }
      });
}

void SiteFinder::AddUpdates(HloInstruction* inst) {
  for (const auto& [source, output] :
       alias_info_.GetInPlaceInputOutputPairs(inst)) {
    // Operands that are bound later have no place for a copy.
    if (source.operand_number >= inst->operand_count()) continue;
    // Nor has the state of a chain: what is in it was copied before it was
    // bound.
    if (source.operand_number == 0 && inst->IsAsyncConsumer()) continue;
    const HloValue* result = ValueAt(inst, output);
    if (result == nullptr ||
        !ShapeUtil::GetSubshape(inst->shape(), output).IsArray()) {
      continue;
    }
    AddOperand(inst, source.operand_number, source.operand_index,
               NodeOf(result));
  }
}

}  // namespace

bool ArrivesInState(const HloDataflowAnalysis& dataflow, const HloValue& value,
                    const HloInstruction& link) {
  const auto& states = dataflow.GetValueSet(link.operand(0)).values();
  if (states.size() != 1) return false;
  const HloPosition& state = states[0]->defining_position();
  const HloPosition& part = value.defining_position();
  return HloPredicateIsOp<HloOpcode::kParameter, HloOpcode::kWhile,
                          HloOpcode::kConditional>(part.instruction) &&
         state.instruction == part.instruction &&
         state.index.size() <= part.index.size() &&
         absl::c_equal(
             state.index,
             absl::MakeConstSpan(part.index).first(state.index.size()));
}

bool ReadsContext(const HloUse& use) {
  return use.instruction->opcode() == HloOpcode::kAsyncUpdate &&
         use.operand_number == 0 && !use.operand_index.empty() &&
         use.operand_index.front() >= 2;
}

std::optional<HloUse> UseToCopyFor(HloUse use) {
  while (use.instruction->parent()->IsAsyncComputation()) {
    const HloComputation* computation = use.instruction->parent();
    const HloInstruction* operand =
        use.instruction->operand(use.operand_number);
    if (operand->opcode() != HloOpcode::kParameter ||
        operand->user_count() > 1 || operand->IsRoot()) {
      return use;
    }
    const std::optional<HloInstruction*> start =
        computation->GetUniqueCaller(HloOpcode::kAsyncStart);
    if (!start.has_value() ||
        operand->parameter_number() >= (*start)->operand_count()) {
      return std::nullopt;
    }
    use.operand_number = operand->parameter_number();
    use.instruction = *start;
  }
  return use;
}

CopySites FindCopySites(
    const HloDataflowAnalysis& dataflow, const AliasInfo& alias_info,
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    bool with_new) {
  return SiteFinder(dataflow, alias_info, execution_threads, with_new).Find();
}

}  // namespace xla

#include "xla/hlo/transforms/copies/live_intervals.h"

#include <algorithm>
#include <tuple>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"

namespace xla {
namespace {

// Those that meet become one.
std::vector<LiveInterval> Joined(std::vector<LiveInterval> intervals) {
  absl::c_sort(intervals, [](const LiveInterval& a, const LiveInterval& b) {
    return std::tie(a.start, a.end) < std::tie(b.start, b.end);
  });
  std::vector<LiveInterval> joined;
  for (const LiveInterval& interval : intervals) {
    if (!joined.empty() && interval.start <= joined.back().end + 1) {
      joined.back().end = std::max(joined.back().end, interval.end);
    } else {
      joined.push_back(interval);
    }
  }
  return joined;
}

// Where the state of the chain has what the link reads.
ShapeIndex PartOfState(const HloUse& use) {
  ShapeIndex part = use.operand_index;
  int64_t number = use.operand_number;
  if (use.instruction->opcode() == HloOpcode::kAsyncUpdate) {
    if (number == 0) return part;
    const Shape& state = use.instruction->operand(0)->shape();
    number += state.tuple_shapes(0).tuple_shapes_size() - 1;
  }
  part.push_front(number);
  part.push_front(0);
  return part;
}

// A later link of a chain passes on what the start reads until it is done.
bool OnlyPassesOperand(const HloUse& use) {
  return (use.instruction->opcode() == HloOpcode::kAsyncUpdate ||
          use.instruction->opcode() == HloOpcode::kAsyncDone) &&
         use.operand_number == 0 && !use.operand_index.empty() &&
         use.operand_index[0] == 0;
}

}  // namespace

LiveIntervals::LiveIntervals(const HloDataflowAnalysis& dataflow,
                             const AliasInfo& alias_info,
                             const CopySites& sites, const ExecutionLine& line)
    : dataflow_(dataflow),
      sites_(sites),
      line_(line),
      in_place_(dataflow, alias_info, UseToCopyFor) {
  dataflow.module().input_output_alias_config().ForEachAlias(
      [&](const ShapeIndex&, const HloInputOutputAliasConfig::Alias& alias) {
        aliased_.insert({alias.parameter_number, alias.parameter_index});
      });
}

bool LiveIntervals::IsReadOnly(const HloValue& value) const {
  const HloInstruction* def = value.defining_instruction();
  if (def->opcode() == HloOpcode::kConstant) return true;
  return def->opcode() == HloOpcode::kParameter &&
         def->parent()->IsEntryComputation() &&
         !aliased_.contains({def->parameter_number(), value.defining_index()});
}

// Where the taker has all arrays of the part as values of its own, they have
// been copied: the first of the copies there is when that begins.
LiveIntervals::Time LiveIntervals::TakenAt(const AsyncStatePlace& place,
                                           const ShapeIndex& part) const {
  ShapeIndex index = place.index;
  index.insert(index.end(), part.begin(), part.end());
  auto taken_by = [&](const HloInstruction* taker, const auto& copies,
                      const auto* at, Time time) -> Time {
    bool has_own = false;
    bool keeps = false;
    ShapeUtil::ForEachLeafShape(
        ShapeUtil::GetSubshape(taker->shape(), index),
        [&](const Shape& shape, const ShapeIndex& leaf) {
          if (!shape.IsArray()) return;
          ShapeIndex whole = index;
          whole.insert(whole.end(), leaf.begin(), leaf.end());
          const bool is_own =
              absl::c_all_of(dataflow_.GetValueSet(taker, whole).values(),
                             [&](const HloValue* value) {
                               return value->defining_instruction() == taker;
                             });
          (is_own ? has_own : keeps) = true;
        });
    if (!has_own || keeps) return -1;
    auto sites = copies.find(at);
    return sites == copies.end() || sites->second.empty()
               ? time
               : sites_.sites[sites->second.front()].read;
  };
  const HloInstruction* inst = place.inst;
  for (const HloInstruction* user : inst->users()) {
    if (user->opcode() != HloOpcode::kWhile) continue;
    const Time time = taken_by(user, sites_.before, user, line_.Read(user));
    if (time >= 0) return time;
  }
  const ExecutionLine::Span* span = line_.Find(inst->parent());
  if (!inst->IsRoot() || span == nullptr || span->caller == nullptr ||
      !HloPredicateIsOp<HloOpcode::kWhile, HloOpcode::kConditional>(
          span->caller)) {
    return -1;
  }
  return taken_by(span->caller, sites_.at_end, inst->parent(), span->end);
}

// Those of the links after it are found first, so that each link is looked at
// once. Of several dones, in branches or in and after a loop, any may be the
// one.
LiveIntervals::Time LiveIntervals::End(const HloInstruction* link,
                                       const ShapeIndex& part) const {
  const auto [found, is_new] = ends_.try_emplace({link, part}, line_.end());
  if (!is_new) return found->second;
  struct Link {
    const HloInstruction* inst;
    std::vector<const HloInstruction*> next;
  };
  std::vector<Link> links = {{link, {}}};
  for (size_t i = 0; i < links.size(); ++i) {
    const HloInstruction* inst = links[i].inst;
    for (const HloInstruction* next : AsyncStateConsumers(inst)) {
      if (line_.Write(next) <= line_.Write(inst)) continue;
      links[i].next.push_back(next);
      if (next->opcode() == HloOpcode::kAsyncUpdate &&
          ends_.try_emplace({next, part}, line_.end()).second) {
        links.push_back({next, {}});
      }
    }
  }
  absl::c_sort(links, [&](const Link& a, const Link& b) {
    return line_.Write(a.inst) > line_.Write(b.inst);
  });
  for (const auto& [inst, next_links] : links) {
    Time taken = line_.end();
    for (const AsyncStatePlace& place : AsyncStatePlaces(inst)) {
      const Time time = TakenAt(place, part);
      if (time > line_.Write(inst)) taken = std::min(taken, time);
    }
    Time done = -1;
    for (const HloInstruction* next : next_links) {
      const Time time = next->opcode() == HloOpcode::kAsyncUpdate
                            ? ends_.at({next, part})
                            : line_.Write(next);
      if (time <= taken) done = std::max(done, time);
    }
    ends_[{inst, part}] = done >= 0 ? done : taken;
  }
  return ends_.at({link, part});
}

LiveIntervals::Time LiveIntervals::StartOf(const HloValue& value) const {
  auto site = sites_.of_parameter.find(&value);
  if (site != sites_.of_parameter.end())
    return sites_.sites[site->second].write;
  return line_.Write(value.defining_instruction());
}

// Adds the interval from `start`, where the value is defined, to a read, which
// may be in a computation that is called later: the read is lifted from caller
// to caller. A value from outside a loop is read again in its next trip, and so
// lives to the end of the loop. In a conditional it lives from the start of the
// branch to the read, and before the conditional, but not in the other
// branches: these are two intervals.
void LiveIntervals::AddRead(Time start, const HloComputation* computation,
                            Time time,
                            std::vector<LiveInterval>* intervals) const {
  while (true) {
    const ExecutionLine::Span* span = line_.Find(computation);
    if (span == nullptr) return;
    if (span->start <= start || span->caller == nullptr) {
      intervals->push_back({start, std::max(start, time)});
      return;
    }
    const HloInstruction* caller = span->caller;
    switch (caller->opcode()) {
      case HloOpcode::kWhile:
        // What runs may do so beyond the loop.
        time = std::max(time, line_.Write(caller) - 1);
        break;
      case HloOpcode::kConditional:
        intervals->push_back({span->start, time});
        time = line_.Read(caller);
        break;
      case HloOpcode::kAsyncStart:
        // Its start reads the operand until the chain is done.
        return;
      case HloOpcode::kAsyncDone:
      case HloOpcode::kAsyncUpdate:
      case HloOpcode::kCall:
      case XLA_ANY_WITHOUT_SCHEDULE:
        // A call runs its computation once, in place; none of the others has
        // one on the line.
        break;
    }
    computation = caller->parent();
  }
}

void LiveIntervals::AddUses(const HloValue& value, Time start,
                            std::vector<LiveInterval>* intervals) const {
  for (const HloUse& use : value.GetUses()) {
    const HloInstruction* reader = use.instruction;
    Time time = line_.Read(reader);
    if (time < 0 || (OnlyPassesOperand(use) &&
                     !ArrivesInState(dataflow_, value, *reader))) {
      continue;
    }
    if (IsInPlace(reader->operand(use.operand_number), use.operand_index)) {
      continue;
    }
    auto site = sites_.of_use.find(use);
    if (site != sites_.of_use.end()) {
      time = sites_.sites[site->second].read;
    } else if ((reader->opcode() == HloOpcode::kAsyncStart ||
                reader->opcode() == HloOpcode::kAsyncUpdate) &&
               !ReadsContext(use)) {
      time = End(reader, PartOfState(use));
    }
    AddRead(start, reader->parent(), time, intervals);
  }
}

// What a computation returns is read at its end, or where it is copied.
void LiveIntervals::AddResults(const HloValue& value, Time start,
                               std::vector<LiveInterval>* intervals) const {
  for (const HloPosition& position : value.positions()) {
    if (!position.instruction->IsRoot() ||
        IsInPlace(position.instruction, position.index)) {
      continue;
    }
    const HloComputation* computation = position.instruction->parent();
    const ExecutionLine::Span* span = line_.Find(computation);
    if (span == nullptr) continue;
    auto site = sites_.of_root.find(position);
    AddRead(start, computation,
            site == sites_.of_root.end() ? span->end
                                         : sites_.sites[site->second].read,
            intervals);
  }
}

std::vector<LiveInterval> LiveIntervals::OfValue(const HloValue& value) const {
  const Time start = StartOf(value);
  if (start < 0) return {};
  std::vector<LiveInterval> intervals;
  if (!IsInPlace(value.defining_instruction(), value.defining_index())) {
    intervals.push_back({start, start});
  }
  AddUses(value, start, &intervals);
  AddResults(value, start, &intervals);
  const HloInstruction* def = value.defining_instruction();
  const HloComputation* computation = def->parent();
  const ExecutionLine::Span* span = line_.Find(computation);
  // The body finds the state as the condition found it.
  if (def->opcode() == HloOpcode::kParameter && span->caller != nullptr &&
      span->caller->opcode() == HloOpcode::kWhile &&
      span->caller->while_condition() == computation) {
    AddRead(start, computation, span->end, &intervals);
  }
  return WithHolds(computation, Joined(std::move(intervals)));
}

// What an asynchronous chain computes runs beside the instructions between its
// start and its done, in no order with them: a hold from start to done takes
// the place of the intervals there.
std::vector<LiveInterval> LiveIntervals::WithHolds(
    const HloComputation* computation,
    std::vector<LiveInterval> intervals) const {
  for (const ExecutionLine::Span* span = line_.Find(computation);
       span != nullptr && span->caller != nullptr;
       span = line_.Find(span->caller->parent())) {
    if (span->caller->opcode() != HloOpcode::kAsyncStart) continue;
    const Time start = line_.Write(span->caller);
    const Time done = End(span->caller, /*part=*/{1});
    std::vector<LiveInterval> cut = {{start, done, /*is_hold=*/true}};
    for (const LiveInterval& interval : intervals) {
      const bool is_apart = interval.end < start || interval.start > done;
      if (is_apart || interval.is_hold) {
        cut.push_back(interval);
        continue;
      }
      if (interval.start < start) cut.push_back({interval.start, start - 1});
      if (interval.end > done) cut.push_back({done + 1, interval.end});
    }
    intervals = std::move(cut);
  }
  return intervals;
}

std::vector<LiveInterval> LiveIntervals::OfCopy(const CopySite& site) const {
  if (site.write < 0) return {};
  LiveInterval interval = {site.write, site.write};
  switch (site.kind) {
    case CopySite::Kind::kParameter:
      interval = {line_.Find(site.computation)->start, site.read};
      break;
    case CopySite::Kind::kOperand:
      interval.end = !site.is_in_state ? line_.Read(site.instruction)
                     : site.taker != nullptr
                         ? line_.Read(site.taker)
                         : line_.Find(site.computation)->end;
      break;
    case CopySite::Kind::kResult:
      interval.end = line_.Find(site.computation)->end;
      break;
    case CopySite::Kind::kExisting:
      break;
  }
  return WithHolds(site.computation, {interval});
}

}  // namespace xla

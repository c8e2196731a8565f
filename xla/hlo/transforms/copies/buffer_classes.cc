#include "xla/hlo/transforms/copies/buffer_classes.h"

#include <iterator>
#include <numeric>
#include <utility>

#include "absl/log/check.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

// What these call writes their results; they themselves write nothing.
bool OnlyCalls(HloOpcode opcode) {
  return opcode == HloOpcode::kWhile || opcode == HloOpcode::kConditional ||
         opcode == HloOpcode::kCall || opcode == HloOpcode::kAsyncStart;
}

}  // namespace

BufferClasses::BufferClasses(const HloDataflowAnalysis& dataflow,
                             const AliasInfo& alias_info,
                             const CopySites& sites, const ExecutionLine& line)
    : dataflow_(dataflow),
      alias_info_(alias_info),
      sites_(sites),
      line_(line),
      intervals_(dataflow, alias_info, sites, line) {
  parents_.resize(sites.num_nodes());
  std::iota(parents_.begin(), parents_.end(), 0);
  for (const auto& [a, b] : sites.united) Unite(a, b);
}

bool BufferClasses::TryCoalesce(const CopySite& site) {
  const int32_t a = Find(site.start_copy >= 0 ? site.start_copy : site.source);
  const int32_t b = Find(site.copy);
  if (a == b) return true;
  const Class& first = classes_[a];
  const Class& second = classes_[b];
  if (first.is_read_only || second.is_read_only) return false;
  const bool is_smaller = first.lives.size() < second.lives.size();
  if (MayInterfere(is_smaller ? first : second, is_smaller ? second : first)) {
    return false;
  }
  return Unite(a, b);
}

int32_t BufferClasses::Find(int32_t node) {
  int32_t root = node;
  while (parents_[root] != root) root = parents_[root];
  while (parents_[node] != root) node = std::exchange(parents_[node], root);
  if (!classes_[root].is_filled) Fill(root);
  return root;
}

void BufferClasses::Fill(int32_t node) {
  std::vector<LiveInterval> intervals;
  Class& filled = classes_[node];
  filled.is_filled = true;
  if (node >= sites_.num_values) {
    intervals = intervals_.OfCopy(sites_.sites[node - sites_.num_values]);
  } else {
    const HloValue& value = dataflow_.GetValue(node);
    filled.is_read_only = intervals_.IsReadOnly(value);
    intervals = intervals_.OfValue(value);
  }
  for (const LiveInterval& interval : intervals) {
    filled.lives.emplace(interval.start,
                         Lives{interval.end, interval.is_hold ? kHold : node});
  }
}

bool BufferClasses::Unite(int32_t a, int32_t b) {
  a = Find(a);
  b = Find(b);
  if (a == b) return true;
  if (classes_[a].lives.size() < classes_[b].lives.size()) std::swap(a, b);
  Class small = std::move(classes_[b]);
  classes_.erase(b);
  Class& large = classes_[a];
  for (const auto& [start, lives] : small.lives) {
    large.lives.emplace(start, lives);
  }
  large.is_read_only |= small.is_read_only;
  parents_[b] = a;
  return true;
}

// At the point in time where `a` ends and `b` begins, one instruction reads a
// and writes b. That is fine if it goes element by element, and what
// CanShareOperandBufferWithUser knows: a transpose would read elements that it
// has overwritten. Uses that copies take over, or that hand a value to an
// asynchronous context, do not read at that time.
bool BufferClasses::MayFollow(const Lives& a, Time b_start,
                              const Lives& b) const {
  if (a.end >= b_start) return false;
  auto is_value = [&](int32_t node) {
    return node != kHold && node < sites_.num_values;
  };
  if (a.end + 1 < b_start || !is_value(a.node) || !is_value(b.node)) {
    return true;
  }
  const HloValue& value = dataflow_.GetValue(a.node);
  const HloValue& next = dataflow_.GetValue(b.node);
  HloInstruction* writer = next.defining_instruction();
  if (line_.Write(writer) != b_start || OnlyCalls(writer->opcode())) {
    return true;
  }
  for (const HloUse& use : value.GetUses()) {
    if (use.instruction != writer || sites_.of_use.contains(use) ||
        ReadsContext(use)) {
      continue;
    }
    if (!dataflow_.CanShareOperandBufferWithUser(
            writer->mutable_operand(use.operand_number), use.operand_index,
            writer, next.defining_index(), &alias_info_)) {
      return false;
    }
  }
  return true;
}

// The intervals of a class are disjoint, so one of the other class can only
// collide with the one that starts next and the one that starts before: O(small
// * log large).
bool BufferClasses::MayInterfere(const Class& small, const Class& large) const {
  for (const auto& [start, lives] : small.lives) {
    auto next = large.lives.lower_bound(start);
    if (lives.node == kHold && next != large.lives.end() &&
        next->first == start && next->second.node == kHold) {
      continue;
    }
    if (next != large.lives.end() &&
        !MayFollow(lives, next->first, next->second)) {
      return true;
    }
    if (next == large.lives.begin()) continue;
    auto before = std::prev(next);
    if (!MayFollow(before->second, start, lives)) return true;
  }
  return false;
}

}  // namespace xla

#include "xla/hlo/pipeline/diff/module_diff.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/instruction_source.h"
#include "xla/hlo/memory/report/layer_name.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

using Interval = MemoryTimeline::Interval;

std::string LayerOf(const HloInstruction& inst) {
  std::string layer = LayerName(inst.metadata().op_name());
  if (layer.empty()) layer = HloOpcodeString(inst.opcode());
  return layer;
}

ModuleDiff::Side SideOf(const DiffSide& side) {
  const MemoryReport& memory = side.memory.report;
  ModuleDiff::Side result;
  result.set_file(side.file);
  result.set_module(memory.module());
  result.set_looked_at(side.prepared.input.description());
  result.set_peak_bytes(memory.peak_bytes());
  result.set_heap_bytes(memory.heap_bytes());
  result.set_argument_bytes(memory.argument_bytes());
  result.set_output_bytes(memory.output_bytes());
  result.set_temp_bytes(memory.temp_bytes());
  result.set_peak_instruction(memory.peak_instruction());
  result.set_kernels(side.page.kernels().total_count());
  result.set_microseconds(side.page.kernels().total_microseconds());
  result.set_moved_bytes(side.page.kernels().total_bytes());
  const MemoryPage::Collectives& collectives = side.page.collectives();
  result.set_collectives(collectives.instruction_size());
  double sent = 0;
  for (int i = 0; i < collectives.instruction_size(); ++i) {
    sent += collectives.runs(i) * collectives.bytes(i);
  }
  result.set_sent_bytes(sent);
  return result;
}

// --- Why the peak changed --------------------------------------------

// A buffer in both modules has one name: that of its maker in the module
// before, and its place in the result.
using BufferKey = std::pair<const HloInstruction*, std::string>;

std::vector<const Interval*> LiveAtPeak(const MemoryTimeline& timeline) {
  std::vector<const Interval*> live;
  for (const Interval& interval : timeline.intervals) {
    if (interval.begin <= timeline.peak_tick &&
        timeline.peak_tick < interval.end) {
      live.push_back(&interval);
    }
  }
  return live;
}

// Explains the difference of two peaks: buffers that are alive at either peak
// are grouped by layer and kind, and each group reports its bytes and counts on
// both sides. Buffers correspond if the instructions that define them are
// paired.
class Causes {
 public:
  Causes(const ModuleMatching& matching, const DiffSide& before,
         const DiffSide& after)
      : matching_(matching) {
    for (const Interval* i : LiveAtPeak(before.memory.timeline)) {
      before_[KeyOf(*i, nullptr)] += i->bytes;
    }
    for (const Interval* i : LiveAtPeak(after.memory.timeline)) {
      after_[KeyOf(*i, &matching.before_of)] += i->bytes;
    }
    Add(before, /*sign=*/-1);
    Add(after, /*sign=*/1);
  }

  void Write(ModuleDiff& diff) {
    std::vector<ModuleDiff::Cause> causes;
    for (auto& [key, cause] : causes_) {
      cause.set_delta_bytes(cause.after_bytes() - cause.before_bytes());
      if (cause.delta_bytes() != 0) causes.push_back(std::move(cause));
    }
    absl::c_stable_sort(causes, [](const auto& a, const auto& b) {
      return std::abs(a.delta_bytes()) > std::abs(b.delta_bytes());
    });
    for (ModuleDiff::Cause& cause : causes) {
      *diff.add_causes() = std::move(cause);
    }
  }

 private:
  using Partners =
      absl::flat_hash_map<const HloInstruction*, const HloInstruction*>;

  static BufferKey KeyOf(const Interval& interval, const Partners* partners) {
    const HloInstruction* maker = interval.at;
    if (partners != nullptr) {
      const auto it = partners->find(maker);
      if (it != partners->end()) maker = it->second;
    }
    return {maker, interval.value == nullptr
                       ? ""
                       : interval.value->index().ToString()};
  }

  void Add(const DiffSide& side, int sign) {
    const bool is_after = sign > 0;
    const Partners& partners =
        is_after ? matching_.before_of : matching_.after_of;
    const auto& others = is_after ? before_ : after_;
    const MemoryTimeline& timeline = side.memory.timeline;
    for (size_t i = 0; i < timeline.intervals.size(); ++i) {
      const Interval& interval = timeline.intervals[i];
      if (timeline.peak_tick < interval.begin ||
          timeline.peak_tick >= interval.end) {
        continue;
      }
      const std::string& kind = side.memory.kinds[i];
      ModuleDiff::Cause& cause = causes_[{LayerOf(*interval.at), kind}];
      cause.set_layer(LayerOf(*interval.at));
      cause.set_kind(kind);
      const double bytes = interval.bytes;
      if (is_after) {
        cause.set_after_bytes(cause.after_bytes() + bytes);
        cause.set_after_count(cause.after_count() + 1);
      } else {
        cause.set_before_bytes(cause.before_bytes() + bytes);
        cause.set_before_count(cause.before_count() + 1);
      }
      const auto other = others.find(
          KeyOf(interval, is_after ? &matching_.before_of : nullptr));
      if (!partners.contains(interval.at)) {
        cause.set_made_bytes(cause.made_bytes() + sign * bytes);
      } else if (other == others.end()) {
        cause.set_lifetime_bytes(cause.lifetime_bytes() + sign * bytes);
      } else {
        cause.set_size_bytes(cause.size_bytes() + sign * bytes);
      }
      double& largest = largest_[{cause.layer(), kind}];
      if (bytes > largest) {
        largest = bytes;
        cause.set_instruction(std::string(interval.at->name()));
        cause.set_shape(ShapeUtil::HumanString(interval.value == nullptr
                                                   ? interval.at->shape()
                                                   : interval.value->shape()));
        cause.set_source(InstructionSource(*interval.at));
      }
    }
  }

  const ModuleMatching& matching_;
  std::map<BufferKey, double> before_, after_;
  std::map<std::pair<std::string, std::string>, ModuleDiff::Cause> causes_;
  std::map<std::pair<std::string, std::string>, double> largest_;
};

// --- Instructions -----------------------------------------------------------

void AddGroups(const std::vector<const HloInstruction*>& instructions,
               bool added, std::vector<ModuleDiff::Group>& groups) {
  std::map<std::pair<std::string, std::string>, ModuleDiff::Group> by_layer;
  for (const HloInstruction* inst : instructions) {
    const std::string opcode(HloOpcodeString(inst->opcode()));
    const std::string layer = LayerName(inst->metadata().op_name());
    ModuleDiff::Group& group = by_layer[{opcode, layer}];
    if (group.count() == 0) {
      group.set_added(added);
      group.set_opcode(opcode);
      group.set_layer(layer);
      group.set_instruction(std::string(inst->name()));
      group.set_source(InstructionSource(*inst));
    }
    group.set_count(group.count() + 1);
    if (!inst->shape().IsToken()) {
      group.set_bytes(group.bytes() + ShapeUtil::ByteSizeOf(inst->shape(), 8));
    }
  }
  for (auto& [key, group] : by_layer) groups.push_back(std::move(group));
}

// `f32[8] add(), dimensions={1}` in parts: the shape and the attributes.
std::pair<std::string, std::vector<std::string>> Parts(
    const HloInstruction& inst) {
  std::string text = OperationText(inst);
  const std::string shape = ShapeUtil::HumanStringWithLayout(inst.shape());
  if (absl::StartsWith(text, shape)) text = text.substr(shape.size());
  const size_t close = text.find("), ");
  std::vector<std::string> attributes;
  if (close == text.npos) return {shape, attributes};
  // Commas outside of brackets and quotes part attributes.
  std::string current;
  int depth = 0;
  bool quoted = false;
  for (const char c : text.substr(close + 3)) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '{' || c == '(' || c == '[')) ++depth;
    if (!quoted && (c == '}' || c == ')' || c == ']')) --depth;
    if (c == ',' && depth == 0 && !quoted) {
      attributes.push_back(std::move(current));
      current.clear();
    } else if (c != ' ' || !current.empty()) {
      current.push_back(c);
    }
  }
  if (!current.empty()) attributes.push_back(std::move(current));
  return {shape, attributes};
}

// "operand 1: %a -> %b" for those that have other names, and at most three.
std::vector<std::string> OtherOperands(const HloInstruction& before,
                                       const HloInstruction& after) {
  std::vector<std::string> what;
  if (before.operand_count() != after.operand_count()) {
    return {absl::StrCat("operands: ", before.operand_count(), " -> ",
                         after.operand_count())};
  }
  constexpr size_t kMost = 3;
  for (int64_t i = 0; i < before.operand_count() && what.size() < kMost; ++i) {
    const HloInstruction* a = before.operand(i);
    const HloInstruction* b = after.operand(i);
    if (a->name() == b->name() && a->opcode() == b->opcode()) continue;
    what.push_back(absl::StrCat(
        "operand ", i, ": ", HloOpcodeString(a->opcode()), " %", a->name(),
        " -> ", HloOpcodeString(b->opcode()), " %", b->name()));
  }
  if (what.empty()) what.push_back("operands");
  return what;
}

std::vector<std::string> WhatChanged(const ModuleMatching::Pair& pair) {
  std::vector<std::string> what;
  if (pair.kind == ModuleMatching::Kind::kRewired) {
    return OtherOperands(*pair.before, *pair.after);
  }
  if (pair.before->opcode() != pair.after->opcode()) {
    what.push_back(
        absl::StrCat("opcode: ", HloOpcodeString(pair.before->opcode()), " -> ",
                     HloOpcodeString(pair.after->opcode())));
  }
  const auto [shape, attributes] = Parts(*pair.before);
  const auto [new_shape, new_attributes] = Parts(*pair.after);
  if (shape != new_shape) {
    what.push_back(absl::StrCat("shape: ", shape, " -> ", new_shape));
  }
  std::vector<std::string> gone, come;
  for (const std::string& a : attributes) {
    if (!absl::c_linear_search(new_attributes, a)) gone.push_back(a);
  }
  for (const std::string& a : new_attributes) {
    if (!absl::c_linear_search(attributes, a)) come.push_back(a);
  }
  if (!gone.empty() || !come.empty()) {
    what.push_back(absl::StrCat(absl::StrJoin(gone, ", "), " -> ",
                                absl::StrJoin(come, ", ")));
  }
  if (what.empty()) {
    what.push_back(pair.before->called_computations().empty()
                       ? "the value"
                       : "the computation inside");
  }
  return what;
}

void FillInstructions(const ModuleMatching& matching, ModuleDiff& diff) {
  using Kind = ModuleMatching::Kind;
  std::map<Kind, double> counts;
  for (const ModuleMatching::Pair& pair : matching.pairs) {
    ++counts[pair.kind];
    if (pair.kind == Kind::kSame || pair.kind == Kind::kContext) continue;
    ModuleDiff::Change& change = *diff.add_changes();
    change.set_before(std::string(pair.before->name()));
    change.set_after(std::string(pair.after->name()));
    change.set_opcode(std::string(HloOpcodeString(pair.before->opcode())));
    change.set_layer(LayerName(pair.before->metadata().op_name()));
    change.set_source(InstructionSource(*pair.before));
    for (std::string& what : WhatChanged(pair)) {
      change.add_what(std::move(what));
    }
  }
  diff.set_same(counts[Kind::kSame]);
  diff.set_in_changed_context(counts[Kind::kContext]);
  diff.set_rewired(counts[Kind::kRewired]);
  diff.set_changed(counts[Kind::kChanged]);
  diff.set_removed(matching.removed.size());
  diff.set_added(matching.added.size());
  std::vector<ModuleDiff::Group> groups;
  AddGroups(matching.removed, /*added=*/false, groups);
  AddGroups(matching.added, /*added=*/true, groups);
  absl::c_stable_sort(groups, [](const auto& a, const auto& b) {
    return a.bytes() > b.bytes();
  });
  for (ModuleDiff::Group& group : groups) *diff.add_groups() = std::move(group);

  const auto fusions = [](const std::vector<const HloInstruction*>& list) {
    return absl::c_count_if(list, [](const HloInstruction* inst) {
      return inst->opcode() == HloOpcode::kFusion;
    });
  };
  double before = fusions(matching.removed), after = fusions(matching.added);
  for (const ModuleMatching::Pair& pair : matching.pairs) {
    before += pair.before->opcode() == HloOpcode::kFusion;
    after += pair.after->opcode() == HloOpcode::kFusion;
  }
  diff.mutable_before()->set_fusions(before);
  diff.mutable_after()->set_fusions(after);
  diff.mutable_before()->set_instructions(matching.pairs.size() +
                                          matching.removed.size());
  diff.mutable_after()->set_instructions(matching.pairs.size() +
                                         matching.added.size());
}

void FillCollectives(const DiffSide& before, const DiffSide& after,
                     ModuleDiff& diff) {
  std::map<std::string, ModuleDiff::Collective> kinds;
  const auto add = [&](const MemoryPage& page, bool is_after) {
    const MemoryPage::Collectives& table = page.collectives();
    for (int i = 0; i < table.instruction_size(); ++i) {
      const std::string& kind = page.strings(table.kind(i));
      ModuleDiff::Collective& collective = kinds[kind];
      collective.set_kind(kind);
      const double bytes = table.runs(i) * table.bytes(i);
      if (is_after) {
        collective.set_after_count(collective.after_count() + 1);
        collective.set_after_bytes(collective.after_bytes() + bytes);
      } else {
        collective.set_before_count(collective.before_count() + 1);
        collective.set_before_bytes(collective.before_bytes() + bytes);
      }
    }
  };
  add(before.page, false);
  add(after.page, true);
  for (auto& [kind, collective] : kinds) {
    if (collective.before_count() != collective.after_count() ||
        collective.before_bytes() != collective.after_bytes()) {
      *diff.add_collectives() = std::move(collective);
    }
  }
}

}  // namespace

std::vector<std::string> HeaderDifferences(const HloModule& before,
                                           const HloModule& after) {
  std::vector<std::string> differences;
  const auto compare = [&](absl::string_view name, const std::string& a,
                           const std::string& b) {
    if (a != b) differences.push_back(absl::StrCat(name, ": ", a, " -> ", b));
  };
  const HloModuleConfig& x = before.config();
  const HloModuleConfig& y = after.config();
  compare("num_partitions", absl::StrCat(x.num_partitions()),
          absl::StrCat(y.num_partitions()));
  compare("replica_count", absl::StrCat(x.replica_count()),
          absl::StrCat(y.replica_count()));
  compare("is_scheduled", before.has_schedule() ? "true" : "false",
          after.has_schedule() ? "true" : "false");
  compare("input_output_alias",
          before.input_output_alias_config().ToShortString(),
          after.input_output_alias_config().ToShortString());
  compare("entry_computation_layout",
          before.entry_computation_layout().ToString(),
          after.entry_computation_layout().ToString());
  return differences;
}

ModuleDiff BuildModuleDiff(const ModuleMatching& as_given,
                           const std::vector<std::string>& header,
                           const DiffSide& before, const DiffSide& after) {
  ModuleDiff diff;
  diff.set_equal(as_given.Equal() && header.empty());
  *diff.mutable_before() = SideOf(before);
  *diff.mutable_after() = SideOf(after);
  diff.set_device(before.page.kernels().device());
  for (const std::string& line : header) diff.add_header(line);
  diff.set_order_differs(as_given.order_differs);
  FillInstructions(as_given, diff);
  if (!diff.equal()) {
    const ModuleMatching prepared =
        MatchModules(*before.prepared.module, *after.prepared.module);
    Causes(prepared, before, after).Write(diff);
    FillCollectives(before, after, diff);
  }
  return diff;
}

}  // namespace xla

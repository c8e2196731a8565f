#include "xla/hlo/pipeline/diff/module_matching.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/schedule_memory.h"
#include "xla/printer.h"

// Pairs the instructions of two versions of a module, whose names and order may
// have changed completely. Every instruction gets hashes of what it is ("own"),
// of everything it is computed from ("up", bottom-up), and of everything that
// uses it ("down", top-down). Rules of decreasing strictness then pair
// instructions with equal keys, so that exact matches are taken before
// ambiguous ones; among candidates with one key, order in the module decides.
// What is left is paired through operands that are pairs already. Each rule
// takes expected linear time.

namespace xla {
namespace {

using Kind = ModuleMatching::Kind;

// The same on every machine, unlike absl::Hash.
uint64_t Combined(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccd;
  return hash ^ (hash >> 33);
}

uint64_t HashOf(absl::string_view text) {
  HighwayHashPrinter printer;
  printer.Append(text);
  return std::move(printer).ToFingerprint();
}

// The properties of an instruction that the rules compare.
struct Traits {
  const HloInstruction* inst = nullptr;
  uint64_t own = 0;       // what it does, and what is inside of it
  uint64_t up = 0;        // own, and what it is computed from
  uint64_t down = 0;      // what uses it, as what
  uint64_t operands = 0;  // own of its operands
  uint64_t inputs = 0;    // up of its operands
  uint64_t op_name = 0;
  uint64_t opcode = 0;
  bool named = false;  // has an op_name
  bool argument = false;
  bool matched = false;
};

class Side {
 public:
  explicit Side(const HloModule& module) : module_(module) {
    for (const HloComputation* computation :
         module.MakeComputationPostOrder()) {
      AddUpwards(*computation);
    }
    for (const HloComputation* computation : ComputationsWithMemory(module)) {
      AddDownwards(*computation);
      for (const HloInstruction* inst :
           computation->MakeInstructionPostOrder()) {
        all_.push_back(&traits_.at(inst));
      }
    }
  }

  const std::vector<Traits*>& all() const { return all_; }
  Traits& of(const HloInstruction* inst) { return traits_.at(inst); }

  // The schedule as a sequence of hashes.
  std::vector<uint64_t> Order() const {
    std::vector<uint64_t> order;
    for (const HloComputation* computation : ComputationsWithMemory(module_)) {
      if (!module_.schedule().is_computation_scheduled(computation)) continue;
      for (const HloInstruction* inst :
           module_.schedule().sequence(computation).instructions()) {
        const Traits& traits = traits_.at(inst);
        order.push_back(Combined(traits.up, traits.down));
      }
    }
    return order;
  }

 private:
  void AddUpwards(const HloComputation& computation) {
    uint64_t all = 0;
    for (const HloInstruction* inst : computation.MakeInstructionPostOrder()) {
      Traits traits;
      traits.inst = inst;
      traits.own = HashOf(OperationText(*inst));
      for (const HloComputation* callee : inst->called_computations()) {
        traits.own = Combined(traits.own, inside_[callee]);
      }
      traits.up = traits.own;
      for (const HloInstruction* operand : inst->operands()) {
        traits.up = Combined(traits.up, traits_.at(operand).up);
        traits.operands = Combined(traits.operands, traits_.at(operand).own);
        traits.inputs = Combined(traits.inputs, traits_.at(operand).up);
      }
      uint64_t before = 0;  // of any order
      for (const HloInstruction* other : inst->control_predecessors()) {
        before += traits_.at(other).up;
      }
      traits.up = Combined(traits.up, before);
      const std::string& op_name = inst->metadata().op_name();
      traits.named = !op_name.empty();
      traits.op_name = HashOf(op_name);
      traits.opcode = static_cast<uint64_t>(inst->opcode());
      traits.argument = inst->opcode() == HloOpcode::kParameter &&
                        computation.IsEntryComputation();
      all += Combined(traits.up, 1);
      traits_[inst] = traits;
    }
    inside_[&computation] =
        Combined(all, traits_.at(computation.root_instruction()).up);
  }

  void AddDownwards(const HloComputation& computation) {
    const std::vector<HloInstruction*> order =
        computation.MakeInstructionPostOrder();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const HloInstruction* inst = *it;
      uint64_t down = inst == computation.root_instruction() ? 1 : 0;
      for (const HloInstruction* user : inst->users()) {
        const Traits& traits = traits_.at(user);
        uint64_t use = Combined(traits.own, traits.down);
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (user->operand(i) == inst) use = Combined(use, i);
        }
        down += Combined(use, 2);  // users have no order
      }
      traits_.at(inst).down = down;
    }
  }

  const HloModule& module_;
  absl::flat_hash_map<const HloInstruction*, Traits> traits_;
  absl::flat_hash_map<const HloComputation*, uint64_t> inside_;
  std::vector<Traits*> all_;
};

// The key by which a rule pairs instructions; 0: not by this rule.
using Rule = std::function<uint64_t(const Traits&)>;

uint64_t KeyOf(std::initializer_list<uint64_t> parts) {
  uint64_t key = 0x243f6a8885a308d3;
  for (const uint64_t part : parts) key = Combined(key, part);
  return key | 1;
}

std::vector<Rule> Rules() {
  return {
      [](const Traits& t) {
        return KeyOf({t.up, t.down, t.op_name});
      },
      [](const Traits& t) {
        return KeyOf({t.up, t.down});
      },
      [](const Traits& t) {
        return KeyOf({t.up, t.op_name});
      },
      [](const Traits& t) { return KeyOf({t.up}); },
      [](const Traits& t) {
        return KeyOf({t.own, t.down, t.op_name});
      },
      [](const Traits& t) {
        return KeyOf({t.inputs, t.down, t.op_name});
      },
      [](const Traits& t) {
        return t.named ? KeyOf({t.own, t.operands, t.op_name}) : 0;
      },
      [](const Traits& t) {
        return t.named ? KeyOf({t.own, t.op_name}) : 0;
      },
      [](const Traits& t) -> uint64_t {
        return t.argument
                   ? KeyOf({static_cast<uint64_t>(t.inst->parameter_number())})
                   : 0;
      },
      [](const Traits& t) {
        return t.named ? KeyOf({t.opcode, t.op_name}) : 0;
      },
      [](const Traits& t) {
        return t.named ? 0 : KeyOf({t.own, t.operands});
      },
      [](const Traits& t) { return t.named ? 0 : KeyOf({t.own}); },
  };
}

// Where `up` is equal, everything before the instruction is, and only its uses
// can differ. Otherwise the operands decide: an operand whose partner stands in
// the same place is the same value, however different what that is computed
// from.
Kind KindOf(const Traits& before, const Traits& after, Side& left, Side& right,
            const ModuleMatching& matching) {
  if (before.own != after.own) return Kind::kChanged;
  if (before.up == after.up) {
    return before.down == after.down ? Kind::kSame : Kind::kContext;
  }
  const auto same_value = [&](const HloInstruction* a,
                              const HloInstruction* b) {
    const auto it = matching.after_of.find(a);
    const Traits& x = left.of(a);
    const Traits& y = right.of(b);
    // Among several equal layers any one may be the partner.
    return (it != matching.after_of.end() && it->second == b) || x.up == y.up ||
           (x.own == y.own && x.op_name == y.op_name);
  };
  return absl::c_equal(before.inst->operands(), after.inst->operands(),
                       same_value)
             ? Kind::kContext
             : Kind::kRewired;
}

void Pair(Traits& before, Traits& after, ModuleMatching& matching) {
  before.matched = after.matched = true;
  matching.after_of[before.inst] = after.inst;
  matching.before_of[after.inst] = before.inst;
}

void Match(const Rule& rule, Side& left, Side& right,
           ModuleMatching& matching) {
  absl::flat_hash_map<uint64_t, std::vector<Traits*>> waiting;
  for (auto it = right.all().rbegin(); it != right.all().rend(); ++it) {
    if ((*it)->matched) continue;
    const uint64_t key = rule(**it);
    if (key != 0) waiting[key].push_back(*it);
  }
  for (Traits* before : left.all()) {
    if (before->matched) continue;
    const auto it = waiting.find(rule(*before));
    if (it == waiting.end() || it->second.empty()) continue;
    Traits* after = it->second.back();  // the first that is left
    it->second.pop_back();
    Pair(*before, *after, matching);
  }
}

// Pairs what has the same opcode and operands that are pairs; operands come
// first, so that a pair leads to others.
void MatchByOperands(Side& left, Side& right, ModuleMatching& matching) {
  using Key = std::pair<HloOpcode, std::vector<const HloInstruction*>>;
  absl::flat_hash_map<Key, std::vector<Traits*>> waiting;
  for (auto it = right.all().rbegin(); it != right.all().rend(); ++it) {
    const HloInstruction* inst = (*it)->inst;
    if ((*it)->matched || inst->operand_count() == 0) continue;
    waiting[Key(inst->opcode(),
                {inst->operands().begin(), inst->operands().end()})]
        .push_back(*it);
  }
  for (Traits* before : left.all()) {
    if (before->matched) continue;
    Key key(before->inst->opcode(), {});
    for (const HloInstruction* operand : before->inst->operands()) {
      const auto it = matching.after_of.find(operand);
      key.second.push_back(it == matching.after_of.end() ? nullptr
                                                         : it->second);
    }
    const auto it = waiting.find(key);
    if (it == waiting.end() || it->second.empty()) continue;
    Pair(*before, *it->second.back(), matching);
    it->second.pop_back();
  }
}

}  // namespace

bool ModuleMatching::Equal() const {
  return removed.empty() && added.empty() && !order_differs &&
         absl::c_all_of(pairs,
                        [](const Pair& p) { return p.kind == Kind::kSame; });
}

std::string OperationText(const HloInstruction& instruction) {
  const std::string text = instruction.ToString(
      HloPrintOptions::Canonical()
          .set_print_subcomputation_mode(
              HloPrintOptions::PrintSubcomputationMode::kOff)
          .set_print_operand_names(false)
          .set_print_operand_shape(false)
          .set_print_backend_config(true)
          .set_sort_backend_config(true)
          .set_print_channel_id(false)
          .set_print_large_constants(true));
  const size_t equals = text.find(" = ");
  return equals == text.npos ? text : text.substr(equals + 3);
}

ModuleMatching MatchModules(const HloModule& before, const HloModule& after) {
  Side left(before), right(after);
  ModuleMatching matching;
  for (const Rule& rule : Rules()) Match(rule, left, right, matching);
  MatchByOperands(left, right, matching);
  for (const Traits* traits : left.all()) {
    const auto it = matching.after_of.find(traits->inst);
    if (it == matching.after_of.end()) {
      matching.removed.push_back(traits->inst);
      continue;
    }
    matching.pairs.push_back(
        {traits->inst, it->second,
         KindOf(*traits, right.of(it->second), left, right, matching)});
  }
  for (const Traits* traits : right.all()) {
    if (!traits->matched) matching.added.push_back(traits->inst);
  }
  matching.order_differs = before.has_schedule() && after.has_schedule() &&
                           left.Order() != right.Order();
  return matching;
}

}  // namespace xla

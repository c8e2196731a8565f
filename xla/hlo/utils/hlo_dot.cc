#include "xla/hlo/utils/hlo_dot.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

// One color per group of opcodes, so that a graph can be read from afar.
absl::string_view FillColor(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kParameter:
      return "#ffe0b2";
    case HloOpcode::kConstant:
    case HloOpcode::kIota:
      return "#eceff1";
    case HloOpcode::kDot:
    case HloOpcode::kConvolution:
    case HloOpcode::kRaggedDot:
    case HloOpcode::kScaledDot:
      return "#90caf9";
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScatter:
    case HloOpcode::kGather:
    case HloOpcode::kSort:
      return "#ce93d8";
    case HloOpcode::kFusion:
    case HloOpcode::kCall:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
      return "#a5d6a7";
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kBitcast:
    case HloOpcode::kReshape:
      return "#f5f5f5";
    default:  // The color of whatever computes.
      return "#fffde7";
  }
}

// Tuples of many elements would make boxes wider than a screen.
std::string ShortShape(const Shape& shape) {
  constexpr size_t kWidest = 60;
  std::string text = ShapeUtil::HumanString(shape);
  if (text.size() > kWidest) text = text.substr(0, kWidest - 3) + "...";
  return text;
}

// `shown` null: all.
std::string ToDot(const HloModule& module,
                  const absl::flat_hash_set<const HloInstruction*>* shown) {
  const auto is_shown = [&](const HloInstruction* inst) {
    return shown == nullptr || shown->contains(inst);
  };
  std::string out =
      absl::StrCat("digraph ", Quoted(module.name()),
                   " {\n  rankdir=TB;\n  node [shape=box, style=filled, "
                   "fontname=\"Helvetica\", fontsize=10];\n");
  // Names repeat between computations; numbers in print order do not.
  absl::flat_hash_map<const HloInstruction*, int> ids;
  std::vector<HloComputation*> computations = module.MakeComputationPostOrder();
  for (size_t c = 0; c < computations.size(); ++c) {
    const HloComputation* computation = computations[c];
    std::vector<HloInstruction*> order =
        computation->MakeInstructionPostOrder();
    if (!absl::c_any_of(order, is_shown)) continue;
    absl::StrAppend(&out, "  subgraph cluster_", c,
                    " {\n    label=", Quoted(computation->name()), ";\n");
    for (const HloInstruction* inst : order) {
      if (!is_shown(inst)) continue;
      int id = ids.emplace(inst, ids.size()).first->second;
      absl::StrAppend(&out, "    n", id, " [label=",
                      Quoted(absl::StrCat(inst->name(), "\n",
                                          HloOpcodeString(inst->opcode()), " ",
                                          ShortShape(inst->shape()))),
                      ", fillcolor=\"", FillColor(*inst), "\"",
                      inst->IsRoot() ? ", penwidth=2" : "", "];\n");
    }
    absl::StrAppend(&out, "  }\n");
  }
  for (const HloComputation* computation : computations) {
    for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!is_shown(inst)) continue;
      int id = ids.at(inst);
      for (const HloInstruction* operand : inst->operands()) {
        if (!is_shown(operand)) continue;
        absl::StrAppend(&out, "  n", ids.at(operand), " -> n", id, ";\n");
      }
      for (const HloInstruction* before : inst->control_predecessors()) {
        if (!is_shown(before)) continue;
        absl::StrAppend(&out, "  n", ids.at(before), " -> n", id,
                        " [style=dotted];\n");
      }
      for (const HloComputation* callee : inst->called_computations()) {
        if (!is_shown(callee->root_instruction())) continue;
        absl::StrAppend(&out, "  n", ids.at(callee->root_instruction()),
                        " -> n", id, " [style=dashed, color=gray];\n");
      }
    }
  }
  absl::StrAppend(&out, "}\n");
  return out;
}

}  // namespace

std::string ModuleToDot(const HloModule& module) {
  return ToDot(module, /*shown=*/nullptr);
}

absl::flat_hash_set<const HloInstruction*> InstructionsAround(
    const HloInstruction& center, int64_t radius) {
  absl::flat_hash_set<const HloInstruction*> shown = {&center};
  std::vector<const HloInstruction*> outermost = {&center};
  for (int64_t step = 0; step < radius && !outermost.empty(); ++step) {
    std::vector<const HloInstruction*> next;
    const auto visit = [&](const auto& neighbors) {
      for (const HloInstruction* neighbor : neighbors) {
        if (shown.insert(neighbor).second) next.push_back(neighbor);
      }
    };
    for (const HloInstruction* inst : outermost) {
      visit(inst->operands());
      visit(inst->users());
      visit(inst->control_predecessors());
      visit(inst->control_successors());
      if (!HloOpcodeIsOneOf<HloOpcode::kCall, HloOpcode::kConditional,
                            HloOpcode::kWhile>(inst->opcode())) {
        continue;
      }
      for (const HloComputation* callee : inst->called_computations()) {
        visit(std::vector<const HloInstruction*>{callee->root_instruction()});
      }
    }
    outermost = std::move(next);
  }
  if (center.opcode() == HloOpcode::kFusion) {
    for (const HloInstruction* inner : center.fused_instructions()) {
      shown.insert(inner);
    }
  }
  return shown;
}

std::string InstructionsToDot(
    const HloModule& module,
    const absl::flat_hash_set<const HloInstruction*>& shown) {
  return ToDot(module, &shown);
}

}  // namespace xla

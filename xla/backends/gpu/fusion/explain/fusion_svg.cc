#include "xla/backends/gpu/fusion/explain/fusion_svg.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/fusion/explain/layered_layout.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

constexpr size_t kMaxInstructions = 150;
constexpr int64_t kMaxFused = 40;
// Pixels.
constexpr double kCharacter = 6.1;
constexpr double kLine = 13;
constexpr double kMargin = 7;
constexpr double kPanelGap = 60;

std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string ShortShape(const Shape& shape) {
  constexpr size_t kWidest = 34;
  std::string text = ShapeUtil::HumanString(shape);
  if (text.size() > kWidest) text = text.substr(0, kWidest - 3) + "...";
  return text;
}

absl::string_view FillOf(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kFusion:
      return inst.IsMultiOutputFusion() ? "#bbdefb" : "#dcedc8";
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
      return "#eceff1";
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kBitcast:
      return "#fafafa";
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScatter:
    case HloOpcode::kTranspose:
      return "#e1bee7";
    default:  // The color of whatever computes.
      return "#fff9c4";
  }
}

// "add.3", "x (multiply)".
std::string NameAndOpcode(const HloInstruction& inst) {
  const absl::string_view opcode = HloOpcodeString(inst.opcode());
  if (absl::StrContains(inst.name(), opcode)) return std::string(inst.name());
  return absl::StrCat(inst.name(), " (", opcode, ")");
}

// A box with lines of text and, below these, a drawing.
struct Box {
  std::vector<std::string> lines;
  absl::string_view fill;
  bool bold = false;
  double width = 0;
  double height = 0;
  std::string inside;  // SVG, its upper left corner at 0, 0
  double inside_width = 0;
};

void FitText(Box* box) {
  size_t longest = 0;
  for (const std::string& line : box->lines) {
    longest = std::max(longest, line.size());
  }
  box->width = 2 * kMargin + kCharacter * static_cast<double>(longest);
  box->height =
      2 * kMargin + kLine * static_cast<double>(box->lines.size()) - 3;
}

std::string PathToSvg(const std::vector<LayeredLayout::Point>& path) {
  std::string out =
      absl::StrFormat("<path class=\"e\" d=\"M%.1f %.1f", path[0].x, path[0].y);
  for (size_t i = 1; i < path.size(); ++i) {
    const double middle = (path[i - 1].y + path[i].y) / 2;
    absl::StrAppendFormat(&out, "C%.1f %.1f %.1f %.1f %.1f %.1f", path[i - 1].x,
                          middle, path[i].x, middle, path[i].x, path[i].y);
  }
  return absl::StrCat(out, "\"/>\n");
}

std::string BoxToSvg(const Box& box, LayeredLayout::Point corner) {
  std::string out = absl::StrFormat(
      "<g transform=\"translate(%.1f %.1f)\"><rect width=\"%.1f\" "
      "height=\"%.1f\" rx=\"4\" fill=\"%s\"%s/>",
      corner.x, corner.y, box.width, box.height, box.fill,
      box.bold ? " stroke-width=\"2\"" : "");
  double y = kMargin + kLine - 4;
  for (size_t i = 0; i < box.lines.size(); ++i) {
    absl::StrAppendFormat(&out, "<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>",
                          box.width / 2, y, i == 0 ? " class=\"n\"" : "",
                          Escaped(box.lines[i]));
    y += kLine;
  }
  if (!box.inside.empty()) {
    absl::StrAppendFormat(&out,
                          "<g transform=\"translate(%.1f %.1f)\">\n%s</g>",
                          (box.width - box.inside_width) / 2, y, box.inside);
  }
  return absl::StrCat(out, "</g>\n");
}

// Boxes of instructions, operands first, in layers.
std::string DrawBoxes(const std::vector<const HloInstruction*>& order,
                      const std::vector<Box>& boxes, double* width,
                      double* height) {
  absl::flat_hash_map<const HloInstruction*, int> index;
  std::vector<std::pair<double, double>> sizes;
  std::vector<std::pair<int, int>> edges;
  for (size_t i = 0; i < order.size(); ++i) {
    index.emplace(order[i], static_cast<int>(i));
    sizes.emplace_back(boxes[i].width, boxes[i].height);
    for (const HloInstruction* operand : order[i]->unique_operands()) {
      auto it = index.find(operand);
      if (it != index.end()) {
        edges.emplace_back(it->second, static_cast<int>(i));
      }
    }
  }
  const LayeredLayout layout = LayOutLayers(sizes, edges);
  std::string out;
  for (const auto& path : layout.paths) out += PathToSvg(path);
  for (size_t i = 0; i < boxes.size(); ++i) {
    out += BoxToSvg(boxes[i], layout.corners[i]);
  }
  *width = layout.width;
  *height = layout.height;
  return out;
}

Box FusedBox(const HloInstruction& inst, const HloInstruction& fusion) {
  Box box;
  box.fill = FillOf(inst);
  if (inst.opcode() == HloOpcode::kParameter) {
    box.lines = {
        absl::StrCat("%", fusion.operand(inst.parameter_number())->name())};
  } else {
    box.lines = {NameAndOpcode(inst), ShortShape(inst.shape())};
  }
  if (inst.opcode() == HloOpcode::kTuple) box.lines = {"outputs"};
  box.bold = inst.IsRoot();
  FitText(&box);
  return box;
}

Box KernelBox(const HloInstruction& inst) {
  Box box;
  box.fill = FillOf(inst);
  box.lines = {NameAndOpcode(inst), ShortShape(inst.shape())};
  box.bold = inst.IsRoot();
  if (inst.opcode() != HloOpcode::kFusion) {
    FitText(&box);
    return box;
  }
  box.lines.push_back(absl::StrCat(ToString(inst.fusion_kind()), ", ",
                                   inst.fused_instruction_count(),
                                   " instructions"));
  if (inst.IsMultiOutputFusion()) {
    absl::StrAppend(&box.lines.back(), ", ",
                    inst.fused_expression_root()->operand_count(), " outputs");
  }
  FitText(&box);
  const std::vector<HloInstruction*> body =
      inst.fused_instructions_computation()->MakeInstructionPostOrder();
  if (static_cast<int64_t>(body.size()) > kMaxFused) return box;
  const std::vector<const HloInstruction*> order(body.begin(), body.end());
  std::vector<Box> boxes;
  for (const HloInstruction* fused : order) {
    boxes.push_back(FusedBox(*fused, inst));
  }
  double height = 0;
  box.inside = DrawBoxes(order, boxes, &box.inside_width, &height);
  box.width = std::max(box.width, box.inside_width + 2 * kMargin);
  box.height += height + kMargin;
  return box;
}

struct Panel {
  std::string svg;
  std::string caption;
  double width = 0;
  double height = 0;
};

Panel DrawPanel(absl::string_view name, const FusionPicture& picture) {
  std::vector<const HloInstruction*> order;
  size_t left_out = 0;
  int64_t multi_output = 0, fusions = 0;
  for (const HloComputation* computation :
       picture.module->MakeComputationPostOrder()) {
    if (computation->IsFusionComputation()) continue;
    for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (!picture.shown.contains(inst)) continue;
      if (inst->opcode() == HloOpcode::kFusion) {
        ++fusions;
        multi_output += inst->IsMultiOutputFusion();
      }
      if (order.size() < kMaxInstructions) {
        order.push_back(inst);
      } else {
        ++left_out;
      }
    }
  }
  std::vector<Box> boxes;
  for (const HloInstruction* inst : order) boxes.push_back(KernelBox(*inst));
  Panel panel;
  panel.svg = DrawBoxes(order, boxes, &panel.width, &panel.height);
  panel.caption = absl::StrCat(
      name, ": ", order.size() + left_out, " instructions, ", fusions,
      " fusions, ", multi_output, " of them with several outputs",
      left_out > 0
          ? absl::StrCat("; the last ", left_out, " instructions are left out")
          : "");
  panel.width = std::max(
      panel.width, kCharacter * static_cast<double>(panel.caption.size()));
  return panel;
}

}  // namespace

std::string FusionsToSvg(absl::string_view title, const FusionPicture& before,
                         const FusionPicture& after) {
  constexpr double kTop = 64;
  constexpr double kEdge = 24;
  const Panel left = DrawPanel("before", before);
  const Panel right = DrawPanel("after", after);
  const double right_x = kEdge + left.width + kPanelGap;
  const double width = right_x + right.width + kEdge;
  const double height = kTop + std::max(left.height, right.height) + kEdge;
  std::string out = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"monospace\" font-size=\"10\">\n",
      width, height, width, height);
  absl::StrAppend(
      &out,
      "<style>rect{stroke:#546e7a}.e{fill:none;stroke:#78909c;"
      "marker-end:url(#a)}text{text-anchor:middle;fill:#263238}"
      ".n{font-weight:bold}.t{text-anchor:start;font-size:14px;"
      "font-weight:bold}.c{text-anchor:start;font-size:10px}</style>\n"
      "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
      "markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path "
      "d=\"M0 0L8 4L0 8z\" fill=\"#78909c\"/></marker></defs>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\" "
      "style=\"stroke:none\"/>\n");
  absl::StrAppendFormat(&out,
                        "<text class=\"t\" x=\"%.0f\" y=\"26\">%s</text>\n",
                        kEdge, Escaped(title));
  double x = kEdge;
  for (const Panel* panel : {&left, &right}) {
    absl::StrAppendFormat(&out,
                          "<text class=\"c\" x=\"%.0f\" y=\"46\">%s</text>\n"
                          "<g transform=\"translate(%.1f %.0f)\">\n%s</g>\n",
                          x, Escaped(panel->caption), x, kTop, panel->svg);
    x = right_x;
  }
  return absl::StrCat(out, "</svg>\n");
}

}  // namespace xla::gpu

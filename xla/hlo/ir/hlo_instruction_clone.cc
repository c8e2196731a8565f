// Cloning of instructions.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape.h"

namespace xla {
namespace {

// add -> add.clone -> add.clone2 -> add.clone3
std::string NameOfClone(absl::string_view name, absl::string_view suffix) {
  const std::string dotted = absl::StrCat(".", suffix);
  const size_t position = name.rfind(dotted);
  if (position == absl::string_view::npos) return absl::StrCat(name, dotted);
  const absl::string_view number = name.substr(position + dotted.size());
  if (number.empty()) return absl::StrCat(name, "2");
  int64_t value;
  if (absl::SimpleAtoi(number, &value) && value >= 0 && value < (1LL << 60)) {
    return absl::StrCat(name.substr(0, position), dotted, value + 1);
  }
  return absl::StrCat(name, dotted);
}

}  // namespace

std::unique_ptr<HloInstruction> HloInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, absl::Span<HloInstruction* const> new_operands,
    HloCloneContext* context) const {
  auto clone = absl::WrapUnique(new HloInstruction(opcode_, shape));
  clone->AppendOperands(new_operands);
  for (HloComputation* computation : called_computations()) {
    clone->AppendComputation(computation);
  }
  return clone;
}

std::unique_ptr<HloInstruction> HloInstruction::CloneWithNewOperands(
    const Shape& shape, absl::Span<HloInstruction* const> new_operands,
    HloCloneContext* context) const {
  std::unique_ptr<HloInstruction> clone =
      CloneWithNewOperandsImpl(shape, new_operands, context);
  SetupDerivedInstruction(clone.get());
  // Where it runs, too, which other derived instructions do not take over.
  if (has_frontend_attributes()) {
    clone->set_frontend_attributes(frontend_attributes());
  }
  clone->name_ = name_;
  clone->is_default_config_ = is_default_config_;
  if (has_rare()) {
    // A config may be changed in place of one holder only: share it.
    clone->set_backend_config_wrapper(rare_->backend_config);
    if (rare_->original_value != nullptr) clone->CopyOriginalValue(this);
    if (rare_->result_accuracy != nullptr) {
      clone->set_result_accuracy(*rare_->result_accuracy);
    }
    for (const auto& [name, value] : unknown_attributes()) {
      clone->add_unknown_attribute(name, value);
    }
    clone->set_is_composite(is_composite());
  }
  if (context != nullptr) {
    context->MapInstruction(this, clone.get());
    clone->ReplaceCalledComputations([&](HloComputation* callee) {
      // A clone that the subclass has found or made; it may be in no module
      // yet.
      if (!absl::c_linear_search(called_computations(), callee)) return callee;
      if (HloComputation* known = context->FindComputation(callee)) {
        return known;
      }
      return callee->parent() == context->module()
                 ? callee
                 : context->module()->DeepCloneComputation(callee, context);
    });
  }
  return clone;
}

std::unique_ptr<HloInstruction> HloInstruction::CloneWithNewOperands(
    const Shape& shape, absl::Span<HloInstruction* const> new_operands,
    const std::string& suffix, HloCloneContext* context) const {
  std::unique_ptr<HloInstruction> clone =
      CloneWithNewOperands(shape, new_operands, context);
  if (!suffix.empty()) clone->name_ = NameOfClone(name_, suffix);
  return clone;
}

std::unique_ptr<HloInstruction> HloInstruction::CloneWithNewShape(
    const Shape& shape, const std::string& suffix,
    HloCloneContext* context) const {
  return CloneWithNewOperands(shape, operands_, suffix, context);
}

std::unique_ptr<HloInstruction> HloInstruction::Clone(
    const std::string& suffix, HloCloneContext* context) const {
  return CloneWithNewShape(shape_, suffix, context);
}

}  // namespace xla

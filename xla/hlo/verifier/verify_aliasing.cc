#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"

namespace xla::verifier {
namespace {

absl::Status CheckEntryShape(const HloInstruction& inst,
                             const ShapeLayout& declared,
                             const HloVerifierOpts& opts) {
  const bool good =
      ShapeUtil::Compatible(declared.shape(), inst.shape()) &&
      // Tiles come with a target; before, layouts are orders of dimensions.
      (!opts.layout_sensitive || !declared.LayoutIsSet() ||
       declared.MatchesLayoutInShape(inst.shape(),
                                     /*minor_to_major_only=*/true,
                                     /*ignore_fully_empty_tiling=*/true));
  if (good) return absl::OkStatus();
  return Broken(Invariant::V171, inst,
                Context(opts).Difference(inst.shape(), declared.shape(),
                                         Match::kSameOrder));
}

}  // namespace

absl::Status CheckEntryLayout(const HloModule& module,
                              const HloVerifierOpts& opts) {
  if (!module.config().has_entry_computation_layout()) return absl::OkStatus();
  const ComputationLayout& layout = module.config().entry_computation_layout();
  const HloComputation& entry = *module.entry_computation();
  if (layout.parameter_count() != entry.num_parameters()) {
    return Broken(Invariant::V171, entry,
                  absl::StrCat("expected ", layout.parameter_count(),
                               " parameters, found ", entry.num_parameters()));
  }
  for (int64_t i = 0; i < entry.num_parameters(); ++i) {
    absl::Status status = CheckEntryShape(*entry.parameter_instruction(i),
                                          layout.parameter_layout(i), opts);
    if (!status.ok()) return status;
  }
  return CheckEntryShape(*entry.root_instruction(), layout.result_layout(),
                         opts);
}

namespace {

// A result and the parameter it must alias are in one memory space.
absl::Status CheckMustAlias(const HloModule& module) {
  if (!module.config().has_entry_computation_layout()) return absl::OkStatus();
  const ComputationLayout& layout = module.config().entry_computation_layout();
  return module.input_output_alias_config().ForEachAliasWithStatus(
      [&](const ShapeIndex& output,
          const HloInputOutputAliasConfig::Alias& alias) -> absl::Status {
        if (!alias.must_alias()) return absl::OkStatus();
        const Shape& to = ShapeUtil::GetSubshape(layout.result_shape(), output);
        const Shape& from = ShapeUtil::GetSubshape(
            layout.parameter_shape(alias.parameter_number),
            alias.parameter_index);
        if (!to.has_layout() || !from.has_layout() ||
            to.layout().memory_space() == from.layout().memory_space()) {
          return absl::OkStatus();
        }
        return Broken(Invariant::V172, module,
                      absl::StrCat("the result at ", output.ToString(), " is ",
                                   ShapeUtil::HumanStringWithLayout(to),
                                   ", parameter ", alias.parameter_number, " ",
                                   ShapeUtil::HumanStringWithLayout(from)));
      });
}

}  // namespace

absl::Status CheckAliasing(const HloModule& module,
                           const HloVerifierOpts& opts) {
  absl::Status status = module.input_output_alias_config().Verify(
      module, [&](const Shape& shape) { return opts.ShapeSize(shape); });
  if (!status.ok()) return Broken(Invariant::V172, module, status.message());
  if (opts.layout_sensitive) {
    status = CheckMustAlias(module);
    if (!status.ok()) return status;
  }
  status = module.buffer_donor_config().Verify(module);
  if (!status.ok()) return Broken(Invariant::V173, module, status.message());
  return absl::OkStatus();
}

}  // namespace xla::verifier

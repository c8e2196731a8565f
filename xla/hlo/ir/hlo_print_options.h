#ifndef XLA_HLO_IR_HLO_PRINT_OPTIONS_H_
#define XLA_HLO_IR_HLO_PRINT_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace xla {

// The part of `name` that is printed: all of it, or what precedes the first
// '.' when `print_ids` is false (`add.17` -> `add`).
inline absl::string_view PrintName(absl::string_view name, bool print_ids) {
  return print_ids ? name : name.substr(0, name.find('.'));
}

// How HLO is printed. Every option has a setter that can be chained:
//
//   HloPrintOptions::Default().set_print_large_constants(true)
//
// Text printed under Default(), ShortParsable() and Lossless() can be parsed.
// Only Lossless() keeps everything; the comment of each other preset says what
// it drops.
class HloPrintOptions {
 public:
  // How a called computation appears inside the line of its caller.
  enum class PrintSubcomputationMode {
    kOff,                 // Not at all.
    kNameOnly,            // to_apply=%name
    kFullBodies,          // to_apply= and the body in braces on its own lines.
    kNonSequentialBodies  // Body for everything but while, conditional, call.
  };

  // Whether the entry computation starts with ENTRY. Modules always print their
  // computations with the keyword.
  enum class PrintComputationMode {
    kComputationOnly,
    kComputationWithEntryKeyword
  };

  HloPrintOptions() = default;

  // The options used by ToString() of an instruction or a computation. Array
  // constants of more than ten elements, and all tuple constants, are elided
  // (`{...}`).
  static const HloPrintOptions& Default() {
    static const HloPrintOptions* const options = new HloPrintOptions();
    return *options;
  }

  // Nothing is lost: all constants in full, every get-tuple-element on a line
  // of its own, wrapped computations of asynchronous operations by name. What
  // HloModule::ToString() uses.
  static HloPrintOptions Lossless() {
    return HloPrintOptions()
        .set_print_large_constants(true)
        .set_syntax_sugar_async_ops(false);
  }

  // Short text for tests: bare names, no signatures. Drops metadata (with the
  // stack frame tables) and control dependencies.
  static HloPrintOptions ShortParsable() {
    return HloPrintOptions()
        .set_print_large_constants(true)
        .set_print_metadata(false)
        .set_print_operand_index_annotation_interval(0)
        .set_print_program_shape(false)
        .set_print_percent(false)
        .set_print_control_dependencies(false);
  }

  // Text that depends on structure only: instructions are renamed tmp_N in
  // printing order, operands print with shapes, called bodies inline.
  static HloPrintOptions Canonical() {
    return HloPrintOptions()
        .set_print_subcomputation_mode(PrintSubcomputationMode::kFullBodies)
        .set_print_original_value(false)
        .set_print_metadata(false)
        .set_print_backend_config(false)
        .set_print_operand_names(false)
        .set_print_operand_shape(true)
        .set_print_operand_index_annotation_interval(0)
        .set_print_program_shape(false)
        .set_print_percent(false)
        .set_print_control_dependencies(false)
        .set_canonicalize_instruction_names(true);
  }

  // Input of a hash of one instruction: Canonical() without ids, with only the
  // constants that matter for code generation, and without feed configs.
  static HloPrintOptions Fingerprint() {
    return Canonical()
        .set_print_ids(false)
        .set_print_only_essential_constants(true)
        .set_print_infeed_outfeed_config(false)
        .set_canonicalize_computations(true);
  }

  // Input of a hash of a module. Computations are named by their position in
  // post order and printed once each, so that the text is linear in the module.
  static HloPrintOptions ModuleFingerprint() {
    return Fingerprint()
        .set_print_subcomputation_mode(PrintSubcomputationMode::kNameOnly)
        .set_print_operand_shape(false)
        .set_print_backend_config(true)
        .set_sort_backend_config(true);
  }

// One option: its setter `set_name(value)`, its getter `name()`.
#define XLA_HLO_PRINT_OPTION(type, name, default_value) \
 public:                                                \
  HloPrintOptions& set_##name(type value) {             \
    name##_ = value;                                    \
    return *this;                                       \
  }                                                     \
  type name() const { return name##_; }                 \
                                                        \
 private:                                               \
  type name##_ = default_value;

  // Constants: all elements of every literal, however many.
  XLA_HLO_PRINT_OPTION(bool, print_large_constants, false)
  // Constants: values of scalars and of arrays filled with one value only.
  XLA_HLO_PRINT_OPTION(bool, print_only_essential_constants, false)
  XLA_HLO_PRINT_OPTION(PrintSubcomputationMode, print_subcomputation_mode,
                       PrintSubcomputationMode::kNameOnly)
  XLA_HLO_PRINT_OPTION(PrintComputationMode, print_computation_mode,
                       PrintComputationMode::kComputationOnly)
  // origin={...}, and the recovery table of the module.
  XLA_HLO_PRINT_OPTION(bool, print_original_value, true)
  // metadata={...}, and the stack frame tables of the module.
  XLA_HLO_PRINT_OPTION(bool, print_metadata, true)
  XLA_HLO_PRINT_OPTION(bool, print_metadata_only_op_name, false)
  XLA_HLO_PRINT_OPTION(bool, print_backend_config, true)
  // Backend configs that are JSON objects print with sorted keys.
  XLA_HLO_PRINT_OPTION(bool, sort_backend_config, false)
  XLA_HLO_PRINT_OPTION(bool, print_infeed_outfeed_config, true)
  // At most four operands, then the number of those left out.
  XLA_HLO_PRINT_OPTION(bool, compact_operands, false)
  XLA_HLO_PRINT_OPTION(bool, include_layout_in_shapes, true)
  XLA_HLO_PRINT_OPTION(bool, print_result_shape, true)
  XLA_HLO_PRINT_OPTION(bool, print_operand_shape, false)
  XLA_HLO_PRINT_OPTION(bool, print_operand_names, true)
  // An /*index=N*/ comment is printed every that many operands; 0 means never.
  XLA_HLO_PRINT_OPTION(int64_t, print_operand_index_annotation_interval, 5)
  // Names with the part from the first '.' on.
  XLA_HLO_PRINT_OPTION(bool, print_ids, true)
  // (param: shape, ...) -> shape in the header of a computation.
  XLA_HLO_PRINT_OPTION(bool, print_program_shape, true)
  XLA_HLO_PRINT_OPTION(bool, print_percent, true)
  XLA_HLO_PRINT_OPTION(bool, print_control_dependencies, true)
  // Attributes of opcodes, such as dimensions, and unknown ones; computations
  // that are called, shardings and control dependencies are printed anyway.
  XLA_HLO_PRINT_OPTION(bool, print_extra_attributes, true)
  // `call-start(...)` instead of `async-start(...), calls=%wrapped`; wrapped
  // computations of one instruction are then omitted from the module's text.
  XLA_HLO_PRINT_OPTION(bool, syntax_sugar_async_ops, true)
  XLA_HLO_PRINT_OPTION(bool, print_frontend_attributes, true)
  // Instructions are named tmp_N.
  XLA_HLO_PRINT_OPTION(bool, canonicalize_instruction_names, false)
  // Computations of a module print depth first from the entry, whatever their
  // schedules. If, besides, ids are not printed and callees only by name, each
  // computation is named by its position in that order.
  XLA_HLO_PRINT_OPTION(bool, canonicalize_computations, false)
  // Nesting depth; one level is two spaces.
  XLA_HLO_PRINT_OPTION(int, indent_amount, 0)
  XLA_HLO_PRINT_OPTION(bool, is_in_nested_computation, false)
  // `} // name` after computations of more than five instructions.
  XLA_HLO_PRINT_OPTION(bool, print_name_after_closing_brace, false)
  // Replica groups as a list of lists, whatever their form.
  XLA_HLO_PRINT_OPTION(bool, print_full_replica_group_list, false)
  // Mesh replica groups rewritten so that no axis is split.
  XLA_HLO_PRINT_OPTION(bool, print_replica_groups_without_subaxes, false)
  XLA_HLO_PRINT_OPTION(bool, print_parameter_number, true)
  XLA_HLO_PRINT_OPTION(bool, print_channel_id, true)
  // source_file= and source_line= of the innermost frame instead of
  // stack_frame_id=; the tables are then omitted.
  XLA_HLO_PRINT_OPTION(bool, print_inline_stack_frames, false)
  // Operands that are get-tuple-elements print as `tuple#1`, and their own
  // lines are omitted unless they are roots. This loses the names, shardings,
  // metadata and schedule positions of the get-tuple-elements.
  XLA_HLO_PRINT_OPTION(bool, compact_gte, false)
#undef XLA_HLO_PRINT_OPTION
};

// Names tmp_0, tmp_1, ... in order of first use, for canonical printing.
class CanonicalNameMap {
 public:
  // The name of the instruction with this unique id.
  const std::string& LookupOrInsert(int64_t unique_id);

  void Reserve(size_t size);

 private:
  absl::flat_hash_map<int64_t, std::string> names_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_PRINT_OPTIONS_H_

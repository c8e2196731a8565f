// Text of modules: header attributes, stack frame tables, computations.

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_original_value_recovery_table.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/hlo/ir/text/hlo_attribute_printer.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/hlo/ir/text/hlo_print_util.h"
#include "xla/printer.h"
#include "xla/service/hlo.pb.h"

namespace xla {
namespace hlo_print_internal {

std::vector<const HloInstruction*> InstructionsInPrintingOrder(
    const HloModule& module, const HloComputation& computation) {
  if (module.has_schedule() &&
      module.schedule().is_computation_scheduled(&computation)) {
    const auto& sequence =
        module.schedule().sequence(&computation).instructions();
    // In the middle of a change a schedule may name instructions that are gone,
    // and lack as many that are new.
    if (static_cast<int64_t>(sequence.size()) ==
        computation.instruction_count()) {
      absl::flat_hash_set<const HloInstruction*> left;
      left.reserve(sequence.size());
      for (const HloInstruction* inst : computation.instructions()) {
        left.insert(inst);
      }
      if (absl::c_all_of(sequence, [&](const HloInstruction* inst) {
            return left.erase(inst) > 0;
          })) {
        return {sequence.begin(), sequence.end()};
      }
    }
  }
  const std::vector<HloInstruction*> order =
      computation.MakeInstructionPostOrder();
  return {order.begin(), order.end()};
}

}  // namespace hlo_print_internal

namespace {

// `, key={true,false}`; nothing for the default, one false.
void PrintBoolList(Printer* printer, absl::string_view key,
                   absl::Span<const bool> values) {
  if (values.empty() || (values.size() == 1 && !values[0])) return;
  AppendCat(printer, ", ", key, "=");
  absl::string_view separator = "{";
  for (bool value : values) {
    AppendCat(printer, separator, value ? "true" : "false");
    separator = ",";
  }
  printer->Append("}");
}

void PrintHeaderConfig(Printer* printer, const HloModuleConfig& config) {
  if (config.alias_passthrough_params()) {
    printer->Append(", alias_passthrough_params=true");
  }
  if (config.has_entry_computation_layout()) {
    printer->Append(", entry_computation_layout={");
    config.entry_computation_layout().Print(printer);
    printer->Append("}");
  }
  PrintBoolList(printer, "allow_spmd_sharding_propagation_to_parameters",
                config.allow_spmd_sharding_propagation_to_parameters());
  PrintBoolList(printer, "allow_spmd_sharding_propagation_to_output",
                config.allow_spmd_sharding_propagation_to_output());
  if (config.replica_count() != 1) {
    AppendCat(printer, ", replica_count=", config.replica_count());
  }
  if (config.num_partitions() != 1) {
    AppendCat(printer, ", num_partitions=", config.num_partitions());
  }
}

// Attributes that a partitioner records in the module it has made the program
// of one device.
void PrintRecordedShardings(Printer* printer, const HloModule& module,
                            const HloPrintOptions& options) {
  if (module.has_spmd_output_sharding()) {
    printer->Append(", spmd_output_sharding=");
    module.spmd_output_sharding().Print(printer, options.print_metadata());
  }
  if (!module.has_spmd_parameters_shardings()) return;
  printer->Append(", spmd_parameters_shardings={");
  absl::string_view separator;
  for (const HloSharding& sharding : module.spmd_parameters_shardings()) {
    printer->Append(separator);
    sharding.Print(printer, options.print_metadata());
    separator = ", ";
  }
  printer->Append("}");
}

// debug_attributes={ {"a"}:({log_mode=default,callback_id=1}) }
void PrintDebugAttributes(Printer* printer, const HloModule& module) {
  if (module.debug_attributes().empty()) return;
  // A hash map has no order.
  std::vector<std::pair<std::string, std::string>> entries;
  for (const auto& [array, list] : module.debug_attributes()) {
    std::vector<std::string> texts;
    for (const HloModule::DebugAttributes& attributes : list) {
      texts.push_back(attributes.ToString());
    }
    entries.emplace_back(array.ToString(), absl::StrJoin(texts, ", "));
  }
  std::sort(entries.begin(), entries.end());
  absl::string_view separator = ", debug_attributes={ ";
  for (const auto& [array, attributes] : entries) {
    AppendCat(printer, separator, "{", array, "}:(", attributes, ")");
    separator = ", ";
  }
  printer->Append(" }");
}

void PrintHeader(
    Printer* printer, const HloModule& module, const HloPrintOptions& options,
    const absl::btree_map<std::string, NumericOrString>& custom_fields) {
  hlo_print_internal::PrintIndent(printer, options.indent_amount());
  printer->Append("HloModule ");
  // Names carry ids.
  if (options.print_ids()) printer->Append(module.name());
  if (module.has_schedule()) printer->Append(", is_scheduled=true");
  std::string aliases = module.input_output_alias_config().ToShortString();
  if (!aliases.empty()) {
    AppendCat(printer, ", input_output_alias={ ", aliases, " }");
  }
  std::string donors = module.buffer_donor_config().ToShortString();
  if (!donors.empty()) {
    AppendCat(printer, ", buffer_donor={ ", donors, " }");
  }
  PrintHeaderConfig(printer, module.config());
  PrintRecordedShardings(printer, module, options);
  if (options.print_frontend_attributes() &&
      !module.frontend_attributes().map().empty()) {
    printer->Append(", frontend_attributes=");
    PrintFrontendAttributes(printer, module.frontend_attributes());
  }
  if (options.print_original_value() &&
      !module.original_value_recovery_table().empty()) {
    AppendCat(printer, ", origin_recovery_table={\n",
              module.original_value_recovery_table().ToString(options), "}");
  }
  PrintDebugAttributes(printer, module);
  for (const auto& [key, value] : custom_fields) {
    AppendCat(printer, ", ", key, "=");
    if (const auto* text = std::get_if<std::string>(&value)) {
      PrintQuoted(printer, *text);
    } else if (const auto* integer = std::get_if<int64_t>(&value)) {
      printer->Append(*integer);
    } else {
      PrintDouble(printer, std::get<double>(value));
    }
  }
  printer->Append("\n\n");
}

void PrintStringTable(
    Printer* printer, absl::string_view title,
    const google::protobuf::RepeatedPtrField<std::string>& rows) {
  printer->Append(title);
  printer->Append("\n");
  for (int i = 0; i < rows.size(); ++i) {
    AppendCat(printer, i + 1, " ");
    PrintQuoted(printer, rows[i]);
    printer->Append("\n");
  }
  printer->Append("\n");
}

void PrintStackFrameTables(Printer* printer,
                           const StackFrameIndexProto& index) {
  PrintStringTable(printer, "FileNames", index.file_names());
  PrintStringTable(printer, "FunctionNames", index.function_names());
  printer->Append("FileLocations\n");
  for (int i = 0; i < index.file_locations_size(); ++i) {
    const StackFrameIndexProto::FileLocation& location =
        index.file_locations(i);
    AppendCat(printer, i + 1, " {file_name_id=", location.file_name_id());
    AppendCat(printer, " function_name_id=", location.function_name_id());
    AppendCat(printer, " line=", location.line(),
              " end_line=", location.end_line());
    AppendCat(printer, " column=", location.column(),
              " end_column=", location.end_column());
    printer->Append("}\n");
  }
  printer->Append("\nStackFrames\n");
  for (int i = 0; i < index.stack_frames_size(); ++i) {
    const StackFrameIndexProto::StackFrame& frame = index.stack_frames(i);
    AppendCat(printer, i + 1, " {file_location_id=", frame.file_location_id());
    // Text counts parents from 1 = "none"; ids in memory from 0 = "none".
    AppendCat(printer, " parent_frame_id=", frame.parent_frame_id() + 1, "}\n");
  }
  printer->Append("\n\n");
}

}  // namespace

void HloModule::Print(
    Printer* printer, const HloPrintOptions& options,
    const absl::btree_map<std::string, NumericOrString>& custom_fields) const {
  PrintHeader(printer, *this, options, custom_fields);
  if (options.print_metadata() && !options.print_metadata_only_op_name() &&
      !options.print_inline_stack_frames() && !stack_frames().empty()) {
    PrintStackFrameTables(printer, stack_frames().proto());
  }
  CanonicalNameMap module_names;
  for (const HloComputation* computation :
       MakeComputationPostOrder(/*dfs_postorder=*/true)) {
    if (hlo_print_internal::IsHiddenBySugar(*computation, options)) continue;
    CanonicalNameMap local_names;
    hlo_print_internal::PrintComputation(
        printer, *computation, options,
        hlo_print_internal::InstructionsInPrintingOrder(*this, *computation),
        hlo_print_internal::NamesByPosition(options) ? &module_names
                                                     : &local_names,
        /*entry=*/computation == entry_computation_);
    printer->Append("\n\n");
  }
}

void HloModule::Print(Printer* printer, const HloPrintOptions& options) const {
  Print(printer, options, /*custom_fields=*/{});
}

void HloModule::Print(Printer* printer) const {
  Print(printer, HloPrintOptions::Lossless());
}

namespace {

// Everything, but for what the debug options of the module leave out.
HloPrintOptions DefaultOptions(const DebugOptions& debug) {
  return HloPrintOptions::Lossless()
      .set_print_metadata(!debug.xla_dump_disable_metadata())
      .set_syntax_sugar_async_ops(debug.xla_syntax_sugar_async_ops())
      .set_compact_gte(debug.xla_dump_compact_gte());
}

}  // namespace

std::string HloModule::ToString() const {
  return ToString(DefaultOptions(config().debug_options()));
}

std::string HloModule::ToString(const HloPrintOptions& options) const {
  StringPrinter printer;
  Print(&printer, options);
  return std::move(printer).ToString();
}

absl::Cord HloModule::ToCord() const {
  return ToCord(DefaultOptions(config().debug_options()));
}

absl::Cord HloModule::ToCord(const HloPrintOptions& options) const {
  CordPrinter printer;
  Print(&printer, options);
  return std::move(printer).ToCord();
}

uint64_t HloModule::ToFingerprint(const HloPrintOptions& options) const {
  return ToFingerprint(options, /*custom_fields=*/{});
}

uint64_t HloModule::ToFingerprint(
    const HloPrintOptions& options,
    const absl::btree_map<std::string, NumericOrString>& custom_fields) const {
  HighwayHashPrinter printer;
  Print(&printer, options, custom_fields);
  return std::move(printer).ToFingerprint();
}

std::string OriginalValueRecoveryTable::ToString(
    HloPrintOptions options) const {
  std::vector<const Table::value_type*> entries;
  for (const auto& entry : table_) entries.push_back(&entry);
  absl::c_sort(entries, [](const auto* a, const auto* b) {
    return std::tie(a->first.instruction_name, a->first.shape_index) <
           std::tie(b->first.instruction_name, b->first.shape_index);
  });
  // A module stands as a string; an empty one says that the arrays are equal.
  StringPrinter printer;
  for (const auto* entry : entries) {
    const auto& [new_array, module] = entry->second;
    AppendCat(&printer, "  {", entry->first.ToString(), "} : {",
              new_array.ToString(), "},\n  ");
    PrintQuoted(&printer, module == nullptr ? "" : module->ToString(options));
    printer.Append("\n");
  }
  return std::move(printer).ToString();
}

std::string HloModuleAttributes::DebugAttributes::ToString() const {
  absl::string_view mode = "none";
  if (log_mode == DebugLogMode::kDefault) mode = "default";
  if (log_mode == DebugLogMode::kFusionDebugger) mode = "fusion_debugger";
  return absl::StrCat("{log_mode=", mode, ",callback_id=", callback_id,
                      ",partitioned=", partitioned ? "true" : "false",
                      op_id == 0 ? "" : absl::StrCat(",op_id=", op_id), "}");
}

}  // namespace xla

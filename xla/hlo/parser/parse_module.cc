#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/ir/name_uniquer.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_header.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::hlo_text {

ModuleParser::ModuleParser(const SourceText* source,
                           const HloParserOptions& options)
    : ValueParser(source, options), header_(std::make_unique<Header>()) {}

ModuleParser::~ModuleParser() {
  // Callers go before what they call.
  while (!computations_.empty()) computations_.pop_back();
}

absl::Status ModuleParser::Run(HloModule* module) {
  if (module->computation_count() != 0) {
    return absl::FailedPreconditionError("the module is not empty");
  }
  if (module->config().has_entry_computation_layout()) {
    layout_from_config_ = module->config().entry_computation_layout();
  }
  const bool parsed = ParseModuleText(module);
  if (options_.warnings() != nullptr) {
    options_.warnings()->insert(options_.warnings()->end(),
                                sink_.warnings().begin(),
                                sink_.warnings().end());
  }
  absl::Status status = sink_.ToStatus();
  if (status.ok() && !parsed) {
    return absl::InternalError("the parser failed without a message");
  }
  return status;
}

bool ModuleParser::ParseModuleText(HloModule* module) {
  if (kind() == TokKind::kw_HloModule) {
    if (!ParseHeader() || !ParseStackFrameTables(module) || !ParseBody()) {
      return false;
    }
  } else if (!ParseLooseText()) {
    return false;
  }
  return !sink_.has_errors() && FinishModule(module);
}

bool ModuleParser::ParseBody() {
  body_loc_ = loc();
  while (kind() != TokKind::kEof) {
    auto ahead = read_ahead_.find(loc());
    if (ahead != read_ahead_.end()) {
      lexer_.Reset(ahead->second);
      continue;
    }
    if (kind() == TokKind::kw_HloModule) {
      return Error(loc(),
                   "a second module; a file of several modules is split at "
                   "lines `// -----`");
    }
    if (!ParseComputation()) return false;
  }
  if (computations_.empty() && !sink_.has_errors()) {
    return Error(loc(), "the module has no computations");
  }
  return true;
}

// True if the text at the current token is a computation, else an instruction:
// ENTRY, or a name followed by `{` or by a signature.
bool ModuleParser::StartsComputation() {
  if (kind() == TokKind::kw_ENTRY) return true;
  if (!lexer_.IsWord()) return false;
  HloLexer ahead = lexer_;
  switch (ahead.Lex()) {
    case TokKind::kLbrace:
      return true;
    case TokKind::kLparen: {
      const char* end = MatchingEnd(ahead.GetLoc());
      return end != nullptr && ahead.Reset(end) == TokKind::kArrow;
    }
    default:
      return false;
  }
}

// Text without a module header.
bool ModuleParser::ParseLooseText() {
  if (kind() == TokKind::kEof) return Expected("a module");
  return StartsComputation() ? ParseBody() : ParseSingleInstruction();
}

// [ROOT] name = right-hand side, and nothing else. Operands that are given with
// a shape become parameters.
bool ModuleParser::ParseSingleInstruction() {
  body_loc_ = loc();
  auto scope = std::make_unique<Scope>("entry");
  scope->is_single_instruction = true;
  const Loc start = loc();
  if (!ParseInstruction(scope.get()) || !ExpectEnd()) return false;
  last_ = FinishComputation(scope.get(), start);
  return last_ != nullptr;
}

namespace {

// True if no name comes twice and all are written as a NameUniquer would write
// them, so that it would change none: asking it costs as much as the rest of
// the parser.
bool AreUniqueAndPlain(absl::Span<HloComputation* const> computations) {
  size_t count = 0;
  for (const HloComputation* computation : computations) {
    count += computation->instruction_count();
  }
  absl::flat_hash_set<absl::string_view> names;
  names.reserve(count);
  for (const HloComputation* computation : computations) {
    for (const HloInstruction* instruction : computation->instructions()) {
      const absl::string_view name = instruction->name();
      // x.0 may be x, and x.07 is x.7.
      const size_t dot = name.rfind('.');
      const bool is_plain = dot == absl::string_view::npos ||
                            dot + 1 == name.size() ||
                            (name[dot + 1] != '0' && name[dot + 1] != '-');
      if (!is_plain || !names.insert(name).second) return false;
    }
  }
  return true;
}

}  // namespace

// Text may give one name to instructions of several computations. The first in
// the text keeps it; the next are x.1, x.2, ...
void ModuleParser::MakeNamesUnique() {
  std::vector<FinishedComputation*> in_text_order;
  for (FinishedComputation& finished : computations_) {
    in_text_order.push_back(&finished);
  }
  // A computation counts where it ends, after those that are made for it.
  absl::c_stable_sort(in_text_order, [](const auto* a, const auto* b) {
    return a->end < b->end;
  });
  std::vector<HloComputation*> computations;
  NameUniquer computation_names(/*separator=*/".");
  for (const FinishedComputation* finished : in_text_order) {
    computations.push_back(finished->computation.get());
    computations.back()->UniquifyName(&computation_names);
  }
  if (AreUniqueAndPlain(computations)) return;
  NameUniquer names(/*separator=*/".");
  for (HloComputation* computation : computations) {
    for (HloInstruction* instruction : computation->instructions()) {
      instruction->UniquifyName(&names);
    }
  }
}

// Moves the computations into the module and applies the header.
bool ModuleParser::FinishModule(HloModule* module) {
  HloComputation* entry = entry_ != nullptr ? entry_ : last_;
  if (entry == nullptr) return Error(loc(), "the module has no computations");
  // A module without a name is called like its entry in the text.
  const std::string entry_name(entry->name());
  MakeNamesUnique();
  for (FinishedComputation& finished : computations_) {
    const bool is_entry = finished.computation.get() == entry;
    module->AddComputation(std::move(finished.computation), is_entry);
  }
  computations_.clear();
  if (header_->name.has_value()) {
    // As protos do, so that a module named like a type comes back from one.
    module->set_name(NameUniquer::GetSanitizedName(*header_->name));
  } else if (module->name().empty()) {
    module->set_name(absl::StrCat("module_", entry_name));
  }
  HloModuleConfig& config = module->mutable_config();
  if (header_->alias_passthrough_params.has_value()) {
    config.set_alias_passthrough_params(*header_->alias_passthrough_params);
  }
  auto flags = [](const std::vector<bool>& values) {
    return absl::InlinedVector<bool, 8>(values.begin(), values.end());
  };
  if (header_->propagate_to_parameters.has_value()) {
    config.set_allow_spmd_sharding_propagation_to_parameters(
        flags(*header_->propagate_to_parameters));
  }
  if (header_->propagate_to_output.has_value()) {
    config.set_allow_spmd_sharding_propagation_to_output(
        flags(*header_->propagate_to_output));
  }
  if (header_->replica_count.has_value()) {
    config.set_replica_count(*header_->replica_count);
  }
  if (header_->num_partitions.has_value()) {
    config.set_num_partitions(*header_->num_partitions);
    if (*header_->num_partitions > 1) config.set_use_spmd_partitioning(true);
  }
  if (header_->spmd_output_sharding.has_value()) {
    module->set_spmd_output_sharding(*header_->spmd_output_sharding);
  }
  if (header_->spmd_parameters_shardings.has_value()) {
    module->set_spmd_parameters_shardings(*header_->spmd_parameters_shardings);
  }
  if (header_->frontend_attributes.has_value()) {
    module->set_frontend_attributes(*std::move(header_->frontend_attributes));
  }
  if (!header_->recovery_table.empty()) {
    module->set_original_value_recovery_table(
        std::move(header_->recovery_table));
  }
  for (const Header::DebugEntry& entry : header_->debug_attributes) {
    module->AddDebugAttributes(entry.first, entry.second);
  }
  return SetEntryLayout(module) && SetAliases(module) && SetSchedule(module);
}

// The header's layout, whose shapes the verifier compares (V171), else one in
// the config that fits, else what the shapes of parameters and root say.
bool ModuleParser::SetEntryLayout(HloModule* module) {
  const ProgramShape program =
      module->entry_computation()->ComputeProgramShape();
  auto fits = [&](const ComputationLayout& layout) {
    if (layout.parameter_count() != program.parameters_size()) return false;
    for (int i = 0; i < program.parameters_size(); ++i) {
      if (!ShapeUtil::Compatible(layout.parameter_shape(i),
                                 program.parameters(i))) {
        return false;
      }
    }
    return ShapeUtil::Compatible(layout.result_shape(), program.result());
  };
  HloModuleConfig& config = module->mutable_config();
  if (header_->entry_layout.has_value()) {
    config.SetDefaultComputationLayout(program);
    *config.mutable_entry_computation_layout() =
        *std::move(header_->entry_layout);
    return true;
  }
  if (layout_from_config_.has_value() && fits(*layout_from_config_)) {
    config.SetDefaultComputationLayout(program);
    *config.mutable_entry_computation_layout() =
        *std::move(layout_from_config_);
    return true;
  }
  config.SetDefaultComputationLayout(program);
  *config.mutable_entry_computation_layout() =
      ComputationLayout(program, /*ignore_layouts=*/false);
  return true;
}

bool ModuleParser::SetAliases(HloModule* module) {
  const HloComputation* entry = module->entry_computation();
  auto check = [&](Loc where, int64_t number, const ShapeIndex& index) {
    if (number >= entry->num_parameters()) {
      return Error(
          where,
          absl::StrCat("the entry computation has no parameter ", number));
    }
    const Shape& shape = entry->parameter_instruction(number)->shape();
    return ShapeUtil::IndexIsValid(shape, index) ||
           Error(where, absl::StrCat("parameter ", number, " has no part ",
                                     index.ToString()));
  };
  if (!header_->aliases.empty()) {
    HloInputOutputAliasConfig config(entry->root_instruction()->shape());
    for (const Header::Alias& alias : header_->aliases) {
      if (!ShapeUtil::IndexIsValid(config.shape(), alias.output_index)) {
        return Error(alias.loc, absl::StrCat("the result has no part ",
                                             alias.output_index.ToString()));
      }
      if (!check(alias.loc, alias.parameter_number, alias.parameter_index)) {
        return false;
      }
      absl::Status status =
          config.SetUpAlias(alias.output_index, alias.parameter_number,
                            alias.parameter_index, alias.kind);
      if (!status.ok()) return Error(alias.loc, status.message());
    }
    module->set_input_output_alias_config(std::move(config));
  }
  if (!header_->donors.empty()) {
    HloBufferDonorConfig config;
    for (const Header::Donor& donor : header_->donors) {
      if (!check(donor.loc, donor.parameter_number, donor.parameter_index)) {
        return false;
      }
      absl::Status status =
          config.AddBufferDonor(donor.parameter_number, donor.parameter_index);
      if (!status.ok()) return Error(donor.loc, status.message());
    }
    module->set_buffer_donor_config(std::move(config));
  }
  return true;
}

// is_scheduled=true: the order of the text is the schedule.
bool ModuleParser::SetSchedule(HloModule* module) {
  if (!header_->is_scheduled) return true;
  HloSchedule schedule(module);
  for (HloComputation* computation : module->computations()) {
    if (computation->IsFusionComputation()) continue;
    HloInstructionSequence sequence;
    sequence.reserve(computation->instruction_count());
    for (HloInstruction* instruction : computation->instructions()) {
      sequence.push_back(instruction);
    }
    schedule.set_sequence(computation, std::move(sequence));
  }
  absl::Status status = module->set_schedule(std::move(schedule));
  return status.ok() || Error(header_->is_scheduled_loc, status.message());
}

}  // namespace xla::hlo_text

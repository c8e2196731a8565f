#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/parser/module_header.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"

namespace xla::hlo_text {

// HloModule name {, attribute=value}
bool ModuleParser::ParseHeader() {
  if (!Expect(TokKind::kw_HloModule)) return false;
  // Fingerprints leave the name out.
  if (lexer_.IsWord()) {
    header_->name = std::string(lexer_.GetStrView());
    Next();
    Eat(TokKind::kColon);
  } else if (kind() != TokKind::kComma) {
    return Expected("the name of the module");
  }
  std::vector<absl::string_view> seen;
  while (Eat(TokKind::kComma)) {
    const Loc name_loc = loc();
    absl::string_view name;
    if (!ParseAttributeName(&name)) return false;
    for (absl::string_view other : seen) {
      if (other == name) {
        return Error(name_loc, absl::StrCat("'", name, "' is given twice"));
      }
    }
    seen.push_back(name);
    if (!ParseHeaderAttribute(name, name_loc)) return false;
  }
  return true;
}

bool ModuleParser::ParseHeaderAttribute(absl::string_view name, Loc name_loc) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (name == "entry_computation_layout") return ParseEntryLayout();
  if (name == "input_output_alias") return ParseAliasList();
  if (name == "buffer_donor") return ParseDonorList();
  if (name == "is_scheduled") {
    header_->is_scheduled_loc = name_loc;
    return ParseBool(&header_->is_scheduled);
  }
  if (name == "alias_passthrough_params") {
    return ParseBool(&header_->alias_passthrough_params.emplace());
  }
  if (name == "allow_spmd_sharding_propagation_to_parameters") {
    return ParseBoolList(&header_->propagate_to_parameters.emplace());
  }
  if (name == "allow_spmd_sharding_propagation_to_output") {
    return ParseBoolList(&header_->propagate_to_output.emplace());
  }
  if (name == "replica_count") {
    return ParseIntInRange(1, kMost, &header_->replica_count.emplace());
  }
  if (name == "num_partitions") {
    return ParseIntInRange(1, kMost, &header_->num_partitions.emplace());
  }
  if (name == "spmd_output_sharding") {
    return ParseSharding(
        &header_->spmd_output_sharding.emplace(HloSharding::Replicate()));
  }
  if (name == "spmd_parameters_shardings") {
    std::vector<HloSharding>& shardings =
        header_->spmd_parameters_shardings.emplace();
    return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
      return ParseSharding(&shardings.emplace_back(HloSharding::Replicate()));
    });
  }
  if (name == "frontend_attributes") {
    return ParseFrontendAttributes(&header_->frontend_attributes.emplace());
  }
  if (name == "origin_recovery_table") return ParseRecoveryTable();
  if (name == "debug_attributes") return ParseDebugAttributes();
  return SkipHeaderValue(name, name_loc);
}

// Attributes that are not known are an error unless allowed.
bool ModuleParser::SkipHeaderValue(absl::string_view name, Loc name_loc) {
  if (!options_.allow_unknown_attributes()) {
    return Error(
        name_loc,
        absl::StrCat(
            "a module has no attribute '", name, "'",
            MeantOrLater(
                name,
                {"is_scheduled", "input_output_alias", "buffer_donor",
                 "alias_passthrough_params", "entry_computation_layout",
                 "allow_spmd_sharding_propagation_to_"
                 "parameters",
                 "allow_spmd_sharding_propagation_to_output", "replica_count",
                 "num_partitions", "spmd_output_sharding",
                 "spmd_parameters_shardings", "frontend_attributes",
                 "origin_recovery_table", "debug_attributes"})));
  }
  absl::string_view value;
  if (!SkipValue(&value)) return false;
  sink_.Warning(name_loc, absl::StrCat("'", name, "' is left out"));
  return true;
}

// {(shape, shape)->shape}
bool ModuleParser::ParseEntryLayout() {
  std::vector<ShapeLayout> parameters;
  auto parse_layout = [&](std::vector<ShapeLayout>* layouts) {
    const Shape* shape = ParseCachedShape(/*fill=*/false);
    if (shape == nullptr) return false;
    ShapeLayout& layout = layouts->emplace_back(*shape);
    if (options_.keep_module_auto_layouts() ||
        !options_.fill_missing_layouts() || layout.LayoutIsSet()) {
      return true;
    }
    Shape with_layouts = *shape;
    ShapeUtil::ForEachMutableSubshape(
        &with_layouts, [](Shape* subshape, const ShapeIndex&) {
          if (subshape->IsArray() && !subshape->has_layout()) {
            LayoutUtil::SetToDefaultLayout(subshape);
          }
        });
    layout = ShapeLayout(with_layouts);
    return true;
  };
  std::vector<ShapeLayout> result;
  if (!Expect(TokKind::kLbrace) ||
      !ParseList(TokKind::kLparen, TokKind::kRparen,
                 [&] { return parse_layout(&parameters); }) ||
      !Expect(TokKind::kArrow) || !parse_layout(&result) ||
      !Expect(TokKind::kRbrace)) {
    return false;
  }
  header_->entry_layout.emplace(std::move(result[0]));
  for (ShapeLayout& parameter : parameters) {
    header_->entry_layout->add_parameter_layout(std::move(parameter));
  }
  return true;
}

// { {0}: (0, {}, may-alias), {1}: (1, {2}) }
bool ModuleParser::ParseAliasList() {
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    Header::Alias& alias = header_->aliases.emplace_back();
    alias.loc = loc();
    alias.kind = HloInputOutputAliasConfig::kMayAlias;
    if (!ParseShapeIndex(&alias.output_index) ||
        !Expect(TokKind::kColon, "after the index of the output") ||
        !Expect(TokKind::kLparen, "before the number of the parameter") ||
        !ParseIntInRange(0, std::numeric_limits<int32_t>::max(),
                         &alias.parameter_number) ||
        !Expect(TokKind::kComma, "before the index in the parameter") ||
        !ParseShapeIndex(&alias.parameter_index)) {
      return false;
    }
    int must_alias;
    if (Eat(TokKind::kComma)) {
      if (!ParseEnum("kind of alias", {"may-alias", "must-alias"},
                     &must_alias)) {
        return false;
      }
      if (must_alias == 1) {
        alias.kind = HloInputOutputAliasConfig::kMustAlias;
      }
    }
    return Expect(TokKind::kRparen, "to end an alias");
  });
}

// { (0, {}), (1, {0}) }
bool ModuleParser::ParseDonorList() {
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    Header::Donor& donor = header_->donors.emplace_back();
    donor.loc = loc();
    return Expect(TokKind::kLparen, "to begin a buffer donor") &&
           ParseIntInRange(0, std::numeric_limits<int32_t>::max(),
                           &donor.parameter_number) &&
           Expect(TokKind::kComma, "after the number of the parameter") &&
           ParseShapeIndex(&donor.parameter_index) &&
           Expect(TokKind::kRparen, "to end a buffer donor");
  });
}

// { {"a" {0}}: ({log_mode=default,callback_id=1,partitioned=true}), ... }; all
// fields may be left out.
bool ModuleParser::ParseDebugAttributes() {
  return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
    OriginalArray array;
    return Expect(TokKind::kLbrace) && ParseOriginalArray(&array) &&
           Expect(TokKind::kRbrace) && Expect(TokKind::kColon) &&
           ParseList(TokKind::kLparen, TokKind::kRparen, [&] {
             Header::DebugEntry& entry =
                 header_->debug_attributes.emplace_back();
             entry.first = array;
             return ParseList(TokKind::kLbrace, TokKind::kRbrace, [&] {
               return ParseDebugAttribute(&entry.second);
             });
           });
  });
}

bool ModuleParser::ParseDebugAttribute(HloModule::DebugAttributes* result) {
  const Loc key_loc = loc();
  absl::string_view key;
  if (!ParseAttributeName(&key)) return false;
  if (key == "log_mode") {
    int mode;
    if (!ParseEnum("log mode", {"none", "default", "fusion_debugger"}, &mode)) {
      return false;
    }
    result->log_mode =
        static_cast<HloModule::DebugAttributes::DebugLogMode>(mode);
    return true;
  }
  if (key == "callback_id") return ParseInt(&result->callback_id);
  if (key == "op_id") return ParseInt(&result->op_id);
  if (key == "partitioned") return ParseBool(&result->partitioned);
  return Error(key_loc,
               absl::StrCat("unknown debug attribute '", key, "'",
                            DidYouMean(key, {"log_mode", "callback_id", "op_id",
                                             "partitioned"})));
}

// { {"old"} : {"new" {0}}, "module text" {"old2"} : {"new2"}, "" }. An empty
// text means that the arrays are equal.
bool ModuleParser::ParseRecoveryTable() {
  if (!Expect(TokKind::kLbrace)) return false;
  while (!Eat(TokKind::kRbrace)) {
    OriginalArray old_array, new_array;
    if (!Expect(TokKind::kLbrace) || !ParseOriginalArray(&old_array) ||
        !Expect(TokKind::kRbrace) || !Expect(TokKind::kColon) ||
        !Expect(TokKind::kLbrace) || !ParseOriginalArray(&new_array) ||
        !Expect(TokKind::kRbrace) || !Expect(TokKind::kComma)) {
      return false;
    }
    const Loc text_loc = loc();
    std::string text;
    if (!ParseString(&text)) return false;
    Eat(TokKind::kComma);
    std::unique_ptr<HloModule> recovery;
    if (text.find_first_not_of(" \t\r\n") != std::string::npos) {
      absl::StatusOr<std::unique_ptr<HloModule>> module =
          ParseAndReturnUnverifiedModule(text, HloModuleConfig(), options_);
      if (!module.ok()) {
        return Error(text_loc, absl::StrCat("in the recovery module: ",
                                            module.status().message()));
      }
      recovery = *std::move(module);
    }
    header_->recovery_table.emplace(
        old_array, {std::move(new_array), std::move(recovery)});
  }
  return true;
}

}  // namespace xla::hlo_text

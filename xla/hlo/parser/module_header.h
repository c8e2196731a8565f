#ifndef XLA_HLO_PARSER_MODULE_HEADER_H_
#define XLA_HLO_PARSER_MODULE_HEADER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_original_value_recovery_table.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

// The contents of the line `HloModule name, attribute=value, ...`. Kept until
// it can be checked against the computations.
struct ModuleParser::Header {
  struct Alias {
    Loc loc;
    ShapeIndex output_index;
    int64_t parameter_number;
    ShapeIndex parameter_index;
    HloInputOutputAliasConfig::AliasKind kind;
  };
  struct Donor {
    Loc loc;
    int64_t parameter_number;
    ShapeIndex parameter_index;
  };

  std::optional<std::string> name;
  bool is_scheduled = false;
  Loc is_scheduled_loc = nullptr;
  std::optional<ComputationLayout> entry_layout;
  std::vector<Alias> aliases;
  std::vector<Donor> donors;
  std::optional<bool> alias_passthrough_params;
  std::optional<std::vector<bool>> propagate_to_parameters;
  std::optional<std::vector<bool>> propagate_to_output;
  std::optional<int64_t> replica_count;
  std::optional<int64_t> num_partitions;
  std::optional<HloSharding> spmd_output_sharding;
  std::optional<std::vector<HloSharding>> spmd_parameters_shardings;
  std::optional<FrontendAttributes> frontend_attributes;
  OriginalValueRecoveryTable recovery_table;
  using DebugEntry = std::pair<OriginalArray, HloModule::DebugAttributes>;
  std::vector<DebugEntry> debug_attributes;
};

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_MODULE_HEADER_H_

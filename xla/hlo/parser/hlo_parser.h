#ifndef XLA_HLO_PARSER_HLO_PARSER_H_
#define XLA_HLO_PARSER_HLO_PARSER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_original_value.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/parser/hlo_lexer.h"  // IWYU pragma: export
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {

// HLO text to IR.
//
// Accepts `%name` and bare names, computations with and without signatures,
// operands with and without shapes, result shapes left out where they follow
// from the operands, and text without a module header: several computations,
// one computation, or a single instruction.
//
// Errors are InvalidArgument, one message per mistake (at most 20):
//
//   FILE:LINE:COL: error: message
//     the line
//         ^
//
// Time and memory are linear in the length of the text.
class HloParserOptions {
 public:
  // Arrays without a layout get the descending one. Default: true.
  HloParserOptions& set_fill_missing_layouts(bool value) {
    fill_missing_layouts_ = value;
    return *this;
  }
  bool fill_missing_layouts() const { return fill_missing_layouts_; }

  // Meaning of `constant({...})`: false, the default, keeps it as a constant
  // of unknown elements that prints as `{...}` again; true gives it elements
  // that are a function of its shape alone. (OpenXLA's default is true, with
  // which text is no fixed point of parsing and printing.)
  HloParserOptions& set_fill_shortform_constants_with_random_values(
      bool value) {
    fill_shortform_constants_with_random_values_ = value;
    return *this;
  }
  bool fill_shortform_constants_with_random_values() const {
    return fill_shortform_constants_with_random_values_;
  }

  // Layouts missing in entry_computation_layout stay unset, for layout
  // assignment to choose. Default: false.
  HloParserOptions& set_keep_module_auto_layouts(bool value) {
    keep_module_auto_layouts_ = value;
    return *this;
  }
  bool keep_module_auto_layouts() const { return keep_module_auto_layouts_; }

  // How deep operands, shapes, literals and computation bodies may nest. The
  // thread's stack is a second limit, checked too. Default: 8192.
  HloParserOptions& set_max_recursion_depth(int value) {
    max_recursion_depth_ = value;
    return *this;
  }
  int max_recursion_depth() const { return max_recursion_depth_; }

  // Attributes that the opcode does not have are a warning, and kept with the
  // instruction verbatim. Default: false, an error.
  HloParserOptions& set_allow_unknown_attributes(bool value) {
    allow_unknown_attributes_ = value;
    return *this;
  }
  bool allow_unknown_attributes() const { return allow_unknown_attributes_; }

  // File name for messages, and the number of the first line if the text is a
  // piece of that file.
  HloParserOptions& set_file_name(absl::string_view value) {
    file_name_ = std::string(value);
    return *this;
  }
  const std::string& file_name() const { return file_name_; }
  HloParserOptions& set_first_line(int64_t value) {
    first_line_ = value;
    return *this;
  }
  int64_t first_line() const { return first_line_; }

  // Where warnings go, rendered like errors; null drops them. Must outlive the
  // parse.
  HloParserOptions& set_warnings(std::vector<std::string>* value) {
    warnings_ = value;
    return *this;
  }
  std::vector<std::string>* warnings() const { return warnings_; }

 private:
  bool fill_missing_layouts_ = true;
  bool fill_shortform_constants_with_random_values_ = false;
  bool keep_module_auto_layouts_ = false;
  bool allow_unknown_attributes_ = false;
  int max_recursion_depth_ = 8192;
  int64_t first_line_ = 1;
  std::string file_name_ = "<input>";
  std::vector<std::string>* warnings_ = nullptr;
};

// The module that `str` describes. It is not verified, but safe to verify and
// to print. The text's header attributes override `config`.
absl::StatusOr<std::unique_ptr<HloModule>> ParseAndReturnUnverifiedModule(
    absl::string_view str, const HloModuleConfig& config = HloModuleConfig(),
    const HloParserOptions& options = HloParserOptions());

// Pieces of HLO text, each as it appears after `attribute=`.

// {devices=[2,2]<=[4]}
absl::StatusOr<HloSharding> ParseSharding(absl::string_view str);
// ({"a"}, {"b" {0}})
absl::StatusOr<std::shared_ptr<OriginalValue>> ParseOriginalValue(
    absl::string_view str);
// {key="value",other="value"}
absl::StatusOr<FrontendAttributes> ParseFrontendAttributes(
    absl::string_view str);
// {visualizing_index=1,count=3}
absl::StatusOr<StatisticsViz> ParseStatisticsViz(absl::string_view str);
// {true,false}
absl::StatusOr<std::vector<bool>> ParseParameterReplication(
    absl::string_view str);
// {true,false}, or a single value without braces
absl::StatusOr<std::vector<bool>> ParseBooleanListOnly(absl::string_view str);
// size=3x3 stride=2x2 pad=0_1x0_1, with or without braces
absl::StatusOr<Window> ParseWindow(absl::string_view str);
// b01f_01io->b01f
absl::StatusOr<ConvolutionDimensionNumbers> ParseConvolutionDimensionNumbers(
    absl::string_view str);
// 0_0x1_1_2
absl::StatusOr<PaddingConfig> ParsePaddingConfig(absl::string_view str);
// (f32[2,3]{1,0}, token[]). Layouts stay as written.
absl::StatusOr<Shape> ParseShape(absl::string_view str);
// f32[2], f32[3]: any number of shapes
absl::StatusOr<std::vector<Shape>> ParseShapeList(absl::string_view str);
// {1,0:T(8,128)}
absl::StatusOr<Layout> ParseLayout(absl::string_view str);
// {{0,1},{2,3}}
absl::StatusOr<std::vector<ReplicaGroup>> ParseReplicaGroupsOnly(
    absl::string_view str);
// All three syntaxes of replica groups.
absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
ParseCollectiveDeviceListBase(absl::string_view str);
// f32[2] {1, 2}: a shape and its elements
absl::StatusOr<Literal> ParseLiteral(absl::string_view str);

// Parses into an existing module, for callers with their own subclass of
// HloModule.
class HloParser {
 public:
  // `str` must outlive the parser.
  static std::unique_ptr<HloParser> Create(
      absl::string_view str,
      const HloParserOptions& options = HloParserOptions());
  static std::unique_ptr<HloParser> CreateHloParserForTests(
      absl::string_view str,
      const HloParserOptions& options = HloParserOptions()) {
    return Create(str, options);
  }

  virtual ~HloParser() = default;

  // Fills `module`, which must be empty; keeps its name if the text has none.
  // At most once. After an error the module may hold some computations.
  virtual absl::Status Run(HloModule* module) = 0;
};

// One of several texts in one file.
struct HloTextPiece {
  absl::string_view text;
  int64_t first_line;  // of the piece in the file, 1-based
};

// Splits a text at lines that hold only `// -----`. Pieces with only blanks and
// comments are dropped.
std::vector<HloTextPiece> SplitInput(absl::string_view text);

// Removes the prefix that logging adds to every line,
// `I0822 10:00:00.000000   123 file.cc:45] `, and lines around the module that
// are other log output. Text whose first line has no such prefix is returned
// as it is.
std::string StripLogHeaders(absl::string_view text);

}  // namespace xla

#endif  // XLA_HLO_PARSER_HLO_PARSER_H_

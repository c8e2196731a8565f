#include "xla/hlo/parser/hlo_parser.h"

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
#include "xla/hlo/parser/diagnostic.h"
#include "xla/hlo/parser/hlo_lexer.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/hlo/parser/value_parser.h"
#include "xla/layout.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

using hlo_text::ModuleParser;
using hlo_text::ValueParser;

// Text, and the parser that reads it: the parser points into its neighbors.
class TextHloParser : public HloParser {
 public:
  TextHloParser(absl::string_view str, const HloParserOptions& options)
      : source_(str, options.file_name(), options.first_line()),
        parser_(&source_, options) {}

  absl::Status Run(HloModule* module) override { return parser_.Run(module); }

 private:
  SourceText source_;
  ModuleParser parser_;
};

// Parses the whole of `str` with one function of a ValueParser.
template <typename Result, typename Parse>
absl::StatusOr<Result> ParseValue(absl::string_view str, Result result,
                                  Parse parse) {
  SourceText source(str);
  ValueParser parser(&source, HloParserOptions());
  if (!parse(parser, &result) || !parser.ExpectEnd()) {
    absl::Status status = parser.status();
    return status.ok() ? absl::InternalError("parsing failed") : status;
  }
  return result;
}

}  // namespace

std::unique_ptr<HloParser> HloParser::Create(absl::string_view str,
                                             const HloParserOptions& options) {
  return std::make_unique<TextHloParser>(str, options);
}

absl::StatusOr<std::unique_ptr<HloModule>> ParseAndReturnUnverifiedModule(
    absl::string_view str, const HloModuleConfig& config,
    const HloParserOptions& options) {
  auto module = std::make_unique<HloModule>(/*name=*/"", config);
  TextHloParser parser(str, options);
  absl::Status status = parser.Run(module.get());
  if (!status.ok()) return status;
  return module;
}

absl::StatusOr<HloSharding> ParseSharding(absl::string_view str) {
  return ParseValue(str, HloSharding::Replicate(),
                    [](ValueParser& parser, HloSharding* result) {
                      return parser.ParseSharding(result);
                    });
}

absl::StatusOr<std::shared_ptr<OriginalValue>> ParseOriginalValue(
    absl::string_view str) {
  return ParseValue(
      str, std::shared_ptr<OriginalValue>(),
      [](ValueParser& parser, std::shared_ptr<OriginalValue>* result) {
        return parser.ParseOriginalValue(result);
      });
}

absl::StatusOr<FrontendAttributes> ParseFrontendAttributes(
    absl::string_view str) {
  return ParseValue(str, FrontendAttributes(),
                    [](ValueParser& parser, FrontendAttributes* result) {
                      return parser.ParseFrontendAttributes(result);
                    });
}

absl::StatusOr<StatisticsViz> ParseStatisticsViz(absl::string_view str) {
  return ParseValue(str, StatisticsViz(),
                    [](ValueParser& parser, StatisticsViz* result) {
                      return parser.ParseStatisticsViz(result);
                    });
}

absl::StatusOr<std::vector<bool>> ParseParameterReplication(
    absl::string_view str) {
  return ParseBooleanListOnly(str);
}

absl::StatusOr<std::vector<bool>> ParseBooleanListOnly(absl::string_view str) {
  return ParseValue(str, std::vector<bool>(),
                    [](ValueParser& parser, std::vector<bool>* result) {
                      return parser.ParseBoolList(result);
                    });
}

absl::StatusOr<Window> ParseWindow(absl::string_view str) {
  return ParseValue(str, Window(), [&](ValueParser& parser, Window* result) {
    const bool braces = HloLexer(str).Lex() == TokKind::kLbrace;
    return parser.ParseWindow(result, braces);
  });
}

absl::StatusOr<ConvolutionDimensionNumbers> ParseConvolutionDimensionNumbers(
    absl::string_view str) {
  return ParseValue(
      str, ConvolutionDimensionNumbers(),
      [](ValueParser& parser, ConvolutionDimensionNumbers* result) {
        return parser.ParseConvolutionDimensionNumbers(result);
      });
}

absl::StatusOr<PaddingConfig> ParsePaddingConfig(absl::string_view str) {
  return ParseValue(str, PaddingConfig(),
                    [](ValueParser& parser, PaddingConfig* result) {
                      return parser.ParsePaddingConfig(result);
                    });
}

absl::StatusOr<Shape> ParseShape(absl::string_view str) {
  return ParseValue(str, Shape(), [](ValueParser& parser, Shape* result) {
    return parser.ParseShape(result);
  });
}

absl::StatusOr<std::vector<Shape>> ParseShapeList(absl::string_view str) {
  return ParseValue(str, std::vector<Shape>(),
                    [](ValueParser& parser, std::vector<Shape>* result) {
                      return parser.ParseShapes(result);
                    });
}

absl::StatusOr<Layout> ParseLayout(absl::string_view str) {
  return ParseValue(str, Layout(), [](ValueParser& parser, Layout* result) {
    return parser.ParseLayout(result);
  });
}

absl::StatusOr<std::vector<ReplicaGroup>> ParseReplicaGroupsOnly(
    absl::string_view str) {
  return ParseValue(str, std::vector<ReplicaGroup>(),
                    [](ValueParser& parser, std::vector<ReplicaGroup>* result) {
                      return parser.ParseReplicaGroupLists(result);
                    });
}

absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
ParseCollectiveDeviceListBase(absl::string_view str) {
  return ParseValue(str, std::unique_ptr<CollectiveDeviceListBase>(),
                    [](ValueParser& parser,
                       std::unique_ptr<CollectiveDeviceListBase>* result) {
                      return parser.ParseDeviceList(result);
                    });
}

absl::StatusOr<Literal> ParseLiteral(absl::string_view str) {
  return ParseValue(str, Literal(), [](ValueParser& parser, Literal* result) {
    return parser.ParseTypedLiteral(result);
  });
}

}  // namespace xla

#ifndef XLA_HLO_PARSER_DIMENSION_NUMBERS_H_
#define XLA_HLO_PARSER_DIMENSION_NUMBERS_H_

#include "xla/hlo/parser/module_parser.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

// Messages made from the attributes of an instruction, as shape inference and
// the instructions themselves want them.
DotDimensionNumbers DotDims(const AttributeValues& values);
RaggedDotDimensionNumbers RaggedDotDims(const AttributeValues& values);
GatherDimensionNumbers GatherDims(const AttributeValues& values);
ScatterDimensionNumbers ScatterDims(const AttributeValues& values);
TriangularSolveOptions SolveOptions(const AttributeValues& values);

}  // namespace xla::hlo_text

#endif  // XLA_HLO_PARSER_DIMENSION_NUMBERS_H_

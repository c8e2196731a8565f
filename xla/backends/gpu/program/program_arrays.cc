#include "xla/backends/gpu/program/program_arrays.h"

#include <cstdint>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// As numpy writes it.
std::string NumpyType(PrimitiveType type) {
  const int64_t bytes = primitive_util::ByteWidth(type);
  switch (type) {
    case PRED:
      return "|b1";
    case BF16:
      return "|V2";
    default:
      break;
  }
  // ml_dtypes has them, and NumPy knows no more of them than their bytes.
  if (primitive_util::IsF8Type(type) || primitive_util::BitWidth(type) < 8) {
    return "|V1";
  }
  const char kind = primitive_util::IsComplexType(type)            ? 'c'
                    : primitive_util::IsFloatingPointType(type)    ? 'f'
                    : primitive_util::IsUnsignedIntegralType(type) ? 'u'
                                                                   : 'i';
  return absl::StrFormat("%c%c%d", bytes == 1 ? '|' : '<', kind, bytes);
}

std::string Suffix(const ShapeIndex& index) {
  std::string suffix;
  for (int64_t i : index) absl::StrAppend(&suffix, ".", i);
  return suffix;
}

// A line. `names` are the alternatives, most likely first.
std::string ArrayLine(const std::vector<std::string>& names, const Shape& shape,
                      int64_t offset) {
  std::vector<int64_t> minor_to_major;
  for (int64_t k = shape.dimensions().size(); k-- > 0;) {
    minor_to_major.push_back(k);
  }
  if (shape.has_layout()) {
    minor_to_major.assign(shape.layout().minor_to_major().begin(),
                          shape.layout().minor_to_major().end());
  }
  return absl::StrCat(
      "    {{",
      absl::StrJoin(names, ", ",
                    [](std::string* out, const std::string& name) {
                      absl::StrAppend(out, "\"", absl::CEscape(name), "\"");
                    }),
      "}, \"", NumpyType(shape.element_type()), "\", ",
      primitive_util::ByteWidth(shape.element_type()), ", ", PackedBits(shape),
      ", ",
      primitive_util::IsSignedIntegralType(shape.element_type()) ? "true"
                                                                 : "false",
      ", {", absl::StrJoin(shape.dimensions(), ", "), "}, {",
      absl::StrJoin(minor_to_major, ", "), "}, ", offset, "},\n");
}

}  // namespace

absl::StatusOr<std::string> InputArrays(const HloModule& module,
                                        const ProgramMemory& memory) {
  std::string text;
  for (const HloInstruction* parameter :
       module.entry_computation()->parameter_instructions()) {
    for (const ShapeUtil::IndexedShape& leaf :
         ShapeUtil::GetLeafShapes(parameter->shape())) {
      if (!leaf.shape.IsArray()) continue;
      const std::string suffix = Suffix(leaf.index);
      const int64_t number = parameter->parameter_number();
      ASSIGN_OR_RETURN(const int64_t offset,
                       memory.OffsetOf(parameter, leaf.index));
      text += ArrayLine({absl::StrCat("arg", number, suffix),
                         absl::StrCat("arr_", number, suffix),
                         absl::StrCat(parameter->name(), suffix)},
                        leaf.shape, offset);
    }
  }
  return text;
}

absl::StatusOr<std::string> ResultArrays(const HloModule& module,
                                         const ProgramMemory& memory) {
  std::string text;
  const HloInstruction* root = module.entry_computation()->root_instruction();
  for (const ShapeUtil::IndexedShape& leaf :
       ShapeUtil::GetLeafShapes(root->shape())) {
    if (!leaf.shape.IsArray()) continue;
    ASSIGN_OR_RETURN(const int64_t offset, memory.OffsetOf(root, leaf.index));
    text += ArrayLine({absl::StrCat("out", Suffix(leaf.index))}, leaf.shape,
                      offset);
  }
  return text;
}

}  // namespace xla::gpu

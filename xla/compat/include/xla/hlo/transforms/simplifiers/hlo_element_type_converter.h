#ifndef XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_ELEMENT_TYPE_CONVERTER_H_
#define XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_ELEMENT_TYPE_CONVERTER_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/operations/hlo_element_type_converter.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_ELEMENT_TYPE_CONVERTER_H_

#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_MODULE_DCE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_MODULE_DCE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/simplifiers/hlo_module_dce.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_MODULE_DCE_H_

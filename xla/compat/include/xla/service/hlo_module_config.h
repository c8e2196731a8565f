#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_MODULE_CONFIG_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_MODULE_CONFIG_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/ir/hlo_module_config.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_HLO_MODULE_CONFIG_H_

#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_WHOLE_GRAPH_MANUAL_PASS_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_WHOLE_GRAPH_MANUAL_PASS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/collectives/whole_graph_manual_pass.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_SPMD_WHOLE_GRAPH_MANUAL_PASS_H_

#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_FLATTEN_CALL_GRAPH_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_FLATTEN_CALL_GRAPH_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_FLATTEN_CALL_GRAPH_H_

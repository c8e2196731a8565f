#ifndef XLA_COMPAT_INCLUDE_XLA_SERVICE_FUSION_QUEUE_H_
#define XLA_COMPAT_INCLUDE_XLA_SERVICE_FUSION_QUEUE_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/transforms/fusion/fusion_queue.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_INCLUDE_XLA_SERVICE_FUSION_QUEUE_H_

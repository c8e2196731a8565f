#ifndef XLA_COMPAT_TESTING_TSL_UTIL_PROTO_PROTO_MATCHERS_H_
#define XLA_COMPAT_TESTING_TSL_UTIL_PROTO_PROTO_MATCHERS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/testlib/proto_matchers.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_TSL_UTIL_PROTO_PROTO_MATCHERS_H_

#ifndef XLA_COMPAT_TESTING_TSL_UTIL_PROTO_PARSE_TEXT_PROTO_H_
#define XLA_COMPAT_TESTING_TSL_UTIL_PROTO_PARSE_TEXT_PROTO_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/tsl/util/proto/parse_text_proto.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_TSL_UTIL_PROTO_PARSE_TEXT_PROTO_H_

#ifndef XLA_COMPAT_TESTING_XLA_SERVICE_GPU_GPU_DEVICE_INFO_FOR_TESTS_H_
#define XLA_COMPAT_TESTING_XLA_SERVICE_GPU_GPU_DEVICE_INFO_FOR_TESTS_H_

// OpenXLA's path of this header, for code from outside.
#include "xla/hlo/testlib/gpu_device_info_for_tests.h"  // IWYU pragma: export

#endif  // XLA_COMPAT_TESTING_XLA_SERVICE_GPU_GPU_DEVICE_INFO_FOR_TESTS_H_

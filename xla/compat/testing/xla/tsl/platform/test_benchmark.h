#ifndef XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_BENCHMARK_H_
#define XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_BENCHMARK_H_

// OpenXLA's path of this header, for code from outside.
#include "benchmark/benchmark.h"  // IWYU pragma: export

namespace testing {
namespace benchmark = ::benchmark;
}  // namespace testing

namespace tsl {
namespace testing {

namespace benchmark = ::benchmark;

template <typename T>
void DoNotOptimize(const T& value) {
  ::benchmark::DoNotOptimize(const_cast<T&>(value));
}
inline void InitializeBenchmarks(int* argc, char** argv) {
  ::benchmark::Initialize(argc, argv);
}
inline void RunBenchmarks() { ::benchmark::RunSpecifiedBenchmarks(); }

}  // namespace testing
}  // namespace tsl

#endif  // XLA_COMPAT_TESTING_XLA_TSL_PLATFORM_TEST_BENCHMARK_H_

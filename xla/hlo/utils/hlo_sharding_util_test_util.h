#ifndef XLA_HLO_UTILS_HLO_SHARDING_UTIL_TEST_UTIL_H_
#define XLA_HLO_UTILS_HLO_SHARDING_UTIL_TEST_UTIL_H_

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/shape.h"

// What the tests of hlo_sharding_util.h share.

namespace xla::hlo_sharding_util {

// The sharding that a text says, and the f32 array of these sizes.
HloSharding S(const std::string& text);
Shape Dims(std::vector<int64_t> dims);

// The elements that each of n devices holds, as row-major positions. The oracle
// of the tests: it knows tiles only by EachTile.
using Holdings = std::map<int64_t, std::set<int64_t>>;
Holdings Hold(const HloSharding& sharding, const Shape& shape, int64_t n);

// Random tilings of rank `rank` over n devices, with replicas, as iota rules,
// lists of the same devices, and lists in random order.
std::vector<HloSharding> RandomShardings(int64_t n, int64_t rank, int count,
                                         std::mt19937* rng);

// Numbers of devices to try.
inline constexpr int64_t kDevices[] = {2, 3, 4, 6, 8};

}  // namespace xla::hlo_sharding_util

#endif  // XLA_HLO_UTILS_HLO_SHARDING_UTIL_TEST_UTIL_H_

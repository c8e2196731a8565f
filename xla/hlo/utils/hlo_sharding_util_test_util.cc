#include "xla/hlo/utils/hlo_sharding_util_test_util.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_sharding_util {

HloSharding S(const std::string& text) { return *ParseSharding(text); }

Shape Dims(std::vector<int64_t> dims) {
  return ShapeUtil::MakeShape(F32, dims);
}

Holdings Hold(const HloSharding& sharding, const Shape& shape, int64_t n) {
  Holdings result;
  auto add_box = [&](int64_t device, absl::Span<const int64_t> begin,
                     absl::Span<const int64_t> end) {
    std::set<int64_t>& held = result[device];
    const int64_t size = ShapeUtil::ElementsIn(shape);
    for (int64_t linear = 0; linear < size; ++linear) {
      int64_t rest = linear;
      bool inside = true;
      for (int64_t d = shape.dimensions().size() - 1; d >= 0; --d) {
        const int64_t i = rest % shape.dimensions(d);
        rest /= shape.dimensions(d);
        inside = inside && i >= begin[d] && i < end[d];
      }
      if (inside) held.insert(linear);
    }
  };
  if (!sharding.IsTiled()) {
    std::vector<int64_t> zeros(shape.dimensions().size(), 0);
    for (int64_t device = 0; device < n; ++device) {
      add_box(device, zeros, shape.dimensions());
    }
    return result;
  }
  EXPECT_TRUE(sharding.EachTile(shape.dimensions(), add_box).ok());
  return result;
}

std::vector<HloSharding> RandomShardings(int64_t n, int64_t rank, int count,
                                         std::mt19937* rng) {
  std::vector<HloSharding> result;
  for (int k = 0; k < count; ++k) {
    std::vector<int64_t> primes;
    for (int64_t left = n, p = 2; left > 1;) {
      if (left % p == 0) {
        primes.push_back(p);
        left /= p;
      } else {
        ++p;
      }
    }
    std::vector<std::vector<int>> digits(rank + 1);
    std::vector<int> order(primes.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), *rng);
    for (int digit : order) digits[(*rng)() % (rank + 1)].push_back(digit);
    std::vector<int64_t> dims;
    std::vector<int> perm;
    for (const std::vector<int>& list : digits) {
      int64_t size = 1;
      for (int digit : list) {
        perm.push_back(digit);
        size *= primes[digit];
      }
      dims.push_back(size);
    }
    const TileAssignment rule(dims, primes, perm);
    result.push_back(HloSharding::PartialTile(rule));
    result.push_back(HloSharding::PartialTile(rule.array()));
    std::vector<int64_t> devices(n);
    std::iota(devices.begin(), devices.end(), 0);
    std::shuffle(devices.begin(), devices.end(), *rng);
    Array<int64_t> shuffled(dims);
    std::copy(devices.begin(), devices.end(), shuffled.begin());
    result.push_back(HloSharding::PartialTile(std::move(shuffled)));
  }
  return result;
}

}  // namespace xla::hlo_sharding_util

#include "xla/hlo/testlib/random_shardings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "xla/array.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/transforms/sharding_propagation/callee_shardings.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

class RandomShardings {
 public:
  RandomShardings(uint64_t seed, int64_t num_devices)
      : random_(seed), num_devices_(num_devices) {}

  // Any value has one in three times out of four, entry parameters always.
  void Annotate(HloModule& module) {
    for (HloComputation* computation : module.computations()) {
      for (HloInstruction* instruction : computation->instructions()) {
        if (!instruction->called_computations().empty() &&
            instruction->opcode() == HloOpcode::kAsyncStart) {
          continue;
        }
        const bool must = computation->IsEntryComputation() &&
                          instruction->opcode() == HloOpcode::kParameter;
        if (!must && Below(4) == 0) continue;
        instruction->set_sharding(OfValue(instruction->shape()));
      }
    }
  }

 private:
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
  }

  HloSharding OfValue(const Shape& shape) {
    if (!shape.IsTuple()) return OfArray(shape);
    std::vector<HloSharding> leaves;
    for (const ShapeUtil::IndexedShape& leaf :
         ShapeUtil::GetLeafShapes(shape)) {
      leaves.push_back(OfArray(leaf.shape));
    }
    if (leaves.empty()) return HloSharding::Tuple(shape, {});
    return HloSharding::Tuple(shape, leaves);
  }

  HloSharding OfArray(const Shape& shape) {
    const int64_t kind = Below(12);
    if (!shape.IsArray() || shape.dimensions().empty() || kind < 2) {
      return HloSharding::Replicate();
    }
    if (kind == 2) return HloSharding::AssignDevice(Below(num_devices_));
    // Divides the devices over the dimensions; what is left replicates.
    const size_t rank = shape.dimensions().size();
    std::vector<int64_t> tiles(rank, 1);
    int64_t left = num_devices_;
    for (int64_t prime : {2, 3, 5, 7}) {
      while (left % prime == 0) {
        left /= prime;
        const int64_t where = Below(static_cast<int64_t>(rank) + 1);
        if (where < static_cast<int64_t>(rank)) tiles[where] *= prime;
      }
    }
    const int64_t product = std::accumulate(
        tiles.begin(), tiles.end(), int64_t{1}, std::multiplies<int64_t>());
    if (product == 1) return HloSharding::Replicate();
    tiles.push_back(num_devices_ / product);
    if (kind < 8) return HloSharding::PartialTile(TileAssignment(tiles));
    std::vector<int64_t> devices(num_devices_);
    std::iota(devices.begin(), devices.end(), 0);
    if (kind < 10) {
      std::reverse(devices.begin(), devices.end());
    } else {
      for (size_t i = devices.size(); i > 1; --i) {
        std::swap(devices[i - 1], devices[Below(static_cast<int64_t>(i))]);
      }
    }
    auto array = std::make_shared<Array<int64_t>>(tiles);
    std::copy(devices.begin(), devices.end(), array->begin());
    return HloSharding::PartialTile(TileAssignment(std::move(array)));
  }

  std::mt19937_64 random_;
  const int64_t num_devices_;
};

}  // namespace

void AnnotateWithRandomShardings(uint64_t seed, int64_t devices,
                                 HloModule& module) {
  RandomShardings(seed, devices).Annotate(module);
  UnifyCalleeShardings(&module, /*give_to_all=*/true);
}

}  // namespace xla

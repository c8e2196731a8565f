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
  RandomShardings(uint64_t seed, int64_t num_devices,
                  const RandomShardingOptions& options)
      : random_(seed), num_devices_(num_devices), options_(options) {}

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
        const bool may_be_addends =
            options_.unreduced && !must && IsNumeric(instruction->shape());
        instruction->set_sharding(may_be_addends && Below(8) == 0
                                      ? HloSharding::Unreduced()
                                      : OfValue(instruction->shape()));
      }
    }
  }

 private:
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
  }

  static bool IsNumeric(const Shape& shape) {
    return shape.IsArray() && shape.element_type() != PRED;
  }

  HloSharding OfValue(const Shape& shape) {
    if (!shape.IsTuple()) return NamedOrNot(OfArray(shape));
    std::vector<HloSharding> leaves;
    for (const ShapeUtil::IndexedShape& leaf :
         ShapeUtil::GetLeafShapes(shape)) {
      leaves.push_back(NamedOrNot(OfArray(leaf.shape)));
    }
    if (leaves.empty()) return HloSharding::Tuple(shape, {});
    return HloSharding::Tuple(shape, leaves);
  }

  HloSharding NamedOrNot(HloSharding sharding) {
    if (!options_.named || !sharding.IsTiled() || Below(2) == 0) {
      return sharding;
    }
    return HloSharding::ToNamedSharding(sharding);
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
  const RandomShardingOptions options_;
};

// Shardings of a manual region. Device numbers: which[group][member].
class RandomManualRegion {
 public:
  RandomManualRegion(uint64_t seed, int64_t manual, int64_t free)
      : random_(seed), manual_(manual), free_(free) {
    std::vector<int64_t> order(manual * free);
    std::iota(order.begin(), order.end(), 0);
    const int64_t kind = Below(4);
    if (kind == 0) Shuffle(order);
    for (int64_t g = 0; g < manual; ++g) {
      std::vector<int64_t>& group = devices_.emplace_back();
      for (int64_t m = 0; m < free; ++m) {
        group.push_back(order[kind == 1 ? m * manual + g : g * free + m]);
      }
    }
  }

  void Enclose(HloModule& module) {
    for (HloComputation* computation : module.computations()) {
      for (HloInstruction* instruction : computation->instructions()) {
        instruction->set_sharding(Inside(instruction->shape()));
      }
    }
    UnifyCalleeShardings(&module, /*give_to_all=*/true);
    HloComputation* body = module.entry_computation();
    HloComputation::Builder builder("all_groups");
    std::vector<HloInstruction*> arguments;
    for (const HloInstruction* parameter : body->parameter_instructions()) {
      arguments.push_back(Entered(*parameter, builder));
    }
    HloInstruction* call = builder.AddInstruction(HloInstruction::CreateCall(
        body->root_instruction()->shape(), arguments, body));
    call->set_sharding(body->root_instruction()->sharding());
    HloInstruction* root = Left(call, builder);
    module.ReplaceEntryComputation(
        module.AddEmbeddedComputation(builder.Build(root)));
  }

 private:
  int64_t Below(int64_t n) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
  }
  void Shuffle(std::vector<int64_t>& order) {
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[Below(static_cast<int64_t>(i))]);
    }
  }

  HloSharding Inside(const Shape& shape) {
    if (!shape.IsTuple()) return InsideLeaf(shape);
    std::vector<HloSharding> leaves;
    for (const auto& leaf : ShapeUtil::GetLeafShapes(shape)) {
      leaves.push_back(InsideLeaf(leaf.shape));
    }
    if (leaves.empty()) {
      return HloSharding::SingleTuple(
          shape, InsideLeaf(ShapeUtil::MakeShape(PRED, {})));
    }
    return HloSharding::Tuple(shape, leaves);
  }

  // Tiles of the devices of a group, in an order of its own.
  HloSharding InsideLeaf(const Shape& shape) {
    if (free_ == 1) return HloSharding::Manual();
    const int64_t rank =
        shape.IsArray() ? static_cast<int64_t>(shape.dimensions().size()) : 0;
    std::vector<int64_t> tiles(rank, 1);
    int64_t left = free_;
    for (int64_t prime : {2, 3, 5}) {
      for (int64_t rest = free_; rest % prime == 0; rest /= prime) {
        const int64_t where = Below(rank + 1);
        if (where == rank) continue;
        tiles[where] *= prime;
        left /= prime;
      }
    }
    tiles.push_back(left);
    tiles.push_back(manual_);
    std::vector<int64_t> order(free_);
    std::iota(order.begin(), order.end(), 0);
    if (Below(3) == 0) Shuffle(order);
    auto array = std::make_shared<Array<int64_t>>(tiles);
    for (int64_t i = 0; i < manual_ * free_; ++i) {
      *(array->begin() + i) = devices_[i % manual_][order[i / manual_]];
    }
    return HloSharding::Subgroup(TileAssignment(std::move(array)),
                                 {OpSharding::REPLICATED, OpSharding::MANUAL});
  }

  // The tiles of all groups, side by side along the dimension.
  HloSharding Outside(const HloSharding& inside, int64_t rank,
                      int64_t dimension) {
    std::vector<int64_t> tiles(rank, 1);
    int64_t replicas = 1;
    if (free_ > 1) {
      for (int64_t i = 0; i < rank; ++i) tiles[i] = inside.dimension(i);
      replicas = free_ / std::accumulate(tiles.begin(), tiles.end(), int64_t{1},
                                         std::multiplies<int64_t>());
    }
    const int64_t shards = tiles[dimension];
    tiles[dimension] *= manual_;
    tiles.push_back(replicas);
    auto array = std::make_shared<Array<int64_t>>(tiles);
    for (int64_t group = 0; group < manual_; ++group) {
      for (int64_t member = 0; member < free_; ++member) {
        const int64_t device = devices_[group][member];
        std::vector<int64_t> index(rank + 1, 0);
        if (free_ > 1) {
          const std::vector<int64_t> place =
              inside.tile_assignment().index_for(device);
          std::copy_n(place.begin(), rank, index.begin());
          if (replicas > 1)
            index[rank] = place[inside.SubgroupReplicationDim()];
        }
        index[dimension] += group * shards;
        (*array)(index) = device;
      }
    }
    return HloSharding::PartialTile(TileAssignment(std::move(array)));
  }

  HloInstruction* Entered(const HloInstruction& parameter,
                          HloComputation::Builder& builder) {
    Shape whole = parameter.shape();
    const int64_t rank = static_cast<int64_t>(whole.dimensions().size());
    HloSharding outside = HloSharding::Replicate();
    if (rank > 0) {
      const int64_t dimension = Below(rank);
      whole.set_dimensions(dimension, whole.dimensions(dimension) * manual_);
      outside = Outside(parameter.sharding(), rank, dimension);
    }
    HloInstruction* p = builder.AddInstruction(HloInstruction::CreateParameter(
        parameter.parameter_number(), whole, parameter.name()));
    p->set_sharding(outside);
    HloInstruction* entered =
        builder.AddInstruction(HloInstruction::CreateCustomCall(
            parameter.shape(), {p}, "SPMDFullToShardShape"));
    entered->set_sharding(parameter.sharding());
    return entered;
  }

  HloInstruction* Left(HloInstruction* value,
                       HloComputation::Builder& builder) {
    if (value->shape().IsTuple()) {
      std::vector<HloInstruction*> elements;
      std::vector<HloSharding> shardings;
      for (int64_t i = 0; i < value->shape().tuple_shapes().size(); ++i) {
        HloInstruction* element = builder.AddInstruction(
            HloInstruction::CreateGetTupleElement(value, i));
        element->set_sharding(
            value->sharding().GetSubSharding(value->shape(), {i}));
        elements.push_back(Left(element, builder));
      }
      HloInstruction* tuple =
          builder.AddInstruction(HloInstruction::CreateTuple(elements));
      for (const HloInstruction* element : elements) {
        const HloSharding& sharding = element->sharding();
        if (!element->shape().IsTuple()) {
          shardings.push_back(sharding);
        } else if (!ShapeUtil::GetLeafShapes(element->shape()).empty()) {
          shardings.insert(shardings.end(), sharding.tuple_elements().begin(),
                           sharding.tuple_elements().end());
        }
      }
      tuple->set_sharding(shardings.empty()
                              ? HloSharding::SingleTuple(
                                    tuple->shape(), HloSharding::Replicate())
                              : HloSharding::Tuple(tuple->shape(), shardings));
      return tuple;
    }
    if (value->shape().dimensions().empty()) {
      const Shape one =
          ShapeUtil::MakeShape(value->shape().element_type(), {1});
      value = builder.AddInstruction(HloInstruction::CreateReshape(one, value));
      value->set_sharding(Inside(one));
    }
    // Inlined, what is called has the sharding of its root.
    HloInstruction* copy = builder.AddInstruction(
        HloInstruction::CreateUnary(value->shape(), HloOpcode::kCopy, value));
    copy->set_sharding(value->sharding());
    value = copy;
    Shape whole = value->shape();
    const int64_t rank = static_cast<int64_t>(whole.dimensions().size());
    const int64_t dimension = Below(rank);
    whole.set_dimensions(dimension, whole.dimensions(dimension) * manual_);
    HloInstruction* left =
        builder.AddInstruction(HloInstruction::CreateCustomCall(
            whole, {value}, "SPMDShardToFullShape"));
    left->set_sharding(Outside(value->sharding(), rank, dimension));
    return left;
  }

  std::mt19937_64 random_;
  const int64_t manual_;
  const int64_t free_;
  std::vector<std::vector<int64_t>> devices_;
};

}  // namespace

void AnnotateWithRandomShardings(uint64_t seed, int64_t devices,
                                 HloModule& module,
                                 const RandomShardingOptions& options) {
  RandomShardings(seed, devices, options).Annotate(module);
  UnifyCalleeShardings(&module, /*give_to_all=*/true);
}

void MoveIntoManualRegion(uint64_t seed, int64_t manual, int64_t free,
                          HloModule& module) {
  RandomManualRegion(seed, manual, free).Enclose(module);
}

}  // namespace xla

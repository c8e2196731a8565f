// Every opcode under every kind of sharding, as a table; and every handler,
// once its result is wrong on one device, is found out.
#include <algorithm>
#include <array>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/testlib/random_shardings.h"
#include "xla/hlo/transforms/spmd/spmd_comparison.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

constexpr std::array<absl::string_view, 8> kCases = {
    "whole", "first", "last", "grid", "partial", "permuted", "one", "any"};

HloSharding Tiled(std::vector<int64_t> tiles, int64_t devices, bool permuted) {
  const int64_t product = std::accumulate(tiles.begin(), tiles.end(),
                                          int64_t{1}, std::multiplies<>());
  if (product == 1) return HloSharding::Replicate();
  tiles.push_back(devices / product);
  auto array = std::make_shared<Array<int64_t>>(tiles);
  std::iota(array->begin(), array->end(), 0);
  if (permuted) std::rotate(array->begin(), array->begin() + 1, array->end());
  return HloSharding::PartialTile(TileAssignment(std::move(array)));
}

// By the shape alone, so that values that control flow ties are alike.
HloSharding LeafSharding(absl::string_view kind, const Shape& shape,
                         int64_t devices) {
  const int64_t rank =
      shape.IsArray() ? static_cast<int64_t>(shape.dimensions().size()) : 0;
  if (rank == 0 || kind == "whole") return HloSharding::Replicate();
  if (kind == "one") return HloSharding::AssignDevice(devices - 1);
  std::vector<int64_t> tiles(rank, 1);
  int64_t half = devices;
  for (int64_t prime : {2, 3}) {
    if (devices % prime == 0 && devices > prime) half = devices / prime;
  }
  if (kind == "grid") {
    tiles[0] = half;
    tiles[rank - 1] *= devices / half;
  } else if (kind == "partial") {
    tiles[rank - 1] = half;
  } else {
    tiles[kind == "last" ? rank - 1 : 0] = devices;
  }
  return Tiled(tiles, devices, kind == "permuted");
}

void Annotate(absl::string_view kind, uint64_t seed, int64_t devices,
              HloModule& module) {
  if (kind == "any") {
    AnnotateWithRandomShardings(seed, devices, module);
    return;
  }
  for (HloComputation* computation : module.computations()) {
    for (HloInstruction* hlo : computation->instructions()) {
      std::vector<HloSharding> leaves;
      for (const ShapeUtil::IndexedShape& leaf :
           ShapeUtil::GetLeafShapes(hlo->shape())) {
        leaves.push_back(LeafSharding(kind, leaf.shape, devices));
      }
      hlo->set_sharding(hlo->shape().IsTuple()
                            ? HloSharding::Tuple(hlo->shape(), leaves)
                            : leaves[0]);
    }
  }
}

// The opcode gives something that can be compared.
bool Has(const HloModule& module, HloOpcode opcode) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* hlo : computation->instructions()) {
      if (hlo->opcode() != opcode) continue;
      for (const auto& leaf : ShapeUtil::GetLeafShapes(hlo->shape())) {
        if (leaf.shape.IsArray()) return true;
      }
    }
  }
  return false;
}

struct Case {
  std::unique_ptr<HloModule> module;  // null: there is none with this seed
  bool exact = true;
};

// A module over small integers or, for opcodes that give fractions, over any
// numbers.
Case ModuleOf(HloOpcode opcode, uint64_t seed) {
  RandomModuleOptions options = ModulesToPartition(seed);
  if (options.without.contains(opcode)) return {};
  options.opcodes = {opcode};
  options.steps = 2 + static_cast<int64_t>(seed % 3);
  options.max_dimension = 7;
  for (bool exact : {true, false}) {
    options.exact = exact;
    if (!exact) options.types = {F32, S32, PRED, C64};
    std::unique_ptr<HloModule> module = RandomModule(seed, options);
    if (Has(*module, opcode)) return {std::move(module), exact};
  }
  return {};
}

class SpmdCoverageTest : public ::testing::TestWithParam<int> {};

TEST_P(SpmdCoverageTest, EveryOpcodeUnderEverySharding) {
  const int64_t devices = GetParam();
  const int64_t seeds = RandomCases(2);
  std::string table =
      absl::StrFormat("%d devices: modules that ran equal\n%-24s", devices, "");
  for (absl::string_view kind : kCases)
    absl::StrAppendFormat(&table, "%9s", kind);
  int64_t total = 0, failed = 0;
  for (HloOpcode opcode : RandomModuleOpcodes()) {
    absl::StrAppendFormat(&table, "\n%-24s", HloOpcodeString(opcode));
    for (size_t k = 0; k < kCases.size() && failed < 4; ++k) {
      int64_t compared = 0;
      for (int64_t i = 0; i < seeds; ++i) {
        const uint64_t seed =
            (static_cast<uint64_t>(devices) * 1000 + k) * 1000 + i;
        const auto [whole, exact] = ModuleOf(opcode, seed);
        if (whole == nullptr) continue;
        Annotate(kCases[k], seed, devices, *whole);
        SpmdPartitioner pass((SpmdPartitioningPassOptions()));
        const Comparison comparison = PartitionAndCompare(
            *whole, seed, devices, /*replicas=*/1, pass, exact);
        compared += comparison.outcome == Outcome::kCompared;
        if (comparison.outcome != Outcome::kFailed) continue;
        ++failed;
        ADD_FAILURE() << HloOpcodeString(opcode) << " " << kCases[k] << ": "
                      << comparison.status << "\n"
                      << whole->ToString();
      }
      absl::StrAppendFormat(&table, "%9d", compared);
      total += compared;
    }
  }
  std::cout << table << "\n"
            << total << " modules x " << devices << " devices\n";
  EXPECT_GT(total, failed > 0 ? 0 : 600 * seeds);
}

INSTANTIATE_TEST_SUITE_P(Devices, SpmdCoverageTest,
                         ::testing::Values(2, 3, 4, 6));

// Device 0 gets another result of one opcode.
class BrokenVisitor : public SpmdPartitioningVisitor {
 public:
  BrokenVisitor(HloOpcode broken, HloComputation* computation,
                int64_t num_partitions, int64_t num_replicas,
                const SPMDCollectiveOpsCreator& creator,
                int64_t* next_channel_id, SpmdLogger* logger,
                SpmdPartitionerOptions options, SpmdPartitioner* partitioner,
                const CallGraph& call_graph)
      : SpmdPartitioningVisitor(computation, num_partitions, num_replicas,
                                creator, next_channel_id, logger,
                                std::move(options), partitioner, call_graph),
        broken_(broken) {}

  absl::Status Postprocess(HloInstruction* hlo) override {
    if (hlo->opcode() == broken_) {
      PartitionedHlo& result = GetPartitionedHlo(hlo);
      const HloSharding sharding = result.sharding();
      HloInstruction* wrong = Broken(result.hlo());
      if (wrong != result.hlo()) {
        wrong->set_sharding(sharding);
        result = result.CloneWithNewHlo(wrong);
      }
    }
    return SpmdPartitioningVisitor::Postprocess(hlo);
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> hlo) {
    return builder()->AddInstruction(std::move(hlo));
  }

  HloInstruction* Broken(HloInstruction* hlo) {
    if (hlo->shape().IsTuple()) {
      std::vector<HloInstruction*> elements;
      for (int64_t i = 0; i < hlo->shape().tuple_shapes().size(); ++i) {
        elements.push_back(Broken(Add(HloInstruction::CreateGetTupleElement(
            hlo->shape().tuple_shapes(i), hlo, i))));
      }
      return elements.empty() ? hlo
                              : Add(HloInstruction::CreateTuple(elements));
    }
    if (!hlo->shape().IsArray()) return hlo;
    const Shape& shape = hlo->shape();
    HloInstruction* is_first = Add(HloInstruction::CreateCompare(
        ShapeUtil::MakeShape(PRED, {}), partition_id(),
        CreateR0(0, U32, builder()), ComparisonDirection::kEq));
    // x != 0 for predicates, 1 - x for numbers: never x of integers.
    HloInstruction* wrong =
        shape.element_type() == PRED
            ? Add(HloInstruction::CreateUnary(shape, HloOpcode::kNot, hlo))
            : Add(HloInstruction::CreateBinary(shape, HloOpcode::kSubtract,
                                               CreateOne(shape, builder()),
                                               hlo));
    return Add(HloInstruction::CreateTernary(
        shape, HloOpcode::kSelect,
        CreateBroadcast(is_first, shape.dimensions(), builder()), wrong, hlo));
  }

  const HloOpcode broken_;
};

class BrokenPartitioner : public SpmdPartitioner {
 public:
  explicit BrokenPartitioner(HloOpcode broken)
      : SpmdPartitioner(SpmdPartitioningPassOptions()), broken_(broken) {}

  std::unique_ptr<SpmdPartitioningVisitor> CreateVisitor(
      HloComputation* computation, int64_t num_partitions, int64_t num_replicas,
      const SPMDCollectiveOpsCreator& collective_ops_creator,
      int64_t* next_channel_id, SpmdLogger* logger,
      SpmdPartitionerOptions options, const CallGraph& call_graph) override {
    return std::make_unique<BrokenVisitor>(
        broken_, computation, num_partitions, num_replicas,
        collective_ops_creator, next_channel_id, logger, std::move(options),
        this, call_graph);
  }

 private:
  const HloOpcode broken_;
};

TEST(SpmdBrokenHandlerTest, IsFoundOut) {
  constexpr int64_t kDevices = 4;
  for (HloOpcode opcode : RandomModuleOpcodes()) {
    bool ran = false, found = false;
    for (uint64_t seed = 0; seed < 12 && !found; ++seed) {
      const auto [whole, exact] = ModuleOf(opcode, seed);
      if (whole == nullptr) continue;
      Annotate("first", seed, kDevices, *whole);
      BrokenPartitioner pass(opcode);
      const Comparison comparison = PartitionAndCompare(
          *whole, seed, kDevices, /*replicas=*/1, pass, exact);
      ran |= comparison.outcome != Outcome::kNotRun;
      // A copy's state may not be taken apart, and put together is none that
      // a copy-done can end, which the verifier finds first.
      found = absl::IsFailedPrecondition(comparison.status) ||
              absl::StrContains(comparison.status.message(), "[V139]") ||
              absl::StrContains(comparison.status.message(), "[V140]");
    }
    EXPECT_EQ(ran, found) << HloOpcodeString(opcode);
  }
}

}  // namespace
}  // namespace xla::spmd

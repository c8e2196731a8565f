#include "xla/hlo/testlib/random_module.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {
namespace {

// Opcodes that float values keep exact under, when they hold small integers.
bool IsExact(HloOpcode opcode) {
  return !HloOpcodeIsOneOf<
      HloOpcode::kAcos, HloOpcode::kAcosh, HloOpcode::kAsin, HloOpcode::kAsinh,
      HloOpcode::kAtan2, HloOpcode::kAtanh, HloOpcode::kBatchNormGrad,
      HloOpcode::kBatchNormInference, HloOpcode::kBatchNormTraining,
      HloOpcode::kCbrt, HloOpcode::kCholesky, HloOpcode::kCos, HloOpcode::kCosh,
      HloOpcode::kDivide, HloOpcode::kErf, HloOpcode::kExp, HloOpcode::kExpm1,
      HloOpcode::kFft, HloOpcode::kLog, HloOpcode::kLog1p, HloOpcode::kLogistic,
      HloOpcode::kPower, HloOpcode::kReducePrecision, HloOpcode::kRemainder,
      HloOpcode::kRsqrt, HloOpcode::kSin, HloOpcode::kSinh, HloOpcode::kSqrt,
      HloOpcode::kStochasticConvert, HloOpcode::kTan, HloOpcode::kTanh,
      HloOpcode::kTriangularSolve>(opcode);
}

bool IsCollective(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAllGather, HloOpcode::kAllReduce,
                          HloOpcode::kAllToAll, HloOpcode::kCollectiveBroadcast,
                          HloOpcode::kCollectivePermute,
                          HloOpcode::kPartitionId, HloOpcode::kReduceScatter,
                          HloOpcode::kReplicaId>(opcode);
}

bool NeedsDepth(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAsyncStart, HloOpcode::kCall,
                          HloOpcode::kConditional, HloOpcode::kFusion,
                          HloOpcode::kMap, HloOpcode::kScan, HloOpcode::kWhile>(
      opcode);
}

}  // namespace

double Range::magnitude() const { return std::max(std::abs(lo), std::abs(hi)); }

Range MapEnds(const Range& range, double (*function)(double)) {
  const double a = function(range.lo), b = function(range.hi);
  return {std::min(a, b), std::max(a, b)};
}

Range Union(const Range& a, const Range& b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}

ModuleState::ModuleState(uint64_t seed, const RandomModuleOptions& options)
    : rng(seed), options(options), types(options.types) {
  if (types.empty()) {
    types = {PRED, S8, S32, S64, U8, U32, F16, BF16, F32, F64, C64};
  }
  HloModuleConfig config;
  config.set_num_partitions(options.num_partitions);
  config.set_replica_count(options.num_replicas);
  config.set_use_spmd_partitioning(options.num_partitions > 1);
  module = std::make_unique<HloModule>(absl::StrCat("random_", seed), config);
}

int64_t ModuleState::Below(int64_t n) {
  // The bias of the remainder does not matter here; being the same everywhere
  // does.
  return n <= 1 ? 0 : static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
}

PrimitiveType ModuleState::RandomType() { return types[Below(types.size())]; }

Shape ModuleState::RandomShape(PrimitiveType type) {
  std::vector<int64_t> dimensions;
  const int64_t rank = Below(options.max_rank + 1);
  int64_t elements = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t room = std::max<int64_t>(
        options.max_elements / std::max<int64_t>(elements, 1), 1);
    dimensions.push_back(
        Between(1, std::min<int64_t>(options.max_dimension, room)));
    elements *= dimensions.back();
  }
  if (rank > 0 && options.zero_sized_every > 0 &&
      OneIn(options.zero_sized_every)) {
    dimensions[Below(rank)] = 0;
  }
  return ShapeUtil::MakeShape(type, dimensions);
}

Range ModuleState::Limit(PrimitiveType type) const {
  if (type == PRED) return {0, 1};
  if (primitive_util::IsIntegralType(type)) {
    const int bits = primitive_util::BitWidth(type);
    if (primitive_util::IsUnsignedIntegralType(type)) {
      return {0, std::ldexp(1.0, bits) - 1};
    }
    return {-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1};
  }
  if (primitive_util::IsComplexType(type)) {
    type = primitive_util::ComplexComponentType(type);
  }
  const double overflow =
      std::ldexp(1.0, primitive_util::OverflowExponent(type));
  // Exact results need no room for rounding.
  const double limit =
      options.exact
          ? std::min(
                overflow / 2,
                std::ldexp(1.0, primitive_util::SignificandWidth(type) - 1))
          : overflow / 16;
  return {-std::min(limit, 1e5), std::min(limit, 1e5)};
}

// Draws recipes by weight among the opcodes that the options and the place
// allow. Every value carries a range that bounds its elements, which recipes
// use to keep results away from overflow and other behavior that depends on
// the order of evaluation; in exact mode, ranges keep floats at integers that
// their type represents.
void RandomComputation::Grow(int64_t steps) {
  const RandomModuleOptions& options = state_.options;
  std::vector<Row> rows;
  int64_t total = 0;
  for (const Row& row : Rows()) {
    if (!options.opcodes.empty() &&
        !absl::c_linear_search(options.opcodes, row.opcode)) {
      continue;
    }
    if (options.without.contains(row.opcode)) continue;
    if (IsCollective(row.opcode) &&
        (options.num_partitions * options.num_replicas <= 1 ||
         (options.odd ? !all_devices_ : depth_ > 0))) {
      continue;
    }
    if (row.kind < kind_) continue;
    if (options.exact && !IsExact(row.opcode)) continue;
    if (depth_ >= options.max_depth && NeedsDepth(row.opcode)) continue;
    total += row.weight;
    rows.push_back(row);
  }
  if (rows.empty()) return;
  for (int64_t step = 0; step < steps; ++step) {
    // Recipes may find no operands: a few more draws, then the step is lost.
    for (int attempt = 0; attempt < 8; ++attempt) {
      int64_t draw = state_.Below(total);
      const Row* row = rows.data();
      while (draw >= row->weight) draw -= row++->weight;
      if ((this->*row->recipe)(row->opcode)) break;
    }
  }
}

}  // namespace random_module_internal

std::vector<HloOpcode> RandomModuleOpcodes() {
  std::vector<HloOpcode> opcodes;
  for (const auto& row : random_module_internal::RandomComputation::Rows()) {
    opcodes.push_back(row.opcode);
  }
  absl::c_sort(opcodes);
  return opcodes;
}

std::unique_ptr<HloModule> RandomModule(uint64_t seed,
                                        const RandomModuleOptions& options) {
  random_module_internal::ModuleState state(seed, options);
  random_module_internal::RandomComputation entry(state, /*depth=*/0, "main");
  entry.Grow(std::max<int64_t>(options.steps, 1));
  entry.Finish(entry.MakeEntryRoot(), /*is_entry=*/true);
  if (options.odd) random_module_internal::MakeOdd(state);
  return std::move(state.module);
}

}  // namespace xla

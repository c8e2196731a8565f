#ifndef XLA_HLO_TESTLIB_RANDOM_MODULE_H_
#define XLA_HLO_TESTLIB_RANDOM_MODULE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace xla {

// Options of random modules.
struct RandomModuleOptions {
  // Steps of growth of the entry computation; a step adds one instruction of a
  // drawn opcode and what it needs (a constant, a reshape, ...).
  int64_t steps = 20;
  // Bounds of the dimensions of arrays.
  int64_t max_rank = 3;
  int64_t max_dimension = 5;
  int64_t max_elements = 256;
  // One array in `zero_sized_every` has a dimension of size 0; 0: none has.
  int64_t zero_sized_every = 0;

  // Element types to draw from; empty: pred, s8, s32, s64, u8, u32, f16, bf16,
  // f32, f64 and c64. Types that an opcode asks for (pred of a compare, s32 of
  // an index) may appear besides.
  std::vector<PrimitiveType> types;
  // Opcodes to draw from; empty: all of RandomModuleOpcodes() but collectives.
  // Parameters, constants, broadcasts, reshapes, clamps, tuples and what else
  // joins shapes and ranges may appear besides.
  std::vector<HloOpcode> opcodes;
  // Opcodes that are not drawn, even when in `opcodes`.
  absl::flat_hash_set<HloOpcode> without;

  // while, conditional, call, fusion, map, async: how deep computations nest.
  int64_t max_depth = 2;
  // Trips of a while loop.
  int64_t max_trips = 3;
  // Results that are nested tuples, tuples in loops and calls.
  bool tuples = true;

  // Float parameters hold small integers, and all float operations give exact
  // small integers: results are equal bit for bit in any order of evaluation.
  bool exact = false;
  // Operations that jump (compare, floor, convert to an integer, sort with
  // payload, ...) take only values that every evaluation gives the same bits.
  // Otherwise one last bit may decide about everything after it.
  bool stable_decisions = true;
  // Logarithms of negative numbers, divisions by zero, overflows to infinity.
  bool undefined_numerics = false;

  // What is legal but rare: callees that are called twice, copies of tuples,
  // control dependencies, layouts that differ along an edge, aliased
  // parameters, a root that is read, frontend attributes; and, in some modules,
  // infeed, outfeed, messages to the host, rng and custom calls, after which a
  // module cannot be evaluated.
  bool odd = false;

  // More than one device adds partition-id, replica-id and collectives.
  int64_t num_partitions = 1;
  int64_t num_replicas = 1;
};

// The opcodes that the generator draws, in the order of the opcode table.
std::vector<HloOpcode> RandomModuleOpcodes();

// A module made from a seed: valid by the verifier, the same on every platform.
//
// It computes something that can be compared: the generator follows the range
// of every value and joins only what stays finite and inside the domain of the
// operation. Entry parameters are taken to be in [-1, 1] (floats), integers in
// [-4, 4] (floats with `exact`), any (others). Everything that is computed in
// the entry reaches its result, unless a part of it is dead on purpose (one
// module in eight).
//
// Time and size are linear in options.steps (operands come from a window of
// recent values).
std::unique_ptr<HloModule> RandomModule(
    uint64_t seed, const RandomModuleOptions& options = RandomModuleOptions());

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_RANDOM_MODULE_H_

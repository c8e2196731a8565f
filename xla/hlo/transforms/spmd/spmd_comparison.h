#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_COMPARISON_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_COMPARISON_H_

#include <cstdint>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"

// Compares partitioned programs with the whole by running both; for tests.

namespace xla::spmd {

// Random modules with the opcodes that occur before partitioning, with sums
// that are exact in any order.
RandomModuleOptions ModulesToPartition(uint64_t seed);

// The number of cases of a test: HLO_RANDOM_MODULES, else `standard`.
int64_t RandomCases(int64_t standard);
// The seed to begin with: HLO_RANDOM_FIRST, else 0.
uint64_t FirstRandomCase();

enum class Outcome { kNotRun, kCompared, kFailed };

struct Comparison {
  Outcome outcome;
  absl::Status status;
};

// Runs the pass on a copy of `whole`, which has shardings, verifies the copy,
// and runs it on all devices, with poison wherever a shard has no elements.
// Skipped if the evaluator does not support it (Unimplemented). `exact`: every
// bit is equal; otherwise up to differences caused by the order of evaluation.
Comparison PartitionAndCompare(const HloModule& whole, uint64_t seed,
                               int64_t devices, int64_t replicas,
                               SpmdPartitioner& pass, bool exact = true);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_COMPARISON_H_

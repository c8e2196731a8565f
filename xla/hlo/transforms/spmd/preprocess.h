#ifndef XLA_HLO_TRANSFORMS_SPMD_PREPROCESS_H_
#define XLA_HLO_TRANSFORMS_SPMD_PREPROCESS_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/spmd_builder.h"

namespace xla::spmd {

// The same value, to be sharded in another way: a custom call "Sharding".
HloInstruction* AddSharding(HloInstruction* value, const HloSharding& sharding);

// A shard of a value of dynamic size would say of its own size only. Such
// values are replicated, and so is all that their makers and readers have
// beside them; readers' results are cut afterwards. Unimplemented where the
// module itself takes or returns such a value in shards.
//
//   before: d = f32[<=8] set-dimension-size(p, n), sharding={devices=[4]<=[4]}
//   after:  s = Sharding(p), sharding={replicated}
//           d = f32[<=8] set-dimension-size(s, n), sharding={replicated}
absl::Status KeepDynamicSizesWhole(HloComputation* computation);

// The state of an asynchronous operation, and a buffer that is changed in
// place, must reach the reader whole, not as a tuple of resharded elements or
// as a copy. Wherever they go they have one sharding: {manual} where that is
// the sharding of all that make them, else {replicated}. Those that a tuple
// holds side by side may differ. What takes one and has a sharding at odds with
// it is resharded afterwards. Each instruction has a sharding. Linear in the
// instructions and the elements of their tuples, but quadratic in the states
// that one tuple holds, each of which is followed by itself.
//
//   before: s = ((f32[8]), f32[8], u32[]) async-start(x), sharding as x's
//           ROOT d = f32[8] async-done(s), sharding={manual}
//   after:  s = ((f32[8]), f32[8], u32[]) async-start(x),
//               sharding={{replicated}, {replicated}, {replicated}}
//           d = f32[8] async-done(s), sharding={replicated}
//           ROOT r = f32[8] Sharding(d), sharding={manual}
absl::Status KeepStatesAndBuffersUndivided(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads);

// Gives the parameters of what call, while and conditional call the shardings
// of the arguments. `roots` says what shardings roots shall have: the entry its
// own, bodies those of their whiles, conditions none (all devices must take the
// same decision), branches and callees those of their callers.
//
//   before: w = while(init), body=b, sharding={devices=[2]<=[2]}
//           b: p = parameter(0)
//   after:  b: p = parameter(0), sharding={devices=[2]<=[2]}
//           roots[b] = {devices=[2]<=[2]}
//
// Every instruction has a sharding, and every call site a computation of its
// own.
absl::Status ShareShardingsWithCallees(
    HloModule* module,
    absl::flat_hash_map<const HloComputation*, HloSharding>* roots);

// Takes fusions apart, and those in them: what they compute is partitioned, not
// they. Instructions as large as the fusion get its sharding.
//
//   before: f = f32[8] fusion(x), calls={negate}, sharding={devices=[2]<=[2]}
//   after:  n = f32[8] negate(x), sharding={devices=[2]<=[2]}
absl::Status DefuseAll(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads);

// Addends of products of floats are added up as floats, and cut off to integers
// or truth values as the whole sum is, which is known to be cut only later on.
//
//   before: d = s8[4,4] dot(f32[4,8] x, s8[8,4] y)
//   after:  s = f32[4,4] dot(x, y), d = s8[4,4] convert(s)
absl::Status SumFloatsBeforeTheyAreCutOff(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads);

// A creator that has all it needs: what `creator` lacks and nothing stands in
// for is noted in *missing, "all-to-all" and the like, and gives values of the
// right shapes.
SPMDCollectiveOpsCreator WithNotedGaps(SPMDCollectiveOpsCreator creator,
                                       std::string* missing);

// The aliases that are left where results and parameters became shards: those
// that may alias and are of different sizes now go; InvalidArgument for those
// that must.
absl::StatusOr<HloInputOutputAliasConfig> ShardedAliases(
    const HloModule& module);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_PREPROCESS_H_

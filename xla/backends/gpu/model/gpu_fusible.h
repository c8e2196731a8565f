#ifndef XLA_BACKENDS_GPU_MODEL_GPU_FUSIBLE_H_
#define XLA_BACKENDS_GPU_MODEL_GPU_FUSIBLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "xla/backends/gpu/model/hlo_fusion_analysis.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/fusion_decision.h"
#include "xla/hlo/utils/hlo_traversal.h"
#include "xla/shape.h"

// Rules and limits of fusion on a GPU. Questions only: nothing is changed.
// "Unnested" is a reduction or transpose that its kernel is made for
// (reduction_utils.h, fusion_hero.h); "nested", one that is a loop in a thread.

namespace xla {
namespace gpu {

// Most operands and outputs of a fusion: kernel arguments.
inline constexpr int64_t kMaxOperandsAndOutputsPerFusion = 96;
// Maximum number of unnested reductions of a fusion: each takes registers of
// every thread.
inline constexpr int64_t kMaxUnnestedReductionsPerFusion = 8;

// Caches what budgets ask for, per instruction. Thread-safe.
class FusionInfoCache {
 public:
  explicit FusionInfoCache(const se::DeviceDescription& device_info)
      : device_info_(device_info) {}

  // Call after the instruction has changed or gone.
  void Invalidate(const HloInstruction* instr);
  // Sets the figures of a fusion from those of the two that were merged into
  // it, to save walking its instructions.
  void Set(const HloInstruction* instr, int64_t shared_memory_usage,
           int64_t num_unnested_reductions);
  // Bytes of shared memory in a block.
  int64_t GetSharedMemoryUsage(const HloInstruction& instr);
  int64_t GetNumUnnestedReductions(const HloInstruction& instr);

 private:
  const se::DeviceDescription& device_info_;
  absl::Mutex mutex_;
  absl::flat_hash_map<const HloInstruction*, int64_t> shared_memory_usage_
      ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<const HloInstruction*, int64_t> num_unnested_reductions_
      ABSL_GUARDED_BY(mutex_);
};

// The computations, callees first, in which fusions are looked for: those of
// the given threads (empty: all) that only the entry, whiles, conditionals and
// calls with a stream annotation run. Fusions' own and reducers, comparators,
// bodies of calls and of async-starts are not among them.
std::vector<HloComputation*> GetFusibleComputations(
    const HloModule& module,
    const absl::flat_hash_set<absl::string_view>& execution_threads);

int64_t MaxOperandsAndOutputsPerFusion();

// --- Transposes (gpu_fusible_kinds.cc) --------------------------------------

// A copy, or a transpose that moves data; a fusion that has one.
bool IsPhysicallyTransposing(const HloInstruction& instr);
// A copy or transpose after which another dimension lies innermost in memory,
// dimensions of size 1 aside; a fusion that has one.
bool TransposesMinorDimension(const HloInstruction* instr);

// --- Kinds (gpu_fusible_kinds.cc) -------------------------------------------

// Opcodes whose results hold elements of operands at other places, or those of
// a window: a thread computes the elements that it needs where it needs them.
bool MovesElements(HloOpcode opcode);
// Elementwise and supported in kernels: not stochastic-convert, whose float
// results no pass decomposes.
bool IsElementwiseInKernels(const HloInstruction& instr);
// Whether a bitcast between arrays keeps the width of the elements.
bool KeepsElementWidth(const HloInstruction& bitcast);

// A fusion with an unnested reduction as hero of some root.
bool IsReduceInputFusion(const HloInstruction& instr,
                         const se::DeviceDescription& device_info);
// Such a fusion or an unnested reduction.
bool IsInputFusibleReduction(const HloInstruction& instr,
                             const se::DeviceDescription& device_info);
// A reduce with several results, or a loop fusion of one, that is nested.
bool IsNestableVariadicReduction(const HloInstruction& instr,
                                 const se::DeviceDescription& device_info);
// The same of reduce-windows, all of which are nested.
bool IsNestableVariadicReduceWindow(const HloInstruction& instr);
// A scatter or an input fusion whose root is one.
bool IsInputFusibleScatter(const HloInstruction& instr);
// A tiled transpose or a fusion with one as hero of some root.
bool IsInputFusibleTranspose(const HloInstruction& instr);
// Fusible, and one of reduction, scatter and transpose above.
bool IsInputFusible(const HloInstruction& instr,
                    const se::DeviceDescription& device_info);
// Fusible, and computed element by element where it is used.
bool IsLoopFusibleAsProducer(const HloInstruction& instr);

// kInput if producer or consumer is input-fusible, else kLoop.
HloInstruction::FusionKind ChooseFusionKind(
    const HloInstruction& producer, const HloInstruction& consumer,
    const se::DeviceDescription& device_info);

bool IsGenericTritonFusion(const HloInstruction& instr);

// --- Outputs (gpu_fusible_outputs.cc) ---------------------------------------

// Each user of `instr`, get-tuple-elements being passed through, is `consumer`
// or the root.
bool IsConsumerTheOnlyNonRootUser(const HloInstruction& instr,
                                  const HloInstruction& consumer);
// Instructions in a fusion; 1 for others.
int64_t GetInstrCountOfFusible(const HloInstruction& instr);
// The instructions in the fusion that are its outputs; `instr` for others.
absl::InlinedVector<const HloInstruction*, 2> GetOutputsOfFusible(
    const HloInstruction& instr);
// Outputs of a multi-output fusion; 1 for others.
size_t GetOutputSizeOfFusible(const HloInstruction& instr);
// The instructions that compute the results of a computation: through tuples
// and get-tuple-elements, one for each result, in order.
std::vector<const HloInstruction*> GetFusionRoots(
    const HloComputation& computation);

// --- Budgets (gpu_fusible_budget.cc) ----------------------------------------

// Bytes of shared memory that the unnested reductions and tiled transposes of
// an instruction take: a row reduction 32 elements, a column reduction
// 32 * (4 * 32 + 1) elements, of each of its results; a transpose its tile.
int64_t SharedMemoryUsage(const HloInstruction& instr,
                          const se::DeviceDescription& device_info);

// At most kMaxOperandsAndOutputsPerFusion operands and outputs after fusion.
// `is_consumer_producer_fusion`: instr1 is the consumer, which may have more if
// fusion with instr2 does not add operands.
FusionDecision FusionFitsInParameterLimit(
    const HloInstruction& instr1, const HloInstruction& instr2,
    bool is_consumer_producer_fusion = false);
// That, shared memory and unnested reductions.
FusionDecision FusionFitsInBudget(const HloInstruction& instr1,
                                  const HloInstruction& instr2,
                                  const se::DeviceDescription& device_info,
                                  bool is_consumer_producer_fusion = false,
                                  FusionInfoCache* cache = nullptr);

// --- Multi-output fusion (gpu_fusible_multi_output.cc) ----------------------

// The instruction that decides how the fusion runs: the first output with an
// unnested reduction or tiled transpose as hero: that hero; if there is none,
// output 0.
const HloInstruction* GetRealHeroForMultiOutputFusion(
    const HloInstruction& instr, const se::DeviceDescription& device_info);

// The hero of an output of a fusion is an unnested reduction or a tiled
// transpose: other threads compute the output than run over the kernel's shape.
bool IsOutputOfHero(const HloInstruction& output,
                    const se::DeviceDescription& device_info);

// Two unnested reductions, or two tiled transposes, must run in the same way;
// one of each do not go together, nor does a transpose that is not tiled with
// any of them. A tiled transpose that feeds the other fusion must stay the hero
// there: its parameter leads to the root through intermediates only.
FusionDecision FusionHeroesAreCompatible(
    const HloInstruction* hero1, const HloInstruction* hero2,
    const se::DeviceDescription& device_info);

// Heroes are compatible, and the kernels run over the same shape: of the
// operand of an unnested reduction or tiled transpose, else of the hero itself.
// Equal but for the type, or bitcasts of each other. The first form: of kernels
// whose heroes are known; with rows_join_tiles a transpose that moves rows as
// they are, of at least a memory transaction each, goes with a tiled transpose:
// what has a tile at hand can write its rows elsewhere as well.
FusionDecision HeroesRunAlike(const HloInstruction& hero1,
                              const HloInstruction& hero2,
                              const se::DeviceDescription& device_info,
                              bool rows_join_tiles);
// Whether the transposes that a kernel writes are tiled or move such rows, so
// that rows_join_tiles may be asked about its hero.
bool TransposesRowsOrTiles(const HloInstruction& kernel,
                           const se::DeviceDescription& device_info);
// No physical transpose but of such rows, in a fusion or of an instruction.
bool TransposesAtMostRows(const HloInstruction& instr,
                          const se::DeviceDescription& device_info);
// A transpose, no fusion of one, by tiles or of such rows.
bool IsTransposeOfRowsOrTiles(const HloInstruction& instr,
                              const se::DeviceDescription& device_info);
FusionDecision ShapesCompatibleForMultiOutputFusion(
    const HloInstruction& instr1, const HloInstruction& instr2,
    const se::DeviceDescription& device_info);

// Not allowed: fusing a scatter into readers of its results; fusing into a
// scatter the operand that it updates in place, or anything that reads that
// operand.
FusionDecision CanEmitInputFusedScatter(const HloInstruction& producer,
                                        const HloInstruction& consumer);

// `producer` may become an output of a consumer's fusion: one output, nothing
// in place, a loop, no physical transpose; with rows_join_tiles none but those
// of rows (HeroesRunAlike).
FusionDecision IsProducerMultiOutputFusible(
    const HloInstruction& producer, const GpuAliasInfo* alias_info,
    const se::DeviceDescription& device_info, bool rows_join_tiles = false);

// Whether it may be an output of a multi-output fusion: an unnested reduction,
// a tiled transpose, a loop fusion, or elementwise. Not scatters, output
// fusions and custom fusions.
bool IsFusibleAsMultiOutputFusionRoot(const HloInstruction& instr,
                                      const se::DeviceDescription& device_info);

// --- Loops (gpu_fusible_unroll.cc) ------------------------------------------

// Whether it contains something expensive: a dot, a sort, a variadic reduce, a
// reduce-window over more than 8 elements, a concatenate of more than 10
// operands.
bool MayCausePerformanceDropIfUnrolled(const HloFusionAdaptor& fusion);

// Most elements that a thread computes: 4. From compute capability 10 on up to
// 32 for one output without reduction, as many as a vector load of 16 bytes (32
// from toolkit 12.9 on) has of the widest type, if these are at least 8; at
// most 8 with a pad, and not more than a transpose has in its minor dimension.
int64_t MaxUnrollFactor(const HloFusionAnalysis* analysis = nullptr);

// Elements of the result (of `shape`; by default of root 0) that a thread of a
// loop fusion computes: 1 if there are less than the device runs threads or
// unrolling may cost, else what divides the number of elements. A thread writes
// at least a byte.
int ComputeLoopFusionConfig(const HloFusionAnalysis& analysis);
int ComputeLoopFusionConfig(const HloFusionAnalysis& analysis,
                            const Shape& shape);

}  // namespace gpu
}  // namespace xla

#endif  // XLA_BACKENDS_GPU_MODEL_GPU_FUSIBLE_H_

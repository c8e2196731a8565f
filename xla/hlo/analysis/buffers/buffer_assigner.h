#ifndef XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_H_
#define XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_allocation.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/buffer_reuse.h"
#include "xla/hlo/analysis/buffers/preset_assignments.h"
#include "xla/hlo/analysis/heap/best_fit_heap.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/service/buffer_assignment.pb.h"
#include "xla/shape_util.h"

namespace xla {

// The computations whose values need memory: global ones, which the entry
// reaches through calls, whiles, conditionals and asynchronous calls, and
// thread-local ones, which run many times concurrently (those of reduces, maps,
// sorts, …). Those of fusions need none. Callees come before callers.
// FailedPrecondition for a computation that is both.
absl::Status GatherComputationsByAllocationType(
    const HloModule* module,
    std::vector<const HloComputation*>* thread_local_computations,
    std::vector<const HloComputation*>* global_computations);

// Plans the memory of a module.
//
//   p = parameter(0); a = negate(p); b = reverse(a); ROOT c = add(b, b)
//   → allocation 0: p; allocation 1: c, and b before it; allocation 2 (temp): a
//
// Entry parameters, constants (if requested), tables of tuples, values of
// thread-local computations and results of the module have allocations of their
// own. Memory of results, and of parameters that results are aliased to, is
// lent to temporaries while it is free (LentMemory), the largest first: where
// an operand is that ends there, else in the smallest that is large enough.
//
// With an ordering that has a sequence for each global computation, all other
// values of one color go into one allocation, packed by live ranges; outputs
// reuse the memory of operands that end, as in HeapSimulator. Without one, each
// buffer tries allocations in turn until it finds one without values that may
// be live at the same time: first that of an operand, then the smallest that
// are large enough, at most 256 of them (16 with FAST_MERGE). Values of one
// computation that take no part in calls are compared with two values of an
// allocation (see ValueChains), others with all, up to 4096 of them for each
// buffer. Scratch allocations of one color then become one, each at an aligned
// offset. Both ways are near-linear.
//
// Colors are written to the layouts as memory spaces, which changes the module
// if a colorer disagrees with the layouts.
//
// The module needs a flattened call graph.
class BufferAssigner {
 public:
  using Colorer =
      std::function<absl::Status(HloAliasAnalysis*, const HloOrdering&)>;
  // Whether a buffer of that color may be put into an existing allocation.
  using CanUseAllocation =
      std::function<bool(const BufferAllocation&, BufferValue::Color)>;
  // Whether the value defined there must not be in memory that leaves the
  // module.
  using MustNotLiveOut = std::function<bool(
      const HloAliasAnalysis&, const HloInstruction*, const ShapeIndex&)>;
  // For a color, computations whose temporaries are kept apart from those of
  // others. They share one heap, which those that do not run at the same time
  // reuse.
  using PrivateStacks = absl::flat_hash_map<BufferValue::Color,
                                            std::vector<const HloComputation*>>;
  using Algorithm = buffer_assignment::BufferAssignmentAlgorithmProto;
  using UnorderedAlgorithm =
      buffer_assignment::AssignmentAlgorithmForComputationsWithoutOrderingProto;
  using Heap = GlobalDecreasingSizeBestFitHeap<HloValue>;

  // The order in which buffers are placed; ties by id.
  enum BufferOrder {
    kBiggestFirst,
    kTopological,     // as their first values are defined
    kLiveRangeStart,  // needs a schedule; else as kTopological
  };

  struct Options {
    // Whether constants are put into memory.
    bool allocate_buffers_for_constants = false;
    // Sets colors of values; else DefaultColorer().
    Colorer colorer;
    // Else DefaultCanUseAllocation().
    CanUseAllocation can_use_allocation;
    std::optional<MustNotLiveOut> must_not_live_out;
    // Null: none.
    std::unique_ptr<memory_space_assignment::PresetAssignments>
        preset_assignments;
    // Null: none. Must outlive the run.
    const PrivateStacks* private_stacks = nullptr;
    // Packs results, but those in memory of parameters, with the temporaries of
    // their color, for programs that have one block of memory. Needs an
    // ordering with sequences.
    bool pack_results = false;
    // Orders temporaries for best fit, instead of the algorithm selected.
    Heap::BufferIntervalCompare heap_buffer_interval_compare;
    // How the blocks are filled if the memory of a color is split (see
    // BufferAssignment::multiheap_size_constraint_per_heap).
    Heap::PackingStrategy multi_page_strategy = Heap::kSpatial;
    std::optional<BufferAssignment::BufferIsolationOptions> isolation_options;
    // The color of the allocation for temporaries of color 0.
    std::optional<BufferValue::Color> temp_buffer_color;
    UnorderedAlgorithm::Value
        assignment_algorithm_for_computations_without_ordering =
            UnorderedAlgorithm::DEFAULT;
    // Tried as well if enable_fallback is set, there is no schedule, and the
    // allocations of some color exceed its memory limit: the smaller result is
    // used.
    UnorderedAlgorithm::Value
        fallback_algorithm_for_computations_without_ordering =
            UnorderedAlgorithm::DEFAULT;
    // Values of this color are views of others and get no memory.
    std::optional<BufferValue::Color> dus_view_color;
    BufferOrder buffer_order = kBiggestFirst;
    // For temporaries of a schedule, and the one to try if it exceeds the
    // memory limit and enable_fallback is set: the smaller heap is used.
    Algorithm::Value buffer_assignment_algorithm = Algorithm::DEFAULT;
    Algorithm::Value fallback_algorithm = Algorithm::DEFAULT;
    bool enable_fallback = false;
    // Bytes of a memory space; null: no limit. Exceeding it is not an error.
    std::function<int64_t(BufferValue::Color)> color_memory_limit;
  };

  // Only allocations of its own color.
  static CanUseAllocation DefaultCanUseAllocation();
  // Also allows buffers of one color in allocations of another.
  static CanUseAllocation AllowCrossColorReuse(BufferValue::Color from_color,
                                               BufferValue::Color to_color);
  // Sets the colors of values from their layouts; 0 for tuples.
  static Colorer DefaultColorer();
  // OpenXLA's FAST_MERGE for computations without ordering. Both must outlive
  // the result.
  static std::unique_ptr<BufferAllocationsManagerForComputationsWithoutOrdering>
  CreateFastMergeManagerForTest(BufferAssignment* assignment,
                                BufferAssigner* assigner);

  // `buffer_size` in bytes; offsets in an allocation of a color are multiples
  // of `color_alignment` of it (a power of two, bytes). `alias_info` may be
  // null (defaults). Errors of the analyses; FailedPrecondition for a buffer
  // with values of several colors; InvalidArgument for values of a negative
  // size or of more than 2^62 bytes together, and for presets that name no
  // value, do not fit, or overlap while they live.
  static absl::StatusOr<std::unique_ptr<BufferAssignment>> Run(
      const HloModule* module, std::unique_ptr<HloOrdering> hlo_ordering,
      BufferValue::SizeFunction buffer_size, const AliasInfo* alias_info,
      BufferValue::AlignmentFunction color_alignment, Options opts);

  // The same in two steps.
  BufferAssigner(const AliasInfo* alias_info, Options opts)
      : alias_info_(alias_info), opts_(std::move(opts)) {}
  absl::StatusOr<std::unique_ptr<BufferAssignment>> CreateAssignment(
      const HloModule* module, std::unique_ptr<HloOrdering> hlo_ordering,
      BufferValue::SizeFunction buffer_size,
      BufferValue::AlignmentFunction color_alignment);

  // Puts the buffer at the start of the allocation if that is large enough, of
  // a color that it may use, not read-only, and holds nothing that may be live
  // at the same time. A result takes only memory of exactly its size. A copy is
  // not put into the memory of its operand.
  absl::StatusOr<bool> MaybeAssignBuffer(BufferAllocation* allocation,
                                         const HloBuffer& buffer,
                                         BufferAssignment* assignment);

  // The color's limit minus its allocations, in bytes; INT64_MAX without a
  // limit.
  int64_t GetMemoryLimit(const BufferAssignment& assignment,
                         BufferValue::Color color) const;

 private:
  static void WriteColors(const BufferAssignment& assignment);
  // Whether the allocations of some color exceed its limit.
  bool ExceedsMemoryLimit(const BufferAssignment& assignment) const;

  const AliasInfo* const alias_info_;
  Options opts_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BUFFERS_BUFFER_ASSIGNER_H_

#include "xla/backends/gpu/lowering/fusion_lowering.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/lowering/dot_lowering.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/overwriting.h"
#include "xla/backends/gpu/lowering/reduction_lowering.h"
#include "xla/backends/gpu/lowering/sort_lowering.h"
#include "xla/backends/gpu/lowering/transpose_lowering.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr KernelKind kKinds[] = {
    {"dot", "matrix products and convolutions, element by element",
     "a tile for each block, its operands through shared memory"},
    {"transpose", "neighbors are read that are not written as such",
     "square tiles through shared memory"},
    {"sort", "rows are sorted",
     "threads of a row exchange pairs in shared memory"},
    {"row-reduction", "reduced dimensions are the fastest in memory",
     "lanes next to each other share a row"},
    {"column-reduction", "reduced dimensions are not the fastest in memory",
     "threads next to each other have rows next to each other"},
    {"loop", "no threads share anything",
     "one thread for each element of a result"},
};
constexpr int kDot = 0, kTranspose = 1, kSort = 2, kRow = 3, kColumn = 4,
              kLoop = 5;

KernelPart MakePart(int kind, absl::string_view what) {
  KernelPart part;
  part.kind = kKinds[kind].name;
  part.why = absl::StrCat(what, kKinds[kind].why);
  return part;
}

bool Has(const HloInstruction& hlo, HloOpcode opcode) {
  if (hlo.opcode() != HloOpcode::kFusion) return hlo.opcode() == opcode;
  return absl::c_any_of(hlo.fused_instructions_computation()->instructions(),
                        [opcode](const HloInstruction* fused) {
                          return fused->opcode() == opcode;
                        });
}

// A result of a frame that is an update of an operand where it lies.
struct Update {
  int64_t result;  // of the frame
  LoweredKernel::InPlace place;
};

std::vector<Update> FindUpdates(const HloInstruction& hlo,
                                const KernelFrame& frame) {
  std::vector<Update> updates;
  for (const auto& [source, output] :
       AliasInfo().GetInPlaceInputOutputPairs(&hlo)) {
    const auto result = absl::c_find(frame.result_indices(), output);
    const auto operand = absl::c_find_if(
        frame.operand_arrays(), [&source = source](const auto& array) {
          return array.operand == source.operand_number &&
                 array.index == source.operand_index;
        });
    if (result == frame.result_indices().end() ||
        operand == frame.operand_arrays().end()) {
      continue;
    }
    const LoweredKernel::InPlace place = {
        result - frame.result_indices().begin(),
        operand - frame.operand_arrays().begin()};
    for (size_t k = 0; k < frame.results().size(); ++k) {
      if (frame.results()[k].array == place.result &&
          frame.IsUpdate(frame.results()[k], place.operand)) {
        updates.push_back({static_cast<int64_t>(k), place});
      }
    }
  }
  return updates;
}

// Whether nothing that the kernel still reads is gone by then.
bool MayUpdateInPlace(const LoweredKernel& kernel) {
  return absl::c_all_of(
      kernel.in_place, [&](const LoweredKernel::InPlace& place) {
        const auto& [operand, index] = kernel.operands[place.operand];
        return MayOverwrite(kernel, operand, index,
                            kernel.results[place.result]);
      });
}

// Which of the ways to compute a kernel are tried.
struct Ways {
  bool moves = false;    // dots, transposes and sorts by tiles
  bool updates = false;  // in place
};

// Each kind claims the results that it computes, and what is `written` is not
// looked at again. Loops come last, as they can compute nearly every result,
// one element at a time. Nothing shared and nothing in place: not of this kind.
absl::StatusOr<LoweredKernel> LowerTiles(const HloInstruction& hlo,
                                         const FusionLoweringOptions& options,
                                         Ways ways, bool* any) {
  ASSIGN_OR_RETURN(
      std::unique_ptr<KernelFrame> frame,
      KernelFrame::Make(hlo, options.threads_of_tiles, options.device_threads));
  std::vector<KernelPart> parts;
  std::vector<bool> written(frame->results().size(), false);
  std::vector<Update> updates;
  if (ways.updates) {
    updates = FindUpdates(hlo, *frame);
    if (updates.empty()) return LoweredKernel();
  }
  for (const Update& update : updates) {
    RETURN_IF_ERROR(frame->EmitUpdate(frame->results()[update.result]));
    parts.push_back(MakePart(kLoop, "the update alone, in place: "));
    parts.back().results = {update.result};
    written[update.result] = true;
  }
  if (ways.moves) {
    for (const DotGroup& group :
         FindDotGroups(*frame, options.min_reduced, written)) {
      RETURN_IF_ERROR(EmitDots(group, options.shared_bytes, frame.get()));
      parts.push_back(MakePart(
          kDot, absl::StrCat(group.heroes.size(), " of ", group.batch, " x ",
                             group.rows, " x ", group.columns, " places: ")));
      parts.back().results = group.results;
      for (int64_t k : group.results) written[k] = true;
    }
    for (const SortGroup& group : FindSortGroups(*frame, written)) {
      ASSIGN_OR_RETURN(const bool is_shared,
                       EmitSort(group, options.shared_bytes, frame.get()));
      const std::string rows =
          absl::StrCat(group.rows, " rows of ", group.elements, " elements: ");
      parts.push_back(MakePart(kSort, rows));
      if (!is_shared) {
        parts.back().why = absl::StrCat(rows, "each counts those before it");
      }
      parts.back().results = group.results;
      for (int64_t k : group.results) written[k] = true;
    }
    for (const TransposeGroup& group :
         FindTransposeGroups(*frame, options.min_transposed, written)) {
      RETURN_IF_ERROR(EmitTransposes(group, frame.get()));
      parts.push_back(
          MakePart(kTranspose, absl::StrCat(group.heroes.size(), " in ")));
      std::vector<int64_t>& results = parts.back().results;
      results = group.results;
      results.insert(results.end(), group.passed.begin(), group.passed.end());
      for (int64_t k : results) written[k] = true;
    }
  }
  const std::vector<ReductionGroup> groups =
      FindReductionGroups(*frame, options.min_reduced, written);
  *any = !groups.empty() || !parts.empty();
  if (!*any) return LoweredKernel();
  for (const ReductionGroup& group : groups) {
    RETURN_IF_ERROR(
        EmitReductions(group, options.min_vector_columns, frame.get()));
    parts.push_back(
        MakePart(group.row ? kRow : kColumn,
                 absl::StrCat(group.heroes.size(), " over ", group.rows,
                              " rows of ", group.columns, " elements: ")));
    parts.back().results = group.results;
    for (int64_t k : group.results) written[k] = true;
  }
  std::vector<const KernelFrame::Result*> results;
  for (size_t k = 0; k < written.size(); ++k) {
    if (!written[k]) results.push_back(&frame->results()[k]);
  }
  absl::Span<const KernelFrame::Result* const> left = results;
  while (!left.empty()) {
    const auto loop = left.first(KernelFrame::Together(left));
    left.remove_prefix(loop.size());
    ASSIGN_OR_RETURN(const int64_t width, frame->EmitLoop(loop));
    parts.push_back(MakePart(kLoop, ""));
    for (const KernelFrame::Result* result : loop) {
      parts.back().results.push_back(result - frame->results().data());
    }
    if (width > 1) {
      parts.back().why =
          absl::StrCat("one thread for each ", width, " neighbors of a result");
    }
  }
  ASSIGN_OR_RETURN(LoweredKernel lowered, frame->Finish());
  lowered.parts = std::move(parts);
  for (const Update& update : updates) {
    lowered.in_place.push_back(update.place);
  }
  return lowered;
}

}  // namespace

absl::Span<const KernelKind> KernelKinds() { return kKinds; }

absl::StatusOr<LoweredKernel> LowerFusion(
    const HloInstruction& hlo, const FusionLoweringOptions& options) {
  const int64_t threads = options.threads_of_tiles;
  if (threads < 1 || (threads & (threads - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(threads, " threads of a block are not a power of two"));
  }
  absl::Status refused;
  const bool sorts = Has(hlo, HloOpcode::kSort) || Has(hlo, HloOpcode::kTopK);
  const bool moves =
      sorts || Has(hlo, HloOpcode::kDot) || Has(hlo, HloOpcode::kConvolution) ||
      Has(hlo, HloOpcode::kTranspose) || Has(hlo, HloOpcode::kCopy);
  const bool reduces = Has(hlo, HloOpcode::kReduce);
  const bool updates =
      Has(hlo, HloOpcode::kDynamicUpdateSlice) || Has(hlo, HloOpcode::kScatter);
  for (const Ways ways :
       {Ways{true, true}, Ways{false, true}, Ways{true}, Ways{}}) {
    if (ways.updates ? !updates || (ways.moves && !moves)
                     : (ways.moves ? !moves : !reduces)) {
      continue;
    }
    bool any = false;
    absl::StatusOr<LoweredKernel> tiles = LowerTiles(hlo, options, ways, &any);
    if (tiles.ok() && any && MayUpdateInPlace(*tiles)) return tiles;
    refused.Update(tiles.status());
  }
  LoopLoweringOptions loop;
  loop.threads_per_block = options.threads_per_block;
  loop.device_threads = options.device_threads;
  absl::StatusOr<LoweredKernel> loops = LowerLoop(hlo, loop);
  // No loop sorts, so the reason is that of the tiles.
  if (!loops.ok() && sorts && !refused.ok()) return refused;
  RETURN_IF_ERROR(loops.status());
  LoweredKernel lowered = *std::move(loops);
  lowered.parts = {MakePart(kLoop, "")};
  if (lowered.vector_width > 1) {
    lowered.parts[0].why =
        absl::StrCat("one thread for up to ", lowered.vector_width,
                     " neighbors of a result");
  }
  int64_t next = 0;
  for (const ShapeIndex& index : lowered.results) {
    const Shape& array = ShapeUtil::GetSubshape(hlo.shape(), index);
    lowered.parts[0].results.push_back(next++);
    if (primitive_util::IsComplexType(array.element_type())) {
      lowered.parts[0].results.push_back(next++);
    }
  }
  if (!refused.ok()) {
    absl::StrAppend(&lowered.parts[0].why, "; ",
                    absl::StrReplaceAll(refused.message(), {{"\n", " "}}));
  }
  return lowered;
}

}  // namespace xla::gpu

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
#include "xla/backends/gpu/lowering/reduction_lowering.h"
#include "xla/backends/gpu/lowering/sort_lowering.h"
#include "xla/backends/gpu/lowering/transpose_lowering.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr KernelKind kKinds[] = {
    {"dot", "matrix products, element by element",
     "a tile for each block, its operands through shared memory"},
    {"transpose", "neighbors are read that are not written as such",
     "tiles of 32 x 32 places through shared memory"},
    {"sort", "rows are sorted that fit into shared memory",
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

// Nothing shared: not of this kind. `moves`: dots, transposes and sorts by
// tiles too.
absl::StatusOr<LoweredKernel> LowerTiles(const HloInstruction& hlo,
                                         const FusionLoweringOptions& options,
                                         bool moves, bool* any) {
  ASSIGN_OR_RETURN(std::unique_ptr<KernelFrame> frame,
                   KernelFrame::Make(hlo, options.threads_of_tiles));
  std::vector<KernelPart> parts;
  std::vector<bool> written(frame->results().size(), false);
  for (const FusionLoweringOptions::InPlace& place : options.in_place) {
    const KernelFrame::Result& result = frame->results()[place.result];
    if (written[place.result] || !frame->IsUpdate(result, place.operand)) {
      continue;
    }
    RETURN_IF_ERROR(frame->EmitUpdate(result));
    parts.push_back(MakePart(kLoop, "the update alone, in place: "));
    parts.back().results = {place.result};
    written[place.result] = true;
  }
  if (moves) {
    for (const DotGroup& group :
         FindDotGroups(*frame, options.min_reduced, written)) {
      RETURN_IF_ERROR(EmitDots(group, frame.get()));
      parts.push_back(MakePart(
          kDot, absl::StrCat(group.heroes.size(), " of ", group.batch, " x ",
                             group.rows, " x ", group.columns, " places: ")));
      parts.back().results = group.results;
      for (int64_t k : group.results) written[k] = true;
    }
    for (const SortGroup& group : FindSortGroups(*frame, written)) {
      RETURN_IF_ERROR(EmitSort(group, frame.get()));
      parts.push_back(
          MakePart(kSort, absl::StrCat(group.rows, " rows of ", group.elements,
                                       " elements: ")));
      parts.back().results = group.results;
      for (int64_t k : group.results) written[k] = true;
    }
    for (const TransposeGroup& group :
         FindTransposeGroups(*frame, options.min_transposed, written)) {
      RETURN_IF_ERROR(EmitTransposes(group, frame.get()));
      parts.push_back(
          MakePart(kTranspose, absl::StrCat(group.heroes.size(), " in ")));
      parts.back().results = group.results;
      for (int64_t k : group.results) written[k] = true;
    }
  }
  const std::vector<ReductionGroup> groups =
      FindReductionGroups(*frame, options.min_reduced, written);
  *any = !groups.empty() || !parts.empty();
  if (!*any) return LoweredKernel();
  for (const ReductionGroup& group : groups) {
    RETURN_IF_ERROR(EmitReductions(group, frame.get()));
    parts.push_back(
        MakePart(group.row ? kRow : kColumn,
                 absl::StrCat(group.heroes.size(), " over ", group.rows,
                              " rows of ", group.columns, " elements: ")));
    parts.back().results = group.results;
    for (int64_t k : group.results) written[k] = true;
  }
  for (size_t k = 0; k < written.size(); ++k) {
    if (written[k]) continue;
    RETURN_IF_ERROR(frame->EmitLoop(frame->results()[k]));
    parts.push_back(MakePart(kLoop, ""));
    parts.back().results = {static_cast<int64_t>(k)};
  }
  ASSIGN_OR_RETURN(LoweredKernel lowered, frame->Finish());
  lowered.parts = std::move(parts);
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
  const bool sorts = Has(hlo, HloOpcode::kSort);
  const bool moves = sorts || Has(hlo, HloOpcode::kDot) ||
                     Has(hlo, HloOpcode::kTranspose) ||
                     Has(hlo, HloOpcode::kCopy);
  const bool reduces = Has(hlo, HloOpcode::kReduce);
  for (const bool with_moves : {true, false}) {
    if (options.in_place.empty() && (with_moves ? !moves : !reduces)) continue;
    bool any = false;
    absl::StatusOr<LoweredKernel> tiles =
        LowerTiles(hlo, options, with_moves, &any);
    if (tiles.ok() && any) return tiles;
    refused.Update(tiles.status());
  }
  LoopLoweringOptions loop;
  loop.threads_per_block = options.threads_per_block;
  absl::StatusOr<LoweredKernel> loops = LowerLoop(hlo, loop);
  // No loop sorts, so the reason is that of the tiles.
  if (!loops.ok() && sorts && !refused.ok()) return refused;
  RETURN_IF_ERROR(loops.status());
  LoweredKernel lowered = *std::move(loops);
  lowered.parts = {MakePart(kLoop, "")};
  for (size_t k = 0; k < lowered.results.size(); ++k) {
    lowered.parts[0].results.push_back(static_cast<int64_t>(k));
  }
  if (!refused.ok()) {
    absl::StrAppend(&lowered.parts[0].why, "; ",
                    absl::StrReplaceAll(refused.message(), {{"\n", " "}}));
  }
  return lowered;
}

}  // namespace xla::gpu

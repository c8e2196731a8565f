#include "xla/backends/gpu/lowering/fusion_lowering.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/reduction_lowering.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

constexpr KernelKind kKinds[] = {
    {"row-reduction", "reduced dimensions are the fastest in memory",
     "lanes next to each other share a row"},
    {"column-reduction", "reduced dimensions are not the fastest in memory",
     "threads next to each other have rows next to each other"},
    {"loop", "no threads share anything",
     "one thread for each element of a result"},
};
constexpr int kRow = 0, kColumn = 1, kLoop = 2;

KernelPart MakePart(int kind, absl::string_view what) {
  KernelPart part;
  part.kind = kKinds[kind].name;
  part.why = absl::StrCat(what, kKinds[kind].why);
  return part;
}

bool HasReduction(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kFusion) {
    return hlo.opcode() == HloOpcode::kReduce;
  }
  return absl::c_any_of(hlo.fused_instructions_computation()->instructions(),
                        [](const HloInstruction* fused) {
                          return fused->opcode() == HloOpcode::kReduce;
                        });
}

// Nothing shared: not of this kind.
absl::StatusOr<LoweredKernel> LowerTiles(const HloInstruction& hlo,
                                         const FusionLoweringOptions& options,
                                         bool* any) {
  ASSIGN_OR_RETURN(std::unique_ptr<KernelFrame> frame,
                   KernelFrame::Make(hlo, options.threads_of_tiles));
  const std::vector<ReductionGroup> groups =
      FindReductionGroups(*frame, options.min_reduced);
  *any = !groups.empty();
  if (!*any) return LoweredKernel();
  std::vector<KernelPart> parts;
  std::vector<bool> written(frame->results().size(), false);
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

// Kernels have buffers with elements in them; what has none is not computed, or
// is what a reduction of nothing starts with.
bool HasEmptyArray(const HloInstruction& hlo) {
  std::vector<const Shape*> shapes = {&hlo.shape()};
  for (const HloInstruction* operand : hlo.operands()) {
    shapes.push_back(&operand->shape());
  }
  for (const Shape* shape : shapes) {
    for (const Shape* leaf : ShapeUtil::FlattenTupleShape(*shape)) {
      if (leaf->IsArray() && ShapeUtil::IsZeroElementArray(*leaf)) return true;
    }
  }
  return false;
}

}  // namespace

absl::Span<const KernelKind> KernelKinds() { return kKinds; }

absl::StatusOr<LoweredKernel> LowerFusion(
    const HloInstruction& hlo, const FusionLoweringOptions& options) {
  const int64_t threads = options.threads_of_tiles;
  if (threads < 1 || (threads & (threads - 1)) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(threads, " threads of a block are no power of two"));
  }
  if (HasEmptyArray(hlo)) {
    return absl::UnimplementedError(
        absl::StrCat(hlo.name(), ": an array without elements"));
  }
  absl::Status refused;
  if (HasReduction(hlo)) {
    bool any = false;
    absl::StatusOr<LoweredKernel> tiles = LowerTiles(hlo, options, &any);
    if (tiles.ok() && any) return tiles;
    refused = tiles.status();
  }
  LoopLoweringOptions loop;
  loop.threads_per_block = options.threads_per_block;
  ASSIGN_OR_RETURN(LoweredKernel lowered, LowerLoop(hlo, loop));
  lowered.parts = {MakePart(kLoop, "")};
  for (int64_t k = 0; k < lowered.num_results; ++k) {
    lowered.parts[0].results.push_back(k);
  }
  if (!refused.ok()) {
    absl::StrAppend(&lowered.parts[0].why, "; ",
                    absl::StrReplaceAll(refused.message(), {{"\n", " "}}));
  }
  return lowered;
}

}  // namespace xla::gpu

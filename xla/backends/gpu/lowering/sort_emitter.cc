#include "xla/backends/gpu/lowering/sort_emitter.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla::gpu {

using kir::Operand;

int64_t SortedDimension(const HloInstruction& sort) {
  return sort.opcode() == HloOpcode::kSort
             ? sort.dimensions(0)
             : sort.operand(0)->shape().dimensions().size() - 1;
}

const Shape& SortedShape(const HloInstruction& sort) {
  return sort.shape().IsTuple() ? sort.shape().tuple_shapes(0) : sort.shape();
}

SortEmitter::SortEmitter(const SortGroup& group, KernelFrame* frame)
    : group_(group),
      sort_(*group.hero),
      frame_(*frame),
      builder_(frame->builder()),
      emitter_(frame->emitter()),
      shape_(group.hero->operand(0)->shape()),
      along_(SortedDimension(*group.hero)),
      written_(SortedShape(*group.hero).dimensions(along_)),
      levels_(frame->body(), {group.hero}) {}

absl::StatusOr<Operand> SortEmitter::GoesBefore(absl::Span<const Operand> a,
                                                absl::Span<const Operand> b) {
  if (const auto* topk = DynCast<HloTopKInstruction>(&sort_)) {
    return emitter_.CompareTotal(
        sort_,
        topk->largest() ? ComparisonDirection::kGt : ComparisonDirection::kLt,
        a[0], b[0]);
  }
  std::vector<Operand> pairs;
  for (size_t k = 0; k < a.size(); ++k) {
    pairs.insert(pairs.end(), {a[k], b[k]});
  }
  ASSIGN_OR_RETURN(const std::vector<Operand> less,
                   emitter_.Apply(*sort_.to_apply(), pairs));
  return less[0];
}

absl::Status SortEmitter::WriteResults(
    const Indices& indices, std::vector<Operand> values,
    absl::FunctionRef<absl::Status(const KernelFrame::Result&, const Indices&)>
        store) {
  emitter_.Forbid(&sort_);
  const absl::Cleanup allow = [this] { emitter_.AllowAll(); };
  emitter_.Remember(sort_, indices, std::move(values));
  for (int64_t k : group_.results) {
    const KernelFrame::Result& result = frame_.results()[k];
    const std::optional<ResultWay> way =
        FindElementWay(result, SortedShape(sort_), levels_);
    if (!way.has_value()) return NotLowered(*result.hlo, "of another shape");
    RETURN_IF_ERROR(
        store(result, way->Follow(indices, result.shape, builder_.ranges())));
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu

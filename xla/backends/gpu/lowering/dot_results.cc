#include "xla/backends/gpu/lowering/dot_results.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::Status NamePlaces(const DotShape& shape,
                        absl::Span<const DotShape::Dimension> dims,
                        const std::array<Indices, 4>& parts,
                        KernelBuilder* builder,
                        absl::FunctionRef<absl::Status(const Indices&)> body) {
  Indices indices;
  const std::function<absl::Status()> next = [&]() -> absl::Status {
    if (indices.size() == dims.size()) return body(indices);
    const auto [role, part] = dims[indices.size()];
    return builder->Let("i", parts[role][part], shape.extents[role][part],
                        [&](const AffineExpr& index) {
                          indices.push_back(index);
                          const absl::Status status = next();
                          indices.pop_back();
                          return status;
                        });
  };
  return next();
}

DotResults::DotResults(const DotGroup& group, KernelFrame* frame)
    : group_(group), frame_(*frame), levels_(frame->body(), group.heroes) {
  for (const HloInstruction* hero : group_.heroes) {
    frame_.emitter().Forbid(hero);
  }
}

absl::Status DotResults::Write(const Indices& indices,
                               absl::Span<const kir::Operand> sums) {
  KernelBuilder& builder = frame_.builder();
  return frame_.emitter().InScope([&]() -> absl::Status {
    for (size_t k = 0; k < group_.heroes.size(); ++k) {
      const HloInstruction& hero = *group_.heroes[k];
      ASSIGN_OR_RETURN(const kir::ElementType type,
                       KernelType(hero.shape().element_type()));
      const bool same = type == builder.TypeOf(sums[k]);
      frame_.emitter().Remember(
          hero, indices,
          {builder.Emit(same ? "copy" : "cast", type, {sums[k]})});
    }
    for (int64_t k : group_.results) {
      const KernelFrame::Result& result = frame_.results()[k];
      const std::optional<ResultWay> way =
          FindElementWay(result, group_.heroes[0]->shape(), levels_);
      if (!way.has_value()) return NotLowered(*result.hlo, "of another shape");
      RETURN_IF_ERROR(frame_.Store(
          result, way->Follow(indices, result.shape, builder.ranges())));
    }
    return absl::OkStatus();
  });
}

}  // namespace xla::gpu

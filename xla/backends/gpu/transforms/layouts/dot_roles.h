#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_ROLES_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_ROLES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla::gpu {

// An operand's dimensions by what they stand for, as the dot's numbers name
// them.
struct DotRoles {
  std::vector<int64_t> batch, contracting, free;
};

DotRoles RolesOf(const HloInstruction& dot, int64_t operand);

// Whether it is a static array whose layout is an order of dimensions in some
// memory space, and nothing else.
bool HasPlainLayout(const Shape& shape);

// The numbers of the groups, which have all dimensions, as they lie in memory,
// the fastest first; nothing if a group's dimensions do not follow one another
// there, its last one fastest. Empty groups are left out.
std::optional<std::vector<int64_t>> OrderOfGroups(
    const Shape& shape, absl::Span<const std::vector<int64_t>> groups);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_DOT_ROLES_H_

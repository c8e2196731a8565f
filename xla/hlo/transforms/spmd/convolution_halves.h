#ifndef XLA_HLO_TRANSFORMS_SPMD_CONVOLUTION_HALVES_H_
#define XLA_HLO_TRANSFORMS_SPMD_CONVOLUTION_HALVES_H_

#include <cstdint>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// A convolution that is a product in all its dimensions
// (dot_as_convolution_util.h), computed on two parts of an operand at once:
// operands have an additional dimension, of size two, in front of the dimension
// `*_concat_dim` that was cut (-1: the operand is whole; it gets a last
// dimension of size one instead if the other's dimension is neither contracting
// nor a batch). The new dimension is an additional spatial dimension of the
// same kind.
//
//   lhs f32[8,6], rhs f32[6,4], contracting, both cut in two:
//     lhs f32[8,2,3], rhs f32[2,3,4], window {size=.. 2}
//   lhs f32[8,6], rows cut in two:
//     lhs f32[2,4,6], rhs f32[6,4,1], window {size=.. 1} → f32[2,4,4]

namespace xla::spmd {

// The window; spatial dimensions that were cut have the sizes of the parts.
Window GenNewWindow(const HloInstruction* original_dot,
                    const HloInstruction* dot_lhs,
                    const HloInstruction* dot_rhs, int64_t lhs_concat_dim,
                    int64_t rhs_concat_dim, bool windowed_at_contracting_dims,
                    bool windowed_at_batch_dims);

// The dimension numbers. `*_to_output_indices`: the position of an operand's
// dimension in the result, in front of which the new dimension goes; for
// contracting dimensions it is the last one of `new_dot_shape`, of size one.
ConvolutionDimensionNumbers GenNewConvDNums(
    const HloInstruction* original_dot, const HloInstruction* dot_lhs,
    const HloInstruction* dot_rhs, int64_t lhs_concat_dim,
    int64_t rhs_concat_dim, bool windowed_at_contracting_dims,
    bool windowed_at_batch_dims,
    absl::Span<const int64_t> lhs_to_output_indices,
    absl::Span<const int64_t> rhs_to_output_indices,
    const Shape& new_dot_shape);

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_CONVOLUTION_HALVES_H_

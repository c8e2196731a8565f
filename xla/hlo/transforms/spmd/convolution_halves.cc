#include "xla/hlo/transforms/spmd/convolution_halves.h"

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "google/protobuf/repeated_field.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

namespace xla::spmd {
namespace {

using Dimensions = google::protobuf::RepeatedField<int64_t>;

// Windows by which a spatial dimension is one of a product (the table of
// dot_as_convolution_util.h). All but the size and what is set is neutral.
void SetWindow(WindowDimension* dim, int64_t size) {
  dim->Clear();
  dim->set_size(size);
  dim->set_stride(1);
  dim->set_window_dilation(1);
  dim->set_base_dilation(1);
}

void SetBatch(WindowDimension* dim, int64_t size) {
  SetWindow(dim, size);
  dim->set_stride(std::max<int64_t>(1, size - 1));
  dim->set_base_dilation(size);
}

void SetRhsNonContracting(WindowDimension* dim, int64_t size) {
  SetWindow(dim, size);
  dim->set_padding_low(size - 1);
  dim->set_padding_high(size - 1);
  dim->set_window_reversal(true);
}

// The numbers of the dimensions of an array that gets one in front of `at`.
int64_t Moved(int64_t dim, int64_t at) { return dim + (dim >= at ? 1 : 0); }

void Move(Dimensions* dims, int64_t at) {
  for (int64_t& dim : *dims) dim = Moved(dim, at);
}

int64_t LastDimension(const Shape& shape) {
  return static_cast<int64_t>(shape.dimensions().size()) - 1;
}

}  // namespace

Window GenNewWindow(const HloInstruction* original_dot,
                    const HloInstruction* dot_lhs,
                    const HloInstruction* dot_rhs, int64_t lhs_concat_dim,
                    int64_t rhs_concat_dim, bool windowed_at_contracting_dims,
                    bool windowed_at_batch_dims) {
  const ConvolutionDimensionNumbers& dnums =
      original_dot->convolution_dimension_numbers();
  Window window = original_dot->window();
  for (int64_t i = 0; i < window.dimensions_size(); ++i) {
    WindowDimension* dim = window.mutable_dimensions(i);
    const bool lhs_cut = dnums.input_spatial_dimensions(i) == lhs_concat_dim;
    const bool rhs_cut = dnums.kernel_spatial_dimensions(i) == rhs_concat_dim;
    if (!lhs_cut && !rhs_cut) continue;
    const int64_t size = lhs_cut
                             ? dot_lhs->shape().dimensions(lhs_concat_dim + 1)
                             : dot_rhs->shape().dimensions(rhs_concat_dim + 1);
    if (windowed_at_contracting_dims) {
      SetWindow(dim, size);
    } else if (windowed_at_batch_dims) {
      SetBatch(dim, size);
    } else if (rhs_cut) {
      SetRhsNonContracting(dim, size);
    }
  }
  WindowDimension* added = window.add_dimensions();
  if (windowed_at_contracting_dims) {
    SetWindow(added, 2);
  } else if (windowed_at_batch_dims) {
    SetBatch(added, 2);
  } else if (lhs_concat_dim >= 0) {
    SetWindow(added, 1);
  } else {
    SetRhsNonContracting(added, 2);
  }
  return window;
}

ConvolutionDimensionNumbers GenNewConvDNums(
    const HloInstruction* original_dot, const HloInstruction* dot_lhs,
    const HloInstruction* dot_rhs, int64_t lhs_concat_dim,
    int64_t rhs_concat_dim, bool windowed_at_contracting_dims,
    bool windowed_at_batch_dims,
    absl::Span<const int64_t> lhs_to_output_indices,
    absl::Span<const int64_t> rhs_to_output_indices,
    const Shape& new_dot_shape) {
  ConvolutionDimensionNumbers dnums =
      original_dot->convolution_dimension_numbers();
  if (lhs_concat_dim >= 0) {
    dnums.set_input_batch_dimension(
        Moved(dnums.input_batch_dimension(), lhs_concat_dim));
    dnums.set_input_feature_dimension(
        Moved(dnums.input_feature_dimension(), lhs_concat_dim));
    Move(dnums.mutable_input_spatial_dimensions(), lhs_concat_dim);
  }
  dnums.add_input_spatial_dimensions(
      lhs_concat_dim >= 0 ? lhs_concat_dim : LastDimension(dot_lhs->shape()));
  if (rhs_concat_dim >= 0) {
    dnums.set_kernel_input_feature_dimension(
        Moved(dnums.kernel_input_feature_dimension(), rhs_concat_dim));
    dnums.set_kernel_output_feature_dimension(
        Moved(dnums.kernel_output_feature_dimension(), rhs_concat_dim));
    Move(dnums.mutable_kernel_spatial_dimensions(), rhs_concat_dim);
  }
  dnums.add_kernel_spatial_dimensions(
      rhs_concat_dim >= 0 ? rhs_concat_dim : LastDimension(dot_rhs->shape()));
  int64_t at = LastDimension(new_dot_shape);
  if (!windowed_at_contracting_dims) {
    at = lhs_concat_dim >= 0 ? lhs_to_output_indices[lhs_concat_dim]
                             : rhs_to_output_indices[rhs_concat_dim];
    dnums.set_output_batch_dimension(Moved(dnums.output_batch_dimension(), at));
    dnums.set_output_feature_dimension(
        Moved(dnums.output_feature_dimension(), at));
    Move(dnums.mutable_output_spatial_dimensions(), at);
  }
  dnums.add_output_spatial_dimensions(at);
  return dnums;
}

}  // namespace xla::spmd

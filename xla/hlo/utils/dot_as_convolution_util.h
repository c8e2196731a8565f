#ifndef XLA_HLO_UTILS_DOT_AS_CONVOLUTION_UTIL_H_
#define XLA_HLO_UTILS_DOT_AS_CONVOLUTION_UTIL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/xla_data.pb.h"

// Dots and convolutions in one vocabulary: what each dimension of the operands
// does in the product. A spatial dimension of a convolution whose window makes
// it a dimension of a dot is named as that:
//
//   window                                     per spatial dimension, lhs n
//   size=1                                     lhs non-contracting
//   size=n                                     contracting
//   size=n stride=n-1 lhs_dilate=n             batch (kUnpaddedVersion)
//   size=n stride=n pad=n-1_n-1 lhs_dilate=n-1 rhs_reversal
//                                              batch (kPaddedVersion)
//   lhs 1, size=n pad=n-1_n-1 rhs_reversal     rhs non-contracting
//
// Batches also come with other strides and dilations; what counts is that the
// k-th window pairs the k-th elements of the operands and no others.

namespace xla {
namespace dot_as_convolution_util {

// How the window of a spatial dimension makes it a batch dimension.
enum class SpatialBatchRepresentation {
  kNone,             // It does not.
  kUnpaddedVersion,  // The window moves over a dilated lhs.
  kPaddedVersion,    // A reversed one enters it from the left.
};

// Each list has one entry per dimension of its role; numbers that an entry does
// not have are -1.
struct DotConvolutionDimsInfo {
  struct DimNums {
    int64_t lhs;
    int64_t rhs;
    int64_t output;
    // Index in the window; -1 for batch and feature dimensions, and for dots.
    int64_t spatial_dim;
  };
  std::vector<DimNums> batch_dims;
  std::vector<DimNums> contracting_dims;
  std::vector<DimNums> lhs_non_contracting_dims;
  std::vector<DimNums> rhs_non_contracting_dims;
  // Spatial dimensions that slide.
  std::vector<DimNums> conv_spatial_dims;
  int64_t lhs_shape_rank = -1;
  int64_t rhs_shape_rank = -1;
  int64_t output_shape_rank = -1;
};

// Dimensions of a convolution. Groups with one feature each of lhs, rhs and
// output (or of batch, rhs and output) are a batch dimension. Features in
// larger groups are in no list, since part of them says nothing about part of
// the output. Of a backward kind, whose window is that of the forward one,
// batches and features alone are in lists: those of the kernel are exchanged
// for the gradient of the input, and batches are contracted for that of the
// kernel.
DotConvolutionDimsInfo ParseConvolutionDimsInfo(const HloInstruction* conv);

// Whether a convolution is of a backward kind.
bool IsBackwardConvolution(const HloInstruction& conv);

// Dimensions of a dot; those of the output are batch, lhs and rhs
// non-contracting, in this order.
DotConvolutionDimsInfo ParseDotGeneralFromDot(const HloInstruction* dot);
// The same of an instruction that multiplies its first two operands so, a dot
// or not.
DotConvolutionDimsInfo ParseDotGeneral(const HloInstruction* dot,
                                       const DotDimensionNumbers& dnums);

// The convolution of parts of the operands of `conv`: windows of dimensions
// that are those of a dot, and group counts, follow the shapes of the parts;
// dimensions that slide keep their window. Errors: an instruction that is not a
// convolution, parts whose shapes do not fit.
absl::StatusOr<std::unique_ptr<HloInstruction>>
CreateShardedConvForDotGeneralConvolution(
    const HloInstruction& conv, const DotConvolutionDimsInfo& dot_dnums,
    HloInstruction* sharded_lhs_hlo, HloInstruction* sharded_rhs_hlo);

// Whether a spatial dimension with that window is a batch dimension.
SpatialBatchRepresentation SpatialIsBatch(int64_t lhs_spatial_size,
                                          const WindowDimension& spatial_wd);
// Whether output element k is lhs element k times the only one of rhs.
bool SpatialIsLhsNonContracting(int64_t rhs_spatial_size,
                                const WindowDimension& spatial_wd);
// Whether output element k is the only element of lhs times element k of rhs.
bool SpatialIsRhsNonContracting(int64_t lhs_spatial_size,
                                int64_t rhs_spatial_size,
                                const WindowDimension& spatial_wd);
// Whether the only output element is the inner product.
bool SpatialIsContracting(int64_t lhs_spatial_size, int64_t rhs_spatial_size,
                          const WindowDimension& spatial_wd);

}  // namespace dot_as_convolution_util
}  // namespace xla

#endif  // XLA_HLO_UTILS_DOT_AS_CONVOLUTION_UTIL_H_

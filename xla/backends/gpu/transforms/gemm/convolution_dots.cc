#include "xla/backends/gpu/transforms/gemm/convolution_dots.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/utils/scalar_computation.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

// Tiles that occupy a device, and the places of one.
constexpr int64_t kBlocks = 128, kTile = 128 * 64;
// The least depth that a group sums up.
constexpr int64_t kMinDepth = 512;

class Rewriter {
 public:
  explicit Rewriter(HloInstruction* convolution)
      : hlo_(convolution),
        computation_(convolution->parent()),
        dims_(convolution->convolution_dimension_numbers()) {}

  // Whether nothing but its operands orders the convolution, and all sizes are
  // known.
  static bool IsKnown(const HloInstruction& convolution) {
    return !convolution.HasControlDependencies() &&
           convolution.shape().is_static() &&
           absl::c_all_of(convolution.operands(), [](const auto* operand) {
             return operand->shape().is_static();
           });
  }

  // What the convolution's value is computed by instead, or null.
  HloInstruction* Rewrite() {
    HloInstruction* product = MakeProduct();
    return product != nullptr ? product : InGroups();
  }

 private:
  HloInstruction* MakeProduct() {
    if (hlo_->feature_group_count() != 1 || hlo_->batch_group_count() != 1 ||
        hlo_->operand_count() != 2 ||
        absl::c_any_of(hlo_->window().dimensions(), [](const auto& w) {
          return w.padding_low() != 0 || w.padding_high() != 0 ||
                 w.base_dilation() != 1 || w.window_dilation() != 1;
        })) {
      return nullptr;
    }
    if (absl::c_all_of(hlo_->window().dimensions(), [](const auto& w) {
          return w.size() == 1 && w.stride() == 1;
        })) {
      return OfEachPlace();
    }
    for (int k = 0; k < hlo_->window().dimensions_size(); ++k) {
      const WindowDimension& w = hlo_->window().dimensions(k);
      if (w.window_reversal() ||
          w.size() != input().dimensions(dims_.input_spatial_dimensions(k))) {
        return nullptr;
      }
    }
    return OfWholeImages();
  }

  const Shape& input() const { return hlo_->operand(0)->shape(); }
  const Shape& kernel() const { return hlo_->operand(1)->shape(); }
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    HloInstruction* added =
        computation_->AddInstruction(std::move(instruction));
    added->set_metadata_ptr(hlo_->metadata_ptr());
    added->set_frontend_attributes(hlo_->frontend_attributes());
    // Tiles are those of the convolution's dimensions, which the last one has
    // alone.
    added->clear_sharding();
    if (hlo_->has_sharding() &&
        (hlo_->sharding().IsTileMaximal() || hlo_->sharding().IsManual())) {
      added->copy_sharding(hlo_);
    }
    return added;
  }
  HloInstruction* Reshape(std::vector<int64_t> dimensions,
                          HloInstruction* operand) {
    const Shape shape =
        ShapeUtil::MakeShape(operand->shape().element_type(), dimensions);
    return ShapeUtil::SameDimensions(shape, operand->shape())
               ? operand
               : Add(HloInstruction::CreateReshape(shape, operand));
  }

  // A 1x1 convolution is a matrix product at each place. A dot puts the
  // dimensions of its left side first, in their order, so the input's must be
  // in the order of the result's, and the features the last ones of the result.
  HloInstruction* OfEachPlace() {
    // What the result has of the input, in the input's order.
    std::vector<int64_t> places(input().dimensions_size(), -1);
    places[dims_.input_batch_dimension()] = dims_.output_batch_dimension();
    for (int k = 0; k < dims_.input_spatial_dimensions_size(); ++k) {
      places[dims_.input_spatial_dimensions(k)] =
          dims_.output_spatial_dimensions(k);
    }
    int64_t next = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(places.size()); ++d) {
      if (d != dims_.input_feature_dimension() && places[d] != next++) {
        return nullptr;
      }
    }
    const int64_t in = dims_.kernel_input_feature_dimension();
    const int64_t out = dims_.kernel_output_feature_dimension();
    HloInstruction* matrix = Reshape({kernel().dimensions(std::min(in, out)),
                                      kernel().dimensions(std::max(in, out))},
                                     hlo_->mutable_operand(1));
    DotDimensionNumbers numbers;
    numbers.add_lhs_contracting_dimensions(dims_.input_feature_dimension());
    numbers.add_rhs_contracting_dimensions(in < out ? 0 : 1);
    return Add(HloInstruction::CreateDot(hlo_->shape(),
                                         hlo_->mutable_operand(0), matrix,
                                         numbers, hlo_->precision_config()));
  }

  // With a multiple of so many images: those that were not there are 0 in both
  // operands, and add nothing to any sum.
  HloInstruction* Padded(HloInstruction* operand, int64_t images,
                         int64_t batches) {
    const Shape& before = operand->shape();
    const int64_t rest =
        CeilOfRatio(before.dimensions(images), batches) * batches -
        before.dimensions(images);
    if (rest == 0) return operand;
    PaddingConfig padding;
    for (int64_t d = 0; d < before.dimensions_size(); ++d) {
      padding.add_dimensions()->set_edge_padding_high(d == images ? rest : 0);
    }
    std::vector<int64_t> sizes(before.dimensions().begin(),
                               before.dimensions().end());
    sizes[images] += rest;
    const PrimitiveType type = before.element_type();
    return Add(HloInstruction::CreatePad(
        ShapeUtil::MakeShape(type, sizes), operand,
        Add(HloInstruction::CreateConstant(LiteralUtil::Zero(type))), padding));
  }

  // An operand, with images in `batches`, and its dimensions for the product.
  struct Side {
    HloInstruction* operand;
    int64_t images = 0;
    std::vector<int64_t> contracting;
  };
  Side MakeSide(int number, int64_t images, int64_t batches) {
    Side side{hlo_->mutable_operand(number)};
    const auto& spatial = number == 0 ? dims_.input_spatial_dimensions()
                                      : dims_.kernel_spatial_dimensions();
    const Shape& shape = side.operand->shape();
    std::vector<int64_t> sizes(shape.dimensions().begin(),
                               shape.dimensions().end());
    const bool splits = batches > 1 && batches < sizes[images];
    if (splits) {
      side.operand = Padded(side.operand, images, batches);
      sizes[images] = CeilOfRatio(sizes[images], batches);
      sizes.insert(sizes.begin() + images, batches);
      side.operand = Reshape(sizes, side.operand);
    }
    side.images = images;
    if (batches == 1) side.contracting.push_back(images);
    if (splits) side.contracting.push_back(images + 1);
    for (int64_t d : spatial) {
      side.contracting.push_back(d + (splits && d > images ? 1 : 0));
    }
    return side;
  }

  // As few batches of images as occupy a device; fewer where images are not a
  // multiple, since more would be as many intermediate results, unless that
  // leaves half of it idle: then the last batch has a rest.
  static int64_t Batches(int64_t places, int64_t images) {
    const int64_t tiles = CeilOfRatio(places, kTile);
    const int64_t most =
        std::min(images, CeilOfRatio(kBlocks, std::max<int64_t>(1, tiles)));
    int64_t batches = most;
    while (batches > 1 && images % batches != 0) --batches;
    if (2 * batches < most) {
      batches = CeilOfRatio(images, CeilOfRatio(images, most));
    }
    return std::max<int64_t>(1, batches);
  }

  // The gradient of a filter of several elements. Its sums run over images and
  // places, but it has as few elements as the filter, too few for a device.
  // Feature groups are sums on their own: with the images as features of the
  // input, group g adds up only its share of them, and a kernel with its output
  // features once per group yields one partial result each, which a reduce adds
  // up. Only in f32, since partial results of a narrower type would be rounded
  // before they are added.
  HloInstruction* InGroups() {
    const PrimitiveType type = hlo_->shape().element_type();
    if (hlo_->feature_group_count() != 1 || hlo_->batch_group_count() != 1 ||
        hlo_->operand_count() != 2 || type != F32 ||
        kernel().element_type() != type || input().element_type() != type) {
      return nullptr;
    }
    int64_t window = 1, places = 1;
    for (int k = 0; k < hlo_->window().dimensions_size(); ++k) {
      window *= hlo_->window().dimensions(k).size();
      places *= hlo_->shape().dimensions(dims_.output_spatial_dimensions(k));
    }
    const int64_t images = input().dimensions(dims_.input_feature_dimension());
    const int64_t groups =
        Batches(ShapeUtil::ElementsIn(hlo_->shape()), images);
    if (window <= places || groups == 1 ||
        window * images / groups < kMinDepth) {
      return nullptr;
    }
    // The kernel's images become groups of features of the result.
    const int64_t in = dims_.kernel_input_feature_dimension();
    const int64_t out = dims_.kernel_output_feature_dimension();
    std::vector<int64_t> sizes(kernel().dimensions().begin(),
                               kernel().dimensions().end());
    const int64_t features = sizes[out];
    sizes[in] = CeilOfRatio(sizes[in], groups);
    std::vector<int64_t> split = sizes, moved, order;
    split.insert(split.begin() + in, groups);
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      if (d == out) {
        order.push_back(in);
        moved.push_back(groups);
      }
      order.push_back(d + (d >= in ? 1 : 0));
      moved.push_back(sizes[d]);
    }
    sizes[out] *= groups;
    HloInstruction* filter = Reshape(
        sizes, Add(HloInstruction::CreateTranspose(
                   ShapeUtil::MakeShape(type, moved),
                   Reshape(split, Padded(hlo_->mutable_operand(1), in, groups)),
                   order)));
    const int64_t feature = dims_.output_feature_dimension();
    std::vector<int64_t> results(hlo_->shape().dimensions().begin(),
                                 hlo_->shape().dimensions().end());
    results[feature] *= groups;
    HloInstruction* sums = Add(hlo_->CloneWithNewOperands(
        ShapeUtil::MakeShape(type, results),
        {Padded(hlo_->mutable_operand(0), dims_.input_feature_dimension(),
                groups),
         filter}));
    sums->set_feature_group_count(groups);
    results[feature] = features;
    results.insert(results.begin() + feature, groups);
    return Sum(Reshape(results, sums), feature, hlo_->shape());
  }

  // Adds up one dimension.
  HloInstruction* Sum(HloInstruction* parts, int64_t dimension,
                      const Shape& shape) {
    const PrimitiveType type = shape.element_type();
    HloComputation* add = hlo_->GetModule()->AddEmbeddedComputation(
        MakeScalarComputation(HloOpcode::kAdd, type, "add"));
    return Add(HloInstruction::CreateReduce(
        shape, parts,
        Add(HloInstruction::CreateConstant(LiteralUtil::Zero(type))),
        {dimension}, add));
  }

  // A window as large as the input has one place, so the convolution is a dot
  // that contracts features and places. Such is the gradient of a 1x1 filter,
  // whose "features" are the images of the batch.
  HloInstruction* OfWholeImages() {
    const int64_t rows = input().dimensions(dims_.input_batch_dimension());
    const int64_t columns =
        kernel().dimensions(dims_.kernel_output_feature_dimension());
    const int64_t images = input().dimensions(dims_.input_feature_dimension());
    // Where the result has columns first, the product of the transposes.
    const bool swaps =
        dims_.output_feature_dimension() < dims_.output_batch_dimension();
    const PrimitiveType type = hlo_->shape().element_type();
    const int64_t batches = type == F32 ? Batches(rows * columns, images) : 1;
    Side sides[] = {
        MakeSide(0, dims_.input_feature_dimension(), batches),
        MakeSide(1, dims_.kernel_input_feature_dimension(), batches)};
    if (swaps) std::swap(sides[0], sides[1]);
    DotDimensionNumbers numbers;
    for (int64_t d : sides[0].contracting) {
      numbers.add_lhs_contracting_dimensions(d);
    }
    for (int64_t d : sides[1].contracting) {
      numbers.add_rhs_contracting_dimensions(d);
    }
    std::vector<int64_t> sizes = {swaps ? columns : rows,
                                  swaps ? rows : columns};
    if (batches > 1) {
      numbers.add_lhs_batch_dimensions(sides[0].images);
      numbers.add_rhs_batch_dimensions(sides[1].images);
      sizes.insert(sizes.begin(), batches);
    }
    HloInstruction* product = Add(HloInstruction::CreateDot(
        ShapeUtil::MakeShape(type, sizes), sides[0].operand, sides[1].operand,
        numbers, hlo_->precision_config()));
    if (batches > 1) {
      product =
          Sum(product, 0, ShapeUtil::MakeShape(type, {sizes[1], sizes[2]}));
    }
    return ShapeUtil::SameDimensions(product->shape(), hlo_->shape())
               ? product
               : Add(HloInstruction::CreateReshape(hlo_->shape(), product));
  }

  HloInstruction* hlo_;
  HloComputation* computation_;
  const ConvolutionDimensionNumbers& dims_;
};

}  // namespace

absl::StatusOr<bool> ConvolutionDots::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (hlo->opcode() != HloOpcode::kConvolution ||
          !Rewriter::IsKnown(*hlo)) {
        continue;
      }
      HloInstruction* product = Rewriter(hlo).Rewrite();
      if (product == nullptr) continue;
      RETURN_IF_ERROR(computation->ReplaceInstruction(hlo, product));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu

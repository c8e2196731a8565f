#include "xla/backends/gpu/transforms/gemm/splitk_rewriter.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/time/time.h"
#include "xla/backends/gpu/lowering/kernel_prices.h"
#include "xla/backends/gpu/model/gpu_fusible.h"
#include "xla/backends/gpu/transforms/gemm/gemm_epilogue.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
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

// The tile that a core computes at a time.
constexpr int64_t kTileRows = 128;
constexpr int64_t kTileColumns = 64;
// Below, a second kernel is not worth it: products, and elements of operands,
// each of which counts as so many.
constexpr double kMinWork = 480000;
constexpr double kProductsPerElement = 8;
// Sums of fewer products stay whole, and of fewer for each tile.
constexpr int64_t kMinDepth = 128;
constexpr int64_t kMinDepthPerTile = 11;

bool IsCandidate(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kDot || hlo.operand_count() != 2 ||
      hlo.HasControlDependencies() || !hlo.shape().has_layout() ||
      hlo.shape().is_dynamic() || ShapeUtil::IsZeroElementArray(hlo.shape()) ||
      hlo.precision_config().algorithm() != PrecisionConfig::ALG_UNSET) {
    return false;
  }
  const auto is_known = [](const Shape& shape) {
    const PrimitiveType type = shape.element_type();
    return (type == F16 || type == BF16 || type == F32) && !shape.is_dynamic();
  };
  return is_known(hlo.shape()) && is_known(hlo.operand(0)->shape()) &&
         is_known(hlo.operand(1)->shape());
}

const auto& ContractingDimensions(const HloInstruction& dot, int64_t number) {
  const DotDimensionNumbers& dnums = dot.dot_dimension_numbers();
  return number == 0 ? dnums.lhs_contracting_dimensions()
                     : dnums.rhs_contracting_dimensions();
}

SplitkRewriter::Sizes SizesOf(const HloInstruction& dot) {
  SplitkRewriter::Sizes sizes;
  const Shape& lhs = dot.operand(0)->shape();
  for (int64_t dim : dot.dot_dimension_numbers().lhs_batch_dimensions()) {
    sizes.batches *= lhs.dimensions(dim);
  }
  for (int64_t dim : ContractingDimensions(dot, 0)) {
    sizes.depth *= lhs.dimensions(dim);
  }
  const int64_t shared = std::max<int64_t>(1, sizes.batches * sizes.depth);
  sizes.rows = ShapeUtil::ElementsIn(lhs) / shared;
  sizes.columns = ShapeUtil::ElementsIn(dot.operand(1)->shape()) / shared;
  return sizes;
}

class Rewriter {
 public:
  Rewriter(HloInstruction* dot, int64_t parts)
      : dot_(dot), computation_(dot->parent()), parts_(parts) {}

  // Partial products stay in f32 up to the sum even where the result is
  // narrower: rounding each of them would make the error grow with the number
  // of parts.
  HloInstruction* Rewrite() {
    DotDimensionNumbers dnums;
    HloInstruction* operands[] = {Split(0, &dnums), Split(1, &dnums)};
    const int64_t batches =
        dot_->dot_dimension_numbers().lhs_batch_dimensions_size();
    const Shape whole = ShapeUtil::ChangeElementType(dot_->shape(), F32);
    const Shape shape =
        ShapeUtil::InsertDimensionAtIndex(whole, batches, parts_);
    HloInstruction* product = Add(HloInstruction::CreateDot(
        shape, operands[0], operands[1], dnums, dot_->precision_config()));
    HloComputation* add = dot_->GetModule()->AddEmbeddedComputation(
        MakeScalarComputation(HloOpcode::kAdd, F32, "add"));
    add->SetExecutionThread(computation_->execution_thread());
    HloInstruction* sum = Add(HloInstruction::CreateReduce(
        whole, product,
        Add(HloInstruction::CreateConstant(LiteralUtil::Zero(F32))), {batches},
        add));
    if (dot_->shape().element_type() == F32) return sum;
    return Add(HloInstruction::CreateConvert(dot_->shape(), sum));
  }

 private:
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    HloInstruction* added =
        computation_->AddInstruction(std::move(instruction));
    added->set_metadata_ptr(dot_->metadata_ptr());
    return added;
  }

  // The operand with the first contracting dimension in parts, as the last of
  // its batches; adds its dimensions to those of the dot of parts.
  HloInstruction* Split(int64_t number, DotDimensionNumbers* dnums) {
    const DotDimensionNumbers& before = dot_->dot_dimension_numbers();
    const int64_t split = ContractingDimensions(*dot_, number)[0];
    const auto place = [&](int64_t dim) { return dim + (dim >= split); };
    if (number == 0) {
      for (int64_t dim : before.lhs_batch_dimensions()) {
        dnums->add_lhs_batch_dimensions(place(dim));
      }
      dnums->add_lhs_batch_dimensions(split);
      for (int64_t dim : before.lhs_contracting_dimensions()) {
        dnums->add_lhs_contracting_dimensions(place(dim));
      }
    } else {
      for (int64_t dim : before.rhs_batch_dimensions()) {
        dnums->add_rhs_batch_dimensions(place(dim));
      }
      dnums->add_rhs_batch_dimensions(split);
      for (int64_t dim : before.rhs_contracting_dimensions()) {
        dnums->add_rhs_contracting_dimensions(place(dim));
      }
    }
    HloInstruction* operand = Fill(dot_->mutable_operand(number), split);
    return Add(HloInstruction::CreateReshape(InParts(operand->shape(), split),
                                             operand));
  }

  // With zeros behind the last of `dim`, up to a multiple of the parts.
  HloInstruction* Fill(HloInstruction* operand, int64_t dim) {
    const int64_t size = operand->shape().dimensions(dim);
    const int64_t filled = RoundUpTo(size, parts_);
    if (filled == size) return operand;
    PaddingConfig padding;
    for (int64_t d = 0; d < operand->shape().dimensions_size(); ++d) {
      padding.add_dimensions()->set_edge_padding_high(d == dim ? filled - size
                                                               : 0);
    }
    Shape shape = operand->shape();
    shape.set_dimensions(dim, filled);
    return Add(
        HloInstruction::CreatePad(shape, operand,
                                  Add(HloInstruction::CreateConstant(
                                      LiteralUtil::Zero(shape.element_type()))),
                                  padding));
  }

  // The same memory with dimension `split` as two.
  Shape InParts(const Shape& shape, int64_t split) const {
    std::vector<int64_t> sizes(shape.dimensions().begin(),
                               shape.dimensions().end());
    sizes[split] /= parts_;
    sizes.insert(sizes.begin() + split, parts_);
    std::vector<int64_t> order;
    for (int64_t dim : shape.layout().minor_to_major()) {
      if (dim == split) order.push_back(split + 1);
      order.push_back(dim + (dim > split));
    }
    return ShapeUtil::MakeShapeWithDenseLayout(shape.element_type(), sizes,
                                               order);
  }

  HloInstruction* dot_;
  HloComputation* computation_;
  int64_t parts_;
};

// The time of the dot as kernels, in so many parts and with their sum, or as
// one.
absl::Duration TimeOf(const HloInstruction& dot, int64_t parts,
                      KernelPrices* prices) {
  HloModule module("parts", HloModuleConfig());
  HloComputation::Builder builder("parts");
  std::vector<HloInstruction*> operands;
  for (const HloInstruction* operand : dot.operands()) {
    operands.push_back(builder.AddInstruction(HloInstruction::CreateParameter(
        operands.size(), operand->shape(), "p")));
  }
  HloInstruction* copy =
      builder.AddInstruction(dot.CloneWithNewOperands(dot.shape(), operands));
  module.AddEntryComputation(builder.Build());
  if (parts > 1) copy = Rewriter(copy, parts).Rewrite();
  absl::Duration time = absl::ZeroDuration();
  for (const HloInstruction* hlo :
       module.entry_computation()->MakeInstructionPostOrder()) {
    const bool is_kernel = parts > 1 ? hlo->opcode() == HloOpcode::kReduce ||
                                           (hlo->opcode() == HloOpcode::kDot &&
                                            hlo->user_count() > 0)
                                     : hlo == copy;
    if (is_kernel) time += prices->Of(*hlo).time;
  }
  return time;
}

// The best number of parts, at most `most`, all as long.
int64_t CheapestParts(const HloInstruction& dot, int64_t most,
                      KernelPrices* prices) {
  constexpr double kWorthMore = 0.9, kWorthParts = 0.8;
  const int64_t split =
      dot.operand(0)->shape().dimensions(ContractingDimensions(dot, 0)[0]);
  const absl::Duration whole = TimeOf(dot, 1, prices);
  absl::Duration least = whole * kWorthParts;
  int64_t best = 1;
  for (int64_t parts = 2; parts <= most && split % parts == 0; parts *= 2) {
    const absl::Duration time = TimeOf(dot, parts, prices);
    if (time >= (best == 1 ? least : least * kWorthMore)) continue;
    least = time;
    best = parts;
  }
  return best;
}

}  // namespace

// Split-K: a product with few tiles and long sums leaves most cores idle, so
// the contracting dimension is cut into parts, which become a batch, and a
// reduce adds up their products. Each part writes and reads an intermediate
// result as large as the whole, so parts pay only up to the square root of the
// depth per tile, and more of them than there are cores to occupy only cost.
int64_t SplitkRewriter::PartsOf(const Sizes& sizes, int64_t cores) {
  const auto tiles_of = [](int64_t rows, int64_t columns) {
    return CeilOfRatio(rows, kTileRows) * CeilOfRatio(columns, kTileColumns);
  };
  // The product of exchanged operands is as much work.
  const int64_t tiles =
      sizes.batches *
      std::max<int64_t>(2, std::min(tiles_of(sizes.rows, sizes.columns),
                                    tiles_of(sizes.columns, sizes.rows)));
  // Products of that many sizes may exceed 64 bits.
  const double operands =
      static_cast<double>(sizes.batches) * static_cast<double>(sizes.depth);
  const double rows = static_cast<double>(sizes.rows);
  const double columns = static_cast<double>(sizes.columns);
  const double work =
      operands * (rows * columns + kProductsPerElement * (rows + columns));
  if (work < kMinWork ||
      sizes.depth < std::max(kMinDepth, kMinDepthPerTile * tiles)) {
    return 1;
  }
  // At most as many as leave a core two tiles, give or take what rounding to a
  // power of two does.
  const double occupying = std::sqrt(2.0) * 2 * static_cast<double>(cores) /
                           static_cast<double>(tiles);
  const double worthwhile =
      std::sqrt(static_cast<double>(sizes.depth) / static_cast<double>(tiles));
  int64_t parts = 1;
  while (2 * parts <= std::min(occupying, worthwhile)) parts *= 2;
  return parts;
}

absl::StatusOr<bool> SplitkRewriter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (options_.priced && options_.kernels_for == KernelTarget::kXla) {
    return false;
  }
  TF_ASSIGN_OR_RETURN(const se::DeviceDescription device,
                      LoadGpuDevice(options_.device));
  KernelPrices prices(device);
  bool changed = false;
  for (HloComputation* computation :
       GetFusibleComputations(*module, execution_threads)) {
    std::vector<HloInstruction*> dots;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (IsCandidate(*hlo)) dots.push_back(hlo);
    }
    for (HloInstruction* hlo : dots) {
      const auto& contracting = ContractingDimensions(*hlo, 0);
      int64_t parts = PartsOf(SizesOf(*hlo), device.core_count());
      if (contracting.size() > 1) {
        parts = std::gcd(parts,
                         hlo->operand(0)->shape().dimensions(contracting[0]));
      }
      if (options_.priced && parts > 1) {
        parts = CheapestParts(*hlo, parts, &prices);
      }
      if (parts < 2) continue;
      TF_ASSIGN_OR_RETURN(HloInstruction * dot, TakeInTranspose(hlo));
      TF_RETURN_IF_ERROR(
          computation->ReplaceInstruction(dot, Rewriter(dot, parts).Rewrite()));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu

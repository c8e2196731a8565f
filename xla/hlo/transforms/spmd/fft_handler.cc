#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/device_groups.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

// Transforms are computed on one device each, tiles along their dimensions move
// to the batch. One without a batch that takes them is computed by all devices
// of a row, in two steps (Bailey's four-step transform): with P devices, shards
// of m elements, and
//
//   n = m n1 + n2, k = k1 + P k2, w = exp(-2 pi i / (P m))
//   X[k] = sum over n2 of w^(n2 k1) w^(P n2 k2)
//            (sum over n1 of x[n] w^(m n1 k1))
//
// each device transforms along n1 for some n2, then along n2 for one k1.

namespace xla::spmd {
namespace {

// An all-gather sends P - 1 shards to each device, three all-to-alls send
// 3 (P - 1) / P.
constexpr int64_t kMinDevices = 4;

bool CanTransformInSteps(const HloInstruction& fft,
                         const HloSharding& sharding) {
  const int64_t dim = fft.shape().dimensions().size() - 1;
  const int64_t size = fft.shape().dimensions(dim);
  const int64_t devices = ShardCountAtDim(sharding, dim);
  return (fft.fft_type() == FftType::FFT || fft.fft_type() == FftType::IFFT) &&
         fft.fft_length().size() == 1 && fft.fft_length()[0] == size &&
         devices >= kMinDevices && size % (devices * devices) == 0 &&
         size > 0 && size <= std::numeric_limits<int32_t>::max();
}

class TransformInSteps {
 public:
  TransformInSteps(const HloInstruction& fft, const HloSharding& sharding,
                   const PartitionedHlo::PartitioningState& state)
      : fft_(fft),
        sharding_(sharding),
        state_(state),
        b_(state.b),
        dim_(fft.shape().dimensions().size() - 1),
        devices_(ShardCountAtDim(sharding, dim_)),
        groups_(GetPartitionGroupsForReplication(sharding, {dim_})) {}

  HloInstruction* Run(HloInstruction* shard) {
    const std::vector<int64_t> dims(shard->shape().dimensions().begin(),
                                    shard->shape().dimensions().end());
    // [m] → [n1, part of n2] → [part of n2, n1]
    HloInstruction* value = SwapParts(Exchange(shard), devices_);
    value = Twiddled(Transform(value, devices_));
    // [part of n2, k1] → [k1, part of n2] → [n2]
    value = Exchange(AddReshape(AddTranspose(value, Swapped(), b_), dims, b_));
    value = Transform(value, dims[dim_]);
    // [k2] → [k1, part of k2] → [part of k2, k1]
    return AddReshape(SwapParts(Exchange(value), devices_), dims, b_);
  }

 private:
  // Part j goes to device j; parts of all devices stand in their order.
  HloInstruction* Exchange(HloInstruction* value) {
    return state_.collective_ops_creator.create_all_to_all(
        b_, {value}, *groups_, (*state_.next_channel_id)++, dim_);
  }

  // Exchanges the last two of one dimension more.
  std::vector<int64_t> Swapped() const {
    std::vector<int64_t> order;
    for (int64_t d = 0; d < dim_; ++d) order.push_back(d);
    order.push_back(dim_ + 1);
    order.push_back(dim_);
    return order;
  }

  // [a b] → [b, a]
  HloInstruction* SwapParts(HloInstruction* value, int64_t a) {
    std::vector<int64_t> split(value->shape().dimensions().begin(),
                               value->shape().dimensions().end());
    split[dim_] /= a;
    split.insert(split.begin() + dim_, a);
    return AddTranspose(AddReshape(value, split, b_), Swapped(), b_);
  }

  HloInstruction* Transform(HloInstruction* value, int64_t length) {
    return b_->AddInstruction(HloInstruction::CreateFft(
        value->shape(), value, fft_.fft_type(), {length}));
  }

  // w^(n2 k1) times each element, for an inverse transform its conjugate.
  HloInstruction* Twiddled(HloInstruction* value) {
    const int64_t n2 = dim_, k1 = dim_ + 1;
    const Shape places = ShapeUtil::MakeShape(S32, value->shape().dimensions());
    const auto iota = [&](int64_t d) {
      return b_->AddInstruction(HloInstruction::CreateIota(places, d));
    };
    HloInstruction* first = AddBinary(
        HloOpcode::kMultiply,
        MakeTiledPartitionOrdinals(sharding_, state_.partition_id, b_)[dim_],
        CreateR0(value->shape().dimensions(n2), S32, b_), b_);
    HloInstruction* exponent = AddBinary(
        HloOpcode::kMultiply,
        AddBinary(HloOpcode::kAdd, iota(n2),
                  CreateBroadcast(first, places.dimensions(), b_), b_),
        iota(k1), b_);
    const PrimitiveType type =
        primitive_util::ComplexComponentType(value->shape().element_type());
    const double sign = fft_.fft_type() == FftType::FFT ? -1 : 1;
    const double unit =
        sign * 2 * M_PI / static_cast<double>(fft_.fft_length()[0]);
    HloInstruction* angle =
        AddBinary(HloOpcode::kMultiply, AddConvert(exponent, type, b_),
                  CreateBroadcast(CreateR0WithType(type, unit, b_),
                                  places.dimensions(), b_),
                  b_);
    const auto unary = [&](HloOpcode opcode) {
      return b_->AddInstruction(
          HloInstruction::CreateUnary(angle->shape(), opcode, angle));
    };
    HloInstruction* twiddle = b_->AddInstruction(HloInstruction::CreateBinary(
        value->shape(), HloOpcode::kComplex, unary(HloOpcode::kCos),
        unary(HloOpcode::kSin)));
    return AddBinary(HloOpcode::kMultiply, value, twiddle, b_);
  }

  const HloInstruction& fft_;
  const HloSharding& sharding_;
  const PartitionedHlo::PartitioningState& state_;
  SpmdBuilder* b_;
  const int64_t dim_;
  const int64_t devices_;
  const std::unique_ptr<CollectiveDeviceListBase> groups_;
};

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleFft(HloInstruction* hlo) {
  const HloSharding& wanted =
      CuttingSharding(*hlo, GetPartitionedHlo(hlo->operand(0)).sharding());
  // The last dimension of the operand may have another size, and is whole.
  const int64_t rank = hlo->shape().dimensions().size();
  std::vector<int64_t> transformed;
  for (int64_t i = hlo->fft_length().size(); i > 0; --i) {
    transformed.push_back(rank - i);
  }
  const HloSharding sharding = WithWholeDims(*hlo, wanted, transformed);
  if (IsCut(wanted) && sharding.NumTiles() < wanted.NumTiles() &&
      CanTransformInSteps(*hlo, wanted)) {
    const PartitionedHlo::PartitioningState state = MakePartitioningState();
    Finish(hlo,
           TransformInSteps(*hlo, wanted, state).Run(Operand(hlo, 0, wanted)),
           wanted);
    return absl::OkStatus();
  }
  if (!IsCut(sharding)) return DefaultAction(hlo);
  return FinishOnShards(hlo, {Operand(hlo, 0, sharding)}, sharding);
}

}  // namespace xla::spmd

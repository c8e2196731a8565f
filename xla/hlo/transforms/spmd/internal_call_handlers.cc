#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/opaque_attributes.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/custom_call_handler.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/ring_window.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

// _SPMDInternalOp_* custom calls (spmd_custom_calls.h says what they mean on
// whole arrays). A device gets the elements that all results of its shard read,
// once, and cuts the results out of them.

namespace xla::spmd {

std::unique_ptr<HloInstruction> CreateCustomCallSPMDInternal_RotateRight(
    HloInstruction* input, int64_t dim, int64_t amount) {
  return HloInstruction::CreateCustomCall(
      input->shape(), {input}, "_SPMDInternalOp_RotateRight",
      absl::StrCat("dimension=", dim, ",amount=", amount));
}

namespace {

// A call along one dimension, and the results that its attributes promise.
struct InternalCall {
  enum class Kind { kRing, kSlices, kPads };
  Kind kind = Kind::kRing;
  int64_t dim = 0;
  // Result i reads place j + offsets[i] of the operand for place j.
  std::vector<int64_t> offsets;
  // Elements of each result along the dimension.
  int64_t result_size = 0;
  // kSlices: of dimensions of the operand.
  std::vector<int64_t> starts, limits, strides;
  bool bufferize = false;
};

constexpr int64_t kMostResults = 1 << 16;

absl::StatusOr<InternalCall> ParseSlices(const OpaqueAttributes& attributes,
                                         const Shape& operand,
                                         InternalCall call) {
  call.kind = InternalCall::Kind::kSlices;
  TF_ASSIGN_OR_RETURN(const int64_t amount,
                      attributes.Number("amount", kMostResults));
  TF_ASSIGN_OR_RETURN(call.starts, attributes.List("start_indices"));
  TF_ASSIGN_OR_RETURN(call.limits, attributes.List("limit_indices"));
  TF_ASSIGN_OR_RETURN(call.strides, attributes.List("strides"));
  const size_t rank = operand.dimensions().size();
  if (call.starts.size() != rank || call.limits.size() != rank ||
      call.strides.size() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("start_indices, limit_indices and strides need ", rank,
                     " numbers each"));
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t moves = static_cast<int64_t>(d) == call.dim ? amount : 0;
    if (call.starts[d] < 0 || call.starts[d] > call.limits[d] ||
        call.strides[d] < 1 || call.limits[d] > operand.dimensions(d) - moves) {
      return absl::InvalidArgumentError(absl::StrCat(
          "slice [", call.starts[d], ":", call.limits[d], ":", call.strides[d],
          "], moved by ", moves, ", of dimension ", d, " of size ",
          operand.dimensions(d)));
    }
  }
  for (int64_t i = 0; i <= amount; ++i) {
    call.offsets.push_back(call.starts[call.dim] + i);
  }
  call.result_size = CeilOfRatio(call.limits[call.dim] - call.starts[call.dim],
                                 call.strides[call.dim]);
  return call;
}

// All of them are one form, by an offset for each result: place j is the
// operand's place j + offset, modulo n for a ring, and padding beyond it for
// pads. A rotation to the right by 1 has the offset -1; wrapping by 2 on the
// left and 1 on the right has one of -2, and n + 3 places.
absl::StatusOr<InternalCall> ParseCall(const HloInstruction& hlo) {
  const bool pads = hlo.custom_call_target() == "_SPMDInternalOp_MultiPad";
  if (hlo.operand_count() != (pads ? 2 : 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", hlo.operand_count(), " operands"));
  }
  const Shape& operand = hlo.operand(0)->shape();
  if (!operand.IsArray() || operand.dimensions().empty()) {
    return absl::InvalidArgumentError("its operand is not an array");
  }
  if (pads && !ShapeUtil::IsScalarWithElementType(hlo.operand(1)->shape(),
                                                  operand.element_type())) {
    return absl::InvalidArgumentError(
        "its padding is not an element of its operand");
  }
  TF_ASSIGN_OR_RETURN(const OpaqueAttributes attributes,
                      OpaqueAttributes::Parse(hlo.raw_backend_config_string()));
  InternalCall call;
  TF_ASSIGN_OR_RETURN(
      call.dim,
      attributes.Number("dimension", operand.dimensions().size() - 1));
  const int64_t n = operand.dimensions(call.dim);
  if (attributes.List("bufferize").ok()) {
    TF_ASSIGN_OR_RETURN(const int64_t bufferize,
                        attributes.Number("bufferize", 1));
    call.bufferize = bufferize != 0;
  }
  if (hlo.custom_call_target() == "_SPMDInternalOp_MultiSlice") {
    return ParseSlices(attributes, operand, std::move(call));
  }
  if (n == 0) return absl::UnimplementedError("the dimension has no elements");
  call.result_size = n;
  if (hlo.custom_call_target() == "_SPMDInternalOp_RotateRight") {
    TF_ASSIGN_OR_RETURN(const int64_t amount,
                        attributes.Number("amount", int64_t{1} << 40));
    call.offsets.push_back(-(amount % n));
    return call;
  }
  if (pads) {
    call.kind = InternalCall::Kind::kPads;
    TF_ASSIGN_OR_RETURN(const int64_t amount,
                        attributes.Number("amt", kMostResults));
    for (int64_t i = 0; i <= amount; ++i) call.offsets.push_back(i - amount);
    call.result_size = n + amount;
    return call;
  }
  const bool wraps = hlo.custom_call_target() == "_SPMDInternalOp_Wrap";
  const int64_t most = wraps ? n : kMostResults;
  TF_ASSIGN_OR_RETURN(const int64_t left,
                      attributes.Number("left_amount", most));
  TF_ASSIGN_OR_RETURN(const int64_t right,
                      attributes.Number("right_amount", most));
  if (wraps) {
    call.offsets.push_back(-left);
    call.result_size = n + left + right;
    return call;
  }
  if (hlo.custom_call_target() != "_SPMDInternalOp_MultiRotate") {
    return absl::UnimplementedError("no such internal operation is known");
  }
  for (int64_t i = 0; i <= left + right; ++i) {
    call.offsets.push_back(left - i);
  }
  return call;
}

// The shape that each result has by the call's attributes.
Shape ResultShape(const HloInstruction& hlo, const InternalCall& call) {
  Shape shape = ShapeUtil::MakeShape(hlo.operand(0)->shape().element_type(),
                                     hlo.operand(0)->shape().dimensions());
  if (call.kind == InternalCall::Kind::kSlices) {
    for (size_t d = 0; d < call.starts.size(); ++d) {
      shape.set_dimensions(
          d, CeilOfRatio(call.limits[d] - call.starts[d], call.strides[d]));
    }
  }
  shape.set_dimensions(call.dim, call.result_size);
  return shape;
}

absl::Status CheckResults(const HloInstruction& hlo, const InternalCall& call) {
  const Shape result = ResultShape(hlo, call);
  const int64_t count = call.offsets.size();
  bool good =
      hlo.shape().IsTuple()
          ? static_cast<int64_t>(hlo.shape().tuple_shapes().size()) == count
          : count == 1;
  for (int64_t i = 0; good && i < count; ++i) {
    const Shape& given =
        hlo.shape().IsTuple() ? hlo.shape().tuple_shapes(i) : hlo.shape();
    good = ShapeUtil::Compatible(given, result);
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("its attributes make ", count, " results of ",
                   ShapeUtil::HumanString(result)));
}

// Shard i: places i * step + low + t, t in [0, size), of `source`, which is
// tiled along the dimension like `sharding`, of n elements in the whole.
// Places outside are `padding`, if any.
//
// The places of neighboring shards overlap where results read at several
// offsets: each shard has `step` results and needs size - step elements more,
// which the exchange of intervals gets from its neighbors (a halo exchange).
HloInstruction* FetchShifted(HloInstruction* source,
                             const HloSharding& sharding,
                             const InternalCall& call, int64_t n, int64_t low,
                             int64_t step, int64_t size,
                             HloInstruction* padding,
                             const PartitionedHlo::PartitioningState& state) {
  const int64_t shards = ShardCountAtDim(sharding, call.dim);
  if (shards > 1) {
    ShardIntervals intervals;
    intervals.size = size;
    for (int64_t i = 0; i < shards; ++i) {
      const int64_t results =
          std::clamp<int64_t>(call.result_size - i * step, 0, step);
      intervals.start.push_back(i * step + low);
      intervals.needed.push_back(results == 0 ? 0 : results + size - step);
    }
    return ExchangeIntervals(source, sharding, call.dim, n, intervals, padding,
                             state);
  }
  if (padding == nullptr) {
    return SliceDim(source, call.dim, low, low + size, state.b);
  }
  PaddingConfig config =
      MakeNoPaddingConfig(source->shape().dimensions().size());
  config.mutable_dimensions(call.dim)->set_edge_padding_low(-low);
  config.mutable_dimensions(call.dim)->set_edge_padding_high(low + size - n);
  Shape shape = source->shape();
  shape.set_dimensions(call.dim, size);
  return state.b->AddInstruction(
      HloInstruction::CreatePad(shape, source, padding, config));
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleInternalCall(HloInstruction* hlo) {
  absl::StatusOr<InternalCall> parsed = ParseCall(*hlo);
  if (parsed.ok()) {
    absl::Status fits = CheckResults(*hlo, *parsed);
    if (!fits.ok()) parsed = fits;
  }
  if (!parsed.ok()) {
    return absl::Status(
        parsed.status().code(),
        absl::StrCat(parsed.status().message(), ": ", hlo->ToString()));
  }
  const InternalCall& call = *parsed;
  const int64_t dim = call.dim;
  const Shape whole_result = ResultShape(*hlo, call);
  // Where operand and results are cut: as the results shall be.
  PartitionedHlo& operand = GetPartitionedHlo(hlo->operand(0));
  HloSharding sharding = hlo->sharding().IsTuple()
                             ? hlo->sharding().tuple_elements()[0]
                             : hlo->sharding();
  if (!sharding.IsTiledLeaf()) sharding = operand.sharding();
  if (!sharding.IsTiledLeaf()) sharding = HloSharding::Replicate();
  if (call.kind == InternalCall::Kind::kSlices) {
    std::vector<int64_t> whole;
    for (int64_t d = 0; d < operand.num_dimensions(); ++d) {
      const bool cut = call.starts[d] != 0 || call.strides[d] != 1 ||
                       call.limits[d] != operand.base_shape().dimensions(d);
      if (d == dim ? call.strides[d] != 1 : cut) whole.push_back(d);
    }
    sharding = ReplicatedOnDims(sharding, whole);
  }
  const int64_t shards = ShardCountAtDim(sharding, dim);
  PartitionedHlo moved = operand.Reshard(sharding);
  HloInstruction* source = moved.hlo();
  if (call.kind == InternalCall::Kind::kSlices) {
    for (int64_t d = 0; d < operand.num_dimensions(); ++d) {
      if (d == dim ||
          source->shape().dimensions(d) == whole_result.dimensions(d))
        continue;
      if (ShardCountAtDim(sharding, d) > 1) continue;
      source = SliceDim(source, d, call.starts[d], call.limits[d], &b_,
                        call.strides[d]);
    }
  }
  const int64_t step = CeilOfRatio(call.result_size, shards);
  const int64_t stride =
      call.kind == InternalCall::Kind::kSlices ? call.strides[dim] : 1;
  // All that the results of a shard read.
  const auto [low, high] = absl::c_minmax_element(call.offsets);
  const int64_t size = (step - 1) * stride + 1 + *high - *low;
  HloInstruction* window = nullptr;
  if (step == 0) {
    window = source;
  } else if (call.kind == InternalCall::Kind::kRing) {
    window = FetchRingWindow(moved, {dim, *low, step, size, call.result_size});
  } else {
    HloInstruction* padding = call.kind == InternalCall::Kind::kPads
                                  ? ReplicatedOperand(hlo, 1)
                                  : nullptr;
    window = FetchShifted(source, sharding, call,
                          operand.base_shape().dimensions(dim), *low, step,
                          size, padding, operand.state());
  }
  if (call.bufferize) {
    window = b_.AddInstruction(HloInstruction::CreateUnary(
        window->shape(), HloOpcode::kOptimizationBarrier, window));
  }
  std::vector<HloInstruction*> results;
  for (int64_t offset : call.offsets) {
    const int64_t at = offset - *low;
    results.push_back(step == 0 ? SliceDim(window, dim, 0, 0, &b_)
                                : SliceDim(window, dim, at,
                                           at + (step - 1) * stride + 1, &b_,
                                           stride));
  }
  if (!hlo->shape().IsTuple()) {
    Finish(hlo, results[0], sharding);
    return absl::OkStatus();
  }
  Finish(hlo, b_.AddInstruction(HloInstruction::CreateTuple(results)),
         HloSharding::SingleTuple(hlo->shape(), sharding));
  return absl::OkStatus();
}

}  // namespace xla::spmd

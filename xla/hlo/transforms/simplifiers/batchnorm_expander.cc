#include "xla/hlo/transforms/simplifiers/batchnorm_expander.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/utils/scalar_computation.h"
#include "xla/layout_util.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// The computations that add two numbers, by their type and thread.
class Adders {
 public:
  explicit Adders(HloModule* module) : module_(module) {}

  HloComputation* Get(PrimitiveType type, absl::string_view thread) {
    HloComputation*& adder = adders_[{type, std::string(thread)}];
    if (adder == nullptr) {
      adder = module_->AddEmbeddedComputation(
          MakeScalarComputation(HloOpcode::kAdd, type, "batchnorm_sum"));
      adder->SetExecutionThread(thread);
    }
    return adder;
  }

 private:
  HloModule* module_;
  absl::flat_hash_map<std::pair<PrimitiveType, std::string>, HloComputation*>
      adders_;
};

bool IsForAnyShape(const HloSharding& leaf) {
  return leaf.IsReplicatedLeaf() || leaf.IsSingleDeviceLeaf() ||
         leaf.IsManualLeaf();
}

bool CanExpandLeaf(const HloSharding& leaf) {
  return IsForAnyShape(leaf) ||
         !(leaf.IsUnknownLeaf() || leaf.IsUnreducedLeaf() ||
           leaf.IsManualSubgroup() || leaf.IsUnreducedSubgroup());
}

bool CanExpand(const HloInstruction& norm) {
  for (const HloInstruction* operand : norm.operands()) {
    if (!primitive_util::IsFloatingPointType(operand->shape().element_type()) ||
        operand->shape().is_unbounded_dynamic()) {
      return false;
    }
  }
  if (!norm.has_sharding()) return true;
  return norm.sharding().IsTuple()
             ? absl::c_all_of(norm.sharding().tuple_elements(), CanExpandLeaf)
             : CanExpandLeaf(norm.sharding());
}

// Adds instructions that compute what one batch normalization does. Values are
// scalars, vectors with an element per feature, or have the shape of operand 0.
class Expansion {
 public:
  using Value = HloInstruction*;

  Expansion(HloInstruction* norm, Adders* adders) : norm_(norm) {
    PrimitiveType type = F32;
    for (const HloInstruction* operand : norm->operands()) {
      if (operand->shape().element_type() == F64) type = F64;
    }
    const Shape& array = norm->operand(0)->shape();
    for (int64_t d = 0; d < array.dimensions().size(); ++d) {
      if (d != feature()) reduced_.push_back(d);
      array_dims_.push_back(d);
    }
    scalar_ = ShapeUtil::MakeShape(type, {});
    vector_ = ShapeUtil::MakeShape(type, {array.dimensions(feature())},
                                   {array.is_dynamic_dimension(feature())});
    array_ = ShapeUtil::MakeShape(
        type, array.dimensions(),
        std::vector<bool>(array.dynamic_dimensions().begin(),
                          array.dynamic_dimensions().end()));
    if (array.has_layout()) {
      *array_.mutable_layout() =
          LayoutUtil::MakeLayout(array.layout().minor_to_major());
    }
    adder_ = adders->Get(type, norm->parent()->execution_thread());
    sizes_.resize(array.dimensions().size());
    SetShardings();
  }

  // The results, in the shapes of those of the instruction.
  std::vector<Value> Run() {
    std::vector<Value> results;
    switch (norm_->opcode()) {
      case HloOpcode::kBatchNormTraining:
        results = Training();
        break;
      case HloOpcode::kBatchNormGrad:
        results = Grad();
        break;
      default:  // Inference: there are three.
        return {As(norm_->shape(), Inference())};
    }
    for (int64_t i = 0; i < results.size(); ++i) {
      results[i] = As(norm_->shape().tuple_shapes(i), results[i]);
    }
    return results;
  }

  // Has the expansion done when and only when the instruction may be.
  absl::Status CarryControlDependencies(absl::Span<const Value> results) {
    if (!norm_->HasControlDependencies()) return absl::OkStatus();
    const std::vector<Value> before(norm_->control_predecessors().begin(),
                                    norm_->control_predecessors().end());
    const std::vector<Value> after(norm_->control_successors().begin(),
                                   norm_->control_successors().end());
    TF_RETURN_IF_ERROR(norm_->DropAllControlDeps());
    for (Value value : added_) {
      if (value->opcode() == HloOpcode::kConstant ||
          absl::c_any_of(value->operands(), [&](const HloInstruction* operand) {
            return absl::c_linear_search(added_, operand);
          })) {
        continue;
      }
      for (Value first : before) {
        TF_RETURN_IF_ERROR(first->AddControlDependencyTo(value));
      }
    }
    for (Value value : results) {
      for (Value next : after) {
        TF_RETURN_IF_ERROR(value->AddControlDependencyTo(next));
      }
    }
    return absl::OkStatus();
  }

 private:
  int64_t feature() const { return norm_->feature_index(); }

  void SetShardings() {
    if (!norm_->has_sharding()) return;
    const HloSharding& sharding = norm_->sharding();
    auto leaf = [&](int64_t i) {
      return sharding.IsTuple() ? sharding.tuple_elements()[i] : sharding;
    };
    array_sharding_ = leaf(0);
    if (IsForAnyShape(*array_sharding_)) scalar_sharding_ = array_sharding_;
    vector_sharding_ = norm_->shape().IsTuple() ? leaf(1) : scalar_sharding_;
  }

  Value Add(std::unique_ptr<HloInstruction> instruction) {
    const Shape& shape = instruction->shape();
    const std::optional<HloSharding>& sharding =
        ShapeUtil::SameDimensions(shape, array_)    ? array_sharding_
        : ShapeUtil::SameDimensions(shape, vector_) ? vector_sharding_
                                                    : scalar_sharding_;
    if (sharding.has_value()) instruction->set_sharding(*sharding);
    added_.push_back(norm_->parent()->AddInstruction(
        std::move(instruction), &norm_->metadata(),
        norm_->has_frontend_attributes() ? &norm_->frontend_attributes()
                                         : nullptr));
    return added_.back();
  }

  Value Constant(double value) {
    return Add(HloInstruction::CreateConstant(
        LiteralUtil::CreateR0(scalar_.element_type(), value)));
  }

  Value Unary(HloOpcode opcode, Value a) {
    return Add(HloInstruction::CreateUnary(a->shape(), opcode, a));
  }
  Value Binary(HloOpcode opcode, Value a, Value b) {
    return Add(HloInstruction::CreateBinary(a->shape(), opcode, a, b));
  }
  Value Plus(Value a, Value b) { return Binary(HloOpcode::kAdd, a, b); }
  Value Minus(Value a, Value b) { return Binary(HloOpcode::kSubtract, a, b); }
  Value Times(Value a, Value b) { return Binary(HloOpcode::kMultiply, a, b); }
  Value Over(Value a, Value b) { return Binary(HloOpcode::kDivide, a, b); }

  // The value in the type and layout of `shape`.
  Value As(const Shape& shape, Value value) {
    Shape converted = value->shape();
    if (converted.element_type() != shape.element_type()) {
      converted.set_element_type(shape.element_type());
      value = Add(HloInstruction::CreateConvert(converted, value));
    }
    if (shape.has_layout() && converted.has_layout() &&
        !LayoutUtil::Equal(shape.layout(), converted.layout())) {
      value = Add(HloInstruction::CreateUnary(shape, HloOpcode::kCopy, value));
    }
    return value;
  }

  Value Operand(int64_t i) {
    Value operand = norm_->mutable_operand(i);
    const bool is_array =
        i == 0 || (i == 4 && norm_->opcode() == HloOpcode::kBatchNormGrad);
    const Shape& shape = is_array ? array_ : vector_;
    // Layouts first, in the narrow type.
    if (shape.has_layout() && operand->shape().has_layout() &&
        shape.layout().minor_to_major() !=
            operand->shape().layout().minor_to_major()) {
      Shape copied = operand->shape();
      *copied.mutable_layout() = shape.layout();
      operand =
          Add(HloInstruction::CreateUnary(copied, HloOpcode::kCopy, operand));
    }
    if (operand->shape().element_type() == shape.element_type()) return operand;
    return Add(HloInstruction::CreateConvert(shape, operand));
  }

  // The number of elements of a dimension of operand 0.
  Value Size(int64_t dim) {
    if (sizes_[dim] == nullptr) {
      sizes_[dim] = Add(HloInstruction::CreateGetDimensionSize(
          ShapeUtil::MakeShape(S32, {}), norm_->mutable_operand(0), dim));
    }
    return sizes_[dim];
  }

  // `from` has the dimensions `dims` of `to`; dimension i of that is source[i]
  // of operand 0.
  Value Broadcast(Value from, const Shape& to, absl::Span<const int64_t> dims,
                  absl::Span<const int64_t> source) {
    Shape shape = to;
    for (int64_t d = 0; d < to.dimensions().size(); ++d) {
      if (!absl::c_linear_search(dims, d)) {
        shape.set_dynamic_dimension(d, false);
      }
    }
    Value value = Add(HloInstruction::CreateBroadcast(shape, from, dims));
    for (int64_t d = 0; d < to.dimensions().size(); ++d) {
      if (to.is_dynamic_dimension(d) == shape.is_dynamic_dimension(d)) continue;
      shape.set_dynamic_dimension(d, true);
      value = Add(HloInstruction::CreateSetDimensionSize(shape, value,
                                                         Size(source[d]), d));
    }
    return value;
  }
  Value Spread(Value vector) {
    return Broadcast(vector, array_, {feature()}, array_dims_);
  }
  Value Vector(Value scalar) {
    return Broadcast(scalar, vector_, {}, {feature()});
  }

  Value Sum(Value array) {
    return Add(HloInstruction::CreateReduce(vector_, array, Constant(0),
                                            reduced_, adder_));
  }

  // Elements per feature, once per feature.
  Value Count() {
    Value count = nullptr;
    for (int64_t d : reduced_) {
      Value size = Add(HloInstruction::CreateConvert(scalar_, Size(d)));
      count = count == nullptr ? size : Times(count, size);
    }
    return Vector(count == nullptr ? Constant(1) : count);
  }

  // A number per feature, finite and in the range of its data.
  Value Shift(Value x, Value count) {
    const bool has_values = absl::c_all_of(reduced_, [&](int64_t d) {
      return !array_.is_dynamic_dimension(d) && array_.dimensions(d) > 0;
    });
    Value shift;
    if (has_values) {
      // From the middle: what is padded differs at the ends.
      Shape slice = x->shape();
      std::vector<int64_t> start(array_dims_.size()), limit = start;
      for (int64_t d : array_dims_) {
        const int64_t size = array_.dimensions(d);
        start[d] = d == feature() ? 0 : size / 2;
        limit[d] = d == feature() ? size : size / 2 + 1;
        slice.set_dimensions(d, limit[d] - start[d]);
      }
      shift = Add(HloInstruction::CreateSlice(
          slice, x, start, limit, std::vector<int64_t>(start.size(), 1)));
      if (!reduced_.empty()) {
        shift = Add(HloInstruction::CreateReshape(vector_, shift));
      }
    } else {
      shift = Over(Sum(x), count);
    }
    Shape flags = vector_;
    flags.set_element_type(PRED);
    // A mean of values of which one is infinite is to be infinite.
    Value finite =
        Add(HloInstruction::CreateUnary(flags, HloOpcode::kIsFinite, shift));
    return Add(HloInstruction::CreateTernary(
        vector_, HloOpcode::kSelect, finite, shift, Vector(Constant(0))));
  }

  Value InverseDeviation(Value variance) {
    return Unary(HloOpcode::kRsqrt,
                 Plus(variance, Vector(Constant(norm_->epsilon()))));
  }

  // Operand 1 is the scale of all three opcodes.
  Value Slope(Value inverse) { return Times(Operand(1), inverse); }

  // What adds instructions stands in an order of its own: that of arguments is
  // up to the compiler.

  Value Inference() {
    Value centered = Operand(0);
    centered = Minus(centered, Spread(Operand(3)));
    Value slope = Slope(InverseDeviation(Operand(4)));
    Value scaled = Times(centered, Spread(slope));
    return Plus(scaled, Spread(Operand(2)));
  }

  // Batch normalization (Ioffe and Szegedy, 2015), with the variance from sums
  // over shifted values (Chan, Golub and LeVeque, Algorithms for computing the
  // sample variance, 1983). With c = x - shift, mean(c^2) - mean(c)^2 is the
  // variance for any shift, in one pass over x, but loses digits where mean(c)
  // is large against the deviation: values around 1000 that deviate by 0.01
  // leave none of it in f32 without a shift. Any value of the data is a good
  // shift.
  std::vector<Value> Training() {
    Value x = Operand(0);
    Value count = Count();
    Value shift = Shift(x, count);
    Value centered = Minus(x, Spread(shift));
    Value difference = Over(Sum(centered), count);
    Value square = Over(Sum(Times(centered, centered)), count);
    Value mean = Plus(shift, difference);
    Value variance = Minus(square, Times(difference, difference));
    // Rounding may make it negative.
    variance = Binary(HloOpcode::kMaximum, variance, Vector(Constant(0)));
    // Not by x - mean: the rounding of a mean that is far from 0 would show.
    Value slope = Slope(InverseDeviation(variance));
    Value offset = Operand(2);
    offset = Minus(offset, Times(difference, slope));
    Value scaled = Times(centered, Spread(slope));
    return {Plus(scaled, Spread(offset)), mean, variance};
  }

  // With n = (x - mean) / deviation and g the gradient of the output, the
  // gradient of x is scale / deviation * (g - mean(g) - n * mean(g * n)); those
  // of scale and offset are the sums of g * n and of g.
  std::vector<Value> Grad() {
    Value x = Operand(0);
    Value grad = Operand(4);
    Value count = Count();
    Value centered = Minus(x, Spread(Operand(2)));
    Value inverse = InverseDeviation(Operand(3));
    Value grad_offset = Sum(grad);
    Value grad_scale = Times(Sum(Times(grad, centered)), inverse);
    Value rest = Minus(grad, Spread(Over(grad_offset, count)));
    Value share = Over(Times(grad_scale, inverse), count);
    rest = Minus(rest, Times(centered, Spread(share)));
    Value grad_x = Times(rest, Spread(Slope(inverse)));
    return {grad_x, grad_scale, grad_offset};
  }

  HloInstruction* const norm_;
  Shape scalar_;
  Shape vector_;
  Shape array_;
  std::vector<int64_t> reduced_;     // dimensions of operand 0
  std::vector<int64_t> array_dims_;  // 0, 1, …
  std::vector<Value> sizes_;         // of the dimensions; null until needed
  HloComputation* adder_;
  std::optional<HloSharding> scalar_sharding_;
  std::optional<HloSharding> vector_sharding_;
  std::optional<HloSharding> array_sharding_;
  std::vector<Value> added_;
};

absl::Status Expand(HloInstruction* norm, Adders* adders) {
  HloComputation* computation = norm->parent();
  Expansion expansion(norm, adders);
  const std::vector<HloInstruction*> results = expansion.Run();
  TF_RETURN_IF_ERROR(expansion.CarryControlDependencies(results));
  if (!norm->shape().IsTuple()) {
    return computation->ReplaceInstruction(norm, results[0]);
  }
  const std::vector<HloInstruction*> users(norm->users().begin(),
                                           norm->users().end());
  for (HloInstruction* user : users) {
    if (user->opcode() != HloOpcode::kGetTupleElement) continue;
    TF_RETURN_IF_ERROR(
        computation
            ->ReplaceInstruction(user, results[user->tuple_index()],
                                 /*preserve_sharding=*/true,
                                 /*relay_control_dependency=*/false,
                                 /*remove_unused_operands=*/false)
            .status());
  }
  if (norm->IsDead()) return computation->RemoveInstruction(norm);
  HloInstruction* tuple =
      computation->AddInstruction(HloInstruction::CreateTuple(results));
  TF_RETURN_IF_ERROR(computation
                         ->ReplaceInstruction(norm, tuple,
                                              /*preserve_sharding=*/true)
                         .status());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> BatchNormExpander::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  Adders adders(module);
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    std::vector<HloInstruction*> norms;
    for (HloInstruction* inst : computation->instructions()) {
      const HloOpcode opcode = inst->opcode();
      if (((opcode == HloOpcode::kBatchNormTraining &&
            options_.rewrite_training_op) ||
           (opcode == HloOpcode::kBatchNormInference &&
            options_.rewrite_inference_op) ||
           (opcode == HloOpcode::kBatchNormGrad && options_.rewrite_grad_op)) &&
          CanExpand(*inst)) {
        norms.push_back(inst);
      }
    }
    for (HloInstruction* norm : norms) {
      TF_RETURN_IF_ERROR(Expand(norm, &adders));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla

#include "xla/backends/gpu/transforms/priority_fusion/dot_kernels.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using ::stream_executor::DeviceDescription;

// Where the dimensions of an operand are in a product: those of size 1 nowhere.
struct DotOperand {
  // By dimension: of the result; of the contraction, by place; else neither.
  std::vector<int64_t> result_dimension;
  std::vector<bool> contracted;
  // But for contracted dimensions and batches, all are of size 1.
  bool is_vector = true;
};

struct DotForm {
  DotOperand operands[2];
  // Elements that are added up for each one of the result.
  int64_t summed = 1;
  // Operand that is the matrix in a product with a vector.
  std::optional<int64_t> matrix;
  PrimitiveType type;  // of products and sums
};

DotOperand OperandOfDot(const Shape& shape,
                        absl::Span<const int64_t> contracting,
                        absl::Span<const int64_t> batch, int64_t first_free) {
  DotOperand operand;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.dimensions().size());
       ++i) {
    const auto in_batch = absl::c_find(batch, i);
    const bool is_contracted = absl::c_linear_search(contracting, i);
    operand.contracted.push_back(is_contracted);
    int64_t result = -1;
    if (in_batch != batch.end()) {
      result = in_batch - batch.begin();
    } else if (!is_contracted) {
      operand.is_vector &= shape.dimensions(i) == 1;
      result = first_free++;
    }
    operand.result_dimension.push_back(result);
  }
  return operand;
}

// The form of the dot, if a fusion can be made of it.
std::optional<DotForm> FormOf(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kDot || hlo.operand_count() != 2 ||
      hlo.HasControlDependencies()) {
    return std::nullopt;
  }
  const auto& dot = *Cast<HloDotInstruction>(&hlo);
  if (dot.precision_config().algorithm() != PrecisionConfig::ALG_UNSET ||
      !HasFloatTypes(hlo) || !HasDefaultLayout(hlo.shape()) ||
      !HasDefaultLayout(hlo.operand(0)->shape()) ||
      !HasDefaultLayout(hlo.operand(1)->shape())) {
    return std::nullopt;
  }
  const DotDimensionNumbers& dnums = dot.dot_dimension_numbers();
  const int64_t batches = dnums.lhs_batch_dimensions_size();
  const Shape& lhs = hlo.operand(0)->shape();
  DotForm form;
  form.operands[0] =
      OperandOfDot(lhs, dnums.lhs_contracting_dimensions(),
                   dnums.lhs_batch_dimensions(), /*first_free=*/batches);
  form.operands[1] = OperandOfDot(
      hlo.operand(1)->shape(), dnums.rhs_contracting_dimensions(),
      dnums.rhs_batch_dimensions(),
      /*first_free=*/static_cast<int64_t>(lhs.dimensions().size()) -
          dnums.lhs_contracting_dimensions_size());
  for (int64_t dimension : dnums.lhs_contracting_dimensions()) {
    form.summed *= lhs.dimensions(dimension);
  }
  const PrimitiveType type = hlo.shape().element_type();
  form.type = form.summed > 1 ? SumType(type) : type;
  if (form.summed > 1) {
    if (form.operands[1].is_vector) {
      form.matrix = 0;
    } else if (form.operands[0].is_vector) {
      form.matrix = 1;
    } else {
      return std::nullopt;
    }
  }
  if (form.summed == 0) return std::nullopt;
  return form;
}

// The body of a fusion that takes a dot's place.
class DotBody {
 public:
  DotBody(const HloInstruction& dot, const DotForm& form)
      : dot_(dot), form_(form), builder_("fused_dot") {
    for (int64_t i = 0; i < 2; ++i) {
      parameters_[i] = builder_.AddInstruction(HloInstruction::CreateParameter(
          i, dot.operand(i)->shape(), absl::StrCat("param_", i)));
    }
  }

  // Null: operands would have to be transposed.
  std::unique_ptr<HloComputation> Product() {
    HloInstruction* factors[2];
    for (int64_t i = 0; i < 2; ++i) {
      const std::vector<int64_t>& places = form_.operands[i].result_dimension;
      factors[i] = Spread(i, dot_.shape().dimensions(), places);
      if (factors[i] == nullptr) return nullptr;
    }
    return Build(Multiply(factors[0], factors[1]));
  }

  // The reduction, not worth it if the device says so.
  std::unique_ptr<HloComputation> Sum(HloComputation* add,
                                      const DeviceDescription& device) {
    const int64_t matrix = *form_.matrix;
    const DotOperand& rows = form_.operands[matrix];
    const DotOperand& vector = form_.operands[1 - matrix];
    const Shape& shape = dot_.operand(matrix)->shape();
    const auto& dnums = dot_.dot_dimension_numbers();
    const auto& of_matrix = matrix == 0 ? dnums.lhs_contracting_dimensions()
                                        : dnums.rhs_contracting_dimensions();
    const auto& of_vector = matrix == 0 ? dnums.rhs_contracting_dimensions()
                                        : dnums.lhs_contracting_dimensions();
    // The remaining dimensions of the matrix must be in the order of the
    // result.
    int64_t last = -1;
    for (size_t i = 0; i < rows.result_dimension.size(); ++i) {
      if (rows.contracted[i] || shape.dimensions(i) == 1) continue;
      if (rows.result_dimension[i] < last) return nullptr;
      last = rows.result_dimension[i];
    }
    // Each dimension of the vector is one of the matrix.
    std::vector<int64_t> places;
    for (size_t i = 0; i < vector.result_dimension.size(); ++i) {
      if (vector.contracted[i]) {
        places.push_back(
            of_matrix[absl::c_find(of_vector, i) - of_vector.begin()]);
        continue;
      }
      // A batch; or of size 1 and nowhere.
      auto it = absl::c_find(rows.result_dimension, vector.result_dimension[i]);
      places.push_back(it - rows.result_dimension.begin());
    }
    HloInstruction* spread = Spread(1 - matrix, shape.dimensions(), places);
    if (spread == nullptr) return nullptr;
    HloInstruction* product =
        Multiply(Converted(&builder_, parameters_[matrix], form_.type), spread);
    HloInstruction* zero = builder_.AddInstruction(
        HloInstruction::CreateConstant(LiteralUtil::Zero(form_.type)));
    std::vector<int64_t> dimensions, left;
    for (size_t i = 0; i < rows.contracted.size(); ++i) {
      if (rows.contracted[i]) {
        dimensions.push_back(static_cast<int64_t>(i));
      } else {
        left.push_back(shape.dimensions(i));
      }
    }
    HloInstruction* sum = builder_.AddInstruction(HloInstruction::CreateReduce(
        ShapeUtil::MakeShapeWithDescendingLayout(form_.type, left), product,
        zero, dimensions, add));
    if (!IsReductionFromOrToContiguousDimensions(*sum, device)) return nullptr;
    return Build(sum);
  }

 private:
  // Operand `i` in an array of these dimensions; `places`: those of the
  // operand. Null if these are not in order.
  HloInstruction* Spread(int64_t i, absl::Span<const int64_t> dimensions,
                         const std::vector<int64_t>& places) {
    const Shape& shape = parameters_[i]->shape();
    std::vector<int64_t> sizes, kept;
    for (size_t d = 0; d < places.size(); ++d) {
      if (shape.dimensions(d) == 1) continue;
      if (!kept.empty() && places[d] <= kept.back()) return nullptr;
      sizes.push_back(shape.dimensions(d));
      kept.push_back(places[d]);
    }
    HloInstruction* value = Converted(&builder_, parameters_[i], form_.type);
    if (sizes.size() < places.size()) {
      value = builder_.AddInstruction(HloInstruction::CreateReshape(
          ShapeUtil::MakeShapeWithDescendingLayout(form_.type, sizes), value));
    }
    return builder_.AddInstruction(HloInstruction::CreateBroadcast(
        ShapeUtil::MakeShapeWithDescendingLayout(form_.type, dimensions), value,
        kept));
  }

  HloInstruction* Multiply(HloInstruction* a, HloInstruction* b) {
    return builder_.AddInstruction(
        HloInstruction::CreateBinary(a->shape(), HloOpcode::kMultiply, a, b));
  }

  std::unique_ptr<HloComputation> Build(HloInstruction* value) {
    value = Converted(&builder_, value, dot_.shape().element_type());
    if (!ShapeUtil::Equal(value->shape(), dot_.shape())) {
      value = builder_.AddInstruction(
          HloInstruction::CreateReshape(dot_.shape(), value));
    }
    return builder_.Build(value);
  }

  const HloInstruction& dot_;
  const DotForm& form_;
  HloComputation::Builder builder_;
  HloInstruction* parameters_[2];
};

// Whether the product reads so large a matrix that nothing else takes time, and
// has so many elements that a reduction keeps the device busy.
bool WaitsForMatrix(const HloInstruction& dot, const DotForm& form) {
  constexpr int64_t kMinMatrix = int64_t{1} << 20, kMinResult = 2048;
  return ShapeUtil::ElementsIn(dot.operand(*form.matrix)->shape()) >=
             kMinMatrix &&
         ShapeUtil::ElementsIn(dot.shape()) >= kMinResult;
}

class DotReplacer {
 public:
  DotReplacer(HloComputation* computation, const DeviceDescription& device,
              const absl::flat_hash_set<std::string>& banned,
              FusionRules* rules, FusionExplanation* explanation, int64_t* fuel)
      : computation_(computation),
        device_(device),
        banned_(banned),
        rules_(*rules),
        explanation_(explanation),
        fuel_(fuel),
        adds_(computation->parent()) {}

  absl::StatusOr<int64_t> Run() {
    for (HloInstruction* hlo : computation_->MakeInstructionPostOrder()) {
      if (fuel_ != nullptr && replaced_ == *fuel_) break;
      if (banned_.contains(hlo->name())) continue;
      const std::optional<DotForm> form = FormOf(*hlo);
      if (!form.has_value()) continue;
      if (form->matrix.has_value() && !SparesMatrix(*hlo, *form) &&
          !WaitsForMatrix(*hlo, *form)) {
        continue;
      }
      TF_RETURN_IF_ERROR(Replace(hlo, *form));
    }
    TF_RETURN_IF_ERROR(adds_.RemoveUnused());
    if (fuel_ != nullptr) *fuel_ -= replaced_;
    return replaced_;
  }

 private:
  // Nobody needs the matrix in memory if this dot, and those like it, are
  // kernels that may be fused.
  bool SparesMatrix(const HloInstruction& dot, const DotForm& form) {
    const HloInstruction* matrix = dot.operand(*form.matrix);
    if (matrix->opcode() == HloOpcode::kConstant ||
        !rules_.CanBeProducer(*matrix)) {
      return false;
    }
    return CanSpareValue(*matrix, &rules_, [&](const HloInstruction& user) {
      const std::optional<DotForm> other = FormOf(user);
      return other.has_value() && !banned_.contains(user.name()) &&
             (!other->matrix.has_value() ||
              user.operand(*other->matrix) == matrix);
    });
  }

  absl::Status Replace(HloInstruction* dot, const DotForm& form) {
    DotBody body(*dot, form);
    std::unique_ptr<HloComputation> computation =
        form.matrix.has_value() ? body.Sum(adds_.Get(form.type), device_)
                                : body.Product();
    if (computation == nullptr) return absl::OkStatus();
    const std::string name(dot->name());
    HloInstruction* fusion = AddFusionFor(
        dot,
        form.matrix.has_value() ? HloInstruction::FusionKind::kInput
                                : HloInstruction::FusionKind::kLoop,
        std::move(computation));
    TF_RETURN_IF_ERROR(PutInPlace(dot, fusion, &rules_));
    ++replaced_;
    if (explanation_ == nullptr) return absl::OkStatus();
    FusionRecord record;
    record.kind = FusionRecord::Kind::kDot;
    record.computation = std::string(computation_->name());
    record.producer = name;
    record.fused = true;
    record.reason = !form.matrix.has_value() ? "sums nothing up"
                    : WaitsForMatrix(*fusion, form)
                        ? "a reduction reads the matrix as fast as memory"
                        : "the matrix need not be written for a reduction";
    explanation_->Record(std::move(record));
    return absl::OkStatus();
  }

  HloComputation* computation_;
  const DeviceDescription& device_;
  const absl::flat_hash_set<std::string>& banned_;
  FusionRules& rules_;
  FusionExplanation* explanation_;
  int64_t* fuel_;
  Additions adds_;
  int64_t replaced_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> MakeDotsFusible(
    HloComputation* computation, const DeviceDescription& device,
    const absl::flat_hash_set<std::string>& banned, FusionRules* rules,
    FusionExplanation* explanation, int64_t* fuel) {
  return DotReplacer(computation, device, banned, rules, explanation, fuel)
      .Run();
}

}  // namespace xla::gpu

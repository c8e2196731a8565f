// Instructions that call computations.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/analysis/library_calls.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"
#include "xla/window_util.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Beyond this nesting of fusions a parameter counts as read in full.
constexpr int kMaxFusionDepth = 16;

double WindowElements(const Window& window) {
  double elements = 1;
  for (const WindowDimension& dimension : window.dimensions()) {
    elements *= static_cast<double>(dimension.size());
  }
  return elements;
}

// The number of elements of the only dimension that is reduced if each window
// holds all of them, that is if every result along it is the same; 0 otherwise.
double ElementsOfWholeWindows(const HloInstruction& reduce_window) {
  const Shape& operand = reduce_window.operand(0)->shape();
  const int64_t rank = reduce_window.window().dimensions_size();
  if (rank != operand.dimensions_size() ||
      window_util::HasStride(reduce_window.window()) ||
      window_util::HasDilation(reduce_window.window())) {
    return 0;
  }
  double elements = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const WindowDimension& window = reduce_window.window().dimensions(i);
    const int64_t padding = window.padding_low();
    if (window.size() == 1 && padding == 0 && window.padding_high() == 0) {
      continue;
    }
    const int64_t size = operand.dimensions(i);
    if (elements != 0 || size <= 1 || padding != size - 1 ||
        window.padding_high() != padding || window.size() - 1 != 2 * padding) {
      return 0;
    }
    elements = static_cast<double>(size);
  }
  return elements;
}

// How often `user` reads an element of operand `i` while it computes its result
// once.
double ReadsPerElement(const HloInstruction& user, int64_t i) {
  const Shape& operand = user.operand(i)->shape();
  if (!operand.IsArray() || !user.shape().IsArray()) return 1;
  const double elements = std::max<double>(ShapeUtil::ElementsIn(operand), 1);
  const double results = ShapeUtil::ElementsIn(user.shape());
  switch (user.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kSlice:
      return results / elements;
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
      return i == 0 ? results / elements : 1;
    case HloOpcode::kDot:
      return static_cast<double>(HloCostAnalysis::GetDotFlops(
                 user.operand(0)->shape(), user.shape(),
                 user.dot_dimension_numbers())) /
             2 / elements;
    default:  // Reads each element once.
      return 1;
  }
}

}  // namespace

absl::Status HloCostAnalysis::AddApplied(HloComputation* computation,
                                         double count) {
  TF_ASSIGN_OR_RETURN(Properties applied, ProcessSubcomputation(computation));
  applied.bytes_accessed = 0;
  applied.optimal_seconds = 0;
  current_properties_.AddTotals(applied, count);
  return absl::OkStatus();
}

// --- Computations that are applied to elements
// ---------------------------------

absl::Status HloCostAnalysis::HandleMap(const HloInstruction* hlo) {
  return AddApplied(hlo->to_apply(), ShapeUtil::ElementsIn(hlo->shape()));
}

absl::Status HloCostAnalysis::HandleReduce(const HloInstruction* hlo) {
  const Shape& output =
      hlo->shape().IsTuple() ? hlo->shape().tuple_shapes(0) : hlo->shape();
  return AddApplied(hlo->to_apply(),
                    ShapeUtil::ElementsIn(hlo->operand(0)->shape()) -
                        ShapeUtil::ElementsIn(output));
}

absl::Status HloCostAnalysis::HandleReduceWindow(const HloInstruction* hlo) {
  const Shape& output =
      hlo->shape().IsTuple() ? hlo->shape().tuple_shapes(0) : hlo->shape();
  const double results = ShapeUtil::ElementsIn(output);
  const double window = WindowElements(hlo->window());
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const bool is_initial = i >= hlo->operand_count() / 2;
    CountEachRead(hlo, i, is_initial ? results : results * window);
  }
  const double whole =
      options_.count_equal_windows ? 0 : ElementsOfWholeWindows(*hlo);
  return AddApplied(hlo->to_apply(), whole > 0 ? results / whole + whole - 1
                                               : results * (window - 1));
}

absl::Status HloCostAnalysis::HandleSelectAndScatter(
    const HloInstruction* hlo) {
  const double elements = ShapeUtil::ElementsIn(hlo->operand(1)->shape());
  TF_RETURN_IF_ERROR(AddApplied(
      hlo->select(), elements * (WindowElements(hlo->window()) - 1)));
  return AddApplied(hlo->scatter(), elements);
}

absl::Status HloCostAnalysis::HandleScan(const HloInstruction* hlo) {
  // A body on scalars runs for each element, one on slices for each slice.
  const HloComputation* body = hlo->to_apply();
  double count = 1;
  for (int64_t i = 0;
       i < std::min(hlo->operand_count(), body->num_parameters()); ++i) {
    const double whole = ShapeUtil::ElementsIn(hlo->operand(i)->shape());
    const double part =
        ShapeUtil::ElementsIn(body->parameter_instruction(i)->shape());
    if (part > 0) count = std::max(count, whole / part);
  }
  return AddApplied(hlo->to_apply(), count);
}

absl::Status HloCostAnalysis::HandleScatter(const HloInstruction* hlo) {
  // Operands that are updated, indices, updates. Each update is read, and what
  // it hits is read and written.
  const int64_t count = hlo->operand_count() / 2;
  double written = 0;
  double bytes = 0;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const double size =
        TotalBytes(hlo->operand(i < count ? count + 1 + i : i)->shape());
    current_properties_.set_operand_bytes_accessed(i, size);
    bytes += size;
    if (i < count) written += size;
  }
  current_properties_.set_output_bytes_accessed(written);
  current_properties_.bytes_accessed = bytes + written;
  return AddApplied(hlo->to_apply(),
                    ShapeUtil::ElementsIn(hlo->operand(count + 1)->shape()));
}

// --- Fusions
// -------------------------------------------------------------------

int64_t HloCostAnalysis::FusionParameterReadBytes(
    const HloInstruction* param) const {
  return ReadBytes(param, 0);
}

// `value` is a parameter, or all of it by another name.
int64_t HloCostAnalysis::ReadBytes(const HloInstruction* value,
                                   int depth) const {
  const int64_t size = TotalBytes(value->shape());
  if (depth > kMaxFusionDepth) return size;
  int64_t bytes = 0;
  bool read_in_full = false;
  auto read_all = [&] {
    if (!read_in_full || options_.count_multiple_input_accesses) bytes += size;
    read_in_full = true;
  };
  for (const HloInstruction* user : value->users()) {
    for (int64_t operand : user->OperandIndices(value)) {
      switch (user->opcode()) {
        case HloOpcode::kFusion:
          bytes += ReadBytes(user->fused_parameter(operand), depth + 1);
          break;
        case HloOpcode::kBitcast:
        case HloOpcode::kGetTupleElement:
          bytes += user->IsRoot() ? TotalBytes(user->shape())
                                  : ReadBytes(user, depth + 1);
          break;
        case HloOpcode::kSlice:
          bytes += TotalBytes(user->shape());
          break;
        case HloOpcode::kDynamicSlice:
        case HloOpcode::kGather:
          if (operand == 0) {
            bytes += TotalBytes(user->shape());
          } else {
            read_all();
          }
          break;
        case HloOpcode::kDynamicUpdateSlice:
          // As an output it is an update in place, which does not read what it
          // leaves alone.
          if (operand != 0) {
            read_all();
          } else if (FusionOutputBytes(user) == TotalBytes(user->shape())) {
            bytes += size - TotalBytes(user->operand(1)->shape());
          }
          break;
        default:  // Reads all of it.
          read_all();
      }
    }
  }
  // A parameter that is an output, by itself or in a tuple, is copied.
  if (value->IsRoot()) read_all();
  return options_.count_multiple_input_accesses ? bytes : std::min(bytes, size);
}

// What a fusion writes for one of its outputs; for an instruction that is none,
// the size of its result.
int64_t HloCostAnalysis::FusionOutputBytes(const HloInstruction* output) const {
  const HloInstruction* last = output;
  while (last->opcode() == HloOpcode::kBitcast) last = last->operand(0);
  // Through bitcasts to the root, or to its tuple.
  const HloInstruction* root = output->parent()->root_instruction();
  const HloInstruction* end = output;
  while (end != root && end->user_count() == 1) {
    end = end->users()[0];
    if (end->opcode() != HloOpcode::kBitcast) break;
  }
  const bool is_output =
      end == root && (end == output || end->opcode() == HloOpcode::kTuple ||
                      end->opcode() == HloOpcode::kBitcast);
  if (is_output && last->opcode() == HloOpcode::kDynamicUpdateSlice) {
    return TotalBytes(last->operand(1)->shape());
  }
  return TotalBytes(output->shape());
}

// How often each element of a fused instruction is computed if every reader
// computes it anew. Elementwise readers compute theirs at the same place: they
// share it, and so do outputs.
void HloCostAnalysis::SetUtilizations(const HloComputation* fused) {
  std::vector<HloInstruction*> order = fused->MakeInstructionPostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const HloInstruction* inst = *it;
    double shared = inst->IsRoot() ? 1 : 0;
    double others = 0;
    for (const HloInstruction* user : inst->users()) {
      const double utilization = Find(*user).utilization;
      for (int64_t i : user->OperandIndices(inst)) {
        if (user->opcode() == HloOpcode::kTuple ||
            user->IsElementwiseOnOperand(i)) {
          shared = std::max(shared, utilization);
        } else {
          others += utilization * ReadsPerElement(*user, i);
        }
      }
    }
    hlo_properties_[inst].utilization = shared + others;
  }
}

double HloCostAnalysis::SetTupleOutputBytes(const HloInstruction* root) {
  double written = 0;
  // Tuples at the root, with where in the output they are.
  std::vector<std::pair<const HloInstruction*, ShapeIndex>> work = {{root, {}}};
  while (!work.empty()) {
    const auto [tuple, index] = std::move(work.back());
    work.pop_back();
    double whole = 0;
    for (int64_t i = 0; i < tuple->operand_count(); ++i) {
      const HloInstruction* element = tuple->operand(i);
      ShapeIndex there = index;
      there.push_back(i);
      const bool is_tuple = element->opcode() == HloOpcode::kTuple;
      const double output =
          is_tuple ? TotalBytes(element->shape()) : FusionOutputBytes(element);
      current_properties_.set_output_bytes_accessed(there, output);
      whole += output;
      if (is_tuple) work.push_back({element, there});
    }
    if (tuple == root) written = whole;
  }
  return written;
}

// What the fusion reads of each array in a parameter that is a tuple: by the
// elements that are taken out of it.
void HloCostAnalysis::SetTupleOperandBytes(int64_t operand,
                                           const HloInstruction* parameter) {
  std::vector<std::pair<const HloInstruction*, ShapeIndex>> work = {
      {parameter, {}}};
  absl::flat_hash_map<ShapeIndex, double> read;
  while (!work.empty()) {
    const auto [value, index] = std::move(work.back());
    work.pop_back();
    for (const HloInstruction* user : value->users()) {
      if (user->opcode() != HloOpcode::kGetTupleElement) continue;
      ShapeIndex there = index;
      there.push_back(user->tuple_index());
      if (user->shape().IsTuple()) {
        work.push_back({user, there});
      } else {
        read[there] += FusionParameterReadBytes(user);
      }
    }
  }
  for (const auto& [index, bytes] : read) {
    const double size =
        TotalBytes(ShapeUtil::GetSubshape(parameter->shape(), index));
    current_properties_.set_operand_bytes_accessed(
        operand, index,
        options_.count_multiple_input_accesses ? bytes : std::min(bytes, size));
  }
}

absl::Status HloCostAnalysis::HandleFusion(const HloInstruction* hlo) {
  TF_RETURN_IF_ERROR(AddApplied(hlo->fused_instructions_computation(), 1));
  SetUtilizations(hlo->fused_instructions_computation());
  double bytes = 0;
  for (int64_t i = 0; i < hlo->operand_count(); ++i) {
    const double size = TotalBytes(hlo->operand(i)->shape());
    const double read = FusionParameterReadBytes(hlo->fused_parameter(i));
    current_properties_.set_operand_bytes_accessed(i, read);
    if (hlo->operand(i)->shape().IsTuple()) {
      SetTupleOperandBytes(i, hlo->fused_parameter(i));
    }
    if (size > 0) current_properties_.set_operand_utilization(i, read / size);
    bytes += read;
  }
  const HloInstruction* root = hlo->fused_expression_root();
  double written = 0;
  if (root->opcode() == HloOpcode::kTuple) {
    written = SetTupleOutputBytes(root);
  } else {
    written = FusionOutputBytes(root);
  }
  current_properties_.set_output_bytes_accessed(written);
  current_properties_.bytes_accessed = bytes + written;
  return absl::OkStatus();
}

// --- Control flow
// --------------------------------------------------------------

absl::Status HloCostAnalysis::HandleCall(const HloInstruction* hlo) {
  TF_ASSIGN_OR_RETURN(current_properties_,
                      ProcessSubcomputation(hlo->to_apply()));
  current_should_compute_bottleneck_time_ = false;
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleAsyncStart(const HloInstruction* hlo) {
  TF_ASSIGN_OR_RETURN(current_properties_,
                      ProcessSubcomputation(hlo->async_wrapped_computation()));
  current_should_compute_bottleneck_time_ = false;
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleWhile(const HloInstruction* hlo) {
  TF_ASSIGN_OR_RETURN(Properties body,
                      ProcessSubcomputation(hlo->while_body()));
  TF_ASSIGN_OR_RETURN(Properties condition,
                      ProcessSubcomputation(hlo->while_condition()));
  double count = 1;
  double condition_count = 1;
  if (options_.multiply_by_trip_count) {
    count =
        ComputeWhileLoopTripCount(hlo).value_or(options_.unknown_trip_count);
    condition_count = count + 1;
  }
  current_properties_ = Properties();
  current_properties_.AddTotals(body, count);
  current_properties_.AddTotals(condition, condition_count);
  current_should_compute_bottleneck_time_ = false;
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleConditional(const HloInstruction* hlo) {
  current_properties_ = Properties();
  for (HloComputation* branch : hlo->branch_computations()) {
    TF_ASSIGN_OR_RETURN(Properties cost, ProcessSubcomputation(branch));
    current_properties_.MaxTotals(cost);
  }
  current_should_compute_bottleneck_time_ = false;
  return absl::OkStatus();
}

absl::Status HloCostAnalysis::HandleCustomCall(const HloInstruction* hlo) {
  // An unknown call moves its operands and results, and takes no time.
  const std::optional<double> flops = LibraryCallFlops(*hlo);
  current_should_compute_bottleneck_time_ = flops.has_value();
  current_properties_.flops = flops.value_or(0);
  return absl::OkStatus();
}

}  // namespace xla

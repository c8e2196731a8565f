#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Buffers, b(f32[4]), are memory that instructions change in place. Pin makes
// one of a value and Unpin a value of one; in between they must be used
// linearly: each buffer is consumed by exactly one instruction, which either
// hands it on or ends its life, and a computation returns every buffer that it
// takes.
//
// The check goes through computations in post order. Within one, it records who
// consumed each buffer, looking through tuples; for roots it records which
// parameter a returned buffer came from, so that calls and loops can be
// followed without visiting the callee again.

namespace xla::verifier {
namespace {

// A buffer in a result.
struct Place {
  const HloInstruction* inst;
  ShapeIndex index;

  bool operator==(const Place& other) const {
    return inst == other.inst && index == other.index;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Place& place) {
    return H::combine(std::move(h), place.inst, place.index);
  }
};

std::vector<ShapeIndex> BuffersIn(const Shape& shape) {
  std::vector<ShapeIndex> found;
  ShapeUtil::ForEachSubshape(shape,
                             [&](const Shape& part, const ShapeIndex& index) {
                               if (part.IsBuffer()) found.push_back(index);
                             });
  return found;
}

// Looks through tuples and their elements.
Place SourceOf(Place place) {
  while (true) {
    if (place.inst->opcode() == HloOpcode::kGetTupleElement) {
      place.index.push_front(place.inst->tuple_index());
      place.inst = place.inst->operand(0);
    } else if (place.inst->opcode() == HloOpcode::kTuple &&
               !place.index.empty()) {
      const HloInstruction* element = place.inst->operand(place.index.front());
      place.index.pop_front();
      place.inst = element;
    } else {
      return place;
    }
  }
}

bool CarriesBuffers(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCall:
    case HloOpcode::kCustomCall:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
    case HloOpcode::kWhile:
      return true;
    case HloOpcode::kParameter:
      return !inst.parent()->IsEntryComputation();
    default:  // Buffers stay within one computation.
      return false;
  }
}

// The operand's buffer that the result at `index` is; none if it is a new one.
std::optional<Place> AliasedOperand(const HloInstruction& call,
                                    const ShapeIndex& index) {
  for (const auto& [output, source] : call.output_operand_aliasing()) {
    if (output.size() > index.size() ||
        !std::equal(output.begin(), output.end(), index.begin())) {
      continue;
    }
    Place place = {call.operand(source.first), source.second};
    place.index.insert(place.index.end(), index.begin() + output.size(),
                       index.end());
    return place;
  }
  return std::nullopt;
}

// Computations in post order, so that what a call returns is known when its
// caller is looked at.
class BufferCheck {
 public:
  explicit BufferCheck(const Context& context) : context_(context) {}

  absl::Status Check(const HloComputation& computation);

 private:
  absl::Status CheckInstruction(const HloInstruction& inst);
  absl::Status CheckPin(const HloInstruction& inst);
  absl::Status CheckCustomCall(const HloInstruction& inst);
  absl::Status CheckRoot(const HloComputation& computation);
  // Notes that `inst` takes the buffer.
  absl::Status Take(const HloInstruction& inst, const Place& place);
  // The parameter's buffer that the place holds; none if it is none's.
  std::optional<Place> ParameterOf(const HloComputation& computation,
                                   Place place) const;

  const Context& context_;
  // Who took a buffer, of the computation at hand.
  absl::flat_hash_map<Place, const HloInstruction*> taken_;
  // For roots: which parameter's buffer they return, by number and index.
  absl::flat_hash_map<Place, std::pair<int64_t, ShapeIndex>> returned_;
};

absl::Status BufferCheck::Take(const HloInstruction& inst, const Place& place) {
  const auto [entry, is_first] = taken_.emplace(SourceOf(place), &inst);
  if (is_first) return absl::OkStatus();
  return Broken(Invariant::V127, inst,
                absl::StrCat("%", entry->second->name(), " takes %",
                             entry->first.inst->name(), " at ",
                             entry->first.index.ToString(), " as well"));
}

absl::Status BufferCheck::CheckPin(const HloInstruction& inst) {
  const bool is_pin = inst.custom_call_target() == "Pin";
  auto wrong = [&](absl::string_view what) {
    return Broken(Invariant::V125, inst, what);
  };
  if (inst.operand_count() != 1) return wrong("expected one operand");
  const Shape& from = inst.operand(0)->shape();
  const Shape& to = inst.shape();
  const Shape& value = is_pin ? from : to;
  const Shape& buffer = is_pin ? to : from;
  if (!value.IsArrayExcludingBuffer() || !buffer.IsBuffer()) {
    return wrong(absl::StrCat("expected an array and a buffer of it, found ",
                              context_.Str(value), " and ",
                              context_.Str(buffer)));
  }
  if (!context_.Matches(buffer.buffer_shape(), value, Match::kSame)) {
    return wrong(
        context_.Difference(buffer.buffer_shape(), value, Match::kSame));
  }
  const auto& aliasing = inst.output_operand_aliasing();
  if (aliasing.size() != 1 || !aliasing[0].first.empty() ||
      aliasing[0].second.first != 0 || !aliasing[0].second.second.empty()) {
    return wrong("expected output_to_operand_aliasing={{}: (0, {})}");
  }
  return absl::OkStatus();
}

absl::Status BufferCheck::CheckCustomCall(const HloInstruction& inst) {
  if (inst.IsCustomCall({"Pin", "Unpin"})) return CheckPin(inst);
  absl::flat_hash_set<Place> left;
  for (const ShapeIndex& index : BuffersIn(inst.shape())) {
    const std::optional<Place> source = AliasedOperand(inst, index);
    const bool has_source =
        source.has_value() &&
        ShapeUtil::GetSubshape(source->inst->shape(), source->index).IsBuffer();
    if (!has_source) {
      if (inst.IsCustomCall("CreateBuffer")) continue;
      return Broken(Invariant::V126, inst,
                    absl::StrCat("the buffer at ", index.ToString(),
                                 " comes from no operand"));
    }
    if (!left.insert(SourceOf(*source)).second) {
      return Broken(Invariant::V127, inst,
                    absl::StrCat("it returns %", source->inst->name(), " at ",
                                 source->index.ToString(), " twice"));
    }
  }
  for (const HloInstruction* operand : inst.operands()) {
    for (const ShapeIndex& index : BuffersIn(operand->shape())) {
      if (left.contains(SourceOf({operand, index}))) continue;
      return Broken(Invariant::V126, inst,
                    absl::StrCat("it takes %", operand->name(), " at ",
                                 index.ToString(), " and does not return it"));
    }
  }
  return absl::OkStatus();
}

absl::Status BufferCheck::CheckInstruction(const HloInstruction& inst) {
  int64_t buffers = BuffersIn(inst.shape()).size();
  for (const HloInstruction* operand : inst.operands()) {
    buffers += BuffersIn(operand->shape()).size();
  }
  if (buffers == 0) {
    return inst.IsCustomCall({"Pin", "Unpin"}) ? CheckPin(inst)
                                               : absl::OkStatus();
  }
  if (!CarriesBuffers(inst)) {
    return Broken(Invariant::V124, inst,
                  inst.opcode() == HloOpcode::kParameter
                      ? "the program takes values"
                      : absl::StrCat(HloOpcodeString(inst.opcode()),
                                     " takes and gives values"));
  }
  if (inst.opcode() == HloOpcode::kCustomCall) {
    TF_RETURN_IF_ERROR(CheckCustomCall(inst));
  }
  if (inst.opcode() == HloOpcode::kTuple ||
      inst.opcode() == HloOpcode::kGetTupleElement) {
    return absl::OkStatus();
  }
  for (const HloInstruction* operand : inst.operands()) {
    for (const ShapeIndex& index : BuffersIn(operand->shape())) {
      TF_RETURN_IF_ERROR(Take(inst, {operand, index}));
    }
  }
  return absl::OkStatus();
}

std::optional<Place> BufferCheck::ParameterOf(const HloComputation& computation,
                                              Place place) const {
  // Each step goes to an operand.
  while (true) {
    place = SourceOf(std::move(place));
    const HloInstruction& inst = *place.inst;
    std::optional<Place> source;
    switch (inst.opcode()) {
      case HloOpcode::kParameter:
        return place;
      case HloOpcode::kCustomCall:
        source = AliasedOperand(inst, place.index);
        break;
      case HloOpcode::kWhile:
      case HloOpcode::kCall: {
        const HloComputation* callee = inst.opcode() == HloOpcode::kWhile
                                           ? inst.while_body()
                                           : inst.to_apply();
        const auto found =
            returned_.find(Place{callee->root_instruction(), place.index});
        if (found != returned_.end()) {
          source =
              Place{inst.operand(found->second.first), found->second.second};
        }
        break;
      }
      case HloOpcode::kAsyncDone: {
        // The buffers that the started computation takes.
        const HloInstruction* start =
            Cast<HloAsyncInstruction>(&inst)->async_chain_start();
        if (start == nullptr) return std::nullopt;
        const HloComputation* callee = start->called_computations()[0];
        const auto found =
            returned_.find(Place{callee->root_instruction(), place.index});
        if (found != returned_.end() &&
            found->second.first < start->operand_count() &&
            start->parent() == &computation) {
          source =
              Place{start->operand(found->second.first), found->second.second};
        }
        break;
      }
      default:  // Makes the buffer.
        break;
    }
    if (!source.has_value()) return std::nullopt;
    place = *std::move(source);
  }
}

absl::Status BufferCheck::CheckRoot(const HloComputation& computation) {
  const HloInstruction& root = *computation.root_instruction();
  const std::vector<ShapeIndex> results = BuffersIn(root.shape());
  if (computation.IsEntryComputation()) {
    if (results.empty()) return absl::OkStatus();
    return Broken(Invariant::V124, root, "the program results in values");
  }
  absl::flat_hash_set<Place> left;
  for (const ShapeIndex& index : results) {
    TF_RETURN_IF_ERROR(Take(root, {&root, index}));
    const std::optional<Place> parameter =
        ParameterOf(computation, {&root, index});
    if (!parameter.has_value()) {
      return Broken(
          Invariant::V126, root,
          absl::StrCat("the buffer at ", index.ToString(),
                       " comes from no parameter of %", computation.name()));
    }
    returned_[Place{&root, index}] = {parameter->inst->parameter_number(),
                                      parameter->index};
    left.insert(*parameter);
  }
  // Conditions of loops look at what the body goes on with.
  for (const HloInstruction* caller : computation.caller_instructions()) {
    if (caller->opcode() == HloOpcode::kWhile &&
        caller->while_condition() == &computation) {
      return absl::OkStatus();
    }
  }
  for (const HloInstruction* parameter : computation.parameter_instructions()) {
    for (const ShapeIndex& index : BuffersIn(parameter->shape())) {
      if (left.contains(Place{parameter, index})) continue;
      return Broken(
          Invariant::V126, *parameter,
          absl::StrCat("%", computation.name(),
                       " does not return the buffer at ", index.ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status BufferCheck::Check(const HloComputation& computation) {
  taken_.clear();
  for (const HloInstruction* inst : computation.instructions()) {
    TF_RETURN_IF_ERROR(CheckInstruction(*inst));
  }
  return CheckRoot(computation);
}

}  // namespace

absl::Status CheckBuffers(const HloModule& module,
                          const HloVerifierOpts& opts) {
  bool has_buffers = false;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      const Shape& shape = inst->shape();
      has_buffers = has_buffers || shape.IsBuffer() ||
                    inst->IsCustomCall({"Pin", "Unpin"}) ||
                    // Other tuples hold what these gave.
                    ((inst->opcode() == HloOpcode::kParameter ||
                      inst->opcode() == HloOpcode::kCustomCall) &&
                     shape.IsTuple() && !BuffersIn(shape).empty());
    }
  }
  if (!has_buffers) return absl::OkStatus();
  const Context context(opts);
  BufferCheck check(context);
  for (const HloComputation* computation : module.MakeComputationPostOrder()) {
    TF_RETURN_IF_ERROR(check.Check(*computation));
  }
  return absl::OkStatus();
}

}  // namespace xla::verifier

#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

// Whether results may lie in the memory of operands: kernels of libraries read
// theirs to the end, and so do those that read elements out of place. Fusions,
// loops and calls may, as far as is known.
bool MayShareMemory(const HloInstruction& inst) {
  if (inst.opcode() == HloOpcode::kCustomCall) {
    return !inst.output_operand_aliasing().empty();
  }
  return !HloPredicateIsOp<
      HloOpcode::kBroadcast, HloOpcode::kConcatenate, HloOpcode::kConvolution,
      HloOpcode::kDot, HloOpcode::kDynamicSlice, HloOpcode::kGather,
      HloOpcode::kPad, HloOpcode::kReduce, HloOpcode::kReduceWindow,
      HloOpcode::kReshape, HloOpcode::kReverse, HloOpcode::kSelectAndScatter,
      HloOpcode::kSlice, HloOpcode::kTranspose>(&inst);
}

// Maps instructions to nodes and positions of shapes to values. Instructions
// that only rename values (get-tuple-element, bitcast, tuple) become no nodes:
// points_ records which value each of their positions stands for, so a reader
// behind any number of them depends on the node that made the array. Position
// -1 stands for the table of a renamed tuple, which is no value.
class Builder {
 public:
  Builder(absl::FunctionRef<int64_t(const Shape&)> bytes,
          absl::FunctionRef<double(const HloInstruction&)> seconds,
          absl::FunctionRef<int64_t(const HloInstruction&)> internal_bytes)
      : bytes_(bytes), seconds_(seconds), internal_bytes_(internal_bytes) {}

  ComputationProblem Build(const HloInstructionSequence& sequence) {
    for (HloInstruction* inst : sequence.instructions()) {
      if (IsRenaming(*inst)) {
        points_[inst] = Rename(*inst);
      } else {
        AddNode(inst);
      }
    }
    return std::move(result_);
  }

  void SetOutputs(const HloInstruction& root, ComputationProblem* result) {
    std::vector<ValueId>& outputs = result->problem.outputs;
    for (ValueId value : points_[&root]) {
      if (value >= 0) outputs.push_back(value);
    }
    std::sort(outputs.begin(), outputs.end());
    outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  }

  void MarkOverwritten(const HloInstruction& root, ComputationProblem* result) {
    MarkOverwrittenValues(
        [&](const HloInstruction* inst) -> const Points& {
          return points_[inst];
        },
        root, result);
  }

 private:
  using Points = std::vector<ValueId>;  // by index of the shape, in pre-order

  static size_t IndexCount(const Shape& shape) {
    return static_cast<size_t>(ShapeUtil::SubshapeCount(shape));
  }

  Points Element(const HloInstruction& tuple, int64_t index) {
    const Points& points = points_[&tuple];
    const auto first = points.begin() + PlaceOf(tuple.shape(), {index});
    return Points(first, first + IndexCount(tuple.shape().tuple_shapes(index)));
  }

  Points Rename(const HloInstruction& inst) {
    switch (inst.opcode()) {
      case HloOpcode::kGetTupleElement:
        return Element(*inst.operand(0), inst.tuple_index());
      case HloOpcode::kTuple: {
        Points points = {-1};
        for (const HloInstruction* operand : inst.operands()) {
          const Points& element = points_[operand];
          points.insert(points.end(), element.begin(), element.end());
        }
        return points;
      }
      default:  // A bitcast: IsRenaming() lets no other pass.
        return points_[inst.operand(0)];
    }
  }

  // For each position of the result, the operand's value in whose memory it
  // lies; -1: in its own. Mirrors the in-place semantics that dataflow analysis
  // gives these opcodes: a while returns in its operand's buffers, asynchronous
  // operations carry their operands and results in a tuple that the done
  // unpacks.
  Points Homes(const HloInstruction& inst) {
    const size_t count = IndexCount(inst.shape());
    Points homes(count, -1);
    const auto take = [&](size_t first, const Points& points) {
      for (size_t i = 0; i < points.size() && first + i < count; ++i) {
        homes[first + i] = points[i];
      }
    };
    switch (inst.opcode()) {
      case HloOpcode::kWhile:
      case HloOpcode::kDomain:
      case HloOpcode::kOptimizationBarrier:
      case HloOpcode::kAddDependency:
        take(0, points_[inst.operand(0)]);
        break;
      case HloOpcode::kCopy:
        if (inst.shape().IsTuple()) {
          take(0, points_[inst.operand(0)]);
          homes[0] = -1;
        }
        break;
      case HloOpcode::kCopyStart:
        take(PlaceOf(inst.shape(), {1}), points_[inst.operand(0)]);
        break;
      case HloOpcode::kCopyDone:
        take(0, Element(*inst.operand(0), 0));
        break;
      case HloOpcode::kSend:
        take(1, points_[inst.operand(0)]);
        break;
      case HloOpcode::kAsyncStart: {
        // ((operands), results, context)
        size_t place = 2;
        for (const HloInstruction* operand : inst.operands()) {
          take(place, points_[operand]);
          place += IndexCount(operand->shape());
        }
        break;
      }
      case HloOpcode::kAsyncUpdate:
        ForEachPassedOnByUpdate(inst, [&](int32_t to, int64_t operand,
                                          int32_t from, int32_t n) {
          const Points& points = points_[inst.operand(operand)];
          take(to, Points(points.begin() + from, points.begin() + from + n));
        });
        break;
      case HloOpcode::kAsyncDone:
        if (ShapeUtil::Compatible(inst.operand(0)->shape().tuple_shapes(1),
                                  inst.shape())) {
          take(0, Element(*inst.operand(0), 1));
        }
        break;
      case HloOpcode::kRecvDone:
        take(1, Element(*inst.operand(0), 0));
        break;
      default:  // All of its results are its own.
        break;
    }
    return homes;
  }

  // Parameters count 0 bytes: the caller of the computation accounts for them.
  void AddNode(HloInstruction* inst) {
    RematProblem& problem = result_.problem;
    const NodeId id = static_cast<NodeId>(problem.nodes.size());
    RematProblem::Node node;
    node.seconds = seconds_(*inst);
    node.internal_bytes = internal_bytes_(*inst);
    node.recomputable = IsRecomputable(*inst);
    node.shares_memory = MayShareMemory(*inst);
    node.first_value = static_cast<ValueId>(problem.values.size());
    for (const HloInstruction* operand : inst->operands()) {
      for (ValueId value : points_[operand]) {
        if (value >= 0) node.reads.push_back(value);
      }
    }
    std::sort(node.reads.begin(), node.reads.end());
    node.reads.erase(std::unique(node.reads.begin(), node.reads.end()),
                     node.reads.end());
    const Points homes = Homes(*inst);
    const bool parameter = inst->opcode() == HloOpcode::kParameter;
    Points& points = points_[inst];
    points.reserve(homes.size());
    ShapeUtil::ForEachSubshape(
        inst->shape(), [&](const Shape& subshape, const ShapeIndex&) {
          RematProblem::Value value;
          value.node = id;
          value.alias_of = homes[points.size()];
          value.bytes = parameter ? 0 : bytes_(subshape);
          points.push_back(static_cast<ValueId>(problem.values.size()));
          problem.values.push_back(value);
        });
    node.value_count = static_cast<int32_t>(points.size());
    problem.nodes.push_back(std::move(node));
    problem.order.push_back(id);
    result_.instructions.push_back(inst);
  }

  absl::FunctionRef<int64_t(const Shape&)> bytes_;
  absl::FunctionRef<double(const HloInstruction&)> seconds_;
  absl::FunctionRef<int64_t(const HloInstruction&)> internal_bytes_;
  ComputationProblem result_;
  absl::flat_hash_map<const HloInstruction*, Points> points_;
};

}  // namespace

int64_t PlaceOf(const Shape& shape, const ShapeIndex& index) {
  const Shape* at = &shape;
  int64_t place = 0;
  for (int64_t element : index) {
    ++place;
    for (int64_t i = 0; i < element; ++i) {
      place += ShapeUtil::SubshapeCount(at->tuple_shapes(i));
    }
    at = &at->tuple_shapes(element);
  }
  return place;
}

ComputationProblem MakeComputationProblem(
    const HloInstructionSequence& sequence,
    absl::FunctionRef<int64_t(const Shape&)> bytes,
    absl::FunctionRef<double(const HloInstruction&)> seconds,
    absl::FunctionRef<int64_t(const HloInstruction&)> internal_bytes,
    bool placed) {
  Builder builder(bytes, seconds, internal_bytes);
  ComputationProblem result = builder.Build(sequence);
  if (!sequence.instructions().empty()) {
    const HloComputation* computation =
        sequence.instructions().front()->parent();
    builder.SetOutputs(*computation->root_instruction(), &result);
    if (placed)
      builder.MarkOverwritten(*computation->root_instruction(), &result);
  }
  return result;
}

}  // namespace xla::remat_plan

#ifndef XLA_HLO_TESTLIB_RANDOM_COMPUTATION_H_
#define XLA_HLO_TESTLIB_RANDOM_COMPUTATION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Parts of random_module: one computation that grows. Not for other users.

namespace xla {
namespace random_module_internal {

// Bounds of the elements of an array (of both parts of complex ones).
struct Range {
  double lo = 0;
  double hi = 0;

  double magnitude() const;
  bool Within(const Range& other) const {
    return lo >= other.lo && hi <= other.hi;
  }
};

// A value that can become an operand.
struct Value {
  HloInstruction* instruction = nullptr;
  Range range;
  // Every evaluation gives the same bits.
  bool stable = true;

  const Shape& shape() const { return instruction->shape(); }
  PrimitiveType type() const { return shape().element_type(); }
};

// Whether it has dimensions, that is, is not a scalar.
inline bool HasRank(const Value& value) {
  return !value.shape().dimensions().empty();
}

// State shared by all computations of a module.
struct ModuleState {
  ModuleState(uint64_t seed, const RandomModuleOptions& options);

  // Uniform in [0, n); 0 for n <= 1.
  int64_t Below(int64_t n);
  bool OneIn(int64_t n) { return Below(n) == 0; }
  // Uniform in [lo, hi].
  int64_t Between(int64_t lo, int64_t hi) { return lo + Below(hi - lo + 1); }

  PrimitiveType RandomType();
  Shape RandomShape(PrimitiveType type);
  // The range that values of the type are kept in.
  Range Limit(PrimitiveType type) const;

  std::mt19937_64 rng;
  const RandomModuleOptions& options;
  std::vector<PrimitiveType> types;
  std::unique_ptr<HloModule> module;
  int64_t next_channel_id = 1;
  // (opcode, type) -> a computation that applies it to two scalars.
  std::map<std::pair<HloOpcode, PrimitiveType>, HloComputation*> reducers;
};

// Grows one computation, from its parameters to its root.
//
// A recipe adds one instruction of the given opcode, with what it needs, and
// makes its result available; it returns false, having added at most unused
// glue, where it finds no way.
class RandomComputation {
 public:
  // What may stand in a computation: anything, what fuses (no calls, no
  // results that are tuples), element-wise operations on scalars.
  enum class Kind { kAny, kFused, kScalar };

  using Recipe = bool (RandomComputation::*)(HloOpcode);
  struct Row {
    HloOpcode opcode;
    // How often it is drawn, relative to others.
    int weight;
    Recipe recipe;
    // The most restricted computation that it may stand in.
    Kind kind = Kind::kAny;
  };
  // All recipes.
  static absl::Span<const Row> Rows();

  // `depth` is 0 in the entry. Only the entry makes parameters when it needs
  // them.
  RandomComputation(ModuleState& state, int64_t depth, std::string name,
                    Kind kind = Kind::kAny);

  // A parameter of a known range.
  Value AddParameter(const Shape& shape, Range range, bool stable);
  // Tries `steps` recipes.
  void Grow(int64_t steps);
  // A value of this shape (an array) within the range, made from what there is.
  Value Make(const Shape& shape, Range range);
  // The values that nothing reads.
  std::vector<Value> Unread() const;
  // Ends with this root; the computation becomes part of the module.
  HloComputation* Finish(HloInstruction* root, bool is_entry);
  // The result of the entry.
  HloInstruction* MakeEntryRoot();

  // --- Recipes, by the file that holds them.
  // random_module_elementwise.cc
  bool Unary(HloOpcode opcode);
  bool Convert(HloOpcode opcode);
  bool Complex(HloOpcode opcode);
  bool Parts(HloOpcode opcode);
  bool Arithmetic(HloOpcode opcode);
  bool Bitwise(HloOpcode opcode);
  bool Compare(HloOpcode opcode);
  bool Select(HloOpcode opcode);
  bool Clamp(HloOpcode opcode);
  bool ReducePrecision(HloOpcode opcode);
  bool StochasticConvert(HloOpcode opcode);
  // random_module_movement.cc
  bool Broadcast(HloOpcode opcode);
  bool Reshape(HloOpcode opcode);
  bool Transpose(HloOpcode opcode);
  bool Reverse(HloOpcode opcode);
  bool Slice(HloOpcode opcode);
  bool Pad(HloOpcode opcode);
  bool Concatenate(HloOpcode opcode);
  bool DynamicSlice(HloOpcode opcode);
  bool DynamicUpdateSlice(HloOpcode opcode);
  bool Iota(HloOpcode opcode);
  bool Constant(HloOpcode opcode);
  bool Copy(HloOpcode opcode);
  bool CopyStart(HloOpcode opcode);
  bool Gather(HloOpcode opcode);
  bool Scatter(HloOpcode opcode);
  bool GetDimensionSize(HloOpcode opcode);
  // random_module_reduction.cc
  bool Reduce(HloOpcode opcode);
  bool ReduceWindow(HloOpcode opcode);
  bool SelectAndScatter(HloOpcode opcode);
  bool Sort(HloOpcode opcode);
  bool TopK(HloOpcode opcode);
  bool Scan(HloOpcode opcode);
  // random_module_algebra.cc
  bool Dot(HloOpcode opcode);
  bool RaggedDot(HloOpcode opcode);
  bool Convolution(HloOpcode opcode);
  bool Cholesky(HloOpcode opcode);
  bool TriangularSolve(HloOpcode opcode);
  bool Fft(HloOpcode opcode);
  bool BatchNorm(HloOpcode opcode);
  bool RngBitGenerator(HloOpcode opcode);
  // random_module_control.cc
  bool While(HloOpcode opcode);
  bool Conditional(HloOpcode opcode);
  bool Call(HloOpcode opcode);
  bool Map(HloOpcode opcode);
  bool AsyncStart(HloOpcode opcode);
  bool OptimizationBarrier(HloOpcode opcode);
  bool AfterAll(HloOpcode opcode);
  bool Tuple(HloOpcode opcode);
  // random_module_collectives.cc
  bool DeviceId(HloOpcode opcode);
  bool AllReduce(HloOpcode opcode);
  bool AllGather(HloOpcode opcode);
  bool ReduceScatter(HloOpcode opcode);
  bool AllToAll(HloOpcode opcode);
  bool CollectivePermute(HloOpcode opcode);
  bool CollectiveBroadcast(HloOpcode opcode);

 private:
  // A shape that fits the kind of computation.
  Shape NewShape(PrimitiveType type);

  // Adds an instruction; nothing is recorded about it.
  HloInstruction* Add(std::unique_ptr<HloInstruction> instruction) {
    return builder_.AddInstruction(std::move(instruction));
  }
  // Adds an instruction whose result other instructions may use. The range is
  // cut to that of the type.
  Value Publish(std::unique_ptr<HloInstruction> instruction, Range range,
                bool stable);
  void Publish(const Value& value) { values_.push_back(value); }

  // A recent value that satisfies, preferring those that nothing reads; an
  // empty Value if there is none.
  Value Pick(absl::FunctionRef<bool(const Value&)> wanted);
  // The same; makes one (a parameter, a constant) if there is none.
  Value PickOfType(absl::FunctionRef<bool(PrimitiveType)> wanted);
  Value PickArray(absl::FunctionRef<bool(const Value&)> wanted);
  // A value with the shape of `like`, possibly `like` itself.
  Value PickLike(const Value& like);

  Value NewSource(const Shape& shape);
  Value NewConstant(const Shape& shape, Range range);
  HloInstruction* ScalarConstant(PrimitiveType type, double value);
  HloInstruction* BroadcastScalar(const Shape& shape, double value);
  // The value, clamped where it may be outside.
  Value Bounded(const Value& value, Range range);
  // A value of the same elements, cut or filled up to another shape.
  Value Refit(const Value& value, const Shape& shape);
  // An integer array with elements in [0, bound).
  Value MakeIndices(const Shape& shape, int64_t bound);

  // Whether jumps may depend on the value.
  bool MayDecide(const Value& value) const;
  // Whether a result may have this range.
  bool Fits(PrimitiveType type, Range range) const;
  HloComputation* Reducer(HloOpcode opcode, PrimitiveType type);
  // An opcode that reduces `count` elements of this range, and its result.
  HloOpcode ReducerFor(const Value& value, int64_t count, Range* range,
                       double* identity, bool* stable);
  void ArithmeticReducers(const Value& value, int64_t count,
                          std::vector<HloOpcode>* opcodes) const;
  Range ReducedRange(HloOpcode opcode, const Value& value, int64_t count) const;

  // A window over `shape` that keeps at least one element in each dimension
  // (of the dimensions in `over`; trivial elsewhere).
  Window RandomWindow(const Shape& shape, bool dilate_base, bool pad);

  // A computation that maps operands of these shapes to results of these
  // shapes, each in its range.
  struct Port {
    Shape shape;
    Range range;
    bool stable;
  };
  HloComputation* Callee(absl::string_view name, const std::vector<Port>& in,
                         const std::vector<Port>& out, bool tuple_parameter,
                         bool tuple_result, Kind kind = Kind::kAny);
  std::vector<Value> PickOperands(int64_t count);
  std::vector<Port> PortsOf(absl::Span<const Value> values) const;
  std::vector<Port> RandomResults();
  // Makes the results of a called computation available.
  void PublishResults(HloInstruction* call, const std::vector<Port>& out,
                      bool is_tuple);
  HloInstruction* TupleOf(absl::Span<const Value> values);

  // Groups for a collective and how to read them.
  struct Groups {
    std::vector<ReplicaGroup> groups;
    int64_t size = 1;
    bool has_channel = false;
    bool global_ids = false;
    std::optional<int64_t> channel_id;
  };
  // `with_all_modes`: the opcode has use_global_device_ids.
  Groups RandomGroups(bool with_all_modes);

  ModuleState& state_;
  const int64_t depth_;
  const Kind kind_;
  // All devices run it, one as often as the other.
  bool all_devices_ = true;
  HloComputation::Builder builder_;
  int64_t parameters_ = 0;
  std::vector<Value> values_;
};

// For options.odd: all of it; reads of some arrays become reads of what opcodes
// and types that no recipe draws make of them; single instructions become
// fusions and asynchronous operations.
void MakeOdd(ModuleState& state);
void AddRareOpcodes(ModuleState& state, HloComputation* computation);
void WrapAlone(ModuleState& state, HloComputation* computation);

// The range of a function that rises or falls over all of the range.
Range MapEnds(const Range& range, double (*function)(double));
Range Union(const Range& a, const Range& b);

}  // namespace random_module_internal
}  // namespace xla

#endif  // XLA_HLO_TESTLIB_RANDOM_COMPUTATION_H_

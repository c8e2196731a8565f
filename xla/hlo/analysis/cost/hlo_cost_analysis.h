#ifndef XLA_HLO_ANALYSIS_COST_HLO_COST_ANALYSIS_H_
#define XLA_HLO_ANALYSIS_COST_HLO_COST_ANALYSIS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/hlo_cost_properties.h"
#include "xla/hlo/ir/dfs_hlo_visitor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla {

// The cost of instructions: operations, transcendentals, bytes read and
// written, and seconds at the rates of a device. A visitor: pass it to
// HloComputation::Accept, then query totals or single instructions.
//
//   d = f32[64,32] dot(f32[64,128], f32[128,32])   2 * 64 * 32 * 128 flops,
//                                                  4 * (8192 + 4096 + 2048) B
//
// Operations: one per element of an elementwise result; two per multiplication
// of a dot or convolution that does not involve padding; for a reduce,
// reduce-window, map, scatter and the like, those of the applied computation
// times the number of applications; none for data movement. Where each window
// of a reduce-window covers all n elements of the only dimension that it
// reduces (window size 2n - 1, padding n - 1 on both sides), all results along
// it are equal; they take results / n + n - 1 applications, as in OpenXLA,
// unless count_equal_windows is set.
//
// Bytes: those of all operands and of the result, with these exceptions. Slices
// and gathers read only what they return. Updates read and write only what they
// replace. Of the scalars that say where a dynamic slice or update starts, the
// total contains only the first. A tuple writes its table of pointers. Cholesky
// decompositions and triangular solves read a triangle of their matrix, and the
// former write one. Bitcasts, transposes that are bitcasts, get-tuple-elements,
// parameters and constants move nothing. A fusion reads what its body reads of
// the parameters, and writes its outputs.
//
// Called computations count where they are called: that of a call once, those
// of a while once or (option) trip count times, and of a conditional's branches
// the maximum, property by property.
//
// Seconds: the greatest of property / rate and minimal latency over all
// properties with a rate; sums for calls.
//
// A computation is visited once, however often it is called. O(instructions
// + edges). Results are double: exact for counts below 2^53.
class HloCostAnalysis : public ConstDfsHloVisitor {
 public:
  using Properties = HloCostProperties;
  static constexpr absl::string_view kFlopsKey = Properties::kFlopsKey;
  static constexpr absl::string_view kTranscendentalsKey =
      Properties::kTranscendentalsKey;
  static constexpr absl::string_view kBytesAccessedKey =
      Properties::kBytesAccessedKey;
  static constexpr absl::string_view kOptimalSecondsKey =
      Properties::kOptimalSecondsKey;
  static constexpr absl::string_view kUtilizationKey =
      Properties::kUtilizationKey;
  // Bytes of a pointer in a tuple's table.
  static constexpr int64_t kDefaultPointerSize = 8;

  // Bytes of an array; of tuples, only of their table of pointers.
  using ShapeSizeFunction = std::function<int64_t(const Shape&)>;

  static int64_t DefaultShapeSize(const Shape& shape);

  struct Options {
    ShapeSizeFunction shape_size = DefaultShapeSize;
    // Amount of each property per second; 0 if it takes no time.
    Properties per_second_rates;
    // Seconds that an instruction takes at least for a property, if it has it.
    Properties min_latencies_seconds;
    // Repeated reads of a fusion parameter count each time. So do those of an
    // operand of a broadcast or reduce-window, but only in the bytes and the
    // utilization of the operand, not in the total.
    bool count_multiple_input_accesses = false;
    // Windows that all hold the same elements count one by one.
    bool count_equal_windows = false;
    // A while costs its body trip count times instead of once, or, if that is
    // unknown, this many times.
    bool multiply_by_trip_count = false;
    int64_t unknown_trip_count = 1;

    void set_flops_per_second(double value) { per_second_rates.flops = value; }
    void set_flops_min_latency_second(double value) {
      min_latencies_seconds.flops = value;
    }
    void set_transcendentals_per_second(double value) {
      per_second_rates.transcendentals = value;
    }
    void set_bytes_per_second(double value) {
      per_second_rates.bytes_accessed = value;
    }
    void set_bytes_min_latency_second(double value) {
      min_latencies_seconds.bytes_accessed = value;
    }
    double per_second_rate(absl::string_view key) const {
      return per_second_rates[key];
    }
    double min_latency_seconds(absl::string_view key) const {
      return min_latencies_seconds[key];
    }
    std::string ToString() const;
  };

  explicit HloCostAnalysis(const Options& options) : options_(options) {}
  explicit HloCostAnalysis(ShapeSizeFunction shape_size = DefaultShapeSize,
                           const Properties& per_second_rates = {},
                           const Properties& min_latency_seconds = {});
  ~HloCostAnalysis() override = default;

  // --- Visitor
  // -----------------------------------------------------------------

  absl::Status Preprocess(const HloInstruction* hlo) override;
  absl::Status Postprocess(const HloInstruction* hlo) override;
  absl::Status FinishVisit(const HloInstruction*) override {
    return absl::OkStatus();
  }

  // All handlers, one per opcode, are public and virtual in the base class.
  // The default adds nothing to the bytes of operands and results.
#define XLA_COST_HANDLER(method) \
  absl::Status method(const HloInstruction* hlo) override
  XLA_COST_HANDLER(HandleElementwiseUnary);
  XLA_COST_HANDLER(HandleElementwiseBinary);
  XLA_COST_HANDLER(HandleSelect);
  XLA_COST_HANDLER(HandleClamp);
  XLA_COST_HANDLER(HandleStochasticConvert);
  XLA_COST_HANDLER(HandleReducePrecision);
  XLA_COST_HANDLER(HandleCopy);
  XLA_COST_HANDLER(HandleConstant);
  XLA_COST_HANDLER(HandleParameter);
  XLA_COST_HANDLER(HandleBroadcast);
  XLA_COST_HANDLER(HandleTranspose);
  XLA_COST_HANDLER(HandleTuple);
  XLA_COST_HANDLER(HandleGetTupleElement);
  XLA_COST_HANDLER(HandleBitcast);
  XLA_COST_HANDLER(HandleDomain);
  XLA_COST_HANDLER(HandleOptimizationBarrier);
  XLA_COST_HANDLER(HandleAddDependency);
  XLA_COST_HANDLER(HandleAfterAll);
  XLA_COST_HANDLER(HandleAllGatherDone);
  XLA_COST_HANDLER(HandleAllReduceDone);
  XLA_COST_HANDLER(HandleAsyncUpdate);
  XLA_COST_HANDLER(HandleAsyncDone);
  XLA_COST_HANDLER(HandleCollectivePermuteDone);
  XLA_COST_HANDLER(HandleCopyDone);
  XLA_COST_HANDLER(HandleSendDone);
  XLA_COST_HANDLER(HandleRecvDone);
  XLA_COST_HANDLER(HandleGetDimensionSize);
  XLA_COST_HANDLER(HandleSlice);
  XLA_COST_HANDLER(HandleDynamicSlice);
  XLA_COST_HANDLER(HandleDynamicUpdateSlice);
  XLA_COST_HANDLER(HandleGather);
  XLA_COST_HANDLER(HandleScatter);
  XLA_COST_HANDLER(HandleCopyStart);
  XLA_COST_HANDLER(HandleSend);
  XLA_COST_HANDLER(HandleRecv);
  XLA_COST_HANDLER(HandleInfeed);
  XLA_COST_HANDLER(HandleOutfeed);
  XLA_COST_HANDLER(HandleAllGatherStart);
  XLA_COST_HANDLER(HandleAllReduce);
  XLA_COST_HANDLER(HandleAllReduceStart);
  XLA_COST_HANDLER(HandleReduceScatter);
  XLA_COST_HANDLER(HandleCollectivePermuteStart);
  XLA_COST_HANDLER(HandleRng);
  XLA_COST_HANDLER(HandleRngBitGenerator);
  XLA_COST_HANDLER(HandleSort);
  XLA_COST_HANDLER(HandleTopK);
  XLA_COST_HANDLER(HandleDot);
  XLA_COST_HANDLER(HandleRaggedDot);
  XLA_COST_HANDLER(HandleScaledDot);
  XLA_COST_HANDLER(HandleConvolution);
  XLA_COST_HANDLER(HandleFft);
  XLA_COST_HANDLER(HandleTriangularSolve);
  XLA_COST_HANDLER(HandleCholesky);
  XLA_COST_HANDLER(HandleBatchNormTraining);
  XLA_COST_HANDLER(HandleBatchNormInference);
  XLA_COST_HANDLER(HandleBatchNormGrad);
  XLA_COST_HANDLER(HandleMap);
  XLA_COST_HANDLER(HandleReduce);
  XLA_COST_HANDLER(HandleReduceWindow);
  XLA_COST_HANDLER(HandleSelectAndScatter);
  XLA_COST_HANDLER(HandleScan);
  XLA_COST_HANDLER(HandleFusion);
  XLA_COST_HANDLER(HandleCall);
  XLA_COST_HANDLER(HandleCustomCall);
  XLA_COST_HANDLER(HandleAsyncStart);
  XLA_COST_HANDLER(HandleWhile);
  XLA_COST_HANDLER(HandleConditional);
#undef XLA_COST_HANDLER

  // Updates totals after an instruction was removed / changed. Its computation
  // must be the one passed to Accept.
  absl::Status RemoveInstruction(const HloInstruction* instruction);
  absl::Status RevisitInstruction(const HloInstruction* instruction);

  // --- Results
  // -----------------------------------------------------------------

  int64_t GetShapeSize(const Shape& shape) const;

  // Totals over everything visited.
  double flop_count() const { return properties_sum_.flops; }
  double transcendental_count() const {
    return properties_sum_.transcendentals;
  }
  double bytes_accessed() const { return properties_sum_.bytes_accessed; }
  double optimal_seconds() const { return properties_sum_.optimal_seconds; }
  const Properties& properties() const { return properties_sum_; }
  double property(absl::string_view key) const {
    return std::as_const(properties_sum_)[key];
  }

  // Figures of one instruction, in any computation; 0 if it was not visited.
  // Inside a fusion, bytes are those that the instruction would move if it were
  // a kernel of its own.
  Properties properties(const HloInstruction& hlo) const;
  int64_t flop_count(const HloInstruction& hlo) const;
  int64_t transcendental_count(const HloInstruction& hlo) const;
  int64_t bytes_accessed(const HloInstruction& hlo) const;
  int64_t operand_bytes_accessed(const HloInstruction& hlo, int64_t operand_num,
                                 const ShapeIndex& index = {}) const;
  double operand_utilization(const HloInstruction& hlo, int64_t operand_num,
                             ShapeIndex index = {}) const;
  int64_t output_bytes_accessed(const HloInstruction& hlo,
                                ShapeIndex index = {}) const;
  double optimal_seconds(const HloInstruction& hlo) const;

  // From and to all memory, or only the given memory space.
  int64_t GetBytesRead(
      const HloInstruction& hlo,
      std::optional<int64_t> memory_space = std::nullopt) const;
  int64_t GetBytesWritten(
      const HloInstruction& hlo,
      std::optional<int64_t> memory_space = std::nullopt) const;

  double per_second_rate(absl::string_view key) const {
    return options_.per_second_rate(key);
  }
  double min_latency_seconds(absl::string_view key) const {
    return options_.min_latency_seconds(key);
  }

  static std::string GetOperandBytesAccessedKey(int64_t operand_num,
                                                const ShapeIndex& index = {});
  static std::string GetOperandUtilizationKey(int64_t operand_num,
                                              const ShapeIndex& index = {});
  static std::string GetOutputBytesAccessedKey(const ShapeIndex& index = {});

  // Multiplications by padding or by the holes of dilation are not counted.
  static int64_t GetConvolutionFlops(const HloInstruction* convolution);
  static int64_t GetConvolutionFlops(const HloInstruction* convolution,
                                     const Shape& lhs_shape,
                                     const Shape& rhs_shape,
                                     const Shape& result_shape);
  static int64_t GetDotFlops(const Shape& lhs_shape, const Shape& result_shape,
                             const DotDimensionNumbers& dnums);

 protected:
  absl::Status HandleUnclassified(const HloInstruction* hlo) override {
    return absl::OkStatus();
  }
  virtual absl::Status HandleElementwiseOp(const HloInstruction* hlo);

  // Totals of a computation, visited at the first request.
  absl::StatusOr<Properties> ProcessSubcomputation(HloComputation* computation);

  // Bytes that a fusion reads of one of its parameters.
  virtual int64_t FusionParameterReadBytes(const HloInstruction* param) const;

  // Bytes of the arrays in a shape.
  int64_t TotalBytes(const Shape& shape) const;

  // Set by handlers.
  Properties current_properties_;
  // Postprocess computes the seconds from the other properties.
  bool current_should_compute_bottleneck_time_ = true;

  const Options options_;

 private:
  // Nothing is read or written.
  absl::Status MoveNothing(const HloInstruction* hlo);
  // Sets bytes and utilization of an operand of which `reads` elements are read
  // in all, if repeated reads count.
  void CountEachRead(const HloInstruction* hlo, int64_t operand, double reads);
  // `read` bytes of an operand and `written` bytes of the result, and all of
  // the other operands.
  absl::Status MovePart(const HloInstruction* hlo, int64_t operand, double read,
                        double written);
  // Adds `count` times the cost of a computation without bytes and seconds.
  absl::Status AddApplied(HloComputation* computation, double count);
  int64_t FusionOutputBytes(const HloInstruction* output) const;
  // Sets the output bytes of each element of a fusion's tuple, nested ones
  // included; returns their sum.
  double SetTupleOutputBytes(const HloInstruction* root);
  void SetTupleOperandBytes(int64_t operand, const HloInstruction* parameter);
  void SetUtilizations(const HloComputation* fused);
  int64_t ReadBytes(const HloInstruction* value, int depth) const;
  const Properties& Find(const HloInstruction& hlo) const;

  absl::flat_hash_map<const HloInstruction*, Properties> hlo_properties_;
  absl::flat_hash_map<const HloComputation*, Properties>
      computation_properties_;
  Properties properties_sum_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_COST_HLO_COST_ANALYSIS_H_

#ifndef XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_EXPLANATION_H_
#define XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_EXPLANATION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/fusion/explain/fusion_explanation.pb.h"

namespace xla::gpu {

// One pair that a fusion pass considered.
struct FusionRecord {
  enum class Kind {
    kSibling,           // two readers of `producer`
    kProducerConsumer,  // `producer` becomes part of the consumers, and stays
                        // an output
    kPriority,          // `producer` goes into all consumers
    kDot,               // a dot, `producer`, becomes a fusion
    kConvolution,       // a convolution, `producer`, becomes a fusion
    kNarrowOutput,      // `producer` writes what the consumers computed
    kUndone,            // a fusion that was taken back
  };

  Kind kind = Kind::kSibling;
  std::string computation;
  // Names of instructions.
  std::string producer;
  std::vector<std::string> consumers;
  bool fused = false;
  // Why not, in words and figures: "shared memory: 49536 > 49152 B".
  std::string reason;

  // Metrics: bytes of device memory that kernels no longer read or write; bytes
  // that stay live longer; times by the model; shared memory of the fusion, in
  // bytes.
  std::optional<int64_t> saved_bytes;
  std::optional<int64_t> held_bytes;
  std::optional<double> unfused_seconds;
  std::optional<double> fused_seconds;
  std::optional<int64_t> shared_memory_bytes;
};

// Collects the decisions of a pass, for --explain.
//
//   if (explanation_ != nullptr) explanation_->Record({…});
//
// A pass holds a pointer to one, null unless explanations were requested;
// without it no time is spent on filling in records.
class FusionExplanation {
 public:
  static constexpr size_t kMaxRecords = 10000;

  // Keeps the first `max_records` records of fusions and as many of refusals,
  // and counts the others.
  explicit FusionExplanation(absl::string_view pass,
                             size_t max_records = kMaxRecords);

  void Record(FusionRecord record);

  const FusionExplanationProto& proto() const { return proto_; }

 private:
  size_t max_records_;
  FusionExplanationProto proto_;
};

// A pass that can explain its decisions. Found among passes by dynamic_cast.
class ExplainingPass {
 public:
  virtual ~ExplainingPass() = default;
  // Records go there from now on; null discards them. Must outlive the runs.
  virtual void set_explanation(FusionExplanation* explanation) = 0;
};

// One line per record, fusions before refusals; refusals are grouped by reason:
//
//   multi-output-fusion: 1 fused, 2 refused
//   fused:
//     sibling p: mul, div: saves 4.0 KiB
//   refused:
//     shared memory: 49536 > 49152 B (1)
//       sibling p: r0, r1
std::string FusionExplanationToText(const FusionExplanationProto& explanation);

// JSON with the proto's field names.
absl::StatusOr<std::string> FusionExplanationsToJson(
    const FusionExplanationsProto& explanations);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_EXPLAIN_FUSION_EXPLANATION_H_

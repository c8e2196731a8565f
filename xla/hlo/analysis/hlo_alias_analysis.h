#ifndef XLA_HLO_ANALYSIS_HLO_ALIAS_ANALYSIS_H_
#define XLA_HLO_ANALYSIS_HLO_ALIAS_ANALYSIS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {

// Which values must be in the same memory: dataflow values (SSA form) put into
// buffers.
//
//   w = while(init): at each index init, w, and parameters and root of body and
//     condition are one buffer
//   u = dynamic-update-slice(x, …): u and x are one buffer
//
// Rules: whiles; conditionals (roots of branches and the result); updates in
// place as alias_info says; the module's input-output aliases. Union-find over
// values; near-linear in positions.
//
// A computation with several call sites is analyzed once for all of them (see
// HloDataflowAnalysis): its parameters then have the buffers of all callers. If
// a rule would put values of different callers into one buffer, no answer is
// right for each call, and Run returns FailedPrecondition: run FlattenCallGraph
// first.
class HloAliasAnalysis {
 public:
  // `alias_info` may be null (defaults), and is not used after Run.
  static absl::StatusOr<std::unique_ptr<HloAliasAnalysis>> Run(
      const HloModule* module, const AliasInfo* alias_info);

  std::string ToString() const;

  const HloBuffer& GetBufferContainingValue(const HloValue& value) const {
    return buffers_[buffer_of_value_[value.id()]];
  }
  // `buffer_id` < buffers().size().
  const HloBuffer& GetBuffer(HloBuffer::Id buffer_id) const {
    return buffers_[buffer_id];
  }

  // There must be exactly one buffer at this position.
  const HloBuffer& GetUniqueBufferAt(const HloInstruction* instruction,
                                     const ShapeIndex& index = {}) const;
  const HloBuffer& GetUniqueBufferAt(const HloPosition& position) const {
    return GetUniqueBufferAt(position.instruction, position.index);
  }
  // By id.
  std::vector<const HloBuffer*> ComputeBuffersAt(
      const HloInstruction* instruction, const ShapeIndex& index = {}) const;

  // By id: the order of their first values.
  const std::vector<HloBuffer>& buffers() const { return buffers_; }

  HloDataflowAnalysis& dataflow_analysis() const { return *dataflow_; }

  // Whether a value is part of the module's result.
  bool BufferLivesOut(const HloBuffer& buffer) const {
    return lives_out_[buffer.id()];
  }
  bool ValueLivesOut(const HloValue& value) const {
    return value.live_out_of_module();
  }
  std::vector<const HloBuffer*> LiveOutBuffers() const;

 private:
  explicit HloAliasAnalysis(std::unique_ptr<HloDataflowAnalysis> dataflow)
      : dataflow_(std::move(dataflow)) {}

  std::unique_ptr<HloDataflowAnalysis> dataflow_;
  std::vector<HloBuffer> buffers_;
  std::vector<int32_t> buffer_of_value_;
  std::vector<bool> lives_out_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_ALIAS_ANALYSIS_H_

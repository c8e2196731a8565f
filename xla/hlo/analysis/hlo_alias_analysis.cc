#include "xla/hlo/analysis/hlo_alias_analysis.h"

#include <algorithm>

#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/alias_builder.h"
#include "xla/status_macros.h"

namespace xla {

absl::StatusOr<std::unique_ptr<HloAliasAnalysis>> HloAliasAnalysis::Run(
    const HloModule* module, const AliasInfo* alias_info) {
  ASSIGN_OR_RETURN(std::unique_ptr<HloDataflowAnalysis> dataflow,
                   HloDataflowAnalysis::Run(*module, /*ssa_form=*/true));
  const AliasInfo default_info;
  AliasBuilder builder(*dataflow,
                       alias_info != nullptr ? *alias_info : default_info);
  RETURN_IF_ERROR(builder.Build());

  std::unique_ptr<HloAliasAnalysis> analysis(
      new HloAliasAnalysis(std::move(dataflow)));
  // Ids of values are their positions; the values themselves are not looked at,
  // as they are many and large.
  const std::vector<HloValue*>& values = analysis->dataflow_->values();
  const auto num_values = static_cast<int32_t>(values.size());
  // First() is the least value of a set. So a buffer gets its number where its
  // first value is met, values that follow find it known, and buffers are
  // numbered in the order of their first values, whatever order the sets were
  // united in.
  std::vector<int32_t>& buffer_of = analysis->buffer_of_value_;
  buffer_of.resize(num_values);
  std::vector<int32_t> counts;
  for (int32_t id = 0; id < num_values; ++id) {
    const int32_t first = builder.First(id);
    if (first == id) {
      buffer_of[id] = static_cast<int32_t>(counts.size());
      counts.push_back(1);
    } else {
      buffer_of[id] = buffer_of[first];
      ++counts[buffer_of[id]];
    }
  }
  std::vector<std::vector<const HloValue*>> several(counts.size());
  analysis->buffers_.reserve(counts.size());
  for (int32_t id = 0; id < num_values; ++id) {
    const int32_t buffer = buffer_of[id];
    if (counts[buffer] > 1) several[buffer].push_back(values[id]);
  }
  for (int32_t id = 0; id < num_values; ++id) {
    const int32_t buffer = buffer_of[id];
    if (builder.First(id) != id) continue;
    analysis->buffers_.emplace_back(
        buffer, counts[buffer] > 1 ? std::move(several[buffer])
                                   : std::vector<const HloValue*>{values[id]});
  }
  analysis->lives_out_.resize(counts.size(), false);
  if (!module->has_entry_computation()) return analysis;
  const HloInstruction* root = module->entry_computation()->root_instruction();
  for (const auto& [index, set] :
       analysis->dataflow_->GetInstructionValueSet(root)) {
    for (const HloValue* value : set.values()) {
      analysis->lives_out_[buffer_of[value->id()]] = true;
    }
  }
  return analysis;
}

const HloBuffer& HloAliasAnalysis::GetUniqueBufferAt(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  const std::vector<const HloBuffer*> buffers =
      ComputeBuffersAt(instruction, index);
  CHECK_EQ(buffers.size(), 1) << instruction->name() << index.ToString();
  return *buffers[0];
}

std::vector<const HloBuffer*> HloAliasAnalysis::ComputeBuffersAt(
    const HloInstruction* instruction, const ShapeIndex& index) const {
  std::vector<const HloBuffer*> buffers;
  for (const HloValue* value :
       dataflow_->GetValueSet(instruction, index).values()) {
    buffers.push_back(&GetBufferContainingValue(*value));
  }
  std::sort(buffers.begin(), buffers.end(), HloBuffer::IdLessThan);
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
  return buffers;
}

std::vector<const HloBuffer*> HloAliasAnalysis::LiveOutBuffers() const {
  std::vector<const HloBuffer*> result;
  for (const HloBuffer& buffer : buffers_) {
    if (BufferLivesOut(buffer)) result.push_back(&buffer);
  }
  return result;
}

std::string HloAliasAnalysis::ToString() const {
  std::string out =
      absl::StrCat("buffers of module ", dataflow_->module().name(), ":\n");
  for (const HloBuffer& buffer : buffers_) {
    absl::StrAppend(&out, BufferLivesOut(buffer) ? "live out " : "",
                    buffer.ToDebugString());
  }
  return out;
}

}  // namespace xla

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
  const std::vector<HloValue*>& values = analysis->dataflow_->values();
  std::vector<int32_t>& buffer_of = analysis->buffer_of_value_;
  buffer_of.resize(values.size());
  std::vector<std::vector<const HloValue*>> contents;
  for (const HloValue* value : values) {
    const int32_t id = static_cast<int32_t>(value->id());
    const int32_t first = builder.First(id);
    if (first == id) {
      buffer_of[id] = static_cast<int32_t>(contents.size());
      contents.emplace_back();
    } else {
      buffer_of[id] = buffer_of[first];
    }
    contents[buffer_of[id]].push_back(value);
  }
  analysis->lives_out_.resize(contents.size(), false);
  analysis->buffers_.reserve(contents.size());
  for (std::vector<const HloValue*>& content : contents) {
    const HloBuffer::Id id =
        static_cast<HloBuffer::Id>(analysis->buffers_.size());
    analysis->lives_out_[id] = std::any_of(
        content.begin(), content.end(),
        [](const HloValue* value) { return value->live_out_of_module(); });
    analysis->buffers_.emplace_back(id, std::move(content));
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

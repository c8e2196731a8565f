#ifndef XLA_HLO_ANALYSIS_BUFFERS_PRESET_ASSIGNMENTS_H_
#define XLA_HLO_ANALYSIS_BUFFERS_PRESET_ASSIGNMENTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/heap/heap_result.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/service/hlo.pb.h"

namespace xla::memory_space_assignment {

// Offsets chosen before buffer assignment runs, by a pass that plans a memory
// space itself, for instance a scratchpad. Buffer assignment makes one
// allocation for each memory space named here and uses the offsets unchanged.
class PresetAssignments {
 public:
  // Facts about one memory space.
  struct AssignmentInformation {
    int64_t size = 0;  // bytes
    HeapSimulatorTrace heap_trace;
  };

  // Places the values at `position` at `chunk` of the memory space given by
  // their color.
  void add_chunk(const HloPosition& position, const HeapChunk& chunk) {
    chunks_.emplace_back(position, chunk);
  }

  // Added on first use.
  AssignmentInformation* assignment_information_for_space(
      int64_t memory_space) {
    for (auto& [space, information] : assignment_info_) {
      if (space == memory_space) return &information;
    }
    assignment_info_.emplace_back(memory_space, AssignmentInformation());
    return &assignment_info_.back().second;
  }

  absl::Span<const std::pair<HloPosition, HeapChunk>> chunks() const {
    return chunks_;
  }
  absl::Span<const std::pair<int64_t, AssignmentInformation>>
  assignment_informations() const {
    return assignment_info_;
  }

  // A line per position.
  std::string buffer_info_str() const {
    std::string text;
    for (const auto& [position, chunk] : chunks_) {
      absl::StrAppend(&text, position.ToString(), ": ", chunk.ToString(), "\n");
    }
    return text;
  }

 private:
  std::vector<std::pair<HloPosition, HeapChunk>> chunks_;
  std::vector<std::pair<int64_t, AssignmentInformation>> assignment_info_;
};

}  // namespace xla::memory_space_assignment

#endif  // XLA_HLO_ANALYSIS_BUFFERS_PRESET_ASSIGNMENTS_H_

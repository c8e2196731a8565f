#include "xla/hlo/ir/instruction_source.h"

#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_metadata.h"

namespace xla {
namespace {

constexpr int kMaxFrames = 256;

}  // namespace

std::string InstructionSource(const HloInstruction& instruction) {
  const OpMetadata& metadata = instruction.metadata();
  const HloModule* module = instruction.GetModule();
  if (module != nullptr) {
    StackFrameId id{static_cast<int>(metadata.stack_frame_id())};
    for (int i = 0; i < kMaxFrames && id.valid(); ++i) {
      HloStackFrame frame = module->get_stack_frame(id);
      if (frame.empty()) break;
      if (!frame.file_name.empty()) {
        return absl::StrCat(frame.file_name, ":", frame.line);
      }
      id = frame.parent_frame_id;
    }
  }
  if (metadata.source_file().empty() || metadata.source_line() <= 0) {
    return metadata.source_file();
  }
  return absl::StrCat(metadata.source_file(), ":", metadata.source_line());
}

}  // namespace xla

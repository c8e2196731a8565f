#include "xla/hlo/verifier/visitors/verifier_visitors.h"

#include <string>

#include "absl/log/log.h"
#include "absl/log/vlog_is_on.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/shape_verifier.h"
#include "xla/xla_data.pb.h"

namespace xla {

absl::Status InstructionVerifier::Preprocess(HloInstruction* instruction) {
  if (instruction->GetModule() != module_) {
    return Broken(Invariant::V2, *instruction,
                  absl::StrCat("expected one of module ", module_->name()));
  }
  auto [named, is_new] =
      named_.try_emplace(std::string(instruction->name()), instruction);
  if (!is_new && named->second != instruction) {
    return Broken(Invariant::V8, *instruction,
                  absl::StrCat("there is another one in ",
                               named->second->parent()->name()));
  }
  return ShapeVerifier::Preprocess(instruction);
}

MetadataTracker::~MetadataTracker() { VLOG(3) << ToString(); }

absl::Status MetadataTracker::DefaultAction(HloInstruction* instruction) {
  ++instructions_;
  HandleMetadata(instruction->metadata());
  return absl::OkStatus();
}

void MetadataTracker::HandleMetadata(const OpMetadata& metadata) {
  const bool from_file =
      !metadata.source_file().empty() || metadata.source_line() != 0;
  op_types_ += !metadata.op_type().empty();
  op_names_ += !metadata.op_name().empty();
  source_files_ += from_file;
  stack_frames_ += metadata.stack_frame_id() != 0;
  with_metadata_ += !metadata.op_type().empty() ||
                    !metadata.op_name().empty() || from_file ||
                    metadata.stack_frame_id() != 0;
}

std::string MetadataTracker::ToString() const {
  return absl::StrCat(prefix_, ": ", instructions_, " instructions, ",
                      with_metadata_, " with metadata: ", op_types_,
                      " op_type, ", op_names_, " op_name, ", source_files_,
                      " source file, ", stack_frames_, " stack frame");
}

}  // namespace xla

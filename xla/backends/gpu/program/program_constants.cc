#include "xla/backends/gpu/program/program_constants.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::StatusOr<std::string> ProgramConstants::Write(const HloInstruction& hlo) {
  if (!hlo.shape().IsArray() || hlo.users().empty()) {
    if (hlo.parent()->root_instruction() != &hlo) return std::string();
  }
  ASSIGN_OR_RETURN(const BufferAllocation::Slice slice,
                   memory_.assignment->GetUniqueSlice(&hlo, {}));
  ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(&hlo));
  ASSIGN_OR_RETURN(const std::string name, NameOf(hlo));
  const std::string write = absl::StrCat("  Write(", offset, ", ", name, ", ",
                                         ShapeUtil::ByteSizeOf(hlo.shape()),
                                         ");  // ", hlo.name(), "\n");
  if (!slice.allocation()->is_constant()) return write;
  initial_ += write;
  return std::string();
}

absl::StatusOr<int64_t> ProgramConstants::Add(const HloInstruction& hlo) {
  const auto found = added_.find(&hlo);
  if (found != added_.end()) return found->second;
  ASSIGN_OR_RETURN(const std::string name, NameOf(hlo));
  const int64_t offset = memory_.bytes + added_bytes_;
  const int64_t bytes = ShapeUtil::ByteSizeOf(hlo.shape());
  added_bytes_ += (bytes + 63) / 64 * 64;
  added_[&hlo] = offset;
  absl::StrAppend(&initial_, "  Write(", offset, ", ", name, ", ", bytes,
                  ");  // ", hlo.name(), "\n");
  return offset;
}

// Equal ones have one array.
absl::StatusOr<std::string> ProgramConstants::NameOf(
    const HloInstruction& hlo) {
  const Literal& literal = hlo.literal();
  if (PackedBits(hlo.shape()) > 0) {
    return absl::UnimplementedError(
        absl::StrCat("constant: packed elements, at ", hlo.name()));
  }
  if (literal.is_elided()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "constant: the text has no elements of it (--fill-elided-constants "
        "makes some up), at ",
        hlo.name()));
  }
  const std::string bytes(static_cast<const char*>(literal.untyped_data()),
                          ShapeUtil::ByteSizeOf(hlo.shape()));
  literal_bytes_ += bytes.size();
  if (literal_bytes_ > max_bytes_) {
    return absl::FailedPreconditionError(
        absl::StrCat("constant: the module's constants are more than ",
                     max_bytes_, " bytes, at ", hlo.name()));
  }
  const auto [it, is_new] =
      names_.insert({bytes, absl::StrCat("kBytes", names_.size())});
  if (is_new) {
    absl::StrAppend(&arrays_, "alignas(16) static const unsigned char ",
                    it->second, "[] = {");
    for (size_t i = 0; i < bytes.size(); ++i) {
      absl::StrAppend(&arrays_,
                      i == 0        ? ""
                      : i % 24 == 0 ? ",\n  "
                                    : ", ",
                      static_cast<unsigned char>(bytes[i]));
    }
    arrays_ += bytes.empty() ? "0};\n" : "};\n";
  }
  return it->second;
}

std::string ProgramConstants::Text() const {
  return absl::StrCat(arrays_, "static void WriteConstants() {\n", initial_,
                      "}\n\n");
}

}  // namespace xla::gpu

#include "xla/hlo/pipeline/explain_notes.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_partitions.h"
#include "xla/hlo/memory/report/xla_buffer_assignment.h"
#include "xla/hlo/utils/file_util.h"

namespace xla {
namespace {

int64_t DevicesOf(const HloModule& module) {
  return module.config().num_partitions() > 1 ? module.config().num_partitions()
                                              : DevicesOfShardings(module);
}

}  // namespace

std::string NoteOnDevices(const HloModule& module, absl::string_view shown) {
  if (IsPartitioned(module)) return "";
  const int64_t devices = DevicesOf(module);
  if (devices == 1 || !HasShardings(module)) return "";
  const std::string flag = module.config().num_partitions() > 1
                               ? ""
                               : absl::StrCat(" --num-partitions=", devices);
  return absl::StrCat("\nnote: this is the module of all ", devices,
                      " devices together; --as=gpu", flag, " shows ", shown,
                      "\n");
}

std::string NoteOnOneDevice() {
  return "\nnote: these are the figures of one device, as --as=gpu compiles "
         "the module; --as=prepare shows all devices together\n";
}

std::string NoteOnRefusal(const HloModule& module,
                          const absl::Status& refusal) {
  return absl::StrCat("\nnote: this is the module of all ", DevicesOf(module),
                      " devices together, as it cannot be partitioned: ",
                      refusal.message(), "\n");
}

std::string NoteOnFusion(const PrepareOptions& options,
                         const MemoryReport::Input& input) {
  if (input.passes() == "gpu" && options.as.empty()) return NoteOnOneDevice();
  if (input.optimized() || input.passes() != "prepare" ||
      options.as == input.passes()) {
    return "";
  }
  return "\nnote: nothing is fused yet; --as=gpu or --as=cpu compiles the "
         "module first\n";
}

bool HasOrderOfXla(const PrepareOptions& options,
                   const MemoryReport::Input& input) {
  return input.scheduled() && !options.schedule && !options.passes &&
         options.as.empty();
}

std::string NoteOnXla(const MemoryReport& report,
                      const std::string& module_path, int max_buffers) {
  const std::string path = XlaBufferAssignmentPath(module_path);
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return "";
  const absl::StatusOr<std::string> text = ReadFileOrStdin(path);
  if (!text.ok()) {
    return absl::StrCat("\nnote: ", text.status().message(), "\n");
  }
  const absl::StatusOr<XlaBufferAssignment> assignment =
      ParseXlaBufferAssignment(*text, path);
  if (!assignment.ok()) {
    return absl::StrCat("\nnote: ", assignment.status().message(), "\n");
  }
  return CompareWithXla(report, *assignment, max_buffers);
}

}  // namespace xla

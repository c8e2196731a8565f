#ifndef XLA_HLO_UTILS_MODULE_FILE_H_
#define XLA_HLO_UTILS_MODULE_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// The bytes of a module as users have it, whatever form the module takes in
// them (module_io.h reads that).
struct ModuleFile {
  // For messages: the path of the file, "<stdin>" for "-".
  std::string name;
  std::string contents;
};

// A module of a folder that XLA dumped to, under --xla_dump_to.
struct DumpedModule {
  std::string path;
  // Which module of the process it is, as in module_0007.jit_step.…; -1 for
  // files that are not named like that.
  int number = -1;
  bool after_optimizations = false;
  int64_t bytes = 0;
};

// Reads a file, standard input for "-", or of a folder the module that
// ListDumpedModules puts first. What gzip or zstd packed is unpacked.
//
//   step.hlo.pb.gz → {"step.hlo.pb.gz", "\n\x95…"}
//   dump/          → {"dump/module_0012.jit_step.cpu_after_optimizations.txt",
//                     "HloModule jit_step…"}
//
// Errors: those of ReadFileOrStdin; InvalidArgument for a folder without
// modules and for damaged files of gzip or zstd.
absl::StatusOr<ModuleFile> ReadModuleFile(const std::string& path);

// The path of the module that ReadModuleFile reads: that of a folder's first
// module, else `path` itself.
absl::StatusOr<std::string> ResolveModulePath(const std::string& path);

// The modules of a folder, the likeliest first: after optimizations rather than
// before, then those of the largest program, since steps of training are larger
// than what prepares them, and of one program the newest; text rather than
// protos.
// Files that XLA writes beside modules (buffer assignments, thunks, graphs) and
// modules between passes are left out.
absl::StatusOr<std::vector<DumpedModule>> ListDumpedModules(
    const std::string& folder);

// The type of device in the name that XLA gives its dump of an optimized
// module, "cpu" or "gpu"; empty for other files.
//
//   dump/module_0004.jit_step.cpu_after_optimizations.txt           → "cpu"
//   dump/module_0012.jit_step.sm_9.0_gpu_after_optimizations.hlo.pb → "gpu"
std::string DeviceTypeOfDump(absl::string_view path);

// Unpacks a file of gzip (RFC 1952) with one member. InvalidArgument where it
// is damaged, ends early or would take 2 GiB or more.
absl::StatusOr<std::string> Gunzip(absl::string_view packed);

}  // namespace xla

#endif  // XLA_HLO_UTILS_MODULE_FILE_H_

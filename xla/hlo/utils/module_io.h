#ifndef XLA_HLO_UTILS_MODULE_IO_H_
#define XLA_HLO_UTILS_MODULE_IO_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/parser/hlo_parser.h"

namespace xla {

// The forms that a module takes on disk.
enum class ModuleFormat {
  // Text as XLA, JAX and this project print it.
  kHlo,
  // A binary HloModuleProto, HloProto, HloSnapshot or HloUnoptimizedSnapshot.
  kProto,
  // The text form of one of these.
  kTextProto,
};

bool AbslParseFlag(absl::string_view text, ModuleFormat* format,
                   std::string* error);
std::string AbslUnparseFlag(ModuleFormat format);

// Tells the format from the contents; file names do not matter.
ModuleFormat DetectModuleFormat(absl::string_view contents);

// Reads a module from the contents of a file of known or detected format.
// `options.file_name` is used in errors, which are InvalidArgument, and where
// the module does not say what type of device it is for (DeviceTypeOfDump()).
absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(
    absl::string_view contents, ModuleFormat format,
    const HloParserOptions& options = HloParserOptions());
absl::StatusOr<std::unique_ptr<HloModule>> ReadModule(
    absl::string_view contents,
    const HloParserOptions& options = HloParserOptions());

// Reads a module from what ReadModuleFile (module_file.h) takes: a file, packed
// or not, "-" for standard input, a folder of dumps.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromFile(
    const std::string& path,
    const HloParserOptions& options = HloParserOptions());

// Returns the wire form: a binary HloProto, or its text form, as OpenXLA reads
// it: instructions of equal names in several computations get numbers (s, s.1).
// Deterministic.
std::string ModuleToProtoBytes(const HloModule& module);
std::string ModuleToTextProto(const HloModule& module);

}  // namespace xla

#endif  // XLA_HLO_UTILS_MODULE_IO_H_

#ifndef XLA_HLO_UTILS_HLO_MODULE_UTIL_H_
#define XLA_HLO_UTILS_HLO_MODULE_UTIL_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla.pb.h"

namespace xla {

// Compiling ahead of time is not part of this project.
class AotCompilationOptions;

// Modules and their configurations from text, protos and files. Errors are
// those of the parser or of CreateFromProto, and those of reading the file,
// with its name. To read a file of whatever format, see module_io.h.

absl::StatusOr<std::unique_ptr<HloModule>> CreateModuleFromString(
    absl::string_view hlo_string,
    const DebugOptions& debug_options = DebugOptions::default_instance(),
    const HloParserOptions& parser_options = HloParserOptions());

absl::StatusOr<std::unique_ptr<HloModule>> CreateModuleFromProto(
    const HloModuleProto& proto,
    const DebugOptions& debug_options = DebugOptions::default_instance());
// `is_module_post_optimizations`: the module may have constants without values.
absl::StatusOr<std::unique_ptr<HloModule>> CreateModuleFromProto(
    const HloModuleProto& proto, const HloModuleConfig& module_config,
    bool is_module_post_optimizations = false);

// A binary HloProto. With `remap_instruction_ids` the instructions are numbered
// anew; without, they keep the ids of the file.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromBinaryProtoFile(
    absl::string_view filename,
    const DebugOptions& debug_options = DebugOptions::default_instance(),
    bool remap_instruction_ids = true);
// A binary HloModuleProto.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromModuleBinaryProtofile(
    absl::string_view filename, const DebugOptions& debug_options);
// HLO text.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromHloTextFile(
    absl::string_view filename,
    const DebugOptions& debug_options = DebugOptions::default_instance(),
    const HloParserOptions& options = HloParserOptions());
// An HloProto in text format.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromTextProtoFile(
    absl::string_view hlo_file,
    const DebugOptions& debug_options = DebugOptions::default_instance());
// An HloModuleProto in text format.
absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromModuleTextProtoFile(
    absl::string_view hlo_file,
    const DebugOptions& debug_options = DebugOptions::default_instance());

// The configuration of a program that is called with `argument_shapes`, which
// give the layouts of the parameters; the result has the layout that the
// execution options ask for, or the default one. If these do not say how many
// replicas there are, there are `default_num_replicas`. Errors: InvalidArgument
// if the shapes do not fit the program; Unimplemented with `aot_options`.
absl::StatusOr<std::unique_ptr<HloModuleConfig>> CreateModuleConfig(
    const ProgramShape& program_shape,
    absl::Span<const Shape* const> argument_shapes,
    const ExecutionOptions* execution_options, int default_num_replicas,
    std::optional<int> num_threads = std::nullopt,
    const AotCompilationOptions* aot_options = nullptr);

// Gives a shape the layout (tiles, memory space, ...) a device holds it in.
using DeviceShapeRepresentationFn = std::function<Shape(const Shape&)>;

// Applies the function to the layouts of the entry computation's parameters and
// result that are set. `empty_tiles_only` leaves layouts with tiles as they
// are.
void UpdateEntryComputationLayout(
    HloModule* module, DeviceShapeRepresentationFn shape_representation_fn,
    bool empty_tiles_only = true);

}  // namespace xla

#endif  // XLA_HLO_UTILS_HLO_MODULE_UTIL_H_

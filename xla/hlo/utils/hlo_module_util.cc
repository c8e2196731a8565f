#include "xla/hlo/utils/hlo_module_util.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "xla/hlo/ir/computation_layout.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_layout.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

absl::Status BadFile(absl::string_view filename, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(filename, ": error: not a ", what));
}

template <typename Message>
absl::Status ReadBinary(absl::string_view filename, Message* message) {
  TF_ASSIGN_OR_RETURN(std::string contents,
                      ReadFileOrStdin(std::string(filename)));
  if (contents.size() > INT32_MAX ||
      !message->ParseFromArray(contents.data(),
                               static_cast<int>(contents.size()))) {
    return BadFile(filename, absl::StrCat("binary ", message->GetTypeName()));
  }
  return absl::OkStatus();
}

// Keeps the first message of protobuf's text parser.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat(":", line + 1, ":", column + 1, ": error: ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <typename Message>
absl::Status ReadText(absl::string_view filename, Message* message) {
  TF_ASSIGN_OR_RETURN(std::string contents,
                      ReadFileOrStdin(std::string(filename)));
  if (contents.size() > INT32_MAX) {
    return BadFile(filename, "text proto below 2 GiB");
  }
  google::protobuf::io::ArrayInputStream stream(
      contents.data(), static_cast<int>(contents.size()));
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(1000);
  if (!parser.Parse(&stream, message)) {
    return absl::InvalidArgumentError(absl::StrCat(filename, error.text()));
  }
  return absl::OkStatus();
}

// Layouts of one shape of the entry computation. Tiles are in leaves, so each
// leaf is decided on its own.
void UpdateLayout(ShapeLayout* shape_layout,
                  const DeviceShapeRepresentationFn& representation,
                  bool empty_tiles_only) {
  ShapeUtil::ForEachLeafShape(
      shape_layout->shape(), [&](const Shape& leaf, const ShapeIndex& index) {
        if (!leaf.IsArray() || !leaf.has_layout()) return;
        if (empty_tiles_only && !leaf.layout().tiles().empty()) return;
        Shape represented = representation(leaf);
        if (represented.IsArray() && represented.has_layout()) {
          shape_layout->ResetLayout(represented.layout(), index);
        }
      });
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> CreateModuleFromString(
    absl::string_view hlo_string, const DebugOptions& debug_options,
    const HloParserOptions& parser_options) {
  HloModuleConfig config;
  config.set_debug_options(debug_options);
  return ParseAndReturnUnverifiedModule(hlo_string, config, parser_options);
}

absl::StatusOr<std::unique_ptr<HloModule>> CreateModuleFromProto(
    const HloModuleProto& proto, const DebugOptions& debug_options) {
  TF_ASSIGN_OR_RETURN(
      HloModuleConfig config,
      HloModule::CreateModuleConfigFromProto(proto, debug_options));
  return HloModule::CreateFromProto(proto, config);
}

absl::StatusOr<std::unique_ptr<HloModule>> CreateModuleFromProto(
    const HloModuleProto& proto, const HloModuleConfig& module_config,
    bool is_module_post_optimizations) {
  return HloModule::CreateFromProto(
      proto, module_config,
      /*prohibit_empty_literal=*/!is_module_post_optimizations);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromBinaryProtoFile(
    absl::string_view filename, const DebugOptions& debug_options,
    bool remap_instruction_ids) {
  HloProto proto;
  TF_RETURN_IF_ERROR(ReadBinary(filename, &proto));
  TF_ASSIGN_OR_RETURN(HloModuleConfig config,
                      HloModule::CreateModuleConfigFromProto(proto.hlo_module(),
                                                             debug_options));
  return HloModule::CreateFromProto(
      proto.hlo_module(), config, /*prohibit_empty_literal=*/true,
      /*comp_envs=*/nullptr,
      /*preserve_instruction_ids=*/!remap_instruction_ids);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromModuleBinaryProtofile(
    absl::string_view filename, const DebugOptions& debug_options) {
  HloModuleProto proto;
  TF_RETURN_IF_ERROR(ReadBinary(filename, &proto));
  return CreateModuleFromProto(proto, debug_options);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromHloTextFile(
    absl::string_view filename, const DebugOptions& debug_options,
    const HloParserOptions& options) {
  TF_ASSIGN_OR_RETURN(std::string contents,
                      ReadFileOrStdin(std::string(filename)));
  HloParserOptions named = options;
  named.set_file_name(filename);
  return CreateModuleFromString(contents, debug_options, named);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromTextProtoFile(
    absl::string_view hlo_file, const DebugOptions& debug_options) {
  HloProto proto;
  TF_RETURN_IF_ERROR(ReadText(hlo_file, &proto));
  return CreateModuleFromProto(proto.hlo_module(), debug_options);
}

absl::StatusOr<std::unique_ptr<HloModule>> ReadModuleFromModuleTextProtoFile(
    absl::string_view hlo_file, const DebugOptions& debug_options) {
  HloModuleProto proto;
  TF_RETURN_IF_ERROR(ReadText(hlo_file, &proto));
  return CreateModuleFromProto(proto, debug_options);
}

absl::StatusOr<std::unique_ptr<HloModuleConfig>> CreateModuleConfig(
    const ProgramShape& program_shape,
    absl::Span<const Shape* const> argument_shapes,
    const ExecutionOptions* execution_options, int default_num_replicas,
    std::optional<int> num_threads, const AotCompilationOptions* aot_options) {
  if (aot_options != nullptr) {
    return absl::UnimplementedError(
        "CreateModuleConfig: compiling ahead of time");
  }
  if (program_shape.parameters_size() !=
      static_cast<int64_t>(argument_shapes.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the program has ", program_shape.parameters_size(),
        " parameters, and there are ", argument_shapes.size(), " arguments"));
  }
  TF_ASSIGN_OR_RETURN(
      HloModuleConfig config,
      HloModule::CreateModuleConfigFromShape(
          program_shape,
          execution_options != nullptr ? execution_options->debug_options()
                                       : DebugOptions::default_instance(),
          execution_options));
  ComputationLayout* layout = config.mutable_entry_computation_layout();
  for (int64_t i = 0; i < program_shape.parameters_size(); ++i) {
    const Shape& argument = *argument_shapes[i];
    if (!ShapeUtil::Compatible(argument, program_shape.parameters(i))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "argument ", i, " has shape ", ShapeUtil::HumanString(argument),
          ", but the parameter has shape ",
          ShapeUtil::HumanString(program_shape.parameters(i))));
    }
    TF_RETURN_IF_ERROR(
        layout->mutable_parameter_layout(i)->CopyLayoutFromShape(argument));
  }
  if (execution_options == nullptr || execution_options->num_replicas() == 0) {
    config.set_replica_count(default_num_replicas);
  }
  if (execution_options == nullptr ||
      !execution_options->has_shape_with_output_layout()) {
    layout->mutable_result_layout()->SetToDefaultLayout();
  }
  if (num_threads.has_value()) {
    config.set_intra_op_parallelism_threads(*num_threads);
  }
  return std::make_unique<HloModuleConfig>(std::move(config));
}

void UpdateEntryComputationLayout(
    HloModule* module, DeviceShapeRepresentationFn shape_representation_fn,
    bool empty_tiles_only) {
  ComputationLayout* layout = module->mutable_entry_computation_layout();
  for (int i = 0; i < layout->parameter_count(); ++i) {
    UpdateLayout(layout->mutable_parameter_layout(i), shape_representation_fn,
                 empty_tiles_only);
  }
  UpdateLayout(layout->mutable_result_layout(), shape_representation_fn,
               empty_tiles_only);
}

}  // namespace xla

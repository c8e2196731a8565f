#include "xla/hlo/pass/instrumentation/dump_hlo.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/text_format.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/hlo/utils/hlo_dot.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Room for the rest of a name of at most 255 bytes.
constexpr size_t kMaxPartOfName = 64;

constexpr char kStart[] = "pipeline-start";
constexpr char kEnd[] = "pipeline-end";

bool HasForm(const DebugOptions& options) {
  return options.xla_dump_hlo_as_text() ||
         options.xla_dump_hlo_as_long_text() ||
         options.xla_dump_hlo_as_proto() || options.xla_dump_hlo_as_dot();
}

bool DumpsText(const DebugOptions& options) {
  return options.xla_dump_hlo_as_text() ||
         options.xla_dump_hlo_as_long_text() || !HasForm(options);
}

bool IsAsked(const DebugOptions& options) {
  return !options.xla_dump_to().empty() || HasForm(options) ||
         !options.xla_dump_hlo_pass_re().empty() ||
         !options.xla_dump_hlo_module_re().empty();
}

bool HasFolder(const DebugOptions& options) {
  return !options.xla_dump_to().empty() && options.xla_dump_to() != "-";
}

HloPrintOptions PrintOptions(const DebugOptions& options) {
  HloPrintOptions print = options.xla_dump_hlo_as_long_text()
                              ? HloPrintOptions::Default()
                              : HloPrintOptions::ShortParsable();
  print.set_print_large_constants(options.xla_dump_large_constants())
      .set_print_control_dependencies(true)
      .set_print_backend_config(true)
      .set_print_metadata(!options.xla_dump_disable_metadata())
      .set_compact_gte(options.xla_dump_compact_gte())
      .set_syntax_sugar_async_ops(options.xla_syntax_sugar_async_ops());
  return print;
}

// A part of a file's name, whatever a module or a pass is called.
std::string PartOfName(absl::string_view name) {
  std::string part(name.substr(0, kMaxPartOfName));
  for (char& c : part) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '/' || c == '\\' ||
        c == '[' || c == ']') {
      c = '_';
    }
  }
  return part;
}

bool Contains(absl::string_view name, const RE2& expression) {
  return RE2::PartialMatch(name, expression) ||
         RE2::PartialMatch(absl::StrReplaceAll(name, {{"-", "_"}}), expression);
}

}  // namespace

DumpHlo::DumpHlo(const DebugOptions& options, Sink sink)
    : options_(options),
      sink_(std::move(sink)),
      print_options_(PrintOptions(options)),
      modules_(options.xla_dump_hlo_module_re(), RE2::Quiet),
      passes_(options.xla_dump_hlo_pass_re(), RE2::Quiet) {}

absl::StatusOr<std::unique_ptr<DumpHlo>> DumpHlo::Create(
    const DebugOptions& options, Sink sink) {
  if (!IsAsked(options)) return nullptr;
  auto dump = absl::WrapUnique(new DumpHlo(options, std::move(sink)));
  for (const auto& [flag, expression] :
       {std::pair("xla_dump_hlo_module_re", &dump->modules_),
        std::pair("xla_dump_hlo_pass_re", &dump->passes_)}) {
    if (!expression->ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", flag, ": not a regular expression: ", expression->pattern(),
          ": ", expression->error()));
    }
  }
  if (HasFolder(options)) return dump;
  for (const auto& [flag, is_set] :
       {std::pair("xla_dump_hlo_as_proto", options.xla_dump_hlo_as_proto()),
        std::pair("xla_dump_hlo_as_dot", options.xla_dump_hlo_as_dot())}) {
    if (is_set) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, " needs a folder, --xla_dump_to"));
    }
  }
  return dump;
}

absl::Status DumpHlo::Start(const HloModule& module,
                            absl::string_view pipeline) {
  ++modules_seen_;
  states_ = 0;
  pending_.reset();
  is_on_ = RE2::PartialMatch(module.name(), modules_) &&
           (options_.xla_dump_max_hlo_modules() <= 0 ||
            modules_dumped_ < options_.xla_dump_max_hlo_modules());
  if (!is_on_) return absl::OkStatus();
  ++modules_dumped_;
  prefix_ = absl::StrFormat("module_%04d.%s", modules_seen_,
                            PartOfName(module.name()));
  if (HasFolder(options_)) {
    std::error_code error;
    std::filesystem::create_directories(options_.xla_dump_to(), error);
    if (error) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--xla_dump_to=", options_.xla_dump_to(), ": ", error.message()));
    }
  }
  pending_ = Pending{std::string(pipeline), kStart};
  return Dump(module, "before_optimizations");
}

absl::Status DumpHlo::Finish(const HloModule& module) {
  if (!is_on_) return absl::OkStatus();
  TF_RETURN_IF_ERROR(Flush(module, "", kEnd));
  TF_RETURN_IF_ERROR(Dump(module, "after_optimizations"));
  if (!options_.xla_dump_module_metadata()) return absl::OkStatus();
  std::string text;
  google::protobuf::TextFormat::PrintToString(module.metadata().proto(), &text);
  return Write(absl::StrCat(prefix_, ".metadata.textproto"), text);
}

absl::Status DumpHlo::BeforePass(const PassEvent& event,
                                 const HloModule& module) {
  if (!is_on_) return absl::OkStatus();
  TF_RETURN_IF_ERROR(Flush(module, event.pipeline, event.pass_name()));
  if (event.pass->IsPassPipeline()) {
    pending_ = Pending{std::string(event.pass_name()), kStart};
  }
  return absl::OkStatus();
}

absl::Status DumpHlo::AfterPass(const PassEvent& event, const HloModule& module,
                                const absl::StatusOr<bool>& result) {
  if (!is_on_ || !result.ok()) return absl::OkStatus();
  // The passes of a pipeline have been written, one by one.
  if (event.pass->IsPassPipeline()) return Flush(module, "", kEnd);
  if (*result) {
    pending_ =
        Pending{std::string(event.pipeline), std::string(event.pass_name())};
  }
  return absl::OkStatus();
}

// Writes the state that waits; `next` runs next in `pipeline`.
absl::Status DumpHlo::Flush(const HloModule& module, absl::string_view pipeline,
                            absl::string_view next) {
  if (!pending_.has_value()) return absl::OkStatus();
  const Pending state = *std::exchange(pending_, std::nullopt);
  if (options_.xla_dump_hlo_pass_re().empty()) return absl::OkStatus();
  if (state.pipeline != pipeline) next = kEnd;
  if (!Contains(state.after, passes_) && !Contains(next, passes_)) {
    return absl::OkStatus();
  }
  return Dump(module,
              absl::StrFormat("%04d.%s.after_%s.before_%s", states_++,
                              PartOfName(state.pipeline),
                              PartOfName(state.after), PartOfName(next)));
}

absl::Status DumpHlo::Dump(const HloModule& module, absl::string_view state) {
  const std::string name = absl::StrCat(prefix_, ".", state);
  if (DumpsText(options_)) {
    TF_RETURN_IF_ERROR(
        Write(absl::StrCat(name, ".txt"), module.ToString(print_options_)));
  }
  if (options_.xla_dump_hlo_as_proto()) {
    TF_RETURN_IF_ERROR(
        Write(absl::StrCat(name, ".hlo.pb"), ModuleToProtoBytes(module)));
  }
  if (options_.xla_dump_hlo_as_dot()) {
    TF_RETURN_IF_ERROR(Write(absl::StrCat(name, ".dot"), ModuleToDot(module)));
  }
  return absl::OkStatus();
}

absl::Status DumpHlo::Write(const std::string& file,
                            absl::string_view contents) {
  if (!HasFolder(options_)) {
    sink_(absl::StrCat("*** Begin ", file, " ***\n", contents, "\n*** End ",
                       file, " ***\n"));
    return absl::OkStatus();
  }
  return WriteFileOrStdout(
      (std::filesystem::path(options_.xla_dump_to()) / file).string(),
      contents);
}

}  // namespace xla

#include "xla/hlo/pipeline/c_api/hlo_c.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/log/globals.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/pass/unmet_limits.h"
#include "xla/hlo/pipeline/all_passes.h"
#include "xla/hlo/pipeline/commands/hlo_diff.h"
#include "xla/hlo/pipeline/commands/hlo_run.h"
#include "xla/hlo/pipeline/hlo_explain.h"
#include "xla/hlo/pipeline/pipelines.h"
#include "xla/hlo/pipeline/prepared_module.h"
#include "xla/hlo/utils/module_io.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/hlo/verifier/verify_input.h"
#include "xla/status_macros.h"

struct hlo_module {
  std::unique_ptr<xla::HloModule> module;
};

namespace xla {
namespace {

constexpr int kDone = 0, kFailed = 1, kInternal = 2, kLimitMissed = 3,
              kDifferent = 4;

char* ToC(absl::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) std::abort();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

// The return code of a function for a status, with its message.
int Answer(const absl::Status& status, char** error) {
  if (status.ok()) return kDone;
  *error = ToC(status.message());
  if (absl::IsResourceExhausted(status)) return kLimitMissed;
  return absl::IsInternal(status) ? kInternal : kFailed;
}

// A library reports through its return values, not through logs.
void BeQuiet() {
  static const bool quiet = [] {
    absl::SetStderrThreshold(absl::LogSeverityAtLeast::kError);
    return true;
  }();
  (void)quiet;
}

hlo_module* Handle(std::unique_ptr<HloModule> module) {
  return new hlo_module{std::move(module)};
}

// Where the values of options go, by name.
class Options {
 public:
  void Add(absl::string_view name, std::string* to) {
    set_[std::string(name)] = [to](absl::string_view value) {
      *to = std::string(value);
      return true;
    };
  }
  void Add(absl::string_view name, std::optional<std::string>* to) {
    set_[std::string(name)] = [to](absl::string_view value) {
      *to = std::string(value);
      return true;
    };
  }
  void Add(absl::string_view name, bool* to) {
    set_[std::string(name)] = [to](absl::string_view value) {
      return absl::SimpleAtob(value, to);
    };
  }
  void Add(absl::string_view name, double* to) {
    set_[std::string(name)] = [to](absl::string_view value) {
      return absl::SimpleAtod(value, to);
    };
  }
  template <typename Int>
  void AddInt(absl::string_view name, Int* to) {
    set_[std::string(name)] = [to](absl::string_view value) {
      return absl::SimpleAtoi(value, to);
    };
  }
  // An enum type with AbslParseFlag.
  template <typename Enum>
  void AddEnum(absl::string_view name, Enum* to) {
    set_[std::string(name)] = [to](absl::string_view value) {
      std::string error;
      return AbslParseFlag(value, to, &error);
    };
  }
  template <typename Enum>
  void AddEnum(absl::string_view name, std::optional<Enum>* to) {
    set_[std::string(name)] = [to](absl::string_view value) {
      std::string error;
      Enum parsed;
      if (!AbslParseFlag(value, &parsed, &error)) return false;
      *to = parsed;
      return true;
    };
  }

  // Reads lines `name=value`.
  absl::Status Parse(const char* text) const {
    for (absl::string_view line :
         absl::StrSplit(text == nullptr ? "" : text, '\n', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> option =
          absl::StrSplit(line, absl::MaxSplits('=', 1));
      const auto it = set_.find(std::string(option.first));
      if (it == set_.end()) {
        std::vector<std::string> names;
        for (const auto& entry : set_) names.push_back(entry.first);
        return absl::InvalidArgumentError(
            absl::StrCat("unknown option '", option.first, "'",
                         DidYouMean(option.first, names)));
      }
      if (!it->second(option.second)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "option '", option.first, "' cannot be '", option.second, "'"));
      }
    }
    return absl::OkStatus();
  }

 private:
  std::map<std::string, std::function<bool(absl::string_view)>> set_;
};

void SetPartitions(int64_t partitions, HloModule* module) {
  if (partitions <= 0) return;
  module->mutable_config().set_num_partitions(partitions);
  module->mutable_config().set_use_spmd_partitioning(partitions > 1);
}

absl::StatusOr<std::unique_ptr<HloModule>> Parse(absl::string_view bytes,
                                                 const std::string& name) {
  HloParserOptions parser_options;
  parser_options.set_file_name(name);
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloModule> module,
                      ReadModule(bytes, parser_options));
  TF_RETURN_IF_ERROR(VerifyInput(*module, name));
  return module;
}

absl::StatusOr<std::string> Print(const HloModule& module,
                                  absl::string_view form) {
  if (form == "proto") return ModuleToProtoBytes(module);
  if (form == "pbtxt") return ModuleToTextProto(module);
  if (form != "hlo" && form != "short") {
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown form '", form, "'; known: hlo, short, proto, pbtxt"));
  }
  HloPrintOptions options = form == "hlo" ? HloPrintOptions::Default()
                                          : HloPrintOptions::ShortParsable();
  options.set_print_large_constants(true);
  return absl::StrCat(module.ToString(options), "\n");
}

absl::Status RunPasses(const char* text, HloModule* module) {
  std::string pipeline_name, passes, device, memory_limit, mesh;
  int64_t num_partitions = 0;
  Options options;
  options.Add("pipeline", &pipeline_name);
  options.Add("passes", &passes);
  options.Add("device", &device);
  options.Add("memory-limit", &memory_limit);
  options.Add("mesh", &mesh);
  options.AddInt("num-partitions", &num_partitions);
  TF_RETURN_IF_ERROR(options.Parse(text));
  SetPartitions(num_partitions, module);
  PassRegistry registry = AllPasses();
  if (!device.empty()) registry.OverrideOption("device", device);
  if (!memory_limit.empty()) {
    registry.OverrideOption("memory-limit", memory_limit);
  }
  if (!mesh.empty()) registry.OverrideOption("mesh", mesh);
  HloPassPipeline all("c-api");
  if (!pipeline_name.empty()) {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> named,
                        MakeNamedPipeline(registry, pipeline_name));
    all.AddPass(std::move(named));
  }
  if (!passes.empty()) {
    TF_ASSIGN_OR_RETURN(std::unique_ptr<HloPassPipeline> parsed,
                        registry.ParsePipeline("passes", passes));
    all.AddPass(std::move(parsed));
  }
  TF_RETURN_IF_ERROR(all.Run(module).status());
  HloVerifierOpts verifier_options;
  verifier_options.allow_mixed_precision = true;
  TF_RETURN_IF_ERROR(VerifyHloModule(module, verifier_options));
  const std::vector<absl::Status> unmet = TakeUnmetLimits(all);
  return unmet.empty() ? absl::OkStatus() : unmet.front();
}

absl::Status ExplainWith(const char* text, std::unique_ptr<HloModule>* module,
                         std::ostream& out, std::string* json) {
  HloExplainOptions explain;
  explain.json_text = json;
  explain.seconds = false;
  Options options;
  options.AddEnum("schedule", &explain.prepare.schedule);
  options.AddInt("effort", &explain.prepare.effort);
  options.Add("passes", &explain.prepare.passes);
  options.Add("as", &explain.prepare.as);
  options.AddInt("num-partitions", &explain.prepare.num_partitions);
  options.Add("limit", &explain.limit);
  options.AddInt("max-buffers", &explain.max_buffers);
  options.Add("html", &explain.html);
  options.Add("perfetto", &explain.perfetto);
  options.Add("jax", &explain.jax);
  options.Add("device", &explain.device);
  options.Add("kernels", &explain.kernels);
  options.Add("collectives", &explain.collectives);
  options.Add("mesh", &explain.mesh);
  options.Add("fit", &explain.fit);
  options.AddInt("budget-curve", &explain.budget_curve);
  HloRematerializationOptions& remat = explain.fit_options.remat;
  options.AddEnum("strategy", &remat.strategy);
  options.AddEnum("for", &remat.reader);
  options.AddInt("fit-effort", &remat.effort);
  TF_RETURN_IF_ERROR(options.Parse(text));
  return ExplainModule(explain, AllPasses(), module, out);
}

absl::StatusOr<bool> DiffWith(const char* text, const HloModule& before,
                              const HloModule& after, std::ostream& out) {
  HloDiffOptions diff;
  Options options;
  options.Add("as", &diff.prepare.as);
  options.Add("json", &diff.json);
  options.Add("html", &diff.html);
  options.Add("device", &diff.device);
  options.Add("mesh", &diff.mesh);
  options.AddInt("max-rows", &diff.max_rows);
  TF_RETURN_IF_ERROR(options.Parse(text));
  return DiffModules(diff, AllPasses(), {"before", before.Clone("")},
                     {"after", after.Clone("")}, out);
}

absl::Status RunWith(const char* text, const std::string& path,
                     std::ostream& out) {
  HloRunOptions run;
  Options options;
  options.Add("inputs", &run.inputs);
  options.Add("save-inputs", &run.save_inputs);
  options.Add("o", &run.output);
  options.AddInt("devices", &run.devices);
  options.Add("memory-limit", &run.memory_limit);
  options.Add("max-flops", &run.max_flops);
  options.AddInt("seed", &run.seed);
  TF_RETURN_IF_ERROR(options.Parse(text));
  return RunHloRun(run, path, out);
}

// Text in a JSON string; names of modules are bytes, JSON is UTF-8.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      absl::StrAppendFormat(&quoted, "\\u%04x", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace
}  // namespace xla

using xla::HloModule;

int hlo_read(const char* path, int64_t num_partitions, hlo_module** module,
             char** error) {
  xla::BeQuiet();
  absl::StatusOr<std::unique_ptr<HloModule>> read =
      xla::ReadVerifiedModule(path);
  if (!read.ok()) return xla::Answer(read.status(), error);
  xla::SetPartitions(num_partitions, read->get());
  *module = xla::Handle(*std::move(read));
  return xla::kDone;
}

int hlo_parse(const char* bytes, size_t size, const char* name,
              int64_t num_partitions, hlo_module** module, char** error) {
  xla::BeQuiet();
  absl::StatusOr<std::unique_ptr<HloModule>> read =
      xla::Parse(absl::string_view(bytes, size), name);
  if (!read.ok()) return xla::Answer(read.status(), error);
  xla::SetPartitions(num_partitions, read->get());
  *module = xla::Handle(*std::move(read));
  return xla::kDone;
}

void hlo_release(hlo_module* module) { delete module; }

void hlo_free(char* text) { std::free(text); }

int hlo_print(const hlo_module* module, const char* form, char** bytes,
              size_t* size, char** error) {
  const absl::StatusOr<std::string> text = xla::Print(*module->module, form);
  if (!text.ok()) return xla::Answer(text.status(), error);
  *bytes = xla::ToC(*text);
  *size = text->size();
  return xla::kDone;
}

int hlo_describe(const hlo_module* module, char** json, char** error) {
  const HloModule& described = *module->module;
  *json = xla::ToC(absl::StrCat(
      "{\"name\": ", xla::Quoted(described.name()),
      ", \"instructions\": ", described.instruction_count(),
      ", \"computations\": ", described.computation_count(),
      ", \"partitions\": ", described.config().num_partitions(),
      ", \"replicas\": ", described.config().replica_count(),
      ", \"scheduled\": ", described.has_schedule() ? "true" : "false", "}"));
  return xla::kDone;
}

int hlo_opt(const hlo_module* module, const char* options, hlo_module** result,
            char** error) {
  std::unique_ptr<HloModule> copy = module->module->Clone("");
  const absl::Status status = xla::RunPasses(options, copy.get());
  if (status.ok() || absl::IsResourceExhausted(status)) {
    *result = xla::Handle(std::move(copy));
  }
  return xla::Answer(status, error);
}

int hlo_explain(const hlo_module* module, const char* options,
                hlo_module** result, char** report, char** json, char** error) {
  std::unique_ptr<HloModule> copy = module->module->Clone("");
  std::ostringstream out;
  std::string json_text;
  const absl::Status status = xla::ExplainWith(options, &copy, out, &json_text);
  if (status.ok() || absl::IsResourceExhausted(status)) {
    *report = xla::ToC(out.str());
    *json = xla::ToC(json_text);
    if (result != nullptr) *result = xla::Handle(std::move(copy));
  }
  return xla::Answer(status, error);
}

int hlo_diff(const hlo_module* before, const hlo_module* after,
             const char* options, char** report, char** error) {
  std::ostringstream out;
  const absl::StatusOr<bool> equal =
      xla::DiffWith(options, *before->module, *after->module, out);
  if (!equal.ok()) return xla::Answer(equal.status(), error);
  *report = xla::ToC(out.str());
  return *equal ? xla::kDone : xla::kDifferent;
}

int hlo_run(const char* path, const char* options, char** report,
            char** error) {
  std::ostringstream out;
  const absl::Status status = xla::RunWith(options, path, out);
  *report = xla::ToC(out.str());
  return xla::Answer(status, error);
}

#include "xla/hlo/pipeline/commands/xla_flags.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "xla/debug_options_flags.h"
#include "xla/hlo/pass/nearest_name.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Fields that pipelines and their observers read.
constexpr absl::string_view kRead[] = {
    "xla_disable_all_hlo_passes", "xla_disable_hlo_passes",
    "xla_dump_compact_gte",       "xla_dump_disable_metadata",
    "xla_dump_hlo_as_dot",        "xla_dump_hlo_as_long_text",
    "xla_dump_hlo_as_proto",      "xla_dump_hlo_as_text",
    "xla_dump_hlo_module_re",     "xla_dump_hlo_pass_re",
    "xla_dump_large_constants",   "xla_dump_max_hlo_modules",
    "xla_dump_module_metadata",   "xla_dump_to",
    "xla_enable_hlo_passes_only", "xla_syntax_sugar_async_ops"};

// "--xla_name=value", however many dashes there are in it.
std::string Normalized(absl::string_view flag) {
  while (absl::ConsumePrefix(&flag, "-")) {
  }
  const size_t end = std::min(flag.find('='), flag.size());
  std::string name(flag.substr(0, end));
  std::replace(name.begin(), name.end(), '-', '_');
  return absl::StrCat("--", name, flag.substr(end));
}

std::string NameOf(absl::string_view flag) {
  return Normalized(flag.substr(0, flag.find('='))).substr(2);
}

bool IsField(const std::string& name) {
  return DebugOptions::descriptor()->FindFieldByName(name) != nullptr;
}

// "; did you mean X?", or nothing.
std::string NearestField(const std::string& name) {
  std::vector<std::string> known;
  for (int i = 0; i < DebugOptions::descriptor()->field_count(); ++i) {
    known.push_back(
        absl::StrCat("--", DebugOptions::descriptor()->field(i)->name()));
  }
  std::string text = DidYouMean(absl::StrCat("--", name), known);
  return absl::StartsWith(text, "; did") ? text : "";
}

// Words, with quotes around parts of them taken away.
absl::StatusOr<std::vector<std::string>> SplitEnvironment(
    absl::string_view text) {
  std::vector<std::string> words;
  std::string word;
  char quote = 0;
  bool inside = false;
  for (char c : text) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word.push_back(c);
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (!absl::ascii_isspace(c)) {
      word.push_back(c);
      inside = true;
    } else if (inside) {
      words.push_back(std::move(word));
      word.clear();
      inside = false;
    }
  }
  if (quote != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("XLA_FLAGS: a ", std::string(1, quote), " is not closed"));
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

absl::Status ApplyEnvironment(absl::string_view text, DebugOptions* options,
                              std::ostream& err) {
  TF_ASSIGN_OR_RETURN(std::vector<std::string> words, SplitEnvironment(text));
  for (const std::string& word : words) {
    if (!absl::StartsWith(word, "--")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "XLA_FLAGS: '", word, "' is not a flag; expected --xla_name=value"));
    }
    const std::string name = NameOf(word);
    if (!IsField(name)) {
      err << "XLA_FLAGS: --" << name << " is unknown and ignored"
          << NearestField(name) << "\n";
      continue;
    }
    absl::Status status = SetDebugOption(Normalized(word), options);
    if (!status.ok()) {
      return absl::Status(status.code(),
                          absl::StrCat("XLA_FLAGS: ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPasses(absl::string_view name, const DebugOptions& options,
                         const PassRegistry& registry) {
  if (name != "xla_disable_hlo_passes" &&
      name != "xla_enable_hlo_passes_only") {
    return absl::OkStatus();
  }
  std::vector<std::string> known;
  for (const auto& [pass, unused] : registry.entries()) known.push_back(pass);
  const auto& passes = name == "xla_disable_hlo_passes"
                           ? options.xla_disable_hlo_passes()
                           : options.xla_enable_hlo_passes_only();
  for (const std::string& pass : passes) {
    if (std::find(known.begin(), known.end(), pass) != known.end()) continue;
    const std::string nearest = DidYouMean(pass, known);
    return absl::InvalidArgumentError(absl::StrCat(
        "--", name, ": unknown pass '", pass, "'",
        absl::StartsWith(nearest, "; did") ? nearest
                                           : "; see hlo-opt --list-passes"));
  }
  return absl::OkStatus();
}

absl::Status ApplyFlag(const std::string& flag, const PassRegistry& registry,
                       DebugOptions* options, std::ostream& err) {
  const std::string name = NameOf(flag);
  if (!IsField(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown flag --", name, NearestField(name)));
  }
  TF_RETURN_IF_ERROR(SetDebugOption(Normalized(flag), options));
  TF_RETURN_IF_ERROR(CheckPasses(name, *options, registry));
  if (std::find(std::begin(kRead), std::end(kRead), name) == std::end(kRead)) {
    err << "--" << name << ": no pass reads this option; it has no effect\n";
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> TakeXlaFlags(int* argc, char** argv) {
  std::vector<std::string> flags;
  int kept = 0;
  bool are_flags = true;
  for (int i = 0; i < *argc; ++i) {
    const absl::string_view argument = argv[i];
    if (argument == "--") are_flags = false;
    if (i > 0 && are_flags && absl::StartsWith(argument, "-") &&
        absl::StartsWith(NameOf(argument), "xla_")) {
      flags.push_back(std::string(argument));
    } else {
      argv[kept++] = argv[i];
    }
  }
  *argc = kept;
  argv[kept] = nullptr;
  return flags;
}

absl::StatusOr<std::optional<DebugOptions>> ReadXlaFlags(
    const char* environment, absl::Span<const std::string> flags,
    const PassRegistry& registry, std::ostream& err) {
  DebugOptions options = DefaultDebugOptionsIgnoringFlags();
  const DebugOptions defaults = options;
  if (environment != nullptr) {
    TF_RETURN_IF_ERROR(ApplyEnvironment(environment, &options, err));
  }
  for (const std::string& flag : flags) {
    TF_RETURN_IF_ERROR(ApplyFlag(flag, registry, &options, err));
  }
  if (flags.empty() &&
      options.SerializeAsString() == defaults.SerializeAsString()) {
    return std::nullopt;
  }
  return options;
}

}  // namespace xla

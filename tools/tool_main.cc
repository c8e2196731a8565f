#include "tools/tool_main.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/log/globals.h"
#include "absl/log/initialize.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace xla {
namespace {

// `--print-after=x-y` → `--print_after=x-y`; absl names flags as C++ does.
std::string NormalizeFlag(
    const std::string& argument,
    const std::vector<std::pair<std::string, std::string>>& aliases) {
  size_t dashes = argument.find_first_not_of('-');
  if (dashes == std::string::npos || dashes == 0 || dashes > 2) return argument;
  size_t end = std::min(argument.find('='), argument.size());
  std::string name = argument.substr(dashes, end - dashes);
  for (const auto& [alias, flag] : aliases) {
    // An alias with a value stands for the flag without one.
    const bool has_value = absl::StrContains(flag, "=");
    if (name == alias && (!has_value || end == argument.size())) name = flag;
  }
  std::replace(name.begin(), name.end(), '-', '_');
  return absl::StrCat("--", name, argument.substr(end));
}

}  // namespace

std::vector<std::string> InitTool(
    int argc, char** argv, const std::string& usage,
    const std::vector<std::pair<std::string, std::string>>& aliases) {
  // What flags are described with --help: those of the tool's own main file.
  absl::FlagsUsageConfig config;
  config.contains_helpshort_flags = [](absl::string_view file) {
    return absl::StrContains(file, "tools/") &&
           absl::EndsWith(file, "_main.cc");
  };
  config.contains_help_flags = config.contains_helpshort_flags;
  absl::SetFlagsUsageConfig(config);
  absl::SetProgramUsageMessage(usage);

  std::vector<std::string> normalized;
  bool flags = true;
  for (int i = 0; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--") flags = false;
    // "-" alone is standard input.
    normalized.push_back(i > 0 && flags && argument != "-"
                             ? NormalizeFlag(argument, aliases)
                             : argument);
  }
  std::vector<char*> pointers;
  for (std::string& argument : normalized) pointers.push_back(argument.data());
  std::vector<char*> rest = absl::ParseCommandLine(
      static_cast<int>(pointers.size()), pointers.data());

  absl::SetStderrThreshold(absl::LogSeverityAtLeast::kWarning);
  absl::EnableLogPrefix(false);
  absl::InitializeLog();
  if (const char* folder = std::getenv("BUILD_WORKING_DIRECTORY")) {
    // Not being able to go there shows when the first path is opened.
    if (chdir(folder) != 0) return {rest.begin() + 1, rest.end()};
  }
  return {rest.begin() + 1, rest.end()};
}

int ExitStatus(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return absl::IsResourceExhausted(status) ? 3 : 1;
}

}  // namespace xla

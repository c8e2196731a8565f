#include "tools/tool_main.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <utility>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/parse.h"
#include "absl/flags/reflection.h"
#include "absl/flags/usage.h"
#include "absl/log/globals.h"
#include "absl/log/initialize.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "xla/hlo/pass/nearest_name.h"

namespace xla {
namespace {

using Aliases = std::vector<std::pair<std::string, std::string>>;

std::string WithDashes(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"_", "-"}});
}

// The flag that an argument names, as it is written; nullopt for others.
std::optional<std::string> FlagName(const std::string& argument) {
  const size_t dashes = argument.find_first_not_of('-');
  if (dashes == std::string::npos || dashes == 0 || dashes > 2 ||
      absl::ascii_isdigit(argument[dashes])) {  // -1 is a value
    return std::nullopt;
  }
  const size_t end = std::min(argument.find('='), argument.size());
  return argument.substr(dashes, end - dashes);
}

// `--print-after=x-y` → `--print_after=x-y`; absl names flags as C++ does.
std::string NormalizeFlag(const std::string& argument, const Aliases& aliases) {
  std::optional<std::string> name = FlagName(argument);
  if (!name.has_value()) return argument;
  const size_t end = std::min(argument.find('='), argument.size());
  for (const auto& [alias, flag] : aliases) {
    // An alias with a value stands for the flag without one.
    const bool has_value = absl::StrContains(flag, "=");
    if (*name == alias && (!has_value || end == argument.size())) *name = flag;
  }
  std::replace(name->begin(), name->end(), '-', '_');
  return absl::StrCat("--", *name, argument.substr(end));
}

// The flags of the tool's own main file, by name with dashes.
std::map<std::string, const absl::CommandLineFlag*> OwnFlags() {
  std::map<std::string, const absl::CommandLineFlag*> flags;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    const std::string file = flag->Filename();
    if (absl::StrContains(file, "tools/") && absl::EndsWith(file, "_main.cc")) {
      flags[WithDashes(name)] = flag;
    }
  }
  return flags;
}

// Words of a description, in lines of 76 columns behind six spaces.
std::string Wrapped(absl::string_view text) {
  constexpr size_t kColumns = 76;
  std::string result, line;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (!line.empty() && line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(&result, line, "\n");
      line.clear();
    }
    absl::StrAppend(&line, line.empty() ? "      " : " ", word);
  }
  return absl::StrCat(result, line, "\n");
}

void AppendFlag(const std::string& name, const absl::CommandLineFlag& flag,
                std::string& text) {
  const std::string value = flag.DefaultValue();
  absl::StrAppend(&text, "  ", name.size() == 1 ? "-" : "--", name);
  if (!value.empty()) absl::StrAppend(&text, "  (", value, ")");
  absl::StrAppend(&text, "\n", Wrapped(flag.Help()));
}

std::string Help(absl::string_view tool, absl::string_view usage,
                 const std::vector<FlagGroup>& groups) {
  std::string text =
      absl::StrCat(tool, ": ", absl::StripSuffix(usage, "\n"), "\n");
  auto flags = OwnFlags();
  const bool has_limit = flags.count("memory-limit") + flags.count("capacity");
  for (const FlagGroup& group : groups) {
    absl::StrAppend(&text, "\n", group.title, ":\n");
    for (const std::string& name : group.flags) {
      const auto it = flags.find(name);
      if (it == flags.end()) continue;
      AppendFlag(name, *it->second, text);
      flags.erase(it);
    }
  }
  if (!flags.empty()) {
    absl::StrAppend(&text, groups.empty() ? "\nFlags:\n" : "\nOther flags:\n");
  }
  for (const auto& [name, flag] : flags) AppendFlag(name, *flag, text);
  absl::StrAppend(
      &text,
      "\nExit status: 0 success; 1 bad input, a bad flag or an operation "
      "that failed;\n2 internal error",
      has_limit ? "; 3 a limit is not met" : "",
      absl::StrContains(usage, "equal") ? "; 4 modules or results differ" : "",
      ".\n");
  return text;
}

// Ends the program if the flag does not take the value that the argument gives
// it, or else the next one (null: there is none).
void CheckFlagValue(const std::string& argument, const char* next,
                    absl::CommandLineFlag* flag) {
  const std::string name = absl::StrCat(flag->Name().size() == 1 ? "-" : "--",
                                        WithDashes(flag->Name()));
  const size_t equals = argument.find('=');
  std::optional<std::string> value;
  if (equals != std::string::npos) {
    value = argument.substr(equals + 1);
  } else if (flag->IsOfType<bool>()) {
    return;
  } else if (next != nullptr) {
    value = next;
  }
  // None, or an empty one, such as --limit=$LIMIT without a LIMIT. --passes=
  // says to run none.
  if (!value.has_value() || (value->empty() && flag->IsOfType<std::string>() &&
                             flag->Name() != "passes")) {
    std::cerr << name << " needs a value: " << name << "=...\n";
    std::exit(kFailed);
  }
  std::string error;
  if (flag->ParseFrom(*value, &error)) return;
  // absl puts its own spelling of the flag before the reason.
  const std::string own =
      absl::StrCat("specified for flag '", flag->Name(), "'");
  const size_t reason = error.find(own);
  std::cerr << name << "=" << *value << ": not a valid value"
            << (reason == std::string::npos ? ""
                                            : error.substr(reason + own.size()))
            << (flag->IsOfType<bool>() ? "; the flag is true or false" : "")
            << "\n";
  std::exit(kFailed);
}

// Ends the program if an argument names no flag, or gives it a wrong value.
void CheckFlag(const std::string& argument, const char* next) {
  const std::optional<std::string> name = FlagName(argument);
  if (!name.has_value()) return;
  if (absl::CommandLineFlag* flag = absl::FindCommandLineFlag(*name)) {
    return CheckFlagValue(argument, next, flag);
  }
  if (absl::StartsWith(*name, "no") &&
      absl::FindCommandLineFlag(name->substr(2)) != nullptr) {
    return;
  }
  std::vector<std::string> known;
  for (const auto& [flag, unused] : OwnFlags()) {
    known.push_back(absl::StrCat("--", flag));
  }
  const std::string flag = absl::StrCat("--", WithDashes(*name));
  std::cerr << "unknown flag " << flag << DidYouMean(flag, known) << "\n";
  std::exit(kFailed);
}

}  // namespace

std::vector<std::string> InitTool(int argc, char** argv,
                                  const std::string& usage,
                                  const Aliases& aliases,
                                  const std::vector<FlagGroup>& groups) {
  absl::SetProgramUsageMessage(usage);
  std::vector<std::string> normalized;
  bool flags = true, help = false, version = false;
  for (int i = 0; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--") flags = false;
    // "-" alone is standard input.
    if (i > 0 && flags && argument != "-") {
      argument = NormalizeFlag(argument, aliases);
      help |= argument == "--help" || argument == "--h" ||
              argument == "--helpfull" || argument == "--helpshort";
      version |= argument == "--version";
      if (!help && !version && argument != "--") {
        CheckFlag(argument, i + 1 < argc ? argv[i + 1] : nullptr);
      }
    }
    normalized.push_back(std::move(argument));
  }
  if (help || version) {
    absl::string_view tool = argc > 0 ? argv[0] : "";
    const size_t slash = tool.rfind('/');
    if (slash != tool.npos) tool.remove_prefix(slash + 1);
    std::cout << (help ? Help(tool, usage, groups)
                       : absl::StrCat(tool, " ", HLO_VERSION, "\n"));
    std::exit(ExitStatus(absl::OkStatus()));
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
  errno = 0;
  std::cout.flush();
  const bool flushed = std::fflush(stdout) == 0;
  if (!status.ok()) {
    std::cerr << status.message() << "\n";
    if (absl::IsResourceExhausted(status)) return kUnmetLimit;
    return absl::IsInternal(status) ? kInternal : kFailed;
  }
  if (std::cout.good() && flushed) return 0;
  // It may have failed before this, for a reason that is gone.
  std::cerr << "cannot write to standard output";
  if (errno != 0) std::cerr << ": " << std::strerror(errno);
  std::cerr << "\n";
  return kFailed;
}

}  // namespace xla

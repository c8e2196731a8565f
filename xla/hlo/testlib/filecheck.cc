#include "xla/hlo/testlib/filecheck.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Under Bazel the tool stands in the runfiles, whatever the workspace is
// called.
std::string FindFileCheck() {
  std::vector<std::string> candidates = {"../filecheck/FileCheck",
                                         "external/filecheck/FileCheck"};
  if (const char* runfiles = std::getenv("TEST_SRCDIR")) {
    candidates.push_back(absl::StrCat(runfiles, "/filecheck/FileCheck"));
  }
  for (int version = 22; version >= 14; --version) {
    candidates.push_back(
        absl::StrCat("/usr/lib/llvm-", version, "/bin/FileCheck"));
  }
  for (const std::string& path : candidates) {
    struct stat info;
    if (stat(path.c_str(), &info) == 0) return path;
  }
  return "";
}

std::string TemporaryPath(absl::string_view name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  static int counter = 0;
  return absl::StrCat(folder ? folder : "/tmp", "/filecheck.", getpid(), ".",
                      counter++, ".", name);
}

}  // namespace

absl::StatusOr<bool> RunFileCheck(
    const std::string& input, absl::string_view pattern,
    absl::Span<const absl::string_view> additional_check_prefixes) {
  std::string pattern_file = TemporaryPath("pattern");
  TF_RETURN_IF_ERROR(WriteFileOrStdout(pattern_file, pattern));
  absl::StatusOr<bool> result = RunFileCheckWithPatternFile(
      input, pattern_file, additional_check_prefixes);
  std::remove(pattern_file.c_str());
  return result;
}

absl::StatusOr<bool> RunFileCheckWithPatternFile(
    const std::string& input, const std::string& pattern_file,
    absl::Span<const absl::string_view> additional_check_prefixes) {
  std::string tool = FindFileCheck();
  if (tool.empty()) return absl::NotFoundError("no FileCheck on this machine");
  std::string input_file = TemporaryPath("input");
  TF_RETURN_IF_ERROR(WriteFileOrStdout(input_file, input));
  std::vector<absl::string_view> prefixes = {"CHECK"};
  prefixes.insert(prefixes.end(), additional_check_prefixes.begin(),
                  additional_check_prefixes.end());
  std::string command = absl::StrCat(
      "'", tool, "' '", pattern_file, "' --input-file='", input_file,
      "' --allow-empty --dump-input-context=20 --check-prefixes=",
      absl::StrJoin(prefixes, ","));
  int status = std::system(command.c_str());
  std::remove(input_file.c_str());
  if (!WIFEXITED(status)) return absl::InternalError("FileCheck was killed");
  if (WEXITSTATUS(status) != 0) LOG(ERROR) << "no match in:\n" << input;
  return WEXITSTATUS(status) == 0;
}

}  // namespace xla

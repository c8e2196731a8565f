#include "xla/hlo/utils/file_util.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"

namespace xla {
namespace {

// The status for errno. ResourceExhausted is reserved for limits given to a
// tool, so a full disk is Unavailable.
absl::Status FileError(absl::string_view message) {
  const absl::Status status = absl::ErrnoToStatus(errno, message);
  return absl::IsResourceExhausted(status)
             ? absl::UnavailableError(status.message())
             : status;
}

absl::Status WriteAll(std::FILE* file, absl::string_view name,
                      absl::string_view contents) {
  if (std::fwrite(contents.data(), 1, contents.size(), file) !=
          contents.size() ||
      std::fflush(file) != 0) {
    return FileError(absl::StrCat("cannot write ", name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFileOrStdin(const std::string& path) {
  std::FILE* file = stdin;
  if (path != "-") {
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder"));
    }
    file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return FileError(path);
  }
  absl::Cleanup close = [file] {
    if (file != stdin) std::fclose(file);
  };
  std::string contents;
  char buffer[1 << 16];
  while (size_t n = std::fread(buffer, 1, sizeof(buffer), file)) {
    contents.append(buffer, n);
  }
  if (std::ferror(file)) return FileError(path);
  return contents;
}

absl::Status WriteFileOrStdout(const std::string& path,
                               absl::string_view contents) {
  if (path == "-") return WriteAll(stdout, "to standard output", contents);
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    // A device or a pipe cannot be replaced by a file, nor half written.
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return FileError(path);
    absl::Status status = WriteAll(file, path, contents);
    std::fclose(file);
    return status;
  }
  std::string temporary = absl::StrCat(path, ".tmp.", getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return FileError(path);
  absl::Status status = WriteAll(file, path, contents);
  if (std::fclose(file) != 0 && status.ok()) {
    status = FileError(path);
  }
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = FileError(path);
  }
  if (!status.ok()) std::remove(temporary.c_str());
  return status;
}

}  // namespace xla

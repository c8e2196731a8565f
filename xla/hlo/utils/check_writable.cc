#include "xla/hlo/utils/check_writable.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace xla {

absl::Status CheckWritable(const std::string& path) {
  if (path.empty() || path == "-") return absl::OkStatus();
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a folder"));
  }
  if (exists && !S_ISREG(info.st_mode)) return absl::OkStatus();
  // Files are replaced, which takes the right to write to their folder.
  const size_t slash = path.rfind('/');
  const std::string folder =
      slash == path.npos ? "./" : path.substr(0, slash + 1);
  if (access(folder.c_str(), W_OK) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
}

}  // namespace xla

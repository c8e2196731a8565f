#include "xla/hlo/utils/module_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "xla/hlo/evaluator/io/inflate.h"
#include "xla/hlo/evaluator/io/unzstd.h"
#include "xla/hlo/utils/file_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

constexpr size_t kGzipHeader = 10;
constexpr size_t kGzipTrailer = 8;

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("bad gzip file: ", what));
}

bool IsGzip(absl::string_view contents) {
  return absl::StartsWith(contents, "\x1f\x8b");
}

uint32_t LittleEndian(absl::string_view four) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) {
    value = value << 8 | static_cast<uint8_t>(four[i]);
  }
  return value;
}

uint32_t Crc32(absl::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> rows{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t row = i;
      for (int bit = 0; bit < 8; ++bit) {
        row = row & 1 ? row >> 1 ^ 0xedb88320 : row >> 1;
      }
      rows[i] = row;
    }
    return rows;
  }();
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  }
  return ~crc;
}

// Where the compressed bytes begin: after the fixed header, and what its flags
// announce.
absl::StatusOr<size_t> GzipBody(absl::string_view packed) {
  enum Flag { kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16 };
  const int flags = static_cast<uint8_t>(packed[3]);
  size_t at = kGzipHeader;
  if (flags & kExtra) {
    if (packed.size() < at + 2) return Damaged("it ends early");
    at += 2 + static_cast<uint8_t>(packed[at]) +
          256 * static_cast<uint8_t>(packed[at + 1]);
  }
  for (const Flag text : {kName, kComment}) {
    if (!(flags & text)) continue;
    const size_t end = packed.find('\0', at);
    if (end == packed.npos) return Damaged("it ends early");
    at = end + 1;
  }
  if (flags & kHeaderCrc) at += 2;
  if (at + kGzipTrailer > packed.size()) return Damaged("it ends early");
  return at;
}

// Files that XLA writes beside modules.
bool IsBesideModules(absl::string_view name) {
  for (const absl::string_view part :
       {"buffer-assignment", "memory-usage", "live-range", "thunk",
        "debug_options", "autotune", "gpu_target_config", "hlo-cost",
        "flagfile", "mlir"}) {
    if (absl::StrContains(name, part)) return true;
  }
  return false;
}

bool IsModuleName(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".gz")) absl::ConsumeSuffix(&name, ".zst");
  if (IsBesideModules(name)) return false;
  for (const absl::string_view ending : {".hlo", ".pb", ".pbtxt"}) {
    if (absl::EndsWith(name, ending)) return true;
  }
  if (!absl::EndsWith(name, ".txt")) return false;
  // XLA's own text dumps. Other texts (module_0001.….after_pass.before_pass)
  // are states between passes, if they are modules at all.
  return absl::StrContains(name, "after_optimizations") ||
         absl::StrContains(name, "before_optimizations");
}

int NumberOf(absl::string_view name) {
  int number = -1;
  if (!absl::ConsumePrefix(&name, "module_")) return number;
  const size_t end = name.find_first_not_of("0123456789");
  return absl::SimpleAtoi(name.substr(0, end), &number) ? number : -1;
}

// The name without its ending: that of the text and of the proto of a module.
//
//   module_0012.jit_step.cpu_after_optimizations.hlo.pb
//     → module_0012.jit_step.cpu_after_optimizations
absl::string_view StemOf(absl::string_view name) {
  if (!absl::ConsumeSuffix(&name, ".gz")) absl::ConsumeSuffix(&name, ".zst");
  for (const absl::string_view ending : {".txt", ".pbtxt", ".pb", ".hlo"}) {
    absl::ConsumeSuffix(&name, ending);
  }
  return name;
}

// The stem without the number, which is the same for all compilations of a
// program: jit_step.cpu_after_optimizations.
absl::string_view ProgramOf(absl::string_view stem) {
  const size_t end =
      NumberOf(stem) < 0 ? absl::string_view::npos : stem.find('.');
  return end == absl::string_view::npos ? stem : stem.substr(end + 1);
}

}  // namespace

absl::StatusOr<std::string> Gunzip(absl::string_view packed) {
  if (!IsGzip(packed)) return Damaged("no gzip header");
  if (packed.size() < kGzipHeader + kGzipTrailer) {
    return Damaged("it ends early");
  }
  if (packed[2] != 8) return Damaged("unknown compression method");
  TF_ASSIGN_OR_RETURN(const size_t body, GzipBody(packed));
  const absl::string_view trailer = packed.substr(packed.size() - kGzipTrailer);
  const uint32_t size = LittleEndian(trailer.substr(4));
  if (size >= INT32_MAX) {
    return Damaged("it ends early, or holds 2 GiB or more");
  }
  packed.remove_suffix(kGzipTrailer);
  const absl::StatusOr<std::string> inflated =
      Inflate(packed.substr(body), size);
  if (!inflated.ok()) return Damaged(inflated.status().message());
  if (Crc32(*inflated) != LittleEndian(trailer)) return Damaged("its checksum");
  return inflated;
}

absl::StatusOr<std::vector<DumpedModule>> ListDumpedModules(
    const std::string& folder) {
  namespace fs = std::filesystem;
  struct Found {
    DumpedModule module;
    std::string name;
    fs::file_time_type time;
    std::tuple<bool, int64_t, fs::file_time_type, int, bool> rank;
  };
  std::vector<Found> found;
  std::error_code error, ignored;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!IsModuleName(name) || !fs::is_regular_file(it->path(), ignored)) {
      continue;
    }
    found.push_back({{it->path().string(), NumberOf(name),
                      absl::StrContains(name, "after_optimizations"),
                      static_cast<int64_t>(it->file_size(ignored))},
                     name,
                     fs::last_write_time(it->path(), ignored),
                     {}});
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": ", error.message()));
  }
  // A module is as new as the last of its files, a program as large as the
  // largest of its modules.
  absl::flat_hash_map<absl::string_view, fs::file_time_type> newest;
  absl::flat_hash_map<absl::string_view, int64_t> largest;
  for (const Found& file : found) {
    const absl::string_view stem = StemOf(file.name);
    fs::file_time_type& time =
        newest.try_emplace(stem, file.time).first->second;
    time = std::max(time, file.time);
    int64_t& bytes = largest[ProgramOf(stem)];
    bytes = std::max(bytes, file.module.bytes);
  }
  // Before sorting, which moves the names. In a copy of a folder all times may
  // be equal: higher numbers are newer.
  for (Found& file : found) {
    const absl::string_view stem = StemOf(file.name);
    file.rank = {file.module.after_optimizations, largest.at(ProgramOf(stem)),
                 newest.at(stem), file.module.number,
                 absl::EndsWith(file.name, ".txt")};
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.name < b.name;
  });
  std::vector<DumpedModule> modules;
  for (Found& file : found) modules.push_back(std::move(file.module));
  return modules;
}

std::string DeviceTypeOfDump(absl::string_view path) {
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  if (absl::StrContains(name, ".cpu_after_optimizations")) return "cpu";
  if (absl::StrContains(name, "gpu_after_optimizations")) return "gpu";
  return "";
}

absl::StatusOr<std::string> ResolveModulePath(const std::string& path) {
  struct stat info;
  if (path == "-" || stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return path;
  }
  TF_ASSIGN_OR_RETURN(const std::vector<DumpedModule> modules,
                      ListDumpedModules(path));
  if (modules.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     ": a folder without modules (.hlo, .pb, .pbtxt, or "
                     "*_optimizations.txt as --xla_dump_to writes them)"));
  }
  return modules.front().path;
}

absl::StatusOr<ModuleFile> ReadModuleFile(const std::string& path) {
  ModuleFile file;
  TF_ASSIGN_OR_RETURN(file.name, ResolveModulePath(path));
  TF_ASSIGN_OR_RETURN(file.contents, ReadFileOrStdin(file.name));
  if (file.name == "-") file.name = "<stdin>";
  const bool is_gzip = IsGzip(file.contents);
  if (!is_gzip && !IsZstd(file.contents)) return file;
  absl::StatusOr<std::string> bytes =
      is_gzip ? Gunzip(file.contents) : Unzstd(file.contents, INT32_MAX);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name, ": error: ", is_gzip ? "" : "bad zstd file: ",
                     bytes.status().message()));
  }
  file.contents = *std::move(bytes);
  return file;
}

}  // namespace xla

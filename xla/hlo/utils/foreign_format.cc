#include "xla/hlo/utils/foreign_format.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace xla {
namespace {

constexpr absl::string_view kFromJax =
    "StableHLO, not HLO; JAX writes HLO with "
    "jax.jit(f).lower(*args).as_text(dialect=\"hlo\"), or "
    ".compile().as_text() after its passes";

// Whether a text starts like that of DebugOptions. Names of computations, and
// of modules in protos, have no colon behind them.
bool StartsWithFlag(absl::string_view text) {
  const size_t end =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  return absl::StartsWith(text, "xla_") && end != text.npos && text[end] == ':';
}

// What lies beside modules in a folder of --xla_dump_to, and what JAX prints.
std::string NameOfNeighbor(absl::string_view start) {
  start = absl::StripLeadingAsciiWhitespace(start);
  if (absl::StartsWith(start, "BufferAssignment:")) {
    return "XLA's buffer assignment";
  }
  if (absl::StartsWith(start, "Total bytes used:") ||
      absl::StartsWith(start, "Memory Space:")) {
    return "XLA's report on memory usage";
  }
  if (absl::StartsWith(start, "HloLiveRange (max ")) return "XLA's live ranges";
  if (StartsWithFlag(start)) return "XLA's flags";
  if (absl::StartsWith(start, "; ModuleID")) return "LLVM IR";
  // Modules may hold some, quoted: the source of a custom call.
  if ((absl::StartsWith(start, "//") || absl::StartsWith(start, ".version")) &&
      absl::StrContains(start, "\n.target sm_") &&
      !absl::StrContains(start, "HloModule")) {
    return "PTX";
  }
  return "";
}

std::string Packed(absl::string_view by, absl::string_view unpack) {
  return absl::StrCat("compressed by ", by, "; decompress it: ", unpack,
                      " FILE | TOOL - (standard input)");
}

// Whether a line of the text starts like a module.
bool HasHloModule(absl::string_view text) {
  return absl::StartsWith(text, "HloModule ") ||
         absl::StrContains(text, "\nHloModule ");
}

// Text has no control characters but those that move the cursor.
bool IsBinary(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(c) && !absl::ascii_isspace(c);
  });
}

}  // namespace

std::string NameOfUnwantedFile(absl::string_view contents) {
  const absl::string_view start = contents.substr(0, 4096);
  if (std::string advice = ForeignFormatAdvice(start); !advice.empty()) {
    return advice;
  }
  if (IsBinary(start)) return "binary, such as a proto of an HLO module";
  if (HasHloModule(start)) return "an HLO module";
  if (absl::StartsWith(start, "hlo_module {") ||
      absl::StrContains(start, "\nentry_computation_name:")) {
    return "a proto of an HLO module as text";
  }
  return "";
}

std::string ForeignFormatAdvice(absl::string_view contents) {
  if (absl::StartsWith(contents, "\x1f\x8b")) return Packed("gzip", "zcat");
  if (absl::StartsWith(contents, "\x28\xb5\x2f\xfd")) {
    return Packed("zstd", "zstdcat");
  }
  if (absl::StartsWith(contents, "BZh")) return Packed("bzip2", "bzcat");
  if (absl::StartsWith(contents, absl::string_view("\xfd"
                                                   "7zXZ\0",
                                                   6))) {
    return Packed("xz", "xzcat");
  }
  if (absl::StartsWith(contents, "PK\x03\x04")) {
    return "a zip archive; extract it and pass one of its files";
  }
  // The magic of POSIX, and of GNU; the zero tells them from text.
  if (const absl::string_view magic =
          contents.substr(std::min<size_t>(contents.size(), 257), 8);
      magic == absl::string_view("ustar\00000", 8) ||
      magic == absl::string_view("ustar  \0", 8)) {
    return "a tar archive; extract it and pass its folder or one of its files";
  }
  if (absl::StartsWith(contents, "\xef\xbb\xbf")) {
    return "begins with a byte order mark; HLO is UTF-8 without one";
  }
  if (absl::StartsWith(contents, "\xff\xfe") ||
      absl::StartsWith(contents, "\xfe\xff")) {
    return "UTF-16; HLO is UTF-8";
  }
  if (absl::StartsWith(contents, "ML\xefR")) return std::string(kFromJax);
  const absl::string_view start = contents.substr(0, 4096);
  // Custom calls of HLO have such names, too.
  const bool names_operations = absl::StrContains(start, "stablehlo.") ||
                                absl::StrContains(start, "mhlo.");
  if (!absl::StrContains(start, "HloModule") &&
      (absl::StrContains(start, "func.func") ||
       (names_operations && absl::StrContains(start, "tensor<")) ||
       absl::StartsWith(start, "module @"))) {
    return std::string(kFromJax);
  }
  if (const std::string name = NameOfNeighbor(start); !name.empty()) {
    return absl::StrCat(name,
                        ", not HLO; the modules of a dump are its files "
                        "*_optimizations.txt, *.hlo and *.pb");
  }
  if (absl::StartsWith(start, "{ lambda ")) {
    return "a jaxpr, not HLO; JAX writes HLO with "
           "jax.jit(f).lower(*args).as_text(dialect=\"hlo\")";
  }
  return "";
}

}  // namespace xla

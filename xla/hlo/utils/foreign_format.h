#ifndef XLA_HLO_UTILS_FOREIGN_FORMAT_H_
#define XLA_HLO_UTILS_FOREIGN_FORMAT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace xla {

// What to do with a file that holds a module in a form that is not HLO:
// compressed by gzip, zstd, bzip2 or xz, a zip archive, StableHLO as text or
// bytecode, or text in another encoding than plain UTF-8; or that holds none:
// what XLA dumps beside modules, and jaxprs. A line without the file's name;
// empty for everything else. Looks at the first 4 KiB.
//
//   "\x1f\x8b…"                   → "compressed by gzip; decompress it: zcat …"
//   "module @jit_f { func.func …" → "StableHLO, not HLO; JAX writes HLO with …"
std::string ForeignFormatAdvice(absl::string_view contents);

// What a file is to a tool that reads text, but no HLO: "an HLO module",
// "binary, such as a proto of an HLO module", or the advice above. Empty for
// other text. Looks at the first 4 KiB.
std::string NameOfUnwantedFile(absl::string_view contents);

}  // namespace xla

#endif  // XLA_HLO_UTILS_FOREIGN_FORMAT_H_

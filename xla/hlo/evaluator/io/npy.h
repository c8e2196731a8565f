#ifndef XLA_HLO_EVALUATOR_IO_NPY_H_
#define XLA_HLO_EVALUATOR_IO_NPY_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/literal.h"
#include "xla/shape.h"

namespace xla {

// NumPy's files. Types that NumPy has not (bf16, f8..., s4, ...) are raw bytes
// there: `|V2` for bf16, `|V1` for the others, one element a byte; so does
// np.save with ml_dtypes, and `array.view(ml_dtypes.bfloat16)` gives them back.

// Reads the contents of a .npy file (format 1 to 3, either byte order, C or
// Fortran order). Raw bytes need to be told what they are by `expected`; other
// arrays, if it is given, must have its element type and dimensions. Errors are
// InvalidArgument; the result has the descending layout.
absl::StatusOr<Literal> ReadNpy(absl::string_view bytes,
                                const Shape* expected = nullptr);

// The contents of a .npy file. InvalidArgument unless it is an array with known
// elements. Dynamic dimensions are written with the sizes in use.
absl::StatusOr<std::string> WriteNpy(const LiteralBase& literal);

// A .npz file: arrays by name, without the suffix `.npy`.
class NpzFile {
 public:
  // Reads a zip archive of .npy files.
  static absl::StatusOr<NpzFile> Parse(absl::string_view bytes);

  // The names, in the order of the file.
  std::vector<std::string> names() const;
  bool Contains(absl::string_view name) const;
  // NotFound if there is none; else as ReadNpy, with the name in the error.
  absl::StatusOr<Literal> Read(absl::string_view name,
                               const Shape* expected = nullptr) const;

 private:
  std::vector<std::pair<std::string, std::string>> arrays_;
};

// The contents of a .npz file with these arrays.
absl::StatusOr<std::string> WriteNpz(
    absl::Span<const std::pair<std::string, const LiteralBase*>> arrays);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_IO_NPY_H_

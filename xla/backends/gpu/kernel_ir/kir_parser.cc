#include "xla/backends/gpu/kernel_ir/kir_parser.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_parser.h"
#include "xla/backends/gpu/kernel_ir/kir_cursor.h"
#include "xla/status_macros.h"

namespace xla::gpu::kir {

absl::StatusOr<std::vector<Kernel>> ParseKernels(absl::string_view text,
                                                 absl::string_view file) {
  auto source = std::make_shared<const SourceText>(
      SourceText{std::string(file), std::string(text)});
  KirCursor cursor(source);
  std::vector<Kernel> kernels;
  absl::flat_hash_set<std::string> names;
  while (!cursor.AtEnd()) {
    ASSIGN_OR_RETURN(Kernel kernel, KernelParser(cursor, source).Parse());
    if (!names.insert(kernel.name).second) {
      return kernel.ErrorAt(
          kernel.location,
          absl::StrCat("a second kernel called '@", kernel.name, "'"));
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

absl::StatusOr<Kernel> ParseKernel(absl::string_view text,
                                   absl::string_view file) {
  ASSIGN_OR_RETURN(std::vector<Kernel> kernels, ParseKernels(text, file));
  if (kernels.size() == 1) return std::move(kernels[0]);
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": error: expected one kernel, not ", kernels.size()));
}

}  // namespace xla::gpu::kir

#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KIR_PRINTER_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KIR_PRINTER_H_

#include <functional>
#include <string>

#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Prints kernels as canonical .kir text: declarations first (sym, launch,
// param, id, option), one statement per line, indented by two spaces per level,
// attributes in a fixed order, expressions in normal form. Parsing the text
// gives an equal kernel, and printing that gives the same bytes.

namespace xla::gpu::kir {

struct KirPrintOptions {
  // The comment to print after a statement, or after the brace that closes a
  // loop (`end`); empty: none.
  std::function<std::string(const Statement& statement, bool end)> comment;
};

std::string PrintKernel(const Kernel& kernel,
                        const KirPrintOptions& options = {});
// Separates kernels by an empty line.
std::string PrintKernels(absl::Span<const Kernel> kernels,
                         const KirPrintOptions& options = {});

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KIR_PRINTER_H_

#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KIR_PARSER_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KIR_PARSER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// .kir text to kernels. A statement ends with its line; `//` begins a comment;
// names are declared before they are used; anything unknown is an error.
//
//   kernel    "kernel" @NAME "{" declarations statements "}"
//   declare   "sym" NAME ["=" INT]      a launch symbol, and what tests bind
//             "launch" "grid(" e "," e "," e ")" "block(" e "," e "," e ")"
//             "param" %NAME ":" "global" TYPE "[" e, … "]"
//             "id" NAME "=" e           an axis and its extent
//             "option" NAME "=" VALUE   min_align, reduction_workspace, …
//   alloc     "alloc" %NAME ":" MEMORY TYPE "[" e, … "]" attributes: align INT,
//             promote, zero_init, reset, swizzle INT, vec INT, circ(INT, INT),
//             ids(NAME, …), alias %NAME, addr(e)
//   loop      "for" %NAME ":" KIND "[" e "," e ")" ["step" e] ["unroll"]
//             ["stage" NAME] ["ids(" NAME, … ")"] "{" statements "}"
//   if        "if" ("uniform" | "warp" | "divergent") "(" e ")" "{" … "}"
//             ["else" "{" … "}"]         taken when e is not 0
//   expr      %NAME[e, …], … "=" OP(arguments) ["{" attributes "}"]: sync,
//             async=KIND, mbar=%NAME; arguments are %NAME[e, …], e or FLOAT
//   sync      "sync" ("block" | "warp" | "grid" | "cluster") ["war"]
//             ["group=" NAME]; ("arrive" | "wait") %NAME ["phase=" e]
//   async     "commit" KIND; "wait" KIND "keep=" INT; "fence" NAME;
//             "mbarrier." NAME %NAME ["(" e ")"]
//   e         affine_expr.h, over symbols, loops around, tid.x, bid.x, bdim.x,
//             gdim.x, …; `?` for an index that is not known
//
// Errors are InvalidArgument:
//
//   reduce.kir:7:14: error: unknown operation 'ad'; did you mean 'add'?
//       %B[i] = ad(%A[i], %A[i])
//               ^
//
// Everything beyond names and numbers of operands is checked by
// kir_verifier.h. Blocks nest at most kMaxKirDepth deep. O(length of the text).

namespace xla::gpu::kir {

inline constexpr int kMaxKirDepth = 200;

// `file` is the name for messages.
absl::StatusOr<std::vector<Kernel>> ParseKernels(
    absl::string_view text, absl::string_view file = "<input>");
// Parses a text of exactly one kernel.
absl::StatusOr<Kernel> ParseKernel(absl::string_view text,
                                   absl::string_view file = "<input>");

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KIR_PARSER_H_

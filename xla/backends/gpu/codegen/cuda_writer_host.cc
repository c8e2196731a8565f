#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/codegen/cuda_writer.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/status_macros.h"

namespace xla::gpu::cuda {

std::string Writer::Parameters() const {
  std::vector<std::string> list;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    const kir::Buffer& buffer = kernel_.buffers[b];
    if (!buffer.is_param) continue;
    list.push_back(
        absl::StrCat(written_.contains(static_cast<int>(b)) ? "" : "const ",
                     TypeName(buffer.type), "* ", Name(static_cast<int>(b))));
  }
  for (const kir::Symbol& symbol : kernel_.symbols) {
    list.push_back(absl::StrCat("Index ", index_.SymbolName(symbol.name)));
  }
  return absl::StrJoin(list, ", ");
}

bool Writer::ThreadsWait() const {
  bool wait = false;
  kir::ForEachStatement(kernel_.body, [&](const kir::Statement& statement) {
    const kir::Expr* expr = statement.As<kir::Expr>();
    wait |= statement.As<kir::Sync>() != nullptr ||
            statement.As<kir::ArriveWait>() != nullptr ||
            statement.As<kir::Async>() != nullptr ||
            (expr != nullptr &&
             (expr->sync || expr->async != kir::AsyncKind::kNone ||
              kir::FindOp(expr->op)->op_class == kir::OpClass::kWarpReduce ||
              kir::FindOp(expr->op)->op_class == kir::OpClass::kWarpMma));
  });
  for (const kir::Buffer& buffer : kernel_.buffers) {
    wait |= buffer.memory == kir::Memory::kShared;
  }
  return wait;
}

void Writer::EmitLaunch() {
  const IndexWriter host;
  std::vector<std::string> arguments;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (kernel_.buffers[b].is_param) {
      arguments.push_back(Name(static_cast<int>(b)));
    }
  }
  for (const kir::Symbol& symbol : kernel_.symbols) {
    arguments.push_back(host.SymbolName(symbol.name));
  }
  std::array<std::string, 3> grid = {"1", "1", "1"}, block = {"1", "1", "1"};
  if (kernel_.launch.has_value()) {
    for (int d = 0; d < 3; ++d) {
      grid[d] = host.Text(kernel_.launch->grid[d]);
      block[d] = host.Text(kernel_.launch->block[d]);
    }
  }
  const std::string parameters = Parameters();
  Line(absl::StrCat("cudaError_t launch_", name_, "(", parameters,
                    parameters.empty() ? "" : ", ", "cudaStream_t stream) {"));
  ++indent_;
  for (const auto& [buffer, alignment] : aligned_) {
    const std::string pointer = Name(buffer);
    Line(absl::StrCat("if (!kir_is_aligned(\"", name_, "\", \"", pointer,
                      "\", ", pointer, ", ", alignment,
                      ")) return cudaErrorMisalignedAddress;"));
  }
  Line(absl::StrCat("const Index bytes = ", host.Text(plan_.total), ";"));
  Line(absl::StrCat("cudaError_t error = kir_reserve((const void*)", name_,
                    "_kernel, bytes);"));
  Line("if (error != cudaSuccess) return error;");
  Line(absl::StrCat("const dim3 grid(", absl::StrJoin(grid, ", "), "), block(",
                    absl::StrJoin(block, ", "), ");"));
  Line(absl::StrCat(ThreadsWait() ? "KIR_LAUNCH(" : "KIR_LAUNCH_EACH(", name_,
                    "_kernel, grid, block, bytes, stream",
                    arguments.empty() ? "" : ", ",
                    absl::StrJoin(arguments, ", "), ");"));
  Line("return cudaGetLastError();");
  --indent_;
  Line("}");
}

absl::Status Writer::EmitMain() {
  KernelRunOptions run_options;
  run_options.own_memory = true;
  run_options.check_races = false;
  run_options.all_blocks = true;
  run_options.max_steps = options_.max_steps;
  absl::StatusOr<KernelRun> run = RunKernel(kernel_, {}, run_options);
  if (!run.ok()) {
    return kernel_.ErrorAt(kernel_.location, run.status().message(),
                           run.status().code());
  }
  const AffineExpr::Binding binding = kernel_.Bindings();
  Raw("\n");
  Line(absl::StrCat("int check_", name_, "() {"));
  ++indent_;
  Line("bool same = true;");
  std::vector<std::string> arguments;
  std::string checks;
  size_t number = 0;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    const kir::Buffer& buffer = kernel_.buffers[b];
    if (!buffer.is_param) continue;
    const std::string name = Name(static_cast<int>(b));
    const std::vector<double>& expected = run->params[number];
    Line(absl::StrCat("KirArray<", TypeName(buffer.type), "> ", name, "(",
                      expected.size(), ", ", number, ");"));
    arguments.push_back(absl::StrCat(name, ".device"));
    if (written_.contains(static_cast<int>(b)) &&
        static_cast<int>(expected.size()) <= options_.max_compared) {
      absl::StrAppend(&checks, "  static const double want_", name, "[] = {",
                      absl::StrJoin(expected, ", ",
                                    [](std::string* out, double v) {
                                      absl::StrAppend(
                                          out, v != v       ? "NAN"
                                               : v > 1e300  ? "INFINITY"
                                               : v < -1e300 ? "-INFINITY"
                                                            : absl::StrCat(v));
                                    }),
                      "};\n  same &= ", name, ".Equals(want_", name, ");\n");
    }
    ++number;
  }
  for (const kir::Symbol& symbol : kernel_.symbols) {
    auto it = binding.find(symbol.name);
    arguments.push_back(
        absl::StrCat("Index(", it == binding.end() ? 0 : it->second, ")"));
  }
  Line(absl::StrCat("cudaError_t error = launch_", name_, "(",
                    absl::StrJoin(arguments, ", "),
                    arguments.empty() ? "" : ", ", "0);"));
  Line("if (error == cudaSuccess) error = cudaDeviceSynchronize();");
  Line("if (error != cudaSuccess) {");
  Line("  std::fprintf(stderr, \"%s\\n\", cudaGetErrorString(error));");
  Line("  return 2;");
  Line("}");
  Raw(checks);
  Line(absl::StrCat("std::printf(\"", name_,
                    ": %s\\n\", same ? \"same\" : \"DIFFERENT\");"));
  Line("return same ? 0 : 1;");
  --indent_;
  Line("}");
  if (!options_.is_part) {
    Line(absl::StrCat("int main() { return check_", name_, "(); }"));
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu::cuda

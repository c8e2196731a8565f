#include "xla/backends/gpu/kernel_ir/kir_printer.h"

#include <cmath>
#include <cstdlib>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"

namespace xla::gpu::kir {
namespace {

std::string JoinExprs(absl::Span<const AffineExpr> exprs) {
  return absl::StrJoin(exprs, ", ", [](std::string* out, const AffineExpr& e) {
    absl::StrAppend(out, e.ToString());
  });
}

// The fewest digits that read back as the same number; never like an integer.
std::string FloatText(double value) {
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text;
  for (int digits = 1; digits <= 17; ++digits) {
    text = absl::StrFormat("%.*g", digits, value);
    if (std::strtod(text.c_str(), nullptr) == value) break;
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  Printer(const Kernel& kernel, const KirPrintOptions& options)
      : kernel_(kernel), options_(options) {}

  std::string Print() {
    absl::StrAppend(&out_, "kernel @", kernel_.name, " {\n");
    PrintDeclarations();
    PrintBody(kernel_.body, 1);
    out_ += "}\n";
    return std::move(out_);
  }

  std::string Header(const Statement& statement) const {
    return std::visit([&](const auto& node) { return Text(node); },
                      statement.node);
  }

 private:
  std::string Name(BufferId buffer) const {
    return absl::StrCat("%", kernel_.buffers[buffer].name);
  }

  void PrintDeclarations() {
    for (const Symbol& symbol : kernel_.symbols) {
      absl::StrAppend(&out_, "  sym ", symbol.name);
      if (symbol.binding) absl::StrAppend(&out_, " = ", *symbol.binding);
      out_ += "\n";
    }
    if (kernel_.launch.has_value()) {
      absl::StrAppend(&out_, "  launch grid(", JoinExprs(kernel_.launch->grid),
                      ") block(", JoinExprs(kernel_.launch->block), ")\n");
    }
    for (const Buffer& buffer : kernel_.buffers) {
      if (!buffer.is_param) continue;
      absl::StrAppend(&out_, "  param ", TypeText(buffer), "\n");
    }
    for (const IterationId& id : kernel_.ids) {
      absl::StrAppend(&out_, "  id ", id.name, " = ", id.extent.ToString(),
                      "\n");
    }
    for (const auto& [name, value] : kernel_.options) {
      absl::StrAppend(&out_, "  option ", name, " = ", value, "\n");
    }
  }

  // "%A : shared f32[H]"
  std::string TypeText(const Buffer& buffer) const {
    return absl::StrCat("%", buffer.name, " : ", MemoryName(buffer.memory), " ",
                        ElementTypeName(buffer.type), "[",
                        JoinExprs(buffer.extents), "]");
  }

  std::string Text(const Alloc& alloc) const {
    const Buffer& b = kernel_.buffers[alloc.buffer];
    std::string text = absl::StrCat("alloc ", TypeText(b));
    if (b.align) absl::StrAppend(&text, " align ", *b.align);
    if (b.promote) text += " promote";
    if (b.zero_init) text += " zero_init";
    if (b.reset_to_zero) text += " reset";
    if (b.swizzle) absl::StrAppend(&text, " swizzle ", *b.swizzle);
    if (b.vector_width) absl::StrAppend(&text, " vec ", *b.vector_width);
    if (b.circular) {
      absl::StrAppend(&text, " circ(", b.circular->stages, ", ",
                      b.circular->prefetch, ")");
    }
    if (!b.ids.empty()) {
      absl::StrAppend(&text, " ids(", absl::StrJoin(b.ids, ", "), ")");
    }
    if (b.alias) absl::StrAppend(&text, " alias ", Name(*b.alias));
    if (b.address) absl::StrAppend(&text, " addr(", b.address->ToString(), ")");
    return text;
  }

  std::string Text(const Loop& loop) const {
    std::string text =
        absl::StrCat("for %", loop.index, " : ", LoopKindName(loop.kind), " [",
                     loop.start.ToString(), ", ", loop.stop.ToString(), ")");
    if (!loop.step.IsConstant(1)) {
      absl::StrAppend(&text, " step ", loop.step.ToString());
    }
    if (loop.unroll) text += " unroll";
    if (loop.stage != LoopStage::kNone) {
      absl::StrAppend(&text, " stage ", LoopStageName(loop.stage));
    }
    if (!loop.ids.empty()) {
      absl::StrAppend(&text, " ids(", absl::StrJoin(loop.ids, ", "), ")");
    }
    return text;
  }

  std::string Text(const If& branch) const {
    return absl::StrCat("if ", UniformityName(branch.uniformity), " (",
                        branch.predicate.ToString(), ")");
  }

  std::string Text(const Operand& operand) const {
    return absl::StrCat(Name(operand.buffer), "[", JoinExprs(operand.indices),
                        "]");
  }
  std::string Text(const AffineExpr& e) const { return e.ToString(); }
  std::string Text(double value) const { return FloatText(value); }

  std::string Text(const Expr& expr) const {
    std::vector<std::string> outputs, arguments, attributes;
    for (const Operand& output : expr.outputs) outputs.push_back(Text(output));
    for (const Argument& argument : expr.arguments) {
      arguments.push_back(
          std::visit([&](const auto& a) { return Text(a); }, argument));
    }
    if (expr.sync) attributes.push_back("sync");
    if (expr.async != AsyncKind::kNone) {
      attributes.push_back(absl::StrCat("async=", AsyncKindName(expr.async)));
    }
    if (expr.mbarrier) {
      attributes.push_back(absl::StrCat("mbar=", Name(*expr.mbarrier)));
    }
    std::string text =
        absl::StrCat(absl::StrJoin(outputs, ", "), " = ", expr.op, "(",
                     absl::StrJoin(arguments, ", "), ")");
    if (!attributes.empty()) {
      absl::StrAppend(&text, " {", absl::StrJoin(attributes, " "), "}");
    }
    return text;
  }

  std::string Text(const Sync& sync) const {
    std::string text = absl::StrCat("sync ", SyncScopeName(sync.scope));
    if (sync.war) text += " war";
    if (!sync.group.empty()) absl::StrAppend(&text, " group=", sync.group);
    return text;
  }

  std::string Text(const ArriveWait& half) const {
    std::string text =
        absl::StrCat(half.is_wait ? "wait " : "arrive ", Name(half.barrier));
    if (half.phase) absl::StrAppend(&text, " phase=", half.phase->ToString());
    return text;
  }

  std::string Text(const Async& async) const {
    switch (async.op) {
      case Async::Op::kCommit:
        return absl::StrCat("commit ", AsyncKindName(async.kind));
      case Async::Op::kWait:
        return absl::StrCat("wait ", AsyncKindName(async.kind),
                            " keep=", async.keep);
      case Async::Op::kFence:
        return absl::StrCat("fence ", async.name);
      case Async::Op::kMbarrier:
        break;
    }
    std::string text =
        absl::StrCat("mbarrier.", async.name, " ", Name(async.barrier));
    if (async.argument) {
      absl::StrAppend(&text, "(", async.argument->ToString(), ")");
    }
    return text;
  }

  void EndLine(const Statement& statement, bool end) {
    if (options_.comment) {
      std::string comment = options_.comment(statement, end);
      if (!comment.empty()) absl::StrAppend(&out_, "  // ", comment);
    }
    out_ += "\n";
  }

  void PrintBody(const std::vector<Statement>& body, int depth) {
    std::string indent(2 * depth, ' ');
    for (const Statement& statement : body) {
      absl::StrAppend(&out_, indent, Header(statement));
      if (const Loop* loop = statement.As<Loop>()) {
        out_ += " {";
        EndLine(statement, /*end=*/false);
        PrintBody(loop->body, depth + 1);
        absl::StrAppend(&out_, indent, "}");
        EndLine(statement, /*end=*/true);
      } else if (const If* branch = statement.As<If>()) {
        out_ += " {";
        EndLine(statement, /*end=*/false);
        PrintBody(branch->then_body, depth + 1);
        if (!branch->else_body.empty()) {
          absl::StrAppend(&out_, indent, "} else {\n");
          PrintBody(branch->else_body, depth + 1);
        }
        absl::StrAppend(&out_, indent, "}\n");
      } else {
        EndLine(statement, /*end=*/false);
      }
    }
  }

  const Kernel& kernel_;
  const KirPrintOptions& options_;
  std::string out_;
};

}  // namespace

std::string PrintKernel(const Kernel& kernel, const KirPrintOptions& options) {
  return Printer(kernel, options).Print();
}

std::string PrintKernels(absl::Span<const Kernel> kernels,
                         const KirPrintOptions& options) {
  std::vector<std::string> texts;
  for (const Kernel& kernel : kernels) {
    texts.push_back(PrintKernel(kernel, options));
  }
  return absl::StrJoin(texts, "\n");
}

}  // namespace xla::gpu::kir

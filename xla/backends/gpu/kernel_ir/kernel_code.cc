#include "xla/backends/gpu/kernel_ir/kernel_code.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Flattens the statement tree into instructions with jumps, and index
// expressions into stack programs over numbered slots (thread and block
// indices, bound symbols, loop indices). The machine then executes threads as
// plain program counters, which can be suspended at any instruction.
class Compiler {
 public:
  explicit Compiler(const kir::Kernel& kernel) : kernel_(kernel) {
    code_.kernel = &kernel;
  }

  absl::StatusOr<KernelCode> Compile() {
    AffineExpr::Binding binding = kernel_.Bindings();
    const std::array<std::optional<int64_t>, 3> block = kernel_.BlockExtents();
    const char* axes[] = {"x", "y", "z"};
    for (const char* base : {"tid.", "bid.", "bdim.", "gdim."}) {
      for (int d = 0; d < 3; ++d) {
        const std::string name = absl::StrCat(base, axes[d]);
        int64_t value = 0;
        if (base[1] == 'd') {  // bdim, gdim
          auto it = binding.find(name);
          value = it == binding.end() ? 1 : it->second;
        }
        code_.slots.push_back(name);
        code_.initial.push_back(value);
      }
    }
    for (int d = 0; d < 3; ++d) {
      if (!block[d].has_value()) {
        return kernel_.ErrorAt(kernel_.location,
                               "the number of threads is not known");
      }
      code_.block[d] = *block[d];
      code_.initial[6 + d] = *block[d];
      code_.num_threads *= static_cast<int>(*block[d]);
    }
    for (const kir::Symbol& symbol : kernel_.symbols) {
      auto it = binding.find(symbol.name);
      if (it == binding.end()) {
        return kernel_.ErrorAt(
            symbol.location,
            absl::StrCat("symbol '", symbol.name, "' is not bound"));
      }
      code_.slots.push_back(symbol.name);
      code_.initial.push_back(it->second);
    }
    for (const kir::Buffer& buffer : kernel_.buffers) {
      ASSIGN_OR_RETURN(int64_t elements,
                       buffer.ElementCount().Evaluate(binding));
      code_.elements.push_back(elements);
      std::vector<int64_t> extents;
      for (const AffineExpr& e : buffer.extents) {
        ASSIGN_OR_RETURN(int64_t extent, e.Evaluate(binding));
        if (extent < 1) {
          return kernel_.ErrorAt(
              buffer.location, absl::StrCat("an extent of %", buffer.name, ", ",
                                            e.ToString(), ", is ", extent));
        }
        extents.push_back(extent);
      }
      code_.extents.push_back(std::move(extents));
    }
    RETURN_IF_ERROR(Body(kernel_.body));
    code_.instructions.emplace_back();
    return std::move(code_);
  }

 private:
  using Op = CodeInstruction::Op;

  int NewSlot(const std::string& name) {
    code_.slots.push_back(name);
    code_.initial.push_back(0);
    return static_cast<int>(code_.slots.size()) - 1;
  }

  // Slots are found by name at this point, so the name has to be the innermost
  // one that is visible here.
  // Names of loops that ended are taken away: siblings may share them.
  absl::StatusOr<AffineProgram> Program(const AffineExpr& e,
                                        const kir::Statement& statement) {
    absl::StatusOr<AffineProgram> p = AffineProgram::Compile(e, code_.slots);
    if (!p.ok()) {
      return kernel_.ErrorAt(
          statement.location,
          absl::StrCat("'", e.ToString(), "': ", p.status().message()));
    }
    return p;
  }

  CodeInstruction& Add(Op op, const kir::Statement* statement) {
    code_.instructions.emplace_back();
    code_.instructions.back().op = op;
    code_.instructions.back().statement = statement;
    code_.instructions.back().loop_slots = loop_slots_;
    code_.instructions.back().of_some_threads = selections_ > 0;
    return code_.instructions.back();
  }

  int Here() const { return static_cast<int>(code_.instructions.size()); }

  absl::Status Body(const std::vector<kir::Statement>& body) {
    for (const kir::Statement& statement : body) {
      if (const auto* loop = statement.As<kir::Loop>()) {
        RETURN_IF_ERROR(AddLoop(statement, *loop));
      } else if (const auto* branch = statement.As<kir::If>()) {
        RETURN_IF_ERROR(AddIf(statement, *branch));
      } else if (const auto* expr = statement.As<kir::Expr>()) {
        RETURN_IF_ERROR(AddExpr(statement, *expr));
      } else if (statement.As<kir::Alloc>() != nullptr) {
        Add(Op::kAlloc, &statement);
      } else if (statement.As<kir::Sync>() != nullptr) {
        Add(Op::kSync, &statement);
      } else if (statement.As<kir::ArriveWait>() != nullptr) {
        Add(Op::kArriveWait, &statement);
      } else if (statement.As<kir::Async>() != nullptr) {
        Add(Op::kAsync, &statement);
      }
    }
    return absl::OkStatus();
  }

  // A loop is a kLoopBegin that sets the index and a kLoopEnd that steps and
  // tests it. The end jumps behind the begin, so that bounds are evaluated
  // once, and the begin jumps behind the end where the loop has no trip. The
  // stop value gets a slot of its own because a bound may depend on indices
  // that the body changes.
  //
  // `loop_slots_` leaves out loops over threads: it identifies a trip, and the
  // threads of one trip are to have the same (Machine::Instance).
  absl::Status AddLoop(const kir::Statement& statement, const kir::Loop& loop) {
    ASSIGN_OR_RETURN(AffineProgram start, Program(loop.start, statement));
    ASSIGN_OR_RETURN(AffineProgram stop, Program(loop.stop, statement));
    const int slot = NewSlot(loop.index);
    const int stop_slot = NewSlot("");
    const int begin = Here();
    CodeInstruction& first = Add(Op::kLoopBegin, &statement);
    first.programs = {std::move(start), std::move(stop)};
    first.slot = slot;
    first.stop_slot = stop_slot;
    first.step = loop.step.AsConstant().value_or(1);
    kir::ForEachStatement(loop.body, [&](const kir::Statement& inner) {
      const kir::Expr* expr = inner.As<kir::Expr>();
      first.joins_from_outside |= expr != nullptr && expr->sync;
    });
    first.joins_from_outside &= kir::ThreadDimension(loop.kind) >= 0;
    const int64_t step = first.step;
    const bool of_thread = kir::ThreadDimension(loop.kind) >= 0;
    if (!of_thread) loop_slots_.push_back(slot);
    selections_ += of_thread;
    RETURN_IF_ERROR(Body(loop.body));
    selections_ -= of_thread;
    if (!of_thread) loop_slots_.pop_back();
    CodeInstruction& last = Add(Op::kLoopEnd, &statement);
    last.slot = slot;
    last.stop_slot = stop_slot;
    last.step = step;
    last.target = begin + 1;
    code_.instructions[begin].target = Here();
    code_.slots[slot].clear();
    return absl::OkStatus();
  }

  absl::Status AddIf(const kir::Statement& statement, const kir::If& branch) {
    ASSIGN_OR_RETURN(AffineProgram predicate,
                     Program(branch.predicate, statement));
    const int begin = Here();
    Add(Op::kIf, &statement).programs = {std::move(predicate)};
    ++selections_;
    RETURN_IF_ERROR(Body(branch.then_body));
    const int jump = Here();
    Add(Op::kJump, &statement);
    code_.instructions[begin].target = Here();
    RETURN_IF_ERROR(Body(branch.else_body));
    --selections_;
    code_.instructions[jump].target = Here();
    return absl::OkStatus();
  }

  absl::StatusOr<CodeOperand> Operand(const kir::Operand& operand,
                                      const kir::Statement& statement) {
    CodeOperand result;
    result.buffer = operand.buffer;
    for (const AffineExpr& e : operand.indices) {
      ASSIGN_OR_RETURN(AffineProgram p, Program(e, statement));
      result.indices.push_back(std::move(p));
    }
    return result;
  }

  absl::Status AddExpr(const kir::Statement& statement, const kir::Expr& expr) {
    CodeInstruction instruction;
    for (const kir::Operand& output : expr.outputs) {
      ASSIGN_OR_RETURN(CodeOperand operand, Operand(output, statement));
      instruction.outputs.push_back(std::move(operand));
    }
    for (const kir::Argument& argument : expr.arguments) {
      CodeArgument a;
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        a.kind = CodeArgument::Kind::kOperand;
        ASSIGN_OR_RETURN(a.operand, Operand(*operand, statement));
      } else if (const auto* e = std::get_if<AffineExpr>(&argument)) {
        a.kind = CodeArgument::Kind::kExpr;
        ASSIGN_OR_RETURN(AffineProgram p, Program(*e, statement));
        a.expr.push_back(std::move(p));
      } else {
        a.number = std::get<double>(argument);
      }
      instruction.arguments.push_back(std::move(a));
    }
    instruction.op = Op::kExpr;
    instruction.statement = &statement;
    instruction.loop_slots = loop_slots_;
    instruction.of_some_threads = selections_ > 0;
    instruction.info = kir::FindOp(expr.op);
    code_.instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  const kir::Kernel& kernel_;
  KernelCode code_;
  std::vector<int> loop_slots_;
  int selections_ = 0;  // branches and loops over threads around
};

}  // namespace

absl::StatusOr<KernelCode> CompileKernel(const kir::Kernel& kernel) {
  return Compiler(kernel).Compile();
}

}  // namespace xla::gpu

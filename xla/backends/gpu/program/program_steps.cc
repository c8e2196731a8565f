#include "xla/backends/gpu/program/program_steps.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/lowering/module_lowering.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// A graph has a node for each launch, and takes about a microsecond to make and
// 10 KB of memory for each.
constexpr int64_t kMaxGraphLaunches = 4096;

// What is known once the memory is planned, or needs nothing done.
bool IsFree(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAddDependency, HloOpcode::kAfterAll,
                          HloOpcode::kBitcast, HloOpcode::kGetTupleElement,
                          HloOpcode::kOptimizationBarrier,
                          HloOpcode::kParameter, HloOpcode::kTuple>(opcode);
}

std::string At(int64_t offset) { return absl::StrCat("At(", offset, ")"); }

std::string Indented(const std::string& text) {
  std::string result =
      absl::StrCat("  ", absl::StrReplaceAll(text, {{"\n", "\n  "}}));
  result.resize(result.size() - 2);  // behind the last line
  return result;
}

// The type as which the host reads an index.
absl::string_view IntegerOfHost(PrimitiveType type) {
  return type == S64 ? "long long" : type == U32 ? "unsigned int" : "int";
}

// As a statement that is part of another.
std::string Call(const std::string& name, bool is_graph) {
  return is_graph ? absl::StrCat("Play(", name, ");\n")
                  : absl::StrCat(name, "();\n");
}

}  // namespace

bool IsMemcpy(const HloInstruction& hlo) {
  if (!hlo.shape().IsArray()) return false;
  const Shape& from =
      hlo.operand_count() == 1 ? hlo.operand(0)->shape() : hlo.shape();
  if (hlo.opcode() == HloOpcode::kCopy) {
    return ShapeUtil::Equal(from, hlo.shape());
  }
  return hlo.opcode() == HloOpcode::kReshape &&
         ShapeUtil::ReshapeIsBitcast(from, hlo.shape());
}

absl::StatusOr<std::string> ProgramSteps::Write(const HloComputation* entry) {
  ASSIGN_OR_RETURN(const Function function, FunctionOf(entry));
  const bool is_graph =
      !function.needs_host && function.launches <= kMaxGraphLaunches;
  absl::StrAppend(&text_, "static void RunModule() { ",
                  is_graph ? absl::StrCat("Play(", function.name, ");")
                           : absl::StrCat(function.name, "();"),
                  " }\n");
  return text_;
}

// "Run_NAME". Names that differ in what C++ does not know get numbers.
std::string ProgramSteps::UniqueName(const HloComputation& computation) {
  std::string base = "Run_";
  for (char c : computation.name()) base += absl::ascii_isalnum(c) ? c : '_';
  std::string name = base;
  for (int k = 1; !names_.insert(name).second; ++k) {
    name = absl::StrCat(base, "_", k);
  }
  return name;
}

// Steps of which the host decides nothing are replayed as one CUDA graph. A
// whole computation is one if possible, and then part of its caller's;
// otherwise it is cut at the steps that wait for a value (a switch, a loop
// without a known trip count), with a graph for each run of steps between.
absl::StatusOr<ProgramSteps::Function> ProgramSteps::FunctionOf(
    const HloComputation* computation) {
  const auto found = functions_.find(computation);
  if (found != functions_.end()) return found->second;
  std::vector<Step> steps;
  Function function;
  for (const HloInstruction* hlo :
       schedule_.sequence(computation).instructions()) {
    ASSIGN_OR_RETURN(Step step, StepOf(*hlo));
    if (step.text.empty()) continue;
    function.needs_host |= step.needs_host;
    function.launches += step.launches;
    steps.push_back(std::move(step));
  }
  const bool is_whole =
      !function.needs_host && function.launches <= kMaxGraphLaunches;
  std::string text;
  for (size_t i = 0; i < steps.size();) {
    // The next ones that are a graph; one launch alone need not be.
    std::string graph;
    int64_t launches = 0;
    while (i < steps.size() && !is_whole && !steps[i].needs_host &&
           launches + steps[i].launches <= kMaxGraphLaunches) {
      launches += steps[i].launches;
      graph += steps[i++].text;
    }
    if (launches > 1) {
      absl::StrAppend(&text, "  Play([] {\n", Indented(graph), "  });\n");
    } else {
      text += graph;
    }
    if (graph.empty()) text += steps[i++].text;
  }
  function.name = UniqueName(*computation);
  absl::StrAppend(&text_, "static void ", function.name, "() {\n", text,
                  "}\n\n");
  functions_[computation] = function;
  return function;
}

absl::StatusOr<ProgramSteps::Step> ProgramSteps::StepOf(
    const HloInstruction& hlo) {
  if (IsFree(hlo.opcode()) || ComputesNothing(hlo)) return Step();
  switch (hlo.opcode()) {
    case HloOpcode::kConstant: {
      ASSIGN_OR_RETURN(const std::string text, constants_.Write(hlo));
      return Step{text, false, 1};
    }
    case HloOpcode::kCall: {
      ASSIGN_OR_RETURN(const Function callee, FunctionOf(hlo.to_apply()));
      return Step{absl::StrCat("  ", Call(callee.name, false)),
                  callee.needs_host, callee.launches};
    }
    case HloOpcode::kWhile:
      return While(hlo);
    case HloOpcode::kConditional:
      return Conditional(hlo);
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId: {
      // There is one device: 0.
      ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(&hlo));
      return Step{absl::StrCat("  Write(", offset, ", kZero, ",
                               ShapeUtil::ByteSizeOf(hlo.shape()), ");  // ",
                               hlo.name(), "\n"),
                  false, 1};
    }
    default:  // A copy or a kernel.
      break;
  }
  if (!IsMemcpy(hlo)) return Launch(hlo);
  ASSIGN_OR_RETURN(const int64_t to, memory_.OffsetOf(&hlo));
  ASSIGN_OR_RETURN(const int64_t from, memory_.OffsetOf(hlo.operand(0)));
  return Step{absl::StrCat("  Copy(", to, ", ", from, ", ",
                           ShapeUtil::ByteSizeOf(hlo.shape()), ");  // ",
                           hlo.name(), "\n"),
              false, 1};
}

absl::StatusOr<ProgramSteps::Step> ProgramSteps::Launch(
    const HloInstruction& hlo) {
  const auto found = kernels_.find(&hlo);
  if (found == kernels_.end()) {
    return absl::UnimplementedError(absl::StrCat(HloOpcodeString(hlo.opcode()),
                                                 ": no part of a program, in ",
                                                 hlo.name()));
  }
  const LoweredKernel& kernel = *found->second;
  std::vector<std::string> arguments;
  for (const LoweredKernel::OperandArray& array : kernel.operands) {
    ASSIGN_OR_RETURN(const int64_t offset,
                     memory_.OffsetOf(hlo.operand(array.operand), array.index));
    arguments.push_back(At(offset));
  }
  for (const HloInstruction* constant : kernel.constants) {
    ASSIGN_OR_RETURN(const int64_t offset, constants_.Add(*constant));
    arguments.push_back(At(offset));
  }
  for (const ShapeIndex& index : kernel.results) {
    ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(&hlo, index));
    arguments.push_back(At(offset));
  }
  const std::string& name = kernel.kernel.name;
  std::string launch = absl::StrCat(
      "launch_", name, "(", absl::StrJoin(arguments, ", "), ", stream)");
  bool needs_host = false;
  if (const std::optional<LibraryDot> dot = MakeLibraryDot(hlo)) {
    std::vector<std::string> places;
    for (int64_t number : {0, 1}) {
      const LibraryOperand operand = *FindLibraryOperand(hlo, number);
      needs_host |= !operand.starts.empty();
      ASSIGN_OR_RETURN(places.emplace_back(), PlaceOf(hlo, operand));
    }
    ASSIGN_OR_RETURN(const int64_t result, memory_.OffsetOf(&hlo));
    places.push_back(At(result));
    launch = absl::StrCat("PRODUCT(", products_.size(), ", ", launch, ", ",
                          absl::StrJoin(places, ", "), ")");
    products_.push_back(dot->ToString());
  }
  return Step{absl::StrCat("  RUN(\"", name, "\", ", launch, ");\n"),
              needs_host, 1};
}

// Where the library reads it. The host has to know.
absl::StatusOr<std::string> ProgramSteps::PlaceOf(
    const HloInstruction& hlo, const LibraryOperand& operand) const {
  ASSIGN_OR_RETURN(const int64_t base,
                   memory_.OffsetOf(hlo.operand(operand.operand)));
  std::string place = absl::StrCat(base + operand.offset);
  for (const LibraryOperand::Start& start : operand.starts) {
    const HloInstruction* index = hlo.operand(start.operand);
    ASSIGN_OR_RETURN(const int64_t at, memory_.OffsetOf(index));
    absl::StrAppend(&place, " + Start<",
                    IntegerOfHost(index->shape().element_type()), ">(", at,
                    ", ", start.most, ") * ", start.bytes);
  }
  return absl::StrCat("At(", place, ")");
}

// Whose condition need not run where it is known how often it holds.
absl::StatusOr<ProgramSteps::Step> ProgramSteps::While(
    const HloInstruction& hlo) {
  ASSIGN_OR_RETURN(const Function body, FunctionOf(hlo.while_body()));
  const bool is_graph = !body.needs_host && body.launches <= kMaxGraphLaunches;
  if (const std::optional<int64_t> count = ComputeWhileLoopTripCount(&hlo)) {
    // One graph of all, or one of the body.
    const bool fits =
        is_graph && *count <= kMaxGraphLaunches &&
        *count * std::max<int64_t>(body.launches, 1) <= kMaxGraphLaunches;
    const int64_t launches = fits ? *count * body.launches : 0;
    return Step{absl::StrCat("  for (Index i = 0; i < ", *count,
                             "; ++i) {  // ", hlo.name(), "\n    ",
                             Call(body.name, is_graph && !fits), "  }\n"),
                !fits, launches};
  }
  ASSIGN_OR_RETURN(const Function condition, FunctionOf(hlo.while_condition()));
  ASSIGN_OR_RETURN(const int64_t holds,
                   memory_.OffsetOf(hlo.while_condition()->root_instruction()));
  return Step{
      absl::StrCat(
          "  for (;;) {  // ", hlo.name(), "\n    ",
          Call(condition.name, !condition.needs_host && condition.launches > 1),
          "    if (Read<unsigned char>(", holds, ") == 0) break;\n    ",
          Call(body.name, is_graph), "  }\n"),
      /*needs_host=*/true};
}

absl::StatusOr<ProgramSteps::Step> ProgramSteps::Conditional(
    const HloInstruction& hlo) {
  ASSIGN_OR_RETURN(const int64_t offset, memory_.OffsetOf(hlo.operand(0)));
  const bool is_index = hlo.operand(0)->shape().element_type() != PRED;
  std::string text =
      absl::StrCat("  switch (Read<", is_index ? "int" : "unsigned char", ">(",
                   offset, ")) {  // ", hlo.name(), "\n");
  for (int64_t b = 0; b < hlo.branch_count(); ++b) {
    ASSIGN_OR_RETURN(const Function branch,
                     FunctionOf(hlo.branch_computation(b)));
    // True is the first branch; an index out of range is the last.
    const bool is_last = b + 1 == hlo.branch_count();
    const int64_t value = is_index ? b : 1 - b;
    absl::StrAppend(&text,
                    (is_index ? is_last : b == 0)
                        ? "    default: "
                        : absl::StrCat("    case ", value, ": "),
                    branch.name, "(); break;\n");
  }
  return Step{text + "  }\n", /*needs_host=*/true};
}

}  // namespace xla::gpu

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/codegen/cuda_writer.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_vectors.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/warp_mma.h"
#include "xla/status_macros.h"

namespace xla::gpu::cuda {

absl::string_view TypeName(kir::ElementType type) {
  switch (type) {
    case kir::ElementType::kPred:
    case kir::ElementType::kU8:
      return "unsigned char";
    case kir::ElementType::kS8:
      return "signed char";
    case kir::ElementType::kF8E4M3FN:
      return "__nv_fp8_e4m3";
    case kir::ElementType::kF8E5M2:
      return "__nv_fp8_e5m2";
    case kir::ElementType::kS16:
      return "short";
    case kir::ElementType::kU16:
      return "unsigned short";
    case kir::ElementType::kF16:
      return "__half";
    case kir::ElementType::kBF16:
      return "__nv_bfloat16";
    case kir::ElementType::kS32:
      return "int";
    case kir::ElementType::kU32:
      return "unsigned";
    case kir::ElementType::kF32:
      return "float";
    case kir::ElementType::kS64:
      return "long long";
    case kir::ElementType::kU64:
      return "unsigned long long";
    case kir::ElementType::kF64:
      return "double";
    default:
      return "";
  }
}

bool IsInteger(kir::ElementType type) {
  switch (type) {
    case kir::ElementType::kPred:
    case kir::ElementType::kS8:
    case kir::ElementType::kU8:
    case kir::ElementType::kS16:
    case kir::ElementType::kU16:
    case kir::ElementType::kS32:
    case kir::ElementType::kU32:
    case kir::ElementType::kS64:
    case kir::ElementType::kU64:
      return true;
    default:
      return false;
  }
}

namespace {

// All digits that the number has; -0 is no integer, which would lose its sign.
std::string NumberText(double value) {
  if (value == 0 && std::signbit(value)) return "-0.0";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  for (int digits = 1;; ++digits) {
    const std::string text = absl::StrFormat("%.*g", digits, value);
    double back = 0;
    if (digits == 17 || (absl::SimpleAtod(text, &back) && back == value)) {
      return text;
    }
  }
}

}  // namespace

std::string CombinerName(kir::Combiner combiner) {
  switch (combiner) {
    case kir::Combiner::kMul:
      return "KirMul";
    case kir::Combiner::kMax:
      return "KirMax";
    case kir::Combiner::kMin:
      return "KirMin";
    default:
      return "KirAdd";
  }
}

std::string Writer::Name(kir::BufferId id) const {
  const kir::Buffer& buffer = kernel_.buffers[id];
  return CudaName(buffer.is_param                         ? 'p'
                  : buffer.memory == kir::Memory::kShared ? 's'
                  : buffer.memory == kir::Memory::kGlobal ? 'g'
                                                          : 'r',
                  buffer.name);
}

std::string Writer::ComputeType(kir::ElementType type) const {
  if (type == kir::ElementType::kF64) return "double";
  if (type == kir::ElementType::kU64) return "UIndex";
  return IsInteger(type) ? "Index" : "float";
}

std::string Writer::Element(const kir::Operand& operand) const {
  const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
  AffineExpr linear;
  for (size_t d = 0; d < operand.indices.size(); ++d) {
    linear = linear * buffer.extents[d] + operand.indices[d];
  }
  if (buffer.circular.has_value() && buffer.circular->stages > 1 &&
      !serial_.empty()) {
    AffineExpr one = 1;
    for (const AffineExpr& extent : buffer.extents) one = one * extent;
    linear =
        linear + one * AffineExpr::Mod(AffineExpr::Symbol(serial_[0]),
                                       AffineExpr(buffer.circular->stages));
  }
  return absl::StrCat(Name(operand.buffer), "[", Text(linear), "]");
}

// Parameters begin at multiples of vectors, and arrays with a vector width at
// multiples of that.
std::optional<kir::Operand> Writer::VectorPlace(const kir::Operand& operand,
                                                const std::string& index,
                                                int64_t width) const {
  const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
  const bool aligned =
      buffer.is_param && buffer.memory == kir::Memory::kGlobal
          ? kir::IsVector(kir::ElementBytes(buffer.type) * width)
          : buffer.vector_width.value_or(1) % width == 0;
  if (!aligned || buffer.circular.has_value()) return std::nullopt;
  return kir::FirstOfVector(buffer, operand, index, width);
}

std::string Writer::Load(const kir::Operand& operand, const std::string& type,
                         bool guarded) const {
  const std::string value =
      absl::StrCat("kir_to<", type, ">(", Element(operand), ")");
  if (!guarded) return value;
  const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
  std::vector<std::string> tests;
  for (size_t d = 0; d < operand.indices.size(); ++d) {
    tests.push_back(absl::StrCat("kir_inside(", Text(operand.indices[d]), ", ",
                                 Text(buffer.extents[d]), ")"));
  }
  if (tests.empty()) return value;
  return absl::StrCat("(", absl::StrJoin(tests, " && "), " ? ", value, " : ",
                      type, "(0))");
}

bool Writer::IsShort(const kir::Expr& expr) const {
  // The lower 32 bits of a truncated value come from lower bits alone;
  // comparisons, choices and remainders see the same values. (A quotient would
  // not do: that of the least number by -1 has no place in 32 bits.)
  // u32 is not short: as an int its upper half would be negative, and compare
  // as less.
  static constexpr absl::string_view kOps[] = {
      "copy", "cast", "add", "sub", "mul", "neg", "max", "min",    "and", "or",
      "xor",  "not",  "eq",  "lt",  "le",  "gt",  "ge",  "select", "rem"};
  const auto is_short = [](kir::ElementType type) {
    return IsInteger(type) && kir::ElementBytes(type) <= 4 &&
           type != kir::ElementType::kU32;
  };
  return absl::c_linear_search(kOps, expr.op) &&
         is_short(kernel_.buffers[expr.outputs[0].buffer].type) &&
         absl::c_all_of(expr.arguments, [&](const kir::Argument& argument) {
           if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
             return is_short(kernel_.buffers[operand->buffer].type);
           }
           if (const auto* number = std::get_if<double>(&argument)) {
             return std::fabs(*number) < 1 << 30;
           }
           return index_.IsNarrow();
         });
}

std::string Writer::ArithmeticType(const kir::Expr& expr) const {
  if (IsShort(expr)) return "int";
  kir::ElementType widest = kernel_.buffers[expr.outputs[0].buffer].type;
  if ((expr.op == "cast" || expr.op == "iota") && !IsInteger(widest) &&
      kir::ElementBytes(widest) < 4) {
    // Any type on the way would round integers of more bits than it has.
    const auto* operand = std::get_if<kir::Operand>(&expr.arguments[0]);
    if (std::holds_alternative<AffineExpr>(expr.arguments[0])) {
      return std::string(index_.type());
    }
    const kir::ElementType type =
        operand == nullptr ? widest : kernel_.buffers[operand->buffer].type;
    if (IsInteger(type) && kir::ElementBytes(type) >= 4) {
      return std::string(TypeName(type));
    }
  }
  for (const kir::Argument& argument : expr.arguments) {
    const auto* operand = std::get_if<kir::Operand>(&argument);
    if (operand == nullptr) continue;
    const kir::ElementType type = kernel_.buffers[operand->buffer].type;
    if (type == kir::ElementType::kF64 ||
        (IsInteger(widest) &&
         (!IsInteger(type) || type == kir::ElementType::kU64))) {
      widest = type;
    }
  }
  return ComputeType(widest);
}

std::vector<std::string> Writer::Inputs(const kir::Expr& expr,
                                        const std::string& type) const {
  // A gather's index and condition are inside of their arrays.
  const bool is_gather = expr.op == "gather";
  const bool pads =
      !is_gather && kir::FindOp(expr.op)->op_class == kir::OpClass::kDifficult;
  std::vector<std::string> in;
  for (const kir::Argument& argument : expr.arguments) {
    if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
      if (is_gather && in.empty()) {
        const auto* at = std::get_if<kir::Operand>(&expr.arguments[1]);
        in.push_back(absl::StrCat("kir_to<", type, ">(", Name(operand->buffer),
                                  "[Index(", Element(*at), ")])"));
        continue;
      }
      in.push_back(Load(*operand, type, pads));
    } else if (const auto* e = std::get_if<AffineExpr>(&argument)) {
      in.push_back(absl::StrCat(type, "(", Text(*e), ")"));
    } else {
      in.push_back(
          absl::StrCat(type, "(", NumberText(std::get<double>(argument)), ")"));
    }
  }
  if (is_gather && in.size() > 2) {
    in[0] = absl::StrCat("(", in[2], " != 0 ? ", in[0], " : ", type, "(0))");
  }
  return in;
}

// With a block of 48 threads the second warp has 16 lanes, and a shuffle that
// names all 32 would wait for lanes that do not exist.
bool Writer::WarpsAreWhole() const {
  int64_t threads = 1;
  for (const std::optional<int64_t>& extent : kernel_.BlockExtents()) {
    threads *= extent.value_or(1);
  }
  return divergent_ == 0 && threads % 32 == 0;
}

// The C++ expression for a single result, given its inputs.
std::string Writer::Value(const kir::Expr& expr,
                          const std::vector<std::string>& in,
                          const std::string& type,
                          const std::string& element) const {
  const std::string combiner = CombinerName(kir::OpCombiner(expr.op));
  const std::string before = absl::StrCat("kir_to<", type, ">(", element, ")");
  switch (kir::FindOp(expr.op)->op_class) {
    case kir::OpClass::kReduce:
      return absl::StrCat(combiner, "::Apply<", type, ">(", before, ", ", in[0],
                          ")");
    case kir::OpClass::kWarpReduce:
      return absl::StrCat(
          WarpsAreWhole() ? "kir_full_warp_reduce<" : "kir_warp_reduce<", type,
          ", ", combiner,
          in.size() > 1
              ? absl::StrCat(", ", kir::LanesOfWarpReduce(expr).value_or(32))
              : "",
          ">(", in[0], ")");
    case kir::OpClass::kMma:
      return absl::StrCat(in.size() > 2 ? in[2] : before, " + ", in[0], " * ",
                          in[1]);
    case kir::OpClass::kPointwise:
      if (expr.op == "saturate" || expr.op == "clz") {
        const kir::Buffer& target = kernel_.buffers[expr.outputs[0].buffer];
        return absl::StrCat("kir_", expr.op, "<", TypeName(target.type), ", ",
                            type, ">(", in[0], ")");
      }
      return absl::StrCat("kir_", expr.op, "<", type, ">(",
                          absl::StrJoin(in, ", "), ")");
    default:
      return in[0];
  }
}

std::optional<std::string> Writer::Unchanged(const kir::Expr& expr) const {
  const kir::ElementType type = kernel_.buffers[expr.outputs[0].buffer].type;
  // The operand, if it is an element of the result's type.
  const auto element = [&](size_t k) {
    const auto* from = k < expr.arguments.size()
                           ? std::get_if<kir::Operand>(&expr.arguments[k])
                           : nullptr;
    return from != nullptr && kernel_.buffers[from->buffer].type == type
               ? from
               : nullptr;
  };
  if (element(0) == nullptr) return std::nullopt;
  switch (kir::FindOp(expr.op)->op_class) {
    case kir::OpClass::kCopy:
    case kir::OpClass::kTransposeCopy:
    case kir::OpClass::kBroadcast:
    case kir::OpClass::kScatter:
      return Element(*element(0));
    default: {
      const auto* at = expr.op == "gather" && expr.arguments.size() == 2
                           ? std::get_if<kir::Operand>(&expr.arguments[1])
                           : nullptr;
      if (at == nullptr) return std::nullopt;
      return absl::StrCat(Name(element(0)->buffer), "[Index(", Element(*at),
                          ")]");
    }
  }
}

absl::Status Writer::EmitWarpMma(const kir::Expr& expr,
                                 const kir::Statement& statement,
                                 const std::string& active) {
  std::string why;
  const std::optional<kir::WarpMma> mma = kir::FindWarpMma(kernel_, expr, &why);
  if (!mma.has_value() || !WarpsAreWhole() || active != "true") {
    return Unimplemented(
        statement.location,
        absl::StrCat(expr.op, " of ",
                     mma.has_value() ? "part of a warp" : why));
  }
  Line(absl::StrCat(
      "kir_warp_mma<", mma->down, ", ", mma->across, ", ",
      mma->is_exact ? "true" : "false", ">(", Name(expr.outputs[0].buffer),
      ", ", Name(std::get<kir::Operand>(expr.arguments[0]).buffer), ", ",
      Name(std::get<kir::Operand>(expr.arguments[1]).buffer), ");"));
  return absl::OkStatus();
}

absl::Status Writer::EmitExpr(const kir::Expr& expr,
                              const kir::Statement& statement,
                              const std::string& active) {
  const kir::OpClass op_class = kir::FindOp(expr.op)->op_class;
  if (op_class == kir::OpClass::kScan) {
    return Unimplemented(statement.location, expr.op);
  }
  if (op_class == kir::OpClass::kWarpMma) {
    return EmitWarpMma(expr, statement, active);
  }
  const kir::Operand& output = expr.outputs[0];
  const kir::Buffer& target = kernel_.buffers[output.buffer];
  const std::string type = ArithmeticType(expr);
  std::vector<std::string> in = Inputs(expr, type);
  std::string element = Element(output);
  std::string guard =
      active == "true" ? "" : absl::StrCat("if (", active, ") ");
  if (expr.async == kir::AsyncKind::kBulkLoad ||
      expr.async == kir::AsyncKind::kBulkStore) {
    guard = "if (kir_thread() == 0) ";
  }
  if (kir::IsOfBits(expr.op)) {
    std::vector<std::string> from;
    int bytes = 0;
    for (const kir::Argument& argument : expr.arguments) {
      const auto* operand = std::get_if<kir::Operand>(&argument);
      if (operand == nullptr) {
        return Unimplemented(statement.location, "bits of no element");
      }
      bytes += kir::ElementBytes(kernel_.buffers[operand->buffer].type);
      from.push_back(Element(*operand));
    }
    const int halves = expr.op == "bits" ? 1 : 2;
    if (bytes != kir::ElementBytes(target.type) * halves ||
        (halves == 2 && bytes != 8) || (from.size() == 2 && bytes != 8)) {
      return Unimplemented(statement.location, "bits of another type");
    }
    Line(absl::StrCat(guard, element, " = kir_", expr.op, "<",
                      TypeName(target.type), ">(", absl::StrJoin(from, ", "),
                      ");"));
    return absl::OkStatus();
  }
  if (op_class == kir::OpClass::kReduce && expr.sync) {
    const std::string reduced = absl::StrCat("reduced_", ++flags_);
    const std::string combiner = CombinerName(kir::OpCombiner(expr.op));
    Line(absl::StrCat("const ", type, " ", reduced, " = kir_block_reduce<",
                      type, ", ", combiner, ">(", active, " ? ", in[0], " : ",
                      combiner, "::Identity<", type, ">());"));
    in[0] = reduced;
  } else if (op_class == kir::OpClass::kWelford) {
    Line(absl::StrCat(guard, "kir_welford(", in[0], ", ", element, ", ",
                      Element(expr.outputs[1]), ", ", Element(expr.outputs[2]),
                      ");"));
    return absl::OkStatus();
  } else if (op_class == kir::OpClass::kScatter) {
    // As an integer, whatever type the values have.
    const auto* at = std::get_if<kir::Operand>(&expr.arguments[1]);
    element = absl::StrCat(Name(output.buffer), "[Index(",
                           at != nullptr ? Element(*at) : in[1], ")]");
    if (in.size() > 2) {
      guard = absl::StrCat("if (", active == "true" ? "" : active + " && ",
                           in[2], " != 0) ");
    }
    if (const kir::Combiner combiner = kir::OpCombiner(expr.op);
        combiner != kir::Combiner::kNone) {
      if (combiner == kir::Combiner::kMul || !IsInteger(target.type) ||
          kir::ElementBytes(target.type) < 4) {
        return Unimplemented(
            statement.location,
            absl::StrCat(expr.op, " of ", kir::ElementTypeName(target.type)));
      }
      Line(absl::StrCat(guard, "kir_atomic_", kir::CombinerOp(combiner), "(&",
                        element, ", kir_to<", TypeName(target.type), ">(",
                        in[0], "));"));
      return absl::OkStatus();
    }
  }
  const auto* source = expr.arguments.empty()
                           ? nullptr
                           : std::get_if<kir::Operand>(&expr.arguments[0]);
  if (expr.async == kir::AsyncKind::kCp && source != nullptr &&
      kernel_.buffers[source->buffer].type == target.type &&
      kir::ElementBytes(target.type) >= 4) {
    Line(absl::StrCat(guard, AsyncCopy(expr, element, Element(*source),
                                       kir::ElementBytes(target.type))));
    return absl::OkStatus();
  }
  if (op_class == kir::OpClass::kCopy && expr.arguments.size() > 1) {
    const std::string to = absl::StrCat("kir_to<", TypeName(target.type), ">");
    Line(absl::StrCat(guard, element, " = ", Condition(expr.arguments[1]),
                      " ? ", to, "(", in[0], ") : ", to, "(0.0f);"));
    return absl::OkStatus();
  }
  const std::optional<std::string> unchanged = Unchanged(expr);
  Line(absl::StrCat(guard, element, " = ",
                    unchanged.has_value()
                        ? *unchanged
                        : absl::StrCat("kir_to<", TypeName(target.type), ">(",
                                       Value(expr, in, type, element), ")"),
                    ";"));
  return absl::OkStatus();
}

}  // namespace xla::gpu::cuda

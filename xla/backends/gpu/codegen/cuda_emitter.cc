#include "xla/backends/gpu/codegen/cuda_emitter.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "xla/backends/gpu/codegen/cuda_prelude.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/race_checker.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

using kir::ElementType;

absl::string_view CudaType(ElementType type) {
  switch (type) {
    case ElementType::kPred:
    case ElementType::kU8:
      return "unsigned char";
    case ElementType::kS8:
      return "signed char";
    case ElementType::kF8E4M3FN:
      return "__nv_fp8_e4m3";
    case ElementType::kF8E5M2:
      return "__nv_fp8_e5m2";
    case ElementType::kS16:
      return "short";
    case ElementType::kU16:
      return "unsigned short";
    case ElementType::kF16:
      return "__half";
    case ElementType::kBF16:
      return "__nv_bfloat16";
    case ElementType::kS32:
      return "int";
    case ElementType::kU32:
      return "unsigned";
    case ElementType::kF32:
      return "float";
    case ElementType::kS64:
      return "long long";
    case ElementType::kU64:
      return "unsigned long long";
    case ElementType::kF64:
      return "double";
    default:
      return "";
  }
}

bool IsInteger(ElementType type) {
  switch (type) {
    case ElementType::kPred:
    case ElementType::kS8:
    case ElementType::kU8:
    case ElementType::kS16:
    case ElementType::kU16:
    case ElementType::kS32:
    case ElementType::kU32:
    case ElementType::kS64:
    case ElementType::kU64:
      return true;
    default:
      return false;
  }
}

std::string CombinerOf(kir::Combiner combiner) {
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

class Emitter {
 public:
  Emitter(const SmemPlan& plan, const CudaEmitOptions& options)
      : plan_(plan), kernel_(plan.planned), options_(options) {}

  absl::StatusOr<std::string> Emit() {
    for (const kir::Buffer& buffer : kernel_.buffers) {
      if (CudaType(buffer.type).empty()) {
        return Unimplemented(buffer.location,
                             absl::StrCat("%", buffer.name, " is of type ",
                                          ElementTypeName(buffer.type)));
      }
    }
    CollectWritten();
    Raw(kCudaPrelude);
    Raw(absl::StrCat("\n// Shared memory: ", plan_.total.ToString(), " bytes, ",
                     plan_.syncs_total, " block barriers.\n"));
    Line(absl::StrCat("__global__ void ", kernel_.name, "_kernel(",
                      Parameters(), ") {"));
    ++indent_;
    RETURN_IF_ERROR(DeclareShared());
    RETURN_IF_ERROR(Body(kernel_.body, "true"));
    --indent_;
    Line("}");
    EmitLaunch();
    if (options_.with_main) {
      RETURN_IF_ERROR(EmitMain());
    }
    return std::move(text_);
  }

 private:
  absl::Status Unimplemented(kir::SourceLocation location,
                             absl::string_view what) const {
    return kernel_.ErrorAt(location, absl::StrCat(what, ": no CUDA for this"),
                           absl::StatusCode::kUnimplemented);
  }

  void Raw(absl::string_view text) { absl::StrAppend(&text_, text); }
  void Line(absl::string_view line) {
    absl::StrAppend(&text_, std::string(2 * indent_, ' '), line, "\n");
  }

  void CollectWritten() {
    kir::ForEachStatement(kernel_.body, [&](const kir::Statement& statement) {
      const kir::Expr* expr = statement.As<kir::Expr>();
      if (expr == nullptr) return;
      for (const kir::Operand& output : expr->outputs) {
        written_.insert(output.buffer);
      }
    });
  }

  std::string Name(kir::BufferId id) const {
    const kir::Buffer& buffer = kernel_.buffers[id];
    const char* prefix = buffer.is_param                         ? "p_"
                         : buffer.memory == kir::Memory::kShared ? "s_"
                         : buffer.memory == kir::Memory::kGlobal ? "g_"
                                                                 : "r_";
    return absl::StrCat(prefix, absl::StrReplaceAll(buffer.name, {{".", "_"}}));
  }

  static std::string SymbolName(const std::string& name) {
    static constexpr std::pair<absl::string_view, absl::string_view> kKnown[] =
        {{"tid.", "threadIdx."},
         {"bid.", "blockIdx."},
         {"bdim.", "blockDim."},
         {"gdim.", "gridDim."}};
    for (const auto& [prefix, cuda] : kKnown) {
      if (absl::StartsWith(name, prefix)) {
        return absl::StrCat("Index(", cuda, name.substr(prefix.size()), ")");
      }
    }
    return absl::StrCat("i_", absl::StrReplaceAll(name, {{".", "_"}}));
  }

  static std::string Text(const AffineExpr& e) {
    std::string text;
    for (const AffineExpr::Term& term : e.terms()) {
      if (!text.empty()) text += " + ";
      std::string product;
      if (term.coefficient != 1) {
        product = term.coefficient < 0
                      ? absl::StrCat("Index(", term.coefficient, ")")
                      : absl::StrCat(term.coefficient);
      }
      for (const AffineExpr::Atom& atom : term.factors) {
        absl::StrAppend(&product, product.empty() ? "" : " * ", Text(*atom));
      }
      text += product;
    }
    if (e.terms().empty() || e.constant() != 0) {
      if (text.empty()) return absl::StrCat(e.constant());
      absl::StrAppend(&text, e.constant() < 0 ? " - " : " + ",
                      e.constant() < 0 ? -e.constant() : e.constant());
    }
    return text;
  }

  static std::string Text(const AffineExpr::AtomNode& atom) {
    using AtomOp = AffineExpr::Op;
    if (atom.op == AtomOp::kSymbol) return SymbolName(atom.name);
    const char* name = atom.op == AtomOp::kFloorDiv  ? "kir_div"
                       : atom.op == AtomOp::kMod     ? "kir_mod"
                       : atom.op == AtomOp::kMin     ? "kir_min"
                       : atom.op == AtomOp::kMax     ? "kir_max"
                       : atom.op == AtomOp::kAlignUp ? "kir_align"
                                                     : "kir_and";
    std::string text = Text(atom.args[0]);
    for (size_t i = 1; i < atom.args.size(); ++i) {
      text = absl::StrCat(name, "(", text, ", ", Text(atom.args[i]), ")");
    }
    return text;
  }

  std::string Parameters() const {
    std::vector<std::string> list;
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const kir::Buffer& buffer = kernel_.buffers[b];
      if (!buffer.is_param) continue;
      list.push_back(
          absl::StrCat(written_.contains(static_cast<int>(b)) ? "" : "const ",
                       CudaType(buffer.type), "* ", Name(static_cast<int>(b))));
    }
    for (const kir::Symbol& symbol : kernel_.symbols) {
      list.push_back(absl::StrCat("Index ", SymbolName(symbol.name)));
    }
    return absl::StrJoin(list, ", ");
  }

  absl::Status DeclareShared() {
    int64_t alignment = 16;
    for (const SmemBufferPlan& b : plan_.buffers) {
      const kir::Buffer& buffer = kernel_.buffers[b.buffer];
      alignment = std::max(alignment, buffer.align.value_or(1));
      if (buffer.swizzle.has_value()) {
        alignment = std::max<int64_t>(alignment, 1024);
      }
    }
    Line(absl::StrCat("extern __shared__ __align__(", alignment,
                      ") unsigned char kir_smem[];"));
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const kir::Buffer& buffer = kernel_.buffers[b];
      if (buffer.memory != kir::Memory::kShared || buffer.is_param) continue;
      const std::string type(CudaType(buffer.type));
      if (buffer.alias.has_value()) {
        Line(absl::StrCat(type, "* const ", Name(static_cast<int>(b)),
                          " = reinterpret_cast<", type, "*>(",
                          Name(*buffer.alias), ");"));
      } else {
        const std::string address =
            buffer.address.has_value() ? Text(*buffer.address) : "0";
        Line(absl::StrCat(type, "* const ", Name(static_cast<int>(b)),
                          " = reinterpret_cast<", type, "*>(kir_smem + (",
                          address, "));"));
      }
      Line(absl::StrCat("(void)", Name(static_cast<int>(b)), ";"));
    }
    return DeclareBarriers();
  }

  // Barriers of arrive and wait that the kernel does not set up itself.
  absl::Status DeclareBarriers() {
    absl::btree_set<kir::BufferId> used, ready;
    kir::ForEachStatement(kernel_.body, [&](const kir::Statement& statement) {
      if (const auto* half = statement.As<kir::ArriveWait>()) {
        used.insert(half->barrier);
      }
      const kir::Async* async = statement.As<kir::Async>();
      if (async != nullptr && async->op == kir::Async::Op::kMbarrier &&
          async->name == "init") {
        ready.insert(async->barrier);
      }
    });
    bool any = false;
    for (kir::BufferId id : used) {
      Line(absl::StrCat("unsigned phase_", Name(id), " = 0;"));
      if (ready.contains(id)) continue;
      Line(absl::StrCat("if (kir_thread() == 0) kir_mbarrier_init(", Name(id),
                        ", kir_threads());"));
      any = true;
    }
    if (any) Line("__syncthreads();");
    return absl::OkStatus();
  }

  absl::Status Body(const std::vector<kir::Statement>& body,
                    const std::string& active) {
    for (const kir::Statement& statement : body) {
      RETURN_IF_ERROR(One(statement, active));
    }
    return absl::OkStatus();
  }

  static bool HasSync(const std::vector<kir::Statement>& body) {
    bool found = false;
    kir::ForEachStatement(body, [&](const kir::Statement& statement) {
      const kir::Expr* expr = statement.As<kir::Expr>();
      found |= expr != nullptr && expr->sync;
    });
    return found;
  }

  absl::Status One(const kir::Statement& statement, const std::string& active) {
    if (const auto* alloc = statement.As<kir::Alloc>()) {
      return EmitAlloc(*alloc, statement);
    }
    if (const auto* loop = statement.As<kir::Loop>()) {
      return EmitLoop(*loop, active);
    }
    if (const auto* branch = statement.As<kir::If>()) {
      Line(absl::StrCat("if (", active == "true" ? "" : active + " && ", "(",
                        Text(branch->predicate), ") != 0) {"));
      ++indent_;
      RETURN_IF_ERROR(Body(branch->then_body, "true"));
      --indent_;
      if (!branch->else_body.empty()) {
        Line("} else {");
        ++indent_;
        RETURN_IF_ERROR(Body(branch->else_body, active));
        --indent_;
      }
      Line("}");
      return absl::OkStatus();
    }
    if (const auto* sync = statement.As<kir::Sync>()) {
      if (!sync->group.empty()) {
        return Unimplemented(statement.location, "a barrier of a group");
      }
      switch (sync->scope) {
        case kir::SyncScope::kBlock:
          Line("__syncthreads();");
          break;
        case kir::SyncScope::kWarp:
          Line("__syncwarp();");
          break;
        case kir::SyncScope::kGrid:
          Line("cooperative_groups::this_grid().sync();");
          break;
        case kir::SyncScope::kCluster:
          Line("kir_cluster_sync();");
          break;
      }
      return absl::OkStatus();
    }
    if (const auto* half = statement.As<kir::ArriveWait>()) {
      const std::string barrier = Name(half->barrier);
      if (!half->is_wait) {
        Line(absl::StrCat("kir_mbarrier_arrive(", barrier, ");"));
      } else {
        Line(absl::StrCat("kir_mbarrier_wait(", barrier, ", phase_", barrier,
                          "); phase_", barrier, " ^= 1;"));
      }
      return absl::OkStatus();
    }
    if (const auto* async = statement.As<kir::Async>()) {
      return EmitAsync(*async);
    }
    return EmitExpr(*statement.As<kir::Expr>(), statement, active);
  }

  absl::Status EmitAlloc(const kir::Alloc& alloc,
                         const kir::Statement& statement) {
    const kir::Buffer& buffer = kernel_.buffers[alloc.buffer];
    if (buffer.memory == kir::Memory::kShared) return absl::OkStatus();
    const std::string type(CudaType(buffer.type));
    const std::string name = Name(alloc.buffer);
    if (buffer.alias.has_value()) {
      Line(absl::StrCat(type, "* const ", name, " = reinterpret_cast<", type,
                        "*>(", Name(*buffer.alias), ");"));
      return absl::OkStatus();
    }
    const std::optional<int64_t> elements =
        buffer.ElementCount().Bind(kernel_.Bindings()).AsConstant();
    if (!elements.has_value()) {
      return Unimplemented(
          statement.location,
          absl::StrCat("registers of size ", buffer.ElementCount().ToString()));
    }
    Line(absl::StrCat(type, " ", name, "[", *elements, "] = {};"));
    // A reduction into what nothing was written to starts from its identity.
    std::string identity;
    kir::ForEachStatement(kernel_.body, [&](const kir::Statement& other) {
      const kir::Expr* expr = other.As<kir::Expr>();
      if (expr == nullptr || !absl::StartsWith(expr->op, "reduce.")) return;
      if (expr->outputs[0].buffer != alloc.buffer || !identity.empty()) return;
      identity = absl::StrCat(CombinerOf(kir::OpCombiner(expr->op)),
                              "::Identity<", ComputeType(buffer.type), ">()");
    });
    if (!identity.empty() && !absl::StartsWith(identity, "KirAdd")) {
      Line(absl::StrCat("for (int k = 0; k < ", *elements, "; ++k) ", name,
                        "[k] = kir_to<", type, ">(", identity, ");"));
    }
    return absl::OkStatus();
  }

  absl::Status EmitLoop(const kir::Loop& loop, const std::string& active) {
    const std::string index = SymbolName(loop.index);
    const int thread = kir::ThreadDimension(loop.kind);
    const int block = kir::BlockDimension(loop.kind);
    if (thread >= 0 || block >= 0) {
      const char* axis[] = {"x", "y", "z"};
      Line(absl::StrCat("{"));
      ++indent_;
      Line(absl::StrCat("const Index ", index, " = ", Text(loop.start),
                        " + Index(", thread >= 0 ? "threadIdx." : "blockIdx.",
                        axis[thread >= 0 ? thread : block], ") * ",
                        Text(loop.step), ";"));
      const std::string inside = absl::StrCat(index, " < ", Text(loop.stop));
      if (HasSync(loop.body)) {
        // All threads go through, for the barriers inside.
        const std::string flag = absl::StrCat("active_", ++flags_);
        Line(absl::StrCat("const bool ", flag, " = ",
                          active == "true" ? "" : active + " && ", inside,
                          ";"));
        RETURN_IF_ERROR(Body(loop.body, flag));
      } else {
        Line(absl::StrCat("if (", active == "true" ? "" : active + " && ",
                          inside, ") {"));
        ++indent_;
        RETURN_IF_ERROR(Body(loop.body, "true"));
        --indent_;
        Line("}");
      }
      --indent_;
      Line("}");
      return absl::OkStatus();
    }
    if (loop.kind == kir::LoopKind::kUnroll ||
        loop.kind == kir::LoopKind::kVectorize || loop.unroll) {
      Line("#pragma unroll");
    }
    const bool keep = active != "true" && HasSync(loop.body);
    Line(absl::StrCat(
        active == "true" || keep ? "" : absl::StrCat("if (", active, ") "),
        "for (Index ", index, " = ", Text(loop.start), "; ", index, " < ",
        Text(loop.stop), "; ", index, " += ", Text(loop.step), ") {"));
    ++indent_;
    serial_.push_back(loop.index);
    RETURN_IF_ERROR(Body(loop.body, keep ? active : "true"));
    serial_.pop_back();
    --indent_;
    Line("}");
    return absl::OkStatus();
  }

  absl::Status EmitAsync(const kir::Async& async) {
    switch (async.op) {
      case kir::Async::Op::kCommit:
        if (async.kind == kir::AsyncKind::kCp) Line("__pipeline_commit();");
        break;
      case kir::Async::Op::kWait:
        if (async.kind == kir::AsyncKind::kCp) {
          Line(absl::StrCat("__pipeline_wait_prior(", async.keep, ");"));
        }
        break;
      case kir::Async::Op::kFence:
        Line(async.name == "async_proxy" ? "kir_fence_async_proxy();"
                                         : "kir_fence_wgmma();");
        break;
      case kir::Async::Op::kMbarrier: {
        const std::string barrier = Name(async.barrier);
        if (async.name == "init") {
          Line(absl::StrCat(
              "if (kir_thread() == 0) kir_mbarrier_init(", barrier, ", ",
              async.argument.has_value() ? Text(*async.argument) : "1", ");"));
        } else if (async.name == "arrive") {
          Line(absl::StrCat("kir_mbarrier_arrive(", barrier, ");"));
        } else if (async.name == "wait_parity") {
          // Copies by one thread are complete when the block has met.
          Line("__syncthreads();");
        }
        break;
      }
    }
    return absl::OkStatus();
  }

  std::string ComputeType(ElementType type) const {
    if (type == ElementType::kF64) return "double";
    return IsInteger(type) ? "Index" : "float";
  }

  std::string Element(const kir::Operand& operand) const {
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

  std::string Load(const kir::Operand& operand, const std::string& type,
                   bool guarded) const {
    const std::string value =
        absl::StrCat("kir_to<", type, ">(", Element(operand), ")");
    if (!guarded) return value;
    const kir::Buffer& buffer = kernel_.buffers[operand.buffer];
    std::vector<std::string> tests;
    for (size_t d = 0; d < operand.indices.size(); ++d) {
      tests.push_back(absl::StrCat("kir_inside(", Text(operand.indices[d]),
                                   ", ", Text(buffer.extents[d]), ")"));
    }
    if (tests.empty()) return value;
    return absl::StrCat("(", absl::StrJoin(tests, " && "), " ? ", value, " : ",
                        type, "(0))");
  }

  absl::Status EmitExpr(const kir::Expr& expr, const kir::Statement& statement,
                        const std::string& active) {
    const kir::OpInfo* info = kir::FindOp(expr.op);
    if (info->op_class == kir::OpClass::kScan) {
      return Unimplemented(statement.location, expr.op);
    }
    const kir::Operand& output = expr.outputs[0];
    const kir::Buffer& target = kernel_.buffers[output.buffer];
    ElementType widest = target.type;
    for (const kir::Argument& argument : expr.arguments) {
      const auto* operand = std::get_if<kir::Operand>(&argument);
      if (operand == nullptr) continue;
      const ElementType type = kernel_.buffers[operand->buffer].type;
      if (type == ElementType::kF64 ||
          (IsInteger(widest) && !IsInteger(type))) {
        widest = type;
      }
    }
    const std::string type = ComputeType(widest);
    std::vector<std::string> in;
    for (const kir::Argument& argument : expr.arguments) {
      if (const auto* operand = std::get_if<kir::Operand>(&argument)) {
        if (expr.op == "gather" && in.empty()) {
          const auto* at = std::get_if<kir::Operand>(&expr.arguments[1]);
          in.push_back(absl::StrCat("kir_to<", type, ">(",
                                    Name(operand->buffer), "[Index(",
                                    Element(*at), ")])"));
          continue;
        }
        in.push_back(
            Load(*operand, type, info->op_class == kir::OpClass::kDifficult));
      } else if (const auto* e = std::get_if<AffineExpr>(&argument)) {
        in.push_back(absl::StrCat(type, "(", Text(*e), ")"));
      } else {
        in.push_back(absl::StrCat(type, "(", std::get<double>(argument), ")"));
      }
    }
    const std::string cast =
        absl::StrCat("kir_to<", CudaType(target.type), ">(");
    const std::string combiner = CombinerOf(kir::OpCombiner(expr.op));
    std::string element = Element(output);
    std::string guard =
        active == "true" ? "" : absl::StrCat("if (", active, ") ");
    if (expr.async == kir::AsyncKind::kBulkLoad ||
        expr.async == kir::AsyncKind::kBulkStore) {
      guard = "if (kir_thread() == 0) ";
    }
    std::string value;
    switch (info->op_class) {
      case kir::OpClass::kReduce:
        if (expr.sync) {
          const std::string reduced = absl::StrCat("reduced_", ++flags_);
          Line(absl::StrCat("const ", type, " ", reduced,
                            " = kir_block_reduce<", type, ", ", combiner, ">(",
                            active, " ? ", in[0], " : ", combiner,
                            "::Identity<", type, ">());"));
          in[0] = reduced;
        }
        value = absl::StrCat(combiner, "::Apply<", type, ">(kir_to<", type,
                             ">(", element, "), ", in[0], ")");
        break;
      case kir::OpClass::kWarpReduce:
        value = absl::StrCat("kir_warp_reduce<", type, ", ", combiner, ">(",
                             in[0], ")");
        break;
      case kir::OpClass::kWelford:
        Line(absl::StrCat(guard, "kir_welford(", in[0], ", ", element, ", ",
                          Element(expr.outputs[1]), ", ",
                          Element(expr.outputs[2]), ");"));
        return absl::OkStatus();
      case kir::OpClass::kMma:
        value = absl::StrCat(
            in.size() > 2 ? in[2]
                          : absl::StrCat("kir_to<", type, ">(", element, ")"),
            " + ", in[0], " * ", in[1]);
        break;
      case kir::OpClass::kScatter:
        element = absl::StrCat(Name(output.buffer), "[Index(", in[1], ")]");
        value = in[0];
        break;
      case kir::OpClass::kPointwise:
        value = absl::StrCat("kir_", expr.op, "<", type, ">(",
                             absl::StrJoin(in, ", "), ")");
        break;
      default:
        value = in[0];
    }
    const auto* source = expr.arguments.empty()
                             ? nullptr
                             : std::get_if<kir::Operand>(&expr.arguments[0]);
    if (expr.async == kir::AsyncKind::kCp && source != nullptr &&
        kernel_.buffers[source->buffer].type == target.type &&
        kir::ElementBytes(target.type) >= 4) {
      Line(absl::StrCat(guard, "__pipeline_memcpy_async(&", element, ", &",
                        Element(*source), ", sizeof(", CudaType(target.type),
                        "));"));
      return absl::OkStatus();
    }
    Line(absl::StrCat(guard, element, " = ", cast, value, ");"));
    return absl::OkStatus();
  }

  void EmitLaunch();
  absl::Status EmitMain();

  const SmemPlan& plan_;
  const kir::Kernel& kernel_;
  const CudaEmitOptions& options_;
  std::string text_;
  int indent_ = 0;
  int flags_ = 0;
  absl::btree_set<kir::BufferId> written_;
  std::vector<std::string> serial_;  // indices of serial loops around
};

void Emitter::EmitLaunch() {
  const std::string name = kernel_.name;
  std::vector<std::string> arguments;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    if (kernel_.buffers[b].is_param) {
      arguments.push_back(Name(static_cast<int>(b)));
    }
  }
  for (const kir::Symbol& symbol : kernel_.symbols) {
    arguments.push_back(SymbolName(symbol.name));
  }
  std::array<std::string, 3> grid = {"1", "1", "1"}, block = {"1", "1", "1"};
  if (kernel_.launch.has_value()) {
    for (int d = 0; d < 3; ++d) {
      grid[d] = Text(kernel_.launch->grid[d]);
      block[d] = Text(kernel_.launch->block[d]);
    }
  }
  const std::string parameters = Parameters();
  Raw("\n");
  Line(absl::StrCat("cudaError_t launch_", name, "(", parameters,
                    parameters.empty() ? "" : ", ", "cudaStream_t stream) {"));
  ++indent_;
  Line(absl::StrCat("const Index bytes = ", Text(plan_.total), ";"));
  Line(absl::StrCat("cudaError_t error = kir_reserve((const void*)", name,
                    "_kernel, bytes);"));
  Line("if (error != cudaSuccess) return error;");
  Line(absl::StrCat("const dim3 grid(", absl::StrJoin(grid, ", "), "), block(",
                    absl::StrJoin(block, ", "), ");"));
  Line(absl::StrCat("KIR_LAUNCH(", name, "_kernel, grid, block, bytes, stream",
                    arguments.empty() ? "" : ", ",
                    absl::StrJoin(arguments, ", "), ");"));
  Line("return cudaGetLastError();");
  --indent_;
  Line("}");
}

absl::Status Emitter::EmitMain() {
  KernelRunOptions run_options;
  run_options.own_memory = true;
  run_options.check_races = false;
  ASSIGN_OR_RETURN(KernelRun run, RunKernel(kernel_, {}, run_options));
  const AffineExpr::Binding binding = kernel_.Bindings();
  Raw("\n");
  Line("int main() {");
  ++indent_;
  Line("bool same = true;");
  std::vector<std::string> arguments;
  std::string checks;
  size_t number = 0;
  for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
    const kir::Buffer& buffer = kernel_.buffers[b];
    if (!buffer.is_param) continue;
    const std::string name = Name(static_cast<int>(b));
    const std::vector<double>& expected = run.params[number];
    Line(absl::StrCat("KirArray<", CudaType(buffer.type), "> ", name, "(",
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
  Line(absl::StrCat("cudaError_t error = launch_", kernel_.name, "(",
                    absl::StrJoin(arguments, ", "),
                    arguments.empty() ? "" : ", ", "0);"));
  Line("if (error == cudaSuccess) error = cudaDeviceSynchronize();");
  Line("if (error != cudaSuccess) {");
  Line("  std::fprintf(stderr, \"%s\\n\", cudaGetErrorString(error));");
  Line("  return 2;");
  Line("}");
  Raw(checks);
  Line(absl::StrCat("std::printf(\"", kernel_.name,
                    ": %s\\n\", same ? \"same\" : \"DIFFERENT\");"));
  Line("return same ? 0 : 1;");
  --indent_;
  Line("}");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> EmitCuda(const SmemPlan& plan,
                                     const CudaEmitOptions& options) {
  return Emitter(plan, options).Emit();
}

}  // namespace xla::gpu

#include "xla/backends/gpu/codegen/cuda_writer.h"

#include <algorithm>
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
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/codegen/cuda_prelude.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/status_macros.h"

namespace xla::gpu::cuda {

absl::StatusOr<std::string> Writer::Emit() {
  for (const kir::Buffer& buffer : kernel_.buffers) {
    if (TypeName(buffer.type).empty()) {
      return Unimplemented(buffer.location,
                           absl::StrCat("%", buffer.name, " is of type ",
                                        ElementTypeName(buffer.type)));
    }
  }
  CollectWritten();
  // Once in a file of several kernels.
  if (options_.with_prelude) {
    Raw("#ifndef KIR_PRELUDE\n#define KIR_PRELUDE\n");
    Raw(kCudaPrelude);
    Raw(kCudaMmaPrelude);
    Raw("#endif  // KIR_PRELUDE\n");
  }
  Raw(absl::StrCat("\n// Shared memory: ", plan_.total.ToString(), " bytes, ",
                   plan_.syncs_total, " block barriers.\n"));
  Line(absl::StrCat("__global__ void ", LaunchBounds(), name_, "_kernel(",
                    Parameters(), ") {"));
  ++indent_;
  RETURN_IF_ERROR(DeclareShared());
  RETURN_IF_ERROR(Body(kernel_.body, "true"));
  --indent_;
  Line("}");
  Raw("\n#ifndef __CUDACC_RTC__\n");
  EmitLaunch();
  if (options_.with_main) {
    RETURN_IF_ERROR(EmitMain());
  }
  Raw("#endif\n");
  return std::move(text_);
}

// So few registers that the blocks that the kernel asks for run side by side.
std::string Writer::LaunchBounds() const {
  int64_t blocks = 0, threads = 1;
  if (!absl::SimpleAtoi(kernel_.FindOption("blocks_per_sm").value_or(""),
                        &blocks)) {
    return "";
  }
  for (const std::optional<int64_t>& extent : kernel_.BlockExtents()) {
    threads *= extent.value_or(0);
  }
  return blocks < 1 || threads == 0
             ? ""
             : absl::StrCat("__launch_bounds__(", threads, ", ", blocks, ") ");
}

absl::Status Writer::Unimplemented(kir::SourceLocation location,
                                   absl::string_view what) const {
  return kernel_.ErrorAt(location, absl::StrCat(what, ": no CUDA for this"),
                         absl::StatusCode::kUnimplemented);
}

void Writer::CollectWritten() {
  kir::ForEachStatement(kernel_.body, [&](const kir::Statement& statement) {
    const kir::Expr* expr = statement.As<kir::Expr>();
    if (expr == nullptr) return;
    for (const kir::Operand& output : expr->outputs) {
      written_.insert(output.buffer);
    }
  });
}

absl::Status Writer::DeclareShared() {
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
    const std::string type(TypeName(buffer.type));
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

absl::Status Writer::DeclareBarriers() {
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

// `active` is the C++ condition under which the current thread takes part,
// "true" if it always does. Bodies that contain a barrier are entered by all
// threads, with `active` handed down to the statements that have effects; other
// bodies are simply guarded by an `if`.
absl::Status Writer::Body(const std::vector<kir::Statement>& body,
                          const std::string& active) {
  for (const kir::Statement& statement : body) {
    RETURN_IF_ERROR(One(statement, active));
  }
  return absl::OkStatus();
}

absl::Status Writer::One(const kir::Statement& statement,
                         const std::string& active) {
  if (const auto* alloc = statement.As<kir::Alloc>()) {
    return EmitAlloc(*alloc, statement);
  }
  if (const auto* loop = statement.As<kir::Loop>()) {
    return EmitLoop(*loop, active);
  }
  if (const auto* branch = statement.As<kir::If>()) {
    const std::string taken = index_.Truth(branch->predicate);
    // Of a uniform branch every thread takes the same side, whether it takes
    // part or not.
    const bool keep = active != "true" && (HasSync(branch->then_body) ||
                                           HasSync(branch->else_body));
    Line(absl::StrCat("if (",
                      active == "true" || keep
                          ? taken
                          : absl::StrCat(active, " && (", taken, ")"),
                      ") {"));
    ++indent_;
    const bool is_uniform = branch->uniformity == kir::Uniformity::kUniform;
    divergent_ += is_uniform ? 0 : 1;
    RETURN_IF_ERROR(Body(branch->then_body, keep ? active : "true"));
    --indent_;
    if (!branch->else_body.empty()) {
      Line("} else {");
      ++indent_;
      RETURN_IF_ERROR(Body(branch->else_body, active));
      --indent_;
    }
    divergent_ -= is_uniform ? 0 : 1;
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
    std::string text =
        half->is_wait ? absl::StrCat("kir_mbarrier_wait(", barrier, ", phase_",
                                     barrier, "); phase_", barrier, " ^= 1;")
                      : absl::StrCat("kir_mbarrier_arrive(", barrier, ");");
    // Of a loop over some threads, only those count.
    if (active != "true") {
      text = absl::StrCat("if (", active, ") { ", text, " }");
    }
    Line(text);
    return absl::OkStatus();
  }
  if (const auto* async = statement.As<kir::Async>()) {
    return EmitAsync(*async, active);
  }
  return EmitExpr(*statement.As<kir::Expr>(), statement, active);
}

absl::Status Writer::EmitAlloc(const kir::Alloc& alloc,
                               const kir::Statement& statement) {
  const kir::Buffer& buffer = kernel_.buffers[alloc.buffer];
  if (buffer.memory == kir::Memory::kShared) return absl::OkStatus();
  const std::string type(TypeName(buffer.type));
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
  const std::string aligned =
      buffer.vector_width.has_value()
          ? absl::StrCat("alignas(",
                         *buffer.vector_width * kir::ElementBytes(buffer.type),
                         ") ")
          : "";
  Line(absl::StrCat(aligned, type, " ", name, "[", *elements, "] = {};"));
  // A reduction into what nothing was written to starts from its identity.
  std::string identity;
  kir::ForEachStatement(kernel_.body, [&](const kir::Statement& other) {
    const kir::Expr* expr = other.As<kir::Expr>();
    if (expr == nullptr || !absl::StartsWith(expr->op, "reduce.")) return;
    if (expr->outputs[0].buffer != alloc.buffer || !identity.empty()) return;
    identity = absl::StrCat(
        CombinerName(kir::OpCombiner(expr->op)), "::Identity<",
        IsInteger(buffer.type) ? type : ComputeType(buffer.type), ">()");
    // The one type of floats without infinities.
    if (buffer.type == kir::ElementType::kF8E4M3FN) {
      identity = absl::StrCat("kir_clamp<float>(-448, ", identity, ", 448)");
    }
  });
  if (!identity.empty() && !absl::StrContains(identity, "KirAdd")) {
    Line(absl::StrCat("for (int k = 0; k < ", *elements, "; ++k) ", name,
                      "[k] = kir_to<", type, ">(", identity, ");"));
  }
  return absl::OkStatus();
}

absl::Status Writer::Inside(const kir::Loop& loop, const std::string& active) {
  index_.Open(loop);
  const absl::Status status = Body(loop.body, active);
  index_.Close(loop);
  return status;
}

absl::Status Writer::EmitLoop(const kir::Loop& loop,
                              const std::string& active) {
  if (kir::ThreadDimension(loop.kind) >= 0 ||
      kir::BlockDimension(loop.kind) >= 0) {
    return EmitParallel(loop, active);
  }
  if (const std::optional<std::string> copy = VectorCopy(loop)) {
    Line(absl::StrCat(
        active == "true" ? "" : absl::StrCat("if (", active, ") "), *copy));
    return absl::OkStatus();
  }
  return EmitSerial(loop, active);
}

absl::Status Writer::EmitParallel(const kir::Loop& loop,
                                  const std::string& active) {
  const std::string index = index_.SymbolName(loop.index);
  const std::string number = absl::StrCat(
      index_.SymbolName(std::string(kir::ParallelIndexName(loop.kind))),
      loop.step.IsConstant(1) ? ""
                              : absl::StrCat(" * (", Text(loop.step), ")"));
  Line(absl::StrCat("{  // ", kir::LoopKindName(loop.kind)));
  ++indent_;
  Line(absl::StrCat(
      "const ", index_.type(), " ", index, " = ",
      loop.start.IsConstant(0) ? "" : absl::StrCat(Text(loop.start), " + "),
      number, ";"));
  std::string inside = absl::StrCat(index, " < ", Text(loop.stop));
  if (index_.AllTakePart(loop)) inside = "true";
  std::string both = active == "true"   ? inside
                     : inside == "true" ? active
                                        : absl::StrCat(active, " && ", inside);
  // Blocks skip as a whole.
  // Full-mask shuffles are emitted only where no lane of a warp can be missing:
  // divergent_ counts what may have kept some away around the current
  // statement.
  const bool may_differ =
      both != "true" && kir::ThreadDimension(loop.kind) >= 0;
  divergent_ += may_differ ? 1 : 0;
  if (both == "true") {
    RETURN_IF_ERROR(Inside(loop, "true"));
  } else if (HasSync(loop.body)) {
    // All threads go through, for the barriers inside.
    const std::string flag = absl::StrCat("active_", ++flags_);
    Line(absl::StrCat("const bool ", flag, " = ", both, ";"));
    RETURN_IF_ERROR(Inside(loop, flag));
  } else {
    Line(absl::StrCat("if (", both, ") {"));
    ++indent_;
    RETURN_IF_ERROR(Inside(loop, "true"));
    --indent_;
    Line("}");
  }
  divergent_ -= may_differ ? 1 : 0;
  --indent_;
  Line("}");
  return absl::OkStatus();
}

namespace {

// A loop of so many statements, all its iterations together, is written out; of
// a longer one as many iterations as that makes, at most eight, so that their
// loads are on the way before the first value is needed. A vector is one.
constexpr int64_t kMostUnrolled = 192;
constexpr int64_t kMostRounds = 8;

std::optional<int64_t> Trips(const kir::Loop& loop) {
  const std::optional<int64_t> length = (loop.stop - loop.start).AsConstant();
  const std::optional<int64_t> step = loop.step.AsConstant();
  if (!length.has_value() || step.value_or(0) < 1) return std::nullopt;
  return *length <= 0 ? 0 : (*length - 1) / *step + 1;
}

// Statements that run, written out; more than kMostUnrolled where threads wait
// for one another.
int64_t Weight(const std::vector<kir::Statement>& body) {
  int64_t weight = 0;
  for (const kir::Statement& statement : body) {
    if (weight > kMostUnrolled) break;
    if (const auto* loop = statement.As<kir::Loop>()) {
      const std::optional<int64_t> trips =
          loop->kind == kir::LoopKind::kVectorize ? 1 : Trips(*loop);
      weight += trips.has_value()
                    ? std::min(*trips, kMostUnrolled + 1) * Weight(loop->body)
                    : kMostUnrolled + 1;
    } else if (const auto* branch = statement.As<kir::If>()) {
      weight += 1 + Weight(branch->then_body) + Weight(branch->else_body);
    } else if (const auto* expr = statement.As<kir::Expr>()) {
      weight += expr->sync ? kMostUnrolled + 1 : 1;
    } else if (statement.As<kir::Alloc>() == nullptr) {
      weight += kMostUnrolled + 1;
    }
  }
  return std::min(weight, kMostUnrolled + 1);
}

// "#pragma unroll" and how often; empty where it is left to the compiler.
std::string Unrolled(const kir::Loop& loop) {
  if (loop.kind == kir::LoopKind::kUnroll ||
      loop.kind == kir::LoopKind::kVectorize || loop.unroll) {
    return "#pragma unroll";
  }
  const std::optional<int64_t> trips = Trips(loop);
  const int64_t weight = Weight(loop.body);
  if (!trips.has_value() || weight < 1 || weight > kMostUnrolled) return "";
  if (*trips <= kMostUnrolled / weight) return "#pragma unroll";
  int64_t rounds = kMostRounds;
  while (rounds > kMostUnrolled / weight) rounds /= 2;
  return rounds < 2 ? "" : absl::StrCat("#pragma unroll ", rounds);
}

}  // namespace

absl::Status Writer::EmitSerial(const kir::Loop& loop,
                                const std::string& active) {
  const std::string index = index_.SymbolName(loop.index);
  const bool keep = active != "true" && HasSync(loop.body);
  const bool guarded = active != "true" && !keep;
  if (guarded) {
    Line(absl::StrCat("if (", active, ") {"));
    ++indent_;
  }
  if (Trips(loop) == 1) {
    Line("{");
    ++indent_;
    Line(absl::StrCat("const ", index_.type(), " ", index, " = ",
                      Text(loop.start), ";"));
  } else {
    if (const std::string unrolled = Unrolled(loop); !unrolled.empty()) {
      Line(unrolled);
    }
    Line(absl::StrCat("for (", index_.type(), " ", index, " = ",
                      Text(loop.start), "; ", index, " < ", Text(loop.stop),
                      "; ", index, " += ", Text(loop.step), ") {"));
    ++indent_;
  }
  const bool may_differ = !Trips(loop).has_value() || guarded;
  divergent_ += may_differ ? 1 : 0;
  serial_.push_back(loop.index);
  RETURN_IF_ERROR(Inside(loop, keep ? active : "true"));
  serial_.pop_back();
  divergent_ -= may_differ ? 1 : 0;
  --indent_;
  Line("}");
  if (guarded) {
    --indent_;
    Line("}");
  }
  return absl::OkStatus();
}

// All elements of a vector move in one instruction, so nothing may differ
// between them: the condition of a copy must not mention the loop's index, and
// both places must be contiguous and aligned to the vector. For parameters the
// alignment is recorded, and the host checks it before a launch.
std::optional<std::string> Writer::VectorCopy(const kir::Loop& loop) {
  const kir::Expr* copy =
      loop.body.size() == 1 ? loop.body[0].As<kir::Expr>() : nullptr;
  const int64_t width = loop.stop.AsConstant().value_or(1);
  if (loop.kind != kir::LoopKind::kVectorize || copy == nullptr || width < 2 ||
      !loop.start.IsConstant(0) || !loop.step.IsConstant(1) ||
      copy->op != "copy" || copy->sync ||
      (copy->async != kir::AsyncKind::kNone &&
       copy->async != kir::AsyncKind::kCp)) {
    return std::nullopt;
  }
  const auto* from = std::get_if<kir::Operand>(&copy->arguments[0]);
  const kir::Operand& to = copy->outputs[0];
  if (from == nullptr ||
      kernel_.buffers[from->buffer].type != kernel_.buffers[to.buffer].type) {
    return std::nullopt;
  }
  const std::optional<kir::Operand> target = VectorPlace(to, loop.index, width);
  const std::optional<kir::Operand> source =
      VectorPlace(*from, loop.index, width);
  if (!target.has_value() || !source.has_value()) return std::nullopt;
  const int64_t bytes =
      width * kir::ElementBytes(kernel_.buffers[to.buffer].type);
  const bool is_async = copy->async == kir::AsyncKind::kCp && bytes >= 4;
  if (copy->arguments.size() > 1) {
    const auto* condition = std::get_if<AffineExpr>(&copy->arguments[1]);
    if (condition == nullptr || condition->Mentions(loop.index) || !is_async) {
      return std::nullopt;
    }
  }
  for (const kir::Operand& place : {*target, *source}) {
    const kir::Buffer& buffer = kernel_.buffers[place.buffer];
    if (!buffer.is_param) continue;
    int64_t& alignment = aligned_[place.buffer];
    alignment = std::max(alignment, bytes);
  }
  if (is_async) {
    return AsyncCopy(*copy, Element(*target), Element(*source), bytes);
  }
  return absl::StrCat("kir_copy_vector<", width, ">(&", Element(*target), ", &",
                      Element(*source), ");");
}

std::string Writer::AsyncCopy(const kir::Expr& copy, const std::string& to,
                              const std::string& from, int64_t bytes) {
  const std::string zeros =
      copy.arguments.size() < 2
          ? ""
          : absl::StrCat(", ", Condition(copy.arguments[1]), " ? 0 : ", bytes);
  return absl::StrCat("__pipeline_memcpy_async(&", to, ", &", from, ", ", bytes,
                      zeros, ");");
}

std::string Writer::Condition(const kir::Argument& argument) {
  if (const auto* e = std::get_if<AffineExpr>(&argument)) {
    return absl::StrCat("(", index_.Truth(*e), ")");
  }
  const auto* operand = std::get_if<kir::Operand>(&argument);
  return operand == nullptr
             ? absl::StrCat(std::get<double>(argument) != 0 ? "true" : "false")
             : absl::StrCat("(kir_to<float>(", Element(*operand), ") != 0)");
}

absl::Status Writer::EmitAsync(const kir::Async& async,
                               const std::string& active) {
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
        Line(absl::StrCat(
            active == "true" ? "" : absl::StrCat("if (", active, ") "),
            "kir_mbarrier_arrive(", barrier, ");"));
      } else if (async.name == "wait_parity") {
        // Copies by one thread are complete when the block has met.
        Line("__syncthreads();");
      }
      break;
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu::cuda

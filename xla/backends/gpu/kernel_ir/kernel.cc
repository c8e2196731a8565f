#include "xla/backends/gpu/kernel_ir/kernel.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"

namespace xla::gpu::kir {
namespace {

struct TypeRow {
  absl::string_view name;
  int bytes;
};

constexpr TypeRow kTypes[] = {
    {"pred", 1},   {"s8", 1},  {"u8", 1},  {"f8e4m3fn", 1},
    {"f8e5m2", 1}, {"s16", 2}, {"u16", 2}, {"f16", 2},
    {"bf16", 2},   {"s32", 4}, {"u32", 4}, {"f32", 4},
    {"s64", 8},    {"u64", 8}, {"f64", 8}, {"c64", 8},
};
constexpr absl::string_view kMemories[] = {"local", "shared", "global", "tmem"};
constexpr absl::string_view kLoopKinds[] = {
    "serial", "unroll",    "unswitch", "vectorize", "tidx",  "tidy",
    "tidz",   "bidx",      "bidy",     "bidz",      "mma",   "bulk",
    "group",  "broadcast", "stride",   "device",    "stream"};
constexpr absl::string_view kStages[] = {
    "", "prologue", "main", "epilogue", "async_warp", "compute_warp"};
constexpr absl::string_view kUniformities[] = {"uniform", "warp", "divergent"};
constexpr absl::string_view kScopes[] = {"block", "warp", "grid", "cluster"};
constexpr absl::string_view kAsyncKinds[] = {"", "cp", "bulk_load",
                                             "bulk_store", "wgmma"};

// The enumerator whose name stands at the same place; never the empty name.
template <typename E>
std::optional<E> FromName(absl::Span<const absl::string_view> names,
                          absl::string_view name) {
  if (name.empty()) return std::nullopt;
  auto it = std::find(names.begin(), names.end(), name);
  if (it == names.end()) return std::nullopt;
  return static_cast<E>(it - names.begin());
}

}  // namespace

absl::string_view ElementTypeName(ElementType type) {
  return kTypes[static_cast<int>(type)].name;
}
absl::string_view MemoryName(Memory memory) {
  return kMemories[static_cast<int>(memory)];
}
absl::string_view LoopKindName(LoopKind kind) {
  return kLoopKinds[static_cast<int>(kind)];
}
absl::string_view LoopStageName(LoopStage stage) {
  return kStages[static_cast<int>(stage)];
}
absl::string_view UniformityName(Uniformity uniformity) {
  return kUniformities[static_cast<int>(uniformity)];
}
absl::string_view SyncScopeName(SyncScope scope) {
  return kScopes[static_cast<int>(scope)];
}
absl::string_view AsyncKindName(AsyncKind kind) {
  return kAsyncKinds[static_cast<int>(kind)];
}

std::optional<ElementType> ElementTypeFromName(absl::string_view name) {
  for (int i = 0; i < static_cast<int>(std::size(kTypes)); ++i) {
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}
std::optional<Memory> MemoryFromName(absl::string_view name) {
  return FromName<Memory>(kMemories, name);
}
std::optional<LoopKind> LoopKindFromName(absl::string_view name) {
  return FromName<LoopKind>(kLoopKinds, name);
}
std::optional<LoopStage> LoopStageFromName(absl::string_view name) {
  return FromName<LoopStage>(kStages, name);
}
std::optional<Uniformity> UniformityFromName(absl::string_view name) {
  return FromName<Uniformity>(kUniformities, name);
}
std::optional<SyncScope> SyncScopeFromName(absl::string_view name) {
  return FromName<SyncScope>(kScopes, name);
}
std::optional<AsyncKind> AsyncKindFromName(absl::string_view name) {
  return FromName<AsyncKind>(kAsyncKinds, name);
}

int ElementBytes(ElementType type) {
  return kTypes[static_cast<int>(type)].bytes;
}

int ThreadDimension(LoopKind kind) {
  if (kind < LoopKind::kTidX || kind > LoopKind::kTidZ) return -1;
  return static_cast<int>(kind) - static_cast<int>(LoopKind::kTidX);
}

int BlockDimension(LoopKind kind) {
  if (kind < LoopKind::kBidX || kind > LoopKind::kBidZ) return -1;
  return static_cast<int>(kind) - static_cast<int>(LoopKind::kBidX);
}

absl::string_view ParallelIndexName(LoopKind kind) {
  constexpr absl::string_view kNames[] = {"tid.x", "tid.y", "tid.z",
                                          "bid.x", "bid.y", "bid.z"};
  if (kind < LoopKind::kTidX || kind > LoopKind::kBidZ) return "";
  return kNames[static_cast<int>(kind) - static_cast<int>(LoopKind::kTidX)];
}

bool Symbol::operator==(const Symbol& o) const {
  return name == o.name && binding == o.binding;
}
bool IterationId::operator==(const IterationId& o) const {
  return name == o.name && extent == o.extent;
}
bool CircularBuffer::operator==(const CircularBuffer& o) const {
  return stages == o.stages && prefetch == o.prefetch;
}
bool Buffer::operator==(const Buffer& o) const {
  auto fields = [](const Buffer& b) {
    return std::tie(b.name, b.memory, b.type, b.extents, b.align, b.promote,
                    b.zero_init, b.reset_to_zero, b.swizzle, b.vector_width,
                    b.circular, b.ids, b.alias, b.address, b.is_param);
  };
  return fields(*this) == fields(o);
}
bool Operand::operator==(const Operand& o) const {
  return buffer == o.buffer && indices == o.indices;
}
bool Alloc::operator==(const Alloc& o) const { return buffer == o.buffer; }
bool Loop::operator==(const Loop& o) const {
  return index == o.index && kind == o.kind && start == o.start &&
         stop == o.stop && step == o.step && unroll == o.unroll &&
         stage == o.stage && ids == o.ids && body == o.body;
}
bool If::operator==(const If& o) const {
  return uniformity == o.uniformity && predicate == o.predicate &&
         then_body == o.then_body && else_body == o.else_body;
}
bool Expr::operator==(const Expr& o) const {
  return outputs == o.outputs && op == o.op && arguments == o.arguments &&
         sync == o.sync && async == o.async && mbarrier == o.mbarrier;
}
bool Sync::operator==(const Sync& o) const {
  return scope == o.scope && war == o.war && group == o.group;
}
bool ArriveWait::operator==(const ArriveWait& o) const {
  return is_wait == o.is_wait && barrier == o.barrier && phase == o.phase;
}
bool Async::operator==(const Async& o) const {
  return op == o.op && kind == o.kind && keep == o.keep && name == o.name &&
         barrier == o.barrier && argument == o.argument;
}
bool Statement::operator==(const Statement& o) const { return node == o.node; }
bool Launch::operator==(const Launch& o) const {
  return grid == o.grid && block == o.block;
}
bool Kernel::operator==(const Kernel& o) const {
  return name == o.name && symbols == o.symbols && launch == o.launch &&
         ids == o.ids && options == o.options && buffers == o.buffers &&
         body == o.body;
}

AffineExpr Buffer::ElementCount() const {
  AffineExpr count = circular.has_value() ? circular->stages : 1;
  for (const AffineExpr& extent : extents) count = count * extent;
  return count;
}

AffineExpr Buffer::Bytes() const {
  return ElementCount() * AffineExpr(ElementBytes(type));
}

std::optional<BufferId> Kernel::FindBuffer(absl::string_view name) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].name == name) return static_cast<BufferId>(i);
  }
  return std::nullopt;
}

std::optional<std::string> Kernel::FindOption(absl::string_view option) const {
  for (const auto& [name, value] : options) {
    if (name == option) return value;
  }
  return std::nullopt;
}

std::vector<BufferId> Kernel::OwnArrays() const {
  std::vector<BufferId> own;
  for (const auto& [name, value] : options) {
    const std::optional<BufferId> id =
        name == "own" ? FindBuffer(value) : std::nullopt;
    if (id.has_value()) own.push_back(*id);
  }
  return own;
}

std::array<std::optional<int64_t>, 3> Kernel::BlockExtents() const {
  if (!launch.has_value()) return {1, 1, 1};
  AffineExpr::Binding bound;
  for (const Symbol& symbol : symbols) {
    if (symbol.binding) bound[symbol.name] = *symbol.binding;
  }
  std::array<std::optional<int64_t>, 3> extents;
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<int64_t> value = launch->block[i].Evaluate(bound);
    if (value.ok()) extents[i] = *value;
  }
  return extents;
}

AffineExpr::Binding Kernel::Bindings() const {
  AffineExpr::Binding bound;
  for (const Symbol& symbol : symbols) {
    if (symbol.binding) bound[symbol.name] = *symbol.binding;
  }
  constexpr absl::string_view kAxes[] = {".x", ".y", ".z"};
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<int64_t> block = 1, grid = 1;
    if (launch.has_value()) {
      block = launch->block[i].Evaluate(bound);
      grid = launch->grid[i].Evaluate(bound);
    }
    if (block.ok()) bound[absl::StrCat("bdim", kAxes[i])] = *block;
    if (grid.ok()) bound[absl::StrCat("gdim", kAxes[i])] = *grid;
  }
  return bound;
}

absl::Status Kernel::ErrorAt(SourceLocation location, absl::string_view message,
                             absl::StatusCode code) const {
  std::string text;
  if (source != nullptr) absl::StrAppend(&text, source->file, ":");
  if (location.line > 0) {
    absl::StrAppend(&text, location.line, ":", location.column, ":");
  }
  absl::StrAppend(&text, text.empty() ? "" : " ", "error: ", message);
  if (source != nullptr && location.line > 0) {
    std::vector<absl::string_view> lines = absl::StrSplit(source->text, '\n');
    if (location.line <= static_cast<int>(lines.size())) {
      absl::string_view line = lines[location.line - 1];
      std::string indent;
      for (int i = 0; i + 1 < location.column; ++i) {
        indent +=
            i < static_cast<int>(line.size()) && line[i] == '\t' ? '\t' : ' ';
      }
      absl::StrAppend(&text, "\n", line, "\n", indent, "^");
    }
  }
  return absl::Status(code, text);
}

std::optional<int> LanesOfWarpReduce(const Expr& expr) {
  if (expr.arguments.size() < 2) return 32;
  int64_t lanes = 0;
  if (const auto* number = std::get_if<double>(&expr.arguments[1])) {
    lanes = *number >= 1 && *number <= 32 ? static_cast<int64_t>(*number) : 0;
    if (static_cast<double>(lanes) != *number) return std::nullopt;
  } else if (const auto* e = std::get_if<AffineExpr>(&expr.arguments[1])) {
    lanes = e->AsConstant().value_or(0);
  }
  if (lanes < 1 || lanes > 32 || (lanes & (lanes - 1)) != 0) {
    return std::nullopt;
  }
  return static_cast<int>(lanes);
}

void ForEachStatement(const std::vector<Statement>& body,
                      absl::FunctionRef<void(const Statement&)> visit) {
  for (const Statement& statement : body) {
    visit(statement);
    if (const Loop* loop = statement.As<Loop>()) {
      ForEachStatement(loop->body, visit);
    } else if (const If* branch = statement.As<If>()) {
      ForEachStatement(branch->then_body, visit);
      ForEachStatement(branch->else_body, visit);
    }
  }
}

void ForEachStatement(std::vector<Statement>& body,
                      absl::FunctionRef<void(Statement&)> visit) {
  for (Statement& statement : body) {
    visit(statement);
    if (Loop* loop = statement.As<Loop>()) {
      ForEachStatement(loop->body, visit);
    } else if (If* branch = statement.As<If>()) {
      ForEachStatement(branch->then_body, visit);
      ForEachStatement(branch->else_body, visit);
    }
  }
}

}  // namespace xla::gpu::kir

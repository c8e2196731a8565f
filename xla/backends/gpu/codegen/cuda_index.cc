#include "xla/backends/gpu/codegen/cuda_index.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace xla::gpu::cuda {
namespace {

using Op = AffineExpr::Op;

// More than any int; sums and products stop here.
constexpr int64_t kTooMuch = int64_t{1} << 32;
constexpr int64_t kMostInt = std::numeric_limits<int>::max();

int64_t Sum(int64_t a, int64_t b) { return std::min(a + b, kTooMuch); }
int64_t Product(int64_t a, int64_t b) {
  return a != 0 && b > kTooMuch / a ? kTooMuch : std::min(a * b, kTooMuch);
}
int64_t Magnitude(int64_t a) {
  return a < -kTooMuch ? kTooMuch : std::min(a < 0 ? -a : a, kTooMuch);
}

// The atom that is the whole expression, if it is one.
const AffineExpr::AtomNode* OnlyAtom(const AffineExpr& e) {
  if (e.terms().size() != 1 || e.constant() != 0) return nullptr;
  const AffineExpr::Term& term = e.terms()[0];
  return term.coefficient == 1 && term.factors.size() == 1
             ? term.factors[0].get()
             : nullptr;
}

constexpr std::pair<absl::string_view, absl::string_view> kKnown[] = {
    {"tid.", "threadIdx."},
    {"bid.", "blockIdx."},
    {"bdim.", "blockDim."},
    {"gdim.", "gridDim."}};

}  // namespace

// C++ has no dots in names. "a_b" -> "i_a_b", "a.b" -> "i0_a_0b", which is no
// name without dots, and "a.b_c" -> "i0_a_0b__c".
std::string CudaName(char kind, absl::string_view name) {
  return absl::StrContains(name, '.')
             ? absl::StrCat(
                   std::string(1, kind), "0_",
                   absl::StrReplaceAll(name, {{"_", "__"}, {".", "_0"}}))
             : absl::StrCat(std::string(1, kind), "_", name);
}

bool HasSync(const std::vector<kir::Statement>& body) {
  bool found = false;
  kir::ForEachStatement(body, [&](const kir::Statement& statement) {
    const kir::Expr* expr = statement.As<kir::Expr>();
    found |= expr != nullptr && expr->sync;
  });
  return found;
}

IndexWriter::IndexWriter(const kir::Kernel& kernel) {
  const auto add = [&](absl::string_view index, absl::string_view extent,
                       const AffineExpr& launched) {
    const std::optional<Interval> bounds = launched.Bounds({});
    if (!bounds.has_value() || bounds->lo < 1) return;
    ranges_[std::string(index)] = {0, bounds->hi - 1};
    ranges_[std::string(extent)] = *bounds;
  };
  for (int d = 0; d < 3; ++d) {
    const std::string axis(1, "xyz"[d]);
    // Without a launch there is one thread.
    const bool is_known = kernel.launch.has_value();
    add(absl::StrCat("tid.", axis), absl::StrCat("bdim.", axis),
        is_known ? kernel.launch->block[d] : 1);
    add(absl::StrCat("bid.", axis), absl::StrCat("gdim.", axis),
        is_known ? kernel.launch->grid[d] : 1);
  }
  narrow_ = Fits(kernel, kernel.body);
}

std::optional<IndexWriter::Interval> IndexWriter::Launched(
    const kir::Loop& loop) const {
  const absl::string_view name = kir::ParallelIndexName(loop.kind);
  const auto number = ranges_.find(std::string(name));
  const std::optional<Interval> start = loop.start.Bounds(ranges_);
  const std::optional<int64_t> step = loop.step.AsConstant();
  if (name.empty() || number == ranges_.end() || !start.has_value() ||
      step.value_or(0) < 1) {
    return std::nullopt;
  }
  const int64_t last = Product(number->second.hi, *step);
  if (Sum(Magnitude(start->hi), last) >= kTooMuch) return std::nullopt;
  return Interval{start->lo, start->hi + last};
}

bool IndexWriter::AllTakePart(const kir::Loop& loop) const {
  const std::optional<Interval> launched = Launched(loop);
  const std::optional<Interval> stop = loop.stop.Bounds(ranges_);
  return launched.has_value() && stop.has_value() && launched->hi < stop->lo;
}

std::optional<IndexWriter::Interval> IndexWriter::Enter(const kir::Loop& loop) {
  std::optional<Interval> hidden;
  const auto outer = ranges_.find(loop.index);
  if (outer != ranges_.end()) hidden = outer->second;
  std::optional<Interval> range;
  const std::optional<Interval> start = loop.start.Bounds(ranges_);
  const std::optional<Interval> stop = loop.stop.Bounds(ranges_);
  if (std::optional<Interval> launched = Launched(loop)) {
    // A thread without an iteration evaluates what the body computes only where
    // the body has a barrier, which it must reach too. Its index may be
    // anything up to the number of launched threads then; elsewhere it is below
    // the end of the loop.
    if (stop.has_value() && !HasSync(loop.body)) {
      launched->hi =
          std::max(launched->lo, std::min(launched->hi, stop->hi - 1));
    }
    range = launched;
  } else if (kir::ParallelIndexName(loop.kind).empty() && start.has_value() &&
             stop.has_value()) {
    range = Interval{start->lo, std::max(start->lo, stop->hi - 1)};
  }
  if (range.has_value()) {
    ranges_[loop.index] = *range;
  } else {
    ranges_.erase(loop.index);
  }
  return hidden;
}

void IndexWriter::Leave(const kir::Loop& loop,
                        const std::optional<Interval>& hidden) {
  if (hidden.has_value()) {
    ranges_[loop.index] = *hidden;
  } else {
    ranges_.erase(loop.index);
  }
}

// A sum is added in any order, so it counts as much as its terms together.
int64_t IndexWriter::Most(const AffineExpr& e) const {
  if (!e.IsValid()) return kTooMuch;
  int64_t sum = Magnitude(e.constant());
  for (const AffineExpr::Term& term : e.terms()) {
    int64_t product = Magnitude(term.coefficient);
    for (const AffineExpr::Atom& atom : term.factors) {
      const int64_t factor = Most(*atom);
      // Products that become small again, by a factor 0, are not looked at.
      product = Product(product, std::max<int64_t>(factor, 1));
    }
    sum = Sum(sum, product);
  }
  return sum;
}

int64_t IndexWriter::Most(const AffineExpr::AtomNode& atom) const {
  if (atom.op == Op::kSymbol) {
    const auto range = ranges_.find(atom.name);
    if (range == ranges_.end()) return kTooMuch;
    return std::max(Magnitude(range->second.lo), Magnitude(range->second.hi));
  }
  int64_t most = 0, sum = 0;
  for (const AffineExpr& argument : atom.args) {
    const int64_t of_argument = Most(argument);
    if (of_argument > kMostInt) return kTooMuch;
    most = std::max(most, of_argument);
    sum = Sum(sum, of_argument);
  }
  switch (atom.op) {
    case Op::kFloorDiv: {
      // Towards minus infinity.
      const bool may_be_less = !IsAtLeast(atom.args[0], 0);
      const std::optional<Interval> by = atom.args[1].Bounds(ranges_);
      return Most(atom.args[0]) /
                 (by.has_value() ? std::max<int64_t>(by->lo, 1) : 1) +
             (may_be_less ? 1 : 0);
    }
    case Op::kMod:
      // The remainder, and before its sign is right.
      return IsAtLeast(atom.args[0], 0)
                 ? std::min(Most(atom.args[0]), Most(atom.args[1]))
                 : Most(atom.args[1]);
    case Op::kMin:
    case Op::kMax:
      return most;
    default:
      return Sum(sum, 1);
  }
}

bool IndexWriter::Fits(const kir::Kernel& kernel,
                       const kir::Operand& operand) const {
  const kir::Buffer& buffer = kernel.buffers[operand.buffer];
  if (buffer.circular.has_value()) return false;
  AffineExpr linear;
  for (size_t d = 0; d < operand.indices.size(); ++d) {
    // Each index alone is compared with its extent, where there is padding.
    if (Most(operand.indices[d]) > kMostInt) return false;
    linear = linear * buffer.extents[d] + operand.indices[d];
  }
  return Most(linear) <= kMostInt;
}

// One expression that does not fit makes all indices of the kernel 64 bits
// wide.
bool IndexWriter::Fits(const kir::Kernel& kernel,
                       const std::vector<kir::Statement>& body) {
  return absl::c_all_of(body, [&](const kir::Statement& statement) {
    if (const auto* loop = statement.As<kir::Loop>()) {
      // Behind the last iteration the index is one step further on.
      if (Most(loop->start) > kMostInt || Most(loop->step) > kMostInt ||
          Sum(Most(loop->stop), Most(loop->step)) > kMostInt) {
        return false;
      }
      const std::optional<Interval> launched = Launched(*loop);
      if (launched.has_value() && launched->hi > kMostInt) return false;
      const std::optional<Interval> hidden = Enter(*loop);
      const bool fits = Most(AffineExpr::Symbol(loop->index)) <= kMostInt &&
                        Fits(kernel, loop->body);
      Leave(*loop, hidden);
      return fits;
    }
    if (const auto* branch = statement.As<kir::If>()) {
      return Most(branch->predicate) <= kMostInt &&
             Fits(kernel, branch->then_body) && Fits(kernel, branch->else_body);
    }
    if (const auto* expr = statement.As<kir::Expr>()) {
      return absl::c_all_of(expr->outputs,
                            [&](const kir::Operand& output) {
                              return Fits(kernel, output);
                            }) &&
             absl::c_all_of(
                 expr->arguments, [&](const kir::Argument& argument) {
                   if (const auto* operand =
                           std::get_if<kir::Operand>(&argument)) {
                     // A gather takes the number of the element from elsewhere.
                     return operand->indices.empty() || Fits(kernel, *operand);
                   }
                   const auto* e = std::get_if<AffineExpr>(&argument);
                   return e == nullptr || Most(*e) <= kMostInt;
                 });
    }
    const auto* async = statement.As<kir::Async>();
    return async == nullptr || !async->argument.has_value();
  });
}

bool IndexWriter::IsAtLeast(const AffineExpr& e, int64_t least) const {
  const std::optional<Interval> bounds = e.Bounds(ranges_);
  return bounds.has_value() && bounds->lo >= least;
}

std::string IndexWriter::SymbolName(const std::string& name) const {
  for (const auto& [prefix, cuda] : kKnown) {
    if (absl::StartsWith(name, prefix)) {
      return absl::StrCat(type(), "(", cuda, name.substr(prefix.size()), ")");
    }
  }
  return CudaName('i', name);
}

std::string IndexWriter::Text(absl::Span<const AffineExpr::Term> terms,
                              int64_t constant) const {
  std::string text;
  for (const AffineExpr::Term& term : terms) {
    if (!text.empty()) text += " + ";
    std::string product;
    if (term.coefficient != 1) {
      product = term.coefficient < 0
                    ? absl::StrCat(type(), "(", term.coefficient, ")")
                    : absl::StrCat(term.coefficient);
    }
    for (const AffineExpr::Atom& atom : term.factors) {
      absl::StrAppend(&product, product.empty() ? "" : " * ", Text(*atom));
    }
    text += product;
  }
  if (text.empty()) return absl::StrCat(constant);
  if (constant != 0) {
    absl::StrAppend(&text, constant < 0 ? " - " : " + ",
                    constant < 0 ? -constant : constant);
  }
  return text;
}

std::string IndexWriter::Text(const AffineExpr& e) const {
  return Text(e.terms(), e.constant());
}

std::string IndexWriter::Text(const AffineExpr::AtomNode& atom) const {
  if (atom.op == Op::kSymbol) return SymbolName(atom.name);
  const bool is_plain = atom.args.size() == 2 && IsAtLeast(atom.args[0], 0) &&
                        IsAtLeast(atom.args[1], 1);
  const char* name =
      atom.op == Op::kFloorDiv  ? (is_plain ? "kir_quotient" : "kir_floor_div")
      : atom.op == Op::kMod     ? (is_plain ? "kir_rest" : "kir_floor_mod")
      : atom.op == Op::kMin     ? "kir_least"
      : atom.op == Op::kMax     ? "kir_most"
      : atom.op == Op::kAlignUp ? "kir_align"
                                : "kir_masked";
  std::string text = Text(atom.args[0]);
  for (size_t i = 1; i < atom.args.size(); ++i) {
    text = absl::StrCat(name, "(", text, ", ", Text(atom.args[i]), ")");
  }
  return text;
}

std::string IndexWriter::All(absl::Span<const AffineExpr> args) const {
  std::vector<std::string> tests;
  for (const AffineExpr& argument : args) {
    if (!IsAtLeast(argument, 1)) tests.push_back(Positive(argument));
  }
  return tests.empty() ? "true" : absl::StrJoin(tests, " && ");
}

// True where `e` is more than 0: what is taken off stands on the other side.
std::string IndexWriter::Positive(const AffineExpr& e) const {
  if (const AffineExpr::AtomNode* atom = OnlyAtom(e)) {
    if (atom->op == Op::kMin) return All(atom->args);
    if (atom->op == Op::kMax && atom->args.size() == 2 &&
        atom->args[0].IsConstant(0)) {
      return Positive(atom->args[1]);
    }
  }
  if (Most(e) >= kTooMuch) return absl::StrCat("0 < ", Text(e));
  std::vector<AffineExpr::Term> sides[2];
  for (AffineExpr::Term term : e.terms()) {
    const bool is_less = term.coefficient < 0;
    if (is_less) term.coefficient = -term.coefficient;
    sides[is_less].push_back(std::move(term));
  }
  const int64_t constant = e.constant();
  return absl::StrCat(Text(sides[1], constant < 0 ? -constant : 0), " < ",
                      Text(sides[0], constant > 0 ? constant : 0));
}

std::string IndexWriter::Truth(const AffineExpr& e) const {
  return IsAtLeast(e, 0) ? Positive(e) : absl::StrCat(Text(e), " != 0");
}

}  // namespace xla::gpu::cuda

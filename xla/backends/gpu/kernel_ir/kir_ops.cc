#include "xla/backends/gpu/kernel_ir/kir_ops.h"

#include <algorithm>
#include <string>
#include <vector>

namespace xla::gpu::kir {
namespace {

constexpr OpInfo kOps[] = {
#define OP(name, op_class, least, most, outputs, combines) \
  {name, OpClass::op_class, least, most, outputs, combines},
#include "xla/backends/gpu/kernel_ir/kir_ops.def"
#undef OP
};

constexpr absl::string_view kCombiners[] = {"", "add", "mul", "max", "min"};

// Least number of inserted, deleted and changed characters.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      int above = row[j];
      row[j] = std::min(
          {above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

absl::Span<const OpInfo> AllOps() { return kOps; }

Combiner OpCombiner(absl::string_view op) {
  size_t dot = op.find('.');
  if (dot == absl::string_view::npos) return Combiner::kNone;
  auto it = std::find(std::begin(kCombiners), std::end(kCombiners),
                      op.substr(dot + 1));
  if (it == std::end(kCombiners)) return Combiner::kNone;
  return static_cast<Combiner>(it - std::begin(kCombiners));
}

absl::string_view CombinerOp(Combiner combiner) {
  return kCombiners[static_cast<int>(combiner)];
}

const OpInfo* FindOp(absl::string_view op) {
  absl::string_view base = op.substr(0, op.find('.'));
  for (const OpInfo& info : kOps) {
    if (info.name != base) continue;
    bool has_combiner = OpCombiner(op) != Combiner::kNone;
    bool has_dot = base.size() != op.size();
    return has_combiner == info.combines && has_dot == info.combines ? &info
                                                                     : nullptr;
  }
  return nullptr;
}

absl::string_view NearestOp(absl::string_view op) {
  absl::string_view base = op.substr(0, std::min<size_t>(op.find('.'), 32));
  absl::string_view best;
  int best_distance = 3;
  for (const OpInfo& info : kOps) {
    int distance = EditDistance(base, info.name);
    if (distance < best_distance) {
      best_distance = distance;
      best = info.name;
    }
  }
  return best;
}

bool IsOfBits(absl::string_view op) {
  return op == "bits" || op == "high_bits" || op == "low_bits";
}

}  // namespace xla::gpu::kir

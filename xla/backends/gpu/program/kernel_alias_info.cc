#include "xla/backends/gpu/program/kernel_alias_info.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "xla/backends/gpu/kernel_ir/kernel.h"

namespace xla::gpu {
namespace {

using kir::Operand;
using kir::Statement;

// One read or write, and the loops around it from outside in.
struct Access {
  const Operand* place;
  std::vector<const kir::Loop*> loops;
  bool is_whole = false;  // an index that is computed: any element
};

// The reads of one buffer and the writes of another, in the order of the text.
class Accesses {
 public:
  Accesses(const kir::Kernel& kernel, kir::BufferId read, kir::BufferId written)
      : read_(read), written_(written) {
    Visit(kernel.body);
  }

  const std::vector<Access>& reads() const { return reads_; }
  const std::vector<Access>& writes() const { return writes_; }
  bool is_read_after_write() const { return is_read_after_write_; }

 private:
  void Visit(const std::vector<Statement>& body) {
    for (const Statement& statement : body) {
      if (const auto* loop = statement.As<kir::Loop>()) {
        loops_.push_back(loop);
        Visit(loop->body);
        loops_.pop_back();
      } else if (const auto* branch = statement.As<kir::If>()) {
        Visit(branch->then_body);
        Visit(branch->else_body);
      } else if (const auto* expr = statement.As<kir::Expr>()) {
        Visit(*expr);
      }
    }
  }

  void Visit(const kir::Expr& expr) {
    for (const kir::Argument& argument : expr.arguments) {
      const auto* operand = std::get_if<Operand>(&argument);
      if (operand == nullptr || operand->buffer != read_) continue;
      reads_.push_back({operand, loops_, expr.op != "copy"});
      is_read_after_write_ |= !writes_.empty();
    }
    for (const Operand& output : expr.outputs) {
      if (output.buffer == written_) {
        writes_.push_back({&output, loops_, expr.op == "scatter"});
      }
      // What is written to the operand itself, nobody expects.
      if (output.buffer == read_) writes_.push_back({&output, loops_, true});
    }
  }

  const kir::BufferId read_, written_;
  std::vector<const kir::Loop*> loops_;
  std::vector<Access> reads_, writes_;
  bool is_read_after_write_ = false;
};

}  // namespace

bool MayOverwrite(const LoweredKernel& kernel, int64_t operand,
                  const ShapeIndex& index, const ShapeIndex& result_index) {
  const auto array = std::find_if(
      kernel.operands.begin(), kernel.operands.end(), [&](const auto& array) {
        return array.operand == operand && array.index == index;
      });
  const auto result =
      std::find(kernel.results.begin(), kernel.results.end(), result_index);
  // Pointers to arrays, which no kernel reads.
  if (array == kernel.operands.end() || result == kernel.results.end()) {
    return true;
  }
  const auto read = static_cast<kir::BufferId>(array - kernel.operands.begin());
  const auto written = static_cast<kir::BufferId>(
      kernel.operands.size() + kernel.constants.size() +
      (result - kernel.results.begin()));
  const Accesses accesses(kernel.kernel, read, written);
  if (accesses.reads().empty()) return true;
  // Equal indices are equal places only in arrays alike.
  const kir::Buffer& from = kernel.kernel.buffers[read];
  const kir::Buffer& to = kernel.kernel.buffers[written];
  if (kir::ElementBytes(from.type) != kir::ElementBytes(to.type) ||
      from.extents != to.extents) {
    return false;
  }
  if (accesses.writes().size() != 1 || accesses.is_read_after_write()) {
    return false;
  }
  const Access& write = accesses.writes()[0];
  if (write.is_whole) return false;
  return std::all_of(accesses.reads().begin(), accesses.reads().end(),
                     [&](const Access& read) {
                       return !read.is_whole &&
                              read.place->indices == write.place->indices &&
                              read.loops.size() >= write.loops.size() &&
                              std::equal(write.loops.begin(), write.loops.end(),
                                         read.loops.begin());
                     });
}

KernelAliasInfo::KernelAliasInfo(const ModuleLowering& lowering) {
  for (const ModuleLowering::Kernel& kernel : lowering.kernels) {
    if (kernel.status.ok()) kernels_[kernel.hlo] = &kernel.lowered;
  }
}

const LoweredKernel* KernelAliasInfo::Find(const HloInstruction* hlo) const {
  const auto found = kernels_.find(hlo);
  return found == kernels_.end() ? nullptr : found->second;
}

std::optional<bool> KernelAliasInfo::MayAlias(
    const HloInstruction* operand, const ShapeIndex& operand_index,
    const HloInstruction* user, const ShapeIndex& user_index) const {
  const LoweredKernel* kernel = Find(user);
  if (kernel == nullptr) return std::nullopt;
  for (int64_t i = 0; i < user->operand_count(); ++i) {
    if (user->operand(i) == operand &&
        !MayOverwrite(*kernel, i, operand_index, user_index)) {
      return false;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<AliasInfo::InPlacePair>>
KernelAliasInfo::GetNonDefaultInPlaceInputOutputPairs(
    const HloInstruction* user) const {
  const LoweredKernel* kernel = Find(user);
  if (kernel == nullptr) return std::nullopt;
  std::vector<InPlacePair> pairs = AliasInfo().GetInPlaceInputOutputPairs(user);
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                             [&](const InPlacePair& pair) {
                               return !MayOverwrite(
                                   *kernel, pair.first.operand_number,
                                   pair.first.operand_index, pair.second);
                             }),
              pairs.end());
  return pairs;
}

}  // namespace xla::gpu

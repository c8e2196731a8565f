#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kernel_machine.h"
#include "xla/backends/gpu/kernel_ir/kernel_values.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"
#include "xla/backends/gpu/kernel_ir/warp_mma.h"
#include "xla/status_macros.h"

namespace xla::gpu::kernel_machine {

absl::StatusOr<double> Machine::ReadInside(int t, const CodeArgument& argument,
                                           const CodeInstruction& i) {
  if (argument.kind == CodeArgument::Kind::kNumber) return argument.number;
  if (argument.kind == CodeArgument::Kind::kExpr) {
    ASSIGN_OR_RETURN(const int64_t value, Value(argument.expr[0], t, i));
    return static_cast<double>(value);
  }
  ASSIGN_OR_RETURN(const Place place, FindInside(argument.operand, t, i));
  return Load(t, place, i);
}

absl::StatusOr<std::vector<double>> Machine::ReadInputs(
    int t, const CodeInstruction& i, int transfer, bool proxy) {
  std::vector<double> values;
  const bool is_gather = i.statement->As<kir::Expr>()->op == "gather";
  const size_t condition = is_gather ? 2
                           : i.info->op_class == kir::OpClass::kCopy
                               ? 1
                               : i.arguments.size();
  if (condition < i.arguments.size()) {
    ASSIGN_OR_RETURN(const double is_read,
                     ReadInside(t, i.arguments[condition], i));
    if (is_read == 0) return std::vector<double>{0, 0, 0};
  }
  for (const CodeArgument& argument : i.arguments) {
    if (argument.kind != CodeArgument::Kind::kOperand) {
      ASSIGN_OR_RETURN(values.emplace_back(), ReadInside(t, argument, i));
    } else {
      ASSIGN_OR_RETURN(Place place, Find(argument.operand, t, i));
      if (is_gather && values.empty()) {
        // Where it reads, the second argument tells.
        ASSIGN_OR_RETURN(const double at, ReadInside(t, i.arguments[1], i));
        place.element = std::clamp<int64_t>(static_cast<int64_t>(at), 0,
                                            code_.elements[place.buffer] - 1);
      }
      if (place.element < 0) {
        if (i.info->op_class != kir::OpClass::kDifficult) {
          return ErrorAt(
              i, absl::StatusCode::kOutOfRange,
              absl::StrCat("an index of %", kernel_.buffers[place.buffer].name,
                           " is out of bounds"));
        }
        values.push_back(0);  // What pads.
        continue;
      }
      values.push_back(Load(t, place, i, transfer, proxy));
    }
  }
  return values;
}

absl::Status Machine::Finish(int t, const CodeInstruction& i,
                             const std::vector<double>& in) {
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  std::vector<Place> places;
  for (const CodeOperand& output : i.outputs) {
    ASSIGN_OR_RETURN(const Place place, FindInside(output, t, i));
    places.push_back(place);
  }
  const kir::Combiner combiner = kir::OpCombiner(expr.op);
  switch (i.info->op_class) {
    case kir::OpClass::kReduce: {
      const double before = Written(t, places[0]) ? Load(t, places[0], i)
                                                  : CombinerIdentity(combiner);
      Store(t, places[0], ApplyCombiner(combiner, before, in[0]), i);
      break;
    }
    case kir::OpClass::kMma: {
      double sum = in.size() > 2           ? in[2]
                   : Written(t, places[0]) ? Load(t, places[0], i)
                                           : 0;
      Store(t, places[0], sum + in[0] * in[1], i);
      break;
    }
    case kir::OpClass::kWelford: {
      double mean = 0, m2 = 0, count = 0;
      if (Written(t, places[2])) {
        mean = Load(t, places[0], i);
        m2 = Load(t, places[1], i);
        count = Load(t, places[2], i);
      }
      count += 1;
      const double delta = in[0] - mean;
      mean += delta / count;
      m2 += delta * (in[0] - mean);
      Store(t, places[0], mean, i);
      Store(t, places[1], m2, i);
      Store(t, places[2], count, i);
      break;
    }
    case kir::OpClass::kScatter: {
      Place at = places[0];
      at.element = std::clamp<int64_t>(static_cast<int64_t>(in[1]), 0,
                                       code_.elements[at.buffer] - 1);
      if (in.size() > 2 && in[2] == 0) break;
      if (combiner == kir::Combiner::kNone) {
        Store(t, at, in[0], i);
        break;
      }
      // Threads of the machine take turns.
      const double before = Load(t, at, i);
      Store(t, at,
            ApplyKernelOp(kir::CombinerOp(combiner), {before, in[0]},
                          kernel_.buffers[at.buffer].type),
            i);
      break;
    }
    default:
      if (kir::IsOfBits(expr.op)) {
        const auto* source = std::get_if<kir::Operand>(&expr.arguments[0]);
        const kir::ElementType to = kernel_.buffers[places[0].buffer].type;
        Store(t, places[0],
              ApplyToBits(
                  expr.op, in,
                  source == nullptr ? to : kernel_.buffers[source->buffer].type,
                  to),
              i);
        break;
      }
      Store(t, places[0],
            ApplyKernelOp(expr.op, in, kernel_.buffers[places[0].buffer].type),
            i);
      for (size_t k = 1; k < places.size(); ++k) Store(t, places[k], in[0], i);
  }
  return absl::OkStatus();
}

// Operations across threads (block and warp reductions, scans) take two visits
// of each thread: the first reads its input and blocks, ReleaseExpr combines
// the inputs of the group, and the second stores the result.
absl::Status Machine::RunExpr(int t, const CodeInstruction& i) {
  Thread& thread = threads_[t];
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  const bool outside = thread.outside_until >= 0;
  const bool scan = i.info->op_class == kir::OpClass::kScan;
  if (i.info->op_class == kir::OpClass::kWarpMma) return RunWarpMma(t, i);
  if (expr.sync || scan || i.info->op_class == kir::OpClass::kWarpReduce) {
    if (!thread.resume) {
      thread.inputs.clear();
      if (!outside) {
        ASSIGN_OR_RETURN(thread.inputs, ReadInputs(t, i, -1, false));
      }
      thread.state =
          expr.sync || scan ? Thread::State::kBlock : Thread::State::kWarp;
      return absl::OkStatus();
    }
    thread.resume = false;
    ++thread.pc;
    if (outside) return absl::OkStatus();
    std::vector<double> in = thread.inputs;
    in[0] = thread.result;
    if (i.info->op_class == kir::OpClass::kWarpReduce || scan) {
      ASSIGN_OR_RETURN(Place place, Find(i.outputs[0], t, i));
      if (place.element < 0) {
        return ErrorAt(i, absl::StatusCode::kOutOfRange,
                       "an index is out of bounds of its buffer");
      }
      Store(t, place, in[0], i);
      return absl::OkStatus();
    }
    return Finish(t, i, in);
  }
  ++thread.pc;
  if (outside) return absl::OkStatus();
  if (expr.async != kir::AsyncKind::kNone) return Transfer(t, i);
  ASSIGN_OR_RETURN(std::vector<double> in, ReadInputs(t, i, -1, false));
  return Finish(t, i, in);
}

// The values move at once, and the transfer's number goes along to the shadow,
// which knows the transfer as unfinished until a wait completes it: any access
// in between is a race. A late arrival of the bytes therefore need not be
// simulated.
absl::Status Machine::Transfer(int t, const CodeInstruction& i) {
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  const bool proxy = expr.async != kir::AsyncKind::kCp;
  int transfer = -1;
  if (expr.async == kir::AsyncKind::kBulkLoad ||
      expr.async == kir::AsyncKind::kBulkStore) {
    // One thread starts it, always the same one, so that it is the one that
    // waits for its groups. Where that thread may not come, any of them does.
    if (t != 0 && !i.of_some_threads) return absl::OkStatus();
    // Which elements it moves, its loops tell.
    uint64_t key = Instance(t, i);
    for (const CodeOperand& output : i.outputs) {
      ASSIGN_OR_RETURN(Place place, Find(output, t, i));
      key = key * 31 + static_cast<uint64_t>(place.element);
    }
    if (!started_.insert(key).second) return absl::OkStatus();
  }
  const bool joined =
      expr.async == kir::AsyncKind::kBulkLoad && expr.mbarrier.has_value();
  if (shadow_ != nullptr) transfer = shadow_->StartTransfer(t, joined);
  ASSIGN_OR_RETURN(std::vector<double> in, ReadInputs(t, i, transfer, proxy));
  if (i.info->op_class == kir::OpClass::kMma) {
    // The product is read from registers after its wait.
    ASSIGN_OR_RETURN(Place place, Find(i.outputs[0], t, i));
    const double before = Written(t, place) ? Load(t, place, i) : 0;
    Store(t, place, before + in[0] * in[1], i);
  } else {
    for (const CodeOperand& output : i.outputs) {
      ASSIGN_OR_RETURN(Place place, Find(output, t, i));
      if (place.element < 0) {
        return ErrorAt(i, absl::StatusCode::kOutOfRange,
                       "an index is out of bounds of its buffer");
      }
      Store(t, place,
            ApplyKernelOp(expr.op, in, kernel_.buffers[place.buffer].type), i,
            transfer, proxy);
    }
  }
  if (joined) {
    barriers_[*expr.mbarrier].loads.push_back(transfer);
  } else {
    threads_[t].pending.push_back({transfer, expr.async, false, 0});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Machine::ReadFragment(
    int t, const CodeInstruction& i, const CodeOperand& operand,
    int64_t count) {
  ASSIGN_OR_RETURN(Place place, Find(operand, t, i));
  if (place.element < 0 ||
      place.element + count > code_.elements[place.buffer]) {
    return ErrorAt(i, absl::StatusCode::kOutOfRange,
                   "a fragment is out of bounds");
  }
  std::vector<double> values;
  for (; count > 0; --count, ++place.element) {
    values.push_back(Load(t, place, i));
  }
  return values;
}

absl::StatusOr<kir::WarpMma> Machine::WarpMmaOf(const CodeInstruction& i) {
  if (const auto known = products_.find(&i); known != products_.end()) {
    return known->second;
  }
  std::string why;
  const std::optional<kir::WarpMma> mma =
      kir::FindWarpMma(kernel_, *i.statement->As<kir::Expr>(), &why);
  if (!mma.has_value()) {
    return ErrorAt(i, absl::StatusCode::kFailedPrecondition, why);
  }
  return products_.emplace(&i, *mma).first->second;
}

// Visited twice: first it brings both factors and the sums so far, then it
// takes the new sums away.
absl::Status Machine::RunWarpMma(int t, const CodeInstruction& i) {
  Thread& thread = threads_[t];
  if (thread.outside_until >= 0) {
    return ErrorAt(i, absl::StatusCode::kFailedPrecondition,
                   "a lane of the warp takes no part");
  }
  ASSIGN_OR_RETURN(const kir::WarpMma mma, WarpMmaOf(i));
  if (!thread.resume) {
    thread.inputs.clear();
    for (const auto& [operand, count] :
         {std::pair(&i.arguments[0].operand, mma.lhs_elements()),
          std::pair(&i.arguments[1].operand, mma.rhs_elements()),
          std::pair(&i.outputs[0], mma.sum_elements())}) {
      ASSIGN_OR_RETURN(const std::vector<double> values,
                       ReadFragment(t, i, *operand, count));
      thread.inputs.insert(thread.inputs.end(), values.begin(), values.end());
    }
    thread.state = Thread::State::kWarp;
    return absl::OkStatus();
  }
  thread.resume = false;
  ++thread.pc;
  ASSIGN_OR_RETURN(Place place, Find(i.outputs[0], t, i));
  for (double sum : thread.inputs) {
    Store(t, place, sum, i);
    ++place.element;
  }
  return absl::OkStatus();
}

absl::Status Machine::ReleaseWarpMma(const std::vector<int>& group,
                                     const CodeInstruction& i) {
  if (group.size() != kir::kWarpThreads) {
    return ErrorAt(
        i, absl::StatusCode::kFailedPrecondition,
        absl::StrCat(group.size(), " lanes of a warp multiply fragments"));
  }
  ASSIGN_OR_RETURN(const kir::WarpMma mma, WarpMmaOf(i));
  std::vector<std::vector<double>> lhs, rhs, sums;
  for (int t : group) {
    auto next = threads_[t].inputs.begin();
    for (const auto& [list, count] : {std::pair(&lhs, mma.lhs_elements()),
                                      std::pair(&rhs, mma.rhs_elements()),
                                      std::pair(&sums, mma.sum_elements())}) {
      list->emplace_back(next, next + count);
      next += count;
    }
  }
  kir::MultiplyFragments(mma, lhs, rhs, &sums);
  for (size_t k = 0; k < group.size(); ++k) {
    Thread& thread = threads_[group[k]];
    thread.inputs = std::move(sums[k]);
    thread.resume = true;
    thread.state = Thread::State::kReady;
  }
  return absl::OkStatus();
}

// Combines what the threads of a group brought to one expression.
void Machine::ReleaseExpr(const std::vector<int>& group,
                          const CodeInstruction& i) {
  const kir::Expr& expr = *i.statement->As<kir::Expr>();
  const kir::Combiner combiner = kir::OpCombiner(expr.op);
  const bool scan = i.info->op_class == kir::OpClass::kScan;
  if (i.info->op_class == kir::OpClass::kWarpReduce) {
    // Lanes combine in aligned sets of `lanes`, as a butterfly of shuffles
    // does, and every lane of a set gets the result. Lanes that are outside of
    // a loop bring no input and change nothing.
    // A group of the threads is of one warp.
    const int lanes = kir::LanesOfWarpReduce(expr).value_or(32);
    std::map<int, double> sums;
    for (int t : group) {
      if (threads_[t].inputs.empty()) continue;
      double& sum =
          sums.try_emplace(t / lanes, CombinerIdentity(combiner)).first->second;
      sum = ApplyCombiner(combiner, sum, threads_[t].inputs[0]);
    }
    for (int t : group) {
      threads_[t].resume = true;
      threads_[t].state = Thread::State::kReady;
      if (!threads_[t].inputs.empty()) threads_[t].result = sums[t / lanes];
    }
    return;
  }
  double sum = CombinerIdentity(combiner);
  std::vector<double> sorted;
  for (int t : group) {
    if (!threads_[t].inputs.empty()) sorted.push_back(threads_[t].inputs[0]);
  }
  absl::c_sort(sorted);
  size_t rank = 0;
  for (int t : group) {
    threads_[t].resume = true;
    threads_[t].state = Thread::State::kReady;
    if (threads_[t].inputs.empty()) continue;
    sum = ApplyCombiner(combiner, sum, threads_[t].inputs[0]);
    threads_[t].result = expr.op == "sort" ? sorted[rank++] : sum;
  }
  if (scan) return;
  for (int t : group) threads_[t].result = sum;
}

}  // namespace xla::gpu::kernel_machine

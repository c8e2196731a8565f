// Random modules of loops, conditionals, updates in place, asynchronous
// computations and aliases: after copy insertion no two values of a buffer
// interfere, and with memory that is really shared they compute what they did,
// in whatever order they are scheduled.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/evaluator/hlo_evaluator.h"
#include "xla/hlo/evaluator/run/input_generator.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/hlo/pass/verifier_pass.h"
#include "xla/hlo/testlib/random_module.h"
#include "xla/hlo/transforms/copies/copy_insertion.h"
#include "xla/hlo/transforms/copies/shared_memory.h"
#include "xla/hlo/transforms/memory/hlo_memory_scheduler.h"
#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"

namespace xla {
namespace {

// From the environment, for long runs of optimized builds.
int64_t Modules() {
  const char* text = std::getenv("COPY_INSERTION_RANDOM_MODULES");
  int64_t count;
  return text != nullptr && absl::SimpleAtoi(text, &count) ? count : 24;
}

// Writes computations on f32[4] values.
class Writer {
 public:
  explicit Writer(uint64_t seed, bool with_states = false)
      : random_(seed), with_states_(with_states) {}

  std::string Module() {
    std::string body;
    std::vector<std::string> values;
    const size_t parameters = 2 + Draw(3);
    for (size_t i = 0; i < parameters; ++i) {
      values.push_back(absl::StrCat("p", i));
      absl::StrAppend(&body, "  p", i, " = f32[4] parameter(", i, ")\n");
    }
    Grow(&body, &values, /*depth=*/0, 6 + Draw(6));
    const size_t results = 2 + Draw(4);
    const std::string root = Tuple("r", Picks(values, results), "");
    return absl::StrCat("HloModule m", Aliases(parameters, results), "\n",
                        computations_, "ENTRY e {\n", body, "  ROOT ", root,
                        "}\n");
  }

 private:
  size_t Draw(size_t limit) { return random_() % limit; }
  const std::string& Pick(const std::vector<std::string>& values) {
    // Mostly young ones, so that they are read.
    const size_t back = Draw(3) == 0 ? Draw(values.size())
                                     : Draw(std::min<size_t>(values.size(), 4));
    return values[values.size() - 1 - back];
  }
  std::vector<std::string> Picks(const std::vector<std::string>& values,
                                 size_t count) {
    std::vector<std::string> picks;
    for (size_t i = 0; i < count; ++i) picks.push_back(Pick(values));
    return picks;
  }
  std::string Name(const char* stem) { return absl::StrCat(stem, ++names_); }

  static std::string Types(size_t count, bool with_counter) {
    std::vector<std::string> types(count, "f32[4]");
    if (with_counter) types.insert(types.begin(), "s32[]");
    return absl::StrCat("(", absl::StrJoin(types, ", "), ")");
  }
  static std::string Tuple(const std::string& name,
                           std::vector<std::string> values,
                           const std::string& counter) {
    const std::string types = Types(values.size(), !counter.empty());
    if (!counter.empty()) values.insert(values.begin(), counter);
    return absl::StrCat(name, " = ", types, " tuple(",
                        absl::StrJoin(values, ", "), ")\n");
  }

  std::string Aliases(size_t parameters, size_t results) {
    std::vector<std::string> aliases;
    size_t parameter = Draw(2);
    for (size_t i = 0; i < results && parameter < parameters; ++i) {
      if (Draw(2) == 0) continue;
      // Crossed, now and then.
      aliases.push_back(absl::StrFormat("{%d}: (%d, {}, may-alias)",
                                        results - 1 - i, parameter++));
    }
    if (aliases.empty()) return "";
    return absl::StrCat(", input_output_alias={ ", absl::StrJoin(aliases, ", "),
                        " }");
  }

  void Grow(std::string* body, std::vector<std::string>* values, int depth,
            size_t steps) {
    for (size_t i = 0; i < steps; ++i) {
      const size_t kind = Draw(depth < 3 ? 14 : 9);
      if (kind < 9) {
        const std::string name = Name("v");
        absl::StrAppend(body, Simple(kind, name, *values));
        values->push_back(name);
      } else if (kind < 11 && with_states_) {
        Draw(2) == 0 ? StateInLoop(body, values, depth)
                     : StateInBranches(body, values, depth);
      } else if (kind < 12) {
        While(body, values, depth);
      } else {
        Conditional(body, values, depth);
      }
    }
  }

  std::string Simple(size_t kind, const std::string& name,
                     const std::vector<std::string>& values) {
    const std::string& a = Pick(values);
    const std::string& b = Pick(values);
    switch (kind) {
      case 0:
        return absl::StrFormat("  %s = f32[4] add(%s, %s)\n", name, a, b);
      case 1:
        return absl::StrFormat("  %s = f32[4] negate(%s)\n", name, a);
      case 2:
        return absl::StrFormat("  %s = f32[4] reverse(%s), dimensions={0}\n",
                               name, a);
      case 3:
        return absl::StrFormat("  %s = f32[4] copy(%s)\n", name, a);
      case 4:
        return absl::StrFormat(
            "  %sc = f32[4] constant({1, 2, 3, %d})\n  %s = f32[4] maximum(%s, "
            "%sc)\n",
            name, Draw(9), name, a, name);
      case 5:
        return Asynchronous(name, a, b);
      case 6:
        return Fused(name, a, b);
      default:
        return absl::StrFormat(
            "  %si = s32[] constant(%d)\n  %ss = f32[2] slice(%s), "
            "slice={[1:3]}\n  %s = f32[4] dynamic-update-slice(%s, %ss, %si)\n",
            name, Draw(3), name, b, name, a, name, name);
    }
  }

  // An update in place that is done later.
  std::string Asynchronous(const std::string& name, const std::string& a,
                           const std::string& b) {
    const std::string callee = Name("wrapped");
    absl::StrAppend(
        &computations_, callee,
        " {\n  a = f32[4] parameter(0)\n  b = f32[2] parameter(1)\n  i = s32[] "
        "parameter(2)\n  ROOT u = f32[4] dynamic-update-slice(a, b, i)\n}\n");
    return absl::StrFormat(
        "  %si = s32[] constant(%d)\n  %sl = f32[2] slice(%s), slice={[0:2]}\n"
        "  %ss = ((f32[4], f32[2], s32[]), f32[4], u32[]) async-start(%s, %sl, "
        "%si), calls=%s\n  %s = f32[4] async-done(%ss)\n",
        name, Draw(3), name, b, name, a, name, name, callee, name, name);
  }

  std::string Fused(const std::string& name, const std::string& a,
                    const std::string& b) {
    const std::string callee = Name("fused");
    absl::StrAppend(&computations_, callee,
                    " {\n  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n"
                    "  i = s32[] constant(1)\n  s = f32[2] slice(b), "
                    "slice={[0:2]}\n  n = f32[2] negate(s)\n  ROOT u = f32[4] "
                    "dynamic-update-slice(a, n, i)\n}\n");
    return absl::StrFormat(
        "  %s = f32[4] fusion(%s, %s), kind=kLoop, calls=%s\n", name, a, b,
        callee);
  }

  void Unpack(std::string* body, const std::string& tuple, size_t count,
              size_t first, std::vector<std::string>* values) {
    for (size_t i = 0; i < count; ++i) {
      const std::string name = Name("g");
      absl::StrAppend(body, "  ", name, " = f32[4] get-tuple-element(", tuple,
                      "), index=", i + first, "\n");
      values->push_back(name);
    }
  }

  void While(std::string* body, std::vector<std::string>* values, int depth) {
    const size_t size = 1 + Draw(4);
    const std::string loop = Name("w");
    std::string inside =
        absl::StrCat("  s = ", Types(size, true), " parameter(0)\n",
                     "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] "
                     "constant(1)\n  n = s32[] add(i, one)\n");
    std::vector<std::string> state;
    Unpack(&inside, "s", size, 1, &state);
    Grow(&inside, &state, depth + 1, 1 + Draw(5));
    std::vector<std::string> next = Picks(state, size);
    // Handed on as they are, or each in its place.
    for (size_t i = 0; i < size; ++i) {
      if (Draw(4) == 0) next[i] = state[i];
    }
    absl::StrAppend(&computations_, loop, "_body {\n", inside, "  ROOT ",
                    Tuple("t", next, "n"), "}\n", loop,
                    "_condition {\n  s = ", Types(size, true),
                    " parameter(0)\n  i = s32[] get-tuple-element(s), "
                    "index=0\n  n = s32[] constant(",
                    Draw(4),
                    ")\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n");
    absl::StrAppend(body, "  ", loop, "z = s32[] constant(0)\n  ",
                    Tuple(loop + "t", Picks(*values, size), loop + "z"));
    const std::string attributes =
        absl::StrCat("condition=", loop, "_condition, body=", loop, "_body\n");
    absl::StrAppend(body, "  ", loop, " = ", Types(size, true), " while(", loop,
                    "t), ", attributes);
    Unpack(body, loop, size, 1, values);
  }

  void Conditional(std::string* body, std::vector<std::string>* values,
                   int depth) {
    const size_t size = 1 + Draw(3);
    const std::string name = Name("k");
    for (const char* branch : {"_then", "_else"}) {
      std::string inside =
          absl::StrCat("  s = ", Types(size, false), " parameter(0)\n");
      std::vector<std::string> state;
      Unpack(&inside, "s", size, 0, &state);
      Grow(&inside, &state, depth + 1, Draw(4));
      absl::StrAppend(&computations_, name, branch, " {\n", inside, "  ROOT ",
                      Tuple("t", Picks(state, size), ""), "}\n");
    }
    absl::StrAppend(body, "  ", name, "p = pred[] constant(",
                    Draw(2) == 0 ? "true" : "false", ")\n  ",
                    Tuple(name + "a", Picks(*values, size), ""), "  ",
                    Tuple(name + "b", Picks(*values, size), ""), "  ", name,
                    " = ", Types(size, false), " conditional(", name, "p, ",
                    name, "a, ", name, "b), true_computation=", name,
                    "_then, false_computation=", name, "_else\n");
    Unpack(body, name, size, 0, values);
  }

  // An operation whose state goes through a loop or a conditional.
  struct Operation {
    std::string state;  // Its type.
    std::string calls;
    bool has_two_operands;
    std::string thread;  // Of the start.
  };

  Operation NewOperation() {
    const size_t kind = Draw(6);
    const bool has_two = kind > 0;
    const std::string callee = Name("runs");
    const std::string parameters =
        absl::StrCat(" {\n  a = f32[4] parameter(0)\n",
                     has_two ? "  b = f32[4] parameter(1)\n" : "");
    std::string text;
    if (kind < 2) {
      text = has_two ? "  ROOT r = f32[4] subtract(a, b)\n"
                     : "  ROOT r = f32[4] negate(a)\n";
    } else if (kind < 4) {
      text = Fused("ROOT r", "a", "b");  // In place.
    } else {
      // In place of an operand that is read, too: in a callee, or in another
      // thread, where an operation may be several instructions.
      text = absl::StrCat(Fused("u", "a", "b"),
                          "  m = f32[4] reverse(a), dimensions={0}\n"
                          "  ROOT r = f32[4] add(u, m)\n");
    }
    if (kind == 4) {
      absl::StrAppend(&computations_, callee, "_f", parameters, text, "}\n");
      text = absl::StrCat("  ROOT r = f32[4] call(a, b), to_apply=", callee,
                          "_f\n");
    }
    absl::StrAppend(&computations_, callee, parameters, text, "}",
                    kind == 5 ? ", execution_thread=\"x\"\n" : "\n");
    return {has_two ? "((f32[4], f32[4]), f32[4], u32[])"
                    : "((f32[4]), f32[4], u32[])",
            ", calls=" + callee, has_two,
            kind == 5 ? ", async_execution_thread=\"x\"" : ""};
  }

  std::string Update(const Operation& op, const std::string& name,
                     const std::string& state) {
    return absl::StrCat("  ", name, " = ", op.state, " async-update(", state,
                        ")", op.calls, "\n");
  }

  std::string Start(const Operation& op, const std::string& name,
                    const std::string& a, const std::string& b) {
    const bool updates = Draw(3) == 0;
    std::string text = absl::StrCat(
        "  ", name, updates ? "_s = " : " = ", op.state, " async-start(", a,
        op.has_two_operands ? ", " + b : "", ")", op.thread, op.calls, "\n");
    if (updates) absl::StrAppend(&text, Update(op, name, name + "_s"));
    return text;
  }

  static std::string Done(const Operation& op, const std::string& name,
                          const std::string& state) {
    return absl::StrCat("  ", name, " = f32[4] async-done(", state, ")",
                        op.calls, "\n");
  }

  // With one more element at the end.
  static std::string WithState(std::string types, const Operation& op) {
    types.insert(types.size() - 1, ", " + op.state);
    return types;
  }

  // A loop that finishes what its last turn started and starts the next on the
  // result, maybe with an operand that is the same in all turns; or that only
  // updates what runs.
  void StateInLoop(std::string* body, std::vector<std::string>* values,
                   int depth) {
    const bool is_same = Draw(3) == 0;
    const bool is_pipelined = Draw(3) > 0;
    const size_t size = 1 + Draw(3);
    const std::string loop = Name("w");
    const Operation op = NewOperation();
    const std::string types = WithState(Types(size, true), op);
    std::string inside =
        absl::StrCat("  s = ", types, " parameter(0)\n",
                     "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] "
                     "constant(1)\n  n = s32[] add(i, one)\n  run = ",
                     op.state, " get-tuple-element(s), index=", size + 1, "\n");
    std::vector<std::string> state;
    Unpack(&inside, "s", size, 1, &state);
    const std::string same = state[0];
    if (is_pipelined) {
      const bool updates = Draw(3) == 0;
      if (updates) absl::StrAppend(&inside, Update(op, "further", "run"));
      absl::StrAppend(&inside, Done(op, "d", updates ? "further" : "run"));
      state.push_back("d");
      Grow(&inside, &state, depth + 1, 1 + Draw(3));
      absl::StrAppend(&inside, "  e = f32[4] add(d, ", Pick(state), ")\n",
                      Start(op, "q", Draw(2) == 0 ? "d" : "e",
                            is_same ? same : Pick(state)));
      Grow(&inside, &state, /*depth=*/3, Draw(2));
    } else {
      absl::StrAppend(&inside, Update(op, "q", "run"));
      Grow(&inside, &state, depth + 1, 1 + Draw(4));
    }
    std::vector<std::string> next = Picks(state, size);
    if (is_same) next[0] = same;
    absl::StrAppend(
        &computations_, loop, "_body {\n", inside, "  ROOT t = ", types,
        " tuple(n, ", absl::StrJoin(next, ", "), ", q)\n}\n", loop,
        "_condition {\n  s = ", types,
        " parameter(0)\n  i = s32[] get-tuple-element(s), "
        "index=0\n  n = s32[] constant(",
        Draw(4), ")\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n");
    const std::vector<std::string> first = Picks(*values, size);
    absl::StrAppend(body, Start(op, loop + "q", Pick(*values), first[0]), "  ",
                    loop, "z = s32[] constant(0)\n  ", loop, "t = ", types,
                    " tuple(", loop, "z, ", absl::StrJoin(first, ", "), ", ",
                    loop, "q)\n  ", loop, " = ", types, " while(", loop,
                    "t), condition=", loop, "_condition, body=", loop,
                    "_body\n  ", loop, "g = ", op.state, " get-tuple-element(",
                    loop, "), index=", size + 1, "\n");
    Unpack(body, loop, size, 1, values);
    Grow(body, values, /*depth=*/3, Draw(3));
    absl::StrAppend(body, Done(op, loop + "d", loop + "g"));
    values->push_back(loop + "d");
  }

  // Branches that each start an operation, or finish the one that runs.
  void StateInBranches(std::string* body, std::vector<std::string>* values,
                       int depth) {
    const bool starts = Draw(2) == 0;
    const size_t size = 1 + Draw(3);
    const std::string name = Name("k");
    const Operation op = NewOperation();
    const std::string with_state = WithState(Types(size, false), op);
    const std::string arguments = starts ? Types(size, false) : with_state;
    const std::string results = starts ? with_state : Types(size + 1, false);
    for (const char* branch : {"_then", "_else"}) {
      std::string inside = absl::StrCat("  s = ", arguments, " parameter(0)\n");
      std::vector<std::string> state;
      Unpack(&inside, "s", size, 0, &state);
      Grow(&inside, &state, depth + 1, Draw(3));
      if (starts) {
        absl::StrAppend(&inside, Start(op, "q", Pick(state), Pick(state)));
      } else {
        absl::StrAppend(&inside, "  run = ", op.state,
                        " get-tuple-element(s), index=", size, "\n",
                        Done(op, "q", "run"));
      }
      Grow(&inside, &state, depth + 1, Draw(3));
      absl::StrAppend(&computations_, name, branch, " {\n", inside,
                      "  ROOT t = ", results, " tuple(",
                      absl::StrJoin(Picks(state, size), ", "), ", q)\n}\n");
    }
    if (!starts) {
      absl::StrAppend(body,
                      Start(op, name + "q", Pick(*values), Pick(*values)));
      Grow(body, values, /*depth=*/3, Draw(2));
    }
    absl::StrAppend(body, "  ", name, "p = pred[] constant(",
                    Draw(2) == 0 ? "true" : "false", ")\n");
    for (const char* argument : {"a", "b"}) {
      std::vector<std::string> elements = Picks(*values, size);
      if (!starts) elements.push_back(name + "q");
      absl::StrAppend(body, "  ", name, argument, " = ", arguments, " tuple(",
                      absl::StrJoin(elements, ", "), ")\n");
    }
    absl::StrAppend(body, "  ", name, " = ", results, " conditional(", name,
                    "p, ", name, "a, ", name, "b), true_computation=", name,
                    "_then, false_computation=", name, "_else\n");
    Unpack(body, name, starts ? size : size + 1, 0, values);
    if (!starts) return;
    absl::StrAppend(body, "  ", name, "g = ", op.state, " get-tuple-element(",
                    name, "), index=", size, "\n");
    Grow(body, values, /*depth=*/3, Draw(3));
    absl::StrAppend(body, Done(op, name + "d", name + "g"));
    values->push_back(name + "d");
  }

  std::mt19937_64 random_;
  const bool with_states_;
  std::string computations_;
  int names_ = 0;
};

std::unique_ptr<HloModule> FromText(uint64_t seed, bool with_states = false) {
  const std::string text = Writer(seed, with_states).Module();
  auto module = ParseAndReturnUnverifiedModule(text);
  EXPECT_TRUE(module.ok()) << module.status() << text;
  return module.ok() ? *std::move(module) : nullptr;
}

std::unique_ptr<HloModule> OfAllKinds(uint64_t seed) {
  RandomModuleOptions options;
  options.steps = 15 + static_cast<int64_t>(seed % 20);
  options.max_depth = 3;
  options.tuples = seed % 2 == 0;
  return RandomModule(seed, options);
}

absl::Status Verify(HloModule* module) {
  HloVerifier verifier(/*layout_sensitive=*/false,
                       /*allow_mixed_precision=*/true);
  return verifier.Run(module).status();
}

class CopyInsertionRandomTest : public ::testing::Test {
 protected:
  void Schedule(HloModule* module, ScheduleAlgorithm algorithm) {
    HloMemorySchedulerOptions options;
    options.algorithm = algorithm;
    options.effort = 1;
    auto scheduled = HloMemoryScheduler(options).Run(module);
    ASSERT_TRUE(scheduled.ok()) << scheduled.status();
  }

  // The module is scheduled.
  void Check(const HloModule& module, const AliasInfo& alias_info,
             const std::vector<Literal>& inputs, const Literal& expected) {
    const absl::Status checked = CheckNoInterference(module, alias_info);
    ASSERT_TRUE(checked.ok()) << checked << module.ToString();
    for (bool run_late : {false, true}) {
      auto result =
          EvaluateInSharedMemory(module, inputs, alias_info, {run_late});
      ASSERT_TRUE(result.ok()) << result.status() << module.ToString();
      ASSERT_EQ(*result, expected) << module.ToString();
    }
  }

  void RunOn(std::unique_ptr<HloModule> module, const AliasInfo& alias_info) {
    FlattenCallGraph flatten;
    ASSERT_TRUE(flatten.Run(module.get()).ok());
    const absl::Status valid = Verify(module.get());
    ASSERT_TRUE(valid.ok()) << valid << module->ToString();
    auto inputs = GenerateInputs(*module, {1, /*small_integers=*/true});
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    auto expected = HloEvaluator().Evaluate(*module, *inputs);
    ASSERT_TRUE(expected.ok()) << expected.status() << module->ToString();

    // Before: some are wrong.
    auto untouched = module->Clone();
    Schedule(untouched.get(), ScheduleAlgorithm::kDfs);
    bool is_wrong = false;
    for (bool run_late : {false, true}) {
      auto result =
          EvaluateInSharedMemory(*untouched, *inputs, alias_info, {run_late});
      is_wrong |= !result.ok() || !(*result == *expected);
    }
    const bool interferes = !CheckNoInterference(*untouched, alias_info).ok();
    ASSERT_TRUE(interferes || !is_wrong) << untouched->ToString();
    wrong_ += is_wrong;
    interfering_ += interferes;

    // In the order of a schedule.
    auto copied = CopyInsertion(&alias_info).Run(untouched.get());
    if (with_states_ && absl::IsUnimplemented(copied.status())) return;
    ASSERT_TRUE(copied.ok()) << copied.status() << module->ToString();
    absl::Status still_valid = Verify(untouched.get());
    ASSERT_TRUE(still_valid.ok()) << still_valid << module->ToString();
    Check(*untouched, alias_info, *inputs, *expected);

    // Before there is one: every order is right.
    auto before = module->Clone();
    copied = CopyInsertion(&alias_info).Run(before.get());
    if (with_states_ && absl::IsUnimplemented(copied.status())) return;
    ASSERT_TRUE(copied.ok()) << copied.status();
    still_valid = Verify(before.get());
    ASSERT_TRUE(still_valid.ok()) << still_valid << before->ToString();
    changed_ += *copied;
    for (ScheduleAlgorithm algorithm :
         {ScheduleAlgorithm::kList, ScheduleAlgorithm::kBfs,
          ScheduleAlgorithm::kPostOrder}) {
      auto scheduled = before->Clone();
      Schedule(scheduled.get(), algorithm);
      Check(*scheduled, alias_info, *inputs, *expected);
    }
    // A second run has nothing to add.
    const int64_t size = before->instruction_count();
    copied = CopyInsertion(&alias_info).Run(before.get());
    ASSERT_TRUE(copied.ok()) << copied.status();
    ASSERT_LE(before->instruction_count(), size) << before->ToString();
  }

  // States cross loops and conditionals; some cannot be copied.
  bool with_states_ = false;
  int64_t wrong_ = 0;
  int64_t interfering_ = 0;
  int64_t changed_ = 0;
};

TEST_F(CopyInsertionRandomTest, LoopsAndAliases) {
  const AliasInfo alias_info;
  const int64_t modules = Modules();
  for (int64_t seed = 0; seed < modules && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    auto module = FromText(seed);
    ASSERT_NE(module, nullptr);
    RunOn(std::move(module), alias_info);
  }
  // The checkers see what is wrong, and there is something to see.
  EXPECT_GT(wrong_, modules / 4);
  EXPECT_GT(changed_, modules / 2);
  std::printf("%d modules, %d interfere before, %d of them compute wrong\n",
              static_cast<int>(modules), static_cast<int>(interfering_),
              static_cast<int>(wrong_));
}

TEST_F(CopyInsertionRandomTest, RulesOfGpu) {
  const gpu::GpuAliasInfo alias_info;
  const int64_t modules = Modules() / 3;
  for (int64_t seed = 0; seed < modules && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    auto module = FromText(100'000 + seed);
    ASSERT_NE(module, nullptr);
    RunOn(std::move(module), alias_info);
  }
}

TEST_F(CopyInsertionRandomTest, States) {
  with_states_ = true;
  const AliasInfo alias_info;
  const int64_t modules = Modules();
  for (int64_t seed = 0; seed < modules && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    auto module = FromText(200'000 + seed, /*with_states=*/true);
    ASSERT_NE(module, nullptr);
    RunOn(std::move(module), alias_info);
  }
  EXPECT_GT(wrong_, modules / 4);
  EXPECT_GT(changed_, modules / 2);
}

TEST_F(CopyInsertionRandomTest, AllOpcodes) {
  const AliasInfo alias_info;
  const int64_t modules = Modules();
  for (int64_t seed = 0; seed < modules && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    RunOn(OfAllKinds(seed), alias_info);
  }
}

}  // namespace
}  // namespace xla

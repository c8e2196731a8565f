#include "xla/hlo/transforms/memory/remat/jax_policies.h"

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/byte_size.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/instruction_source.h"
#include "xla/hlo/memory/report/layer_name.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// A value that a layer keeps or computes again, as a user finds it.
struct Named {
  std::string name;       // for checkpoint_name
  std::string source;     // file:line; may be empty
  std::string primitive;  // and shape

  bool operator<(const Named& other) const { return name < other.name; }
};

struct Layer {
  std::set<Named> kept;
  // What is computed again, and how often.
  std::map<std::string, int64_t> again;
  int64_t bytes = 0;  // of all that
};

bool IsClone(const HloInstruction& inst) {
  return inst.get_frontend_attribute(kRematerializedAttribute).has_value();
}

// Whether users of the result read the operand, in another form.
bool OnlyReforms(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kBroadcast:
    case HloOpcode::kCopy:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kReshape:
    case HloOpcode::kTuple:
      return true;
    default:  // Computes something, or picks a part.
      return false;
  }
}

// Whether `inst` stacks what it updates with: an update in the body of a loop.
bool Stacks(const HloInstruction& inst, const HloInstruction& update) {
  return inst.opcode() == HloOpcode::kDynamicUpdateSlice &&
         inst.operand(1) == &update &&
         inst.parent()->GetUniqueCaller(HloOpcode::kWhile).has_value();
}

std::string Identifier(absl::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_word = absl::ascii_isalnum(c) || c == '_';
    if (is_word) result.push_back(c);
  }
  return result;
}

std::string LineOf(absl::string_view source) {
  const size_t colon = source.rfind(':');
  return colon == source.npos ? "" : std::string(source.substr(colon + 1));
}

Named NameOf(const HloInstruction& inst, const OpScope& scope) {
  const size_t slash = scope.layer.rfind('/');
  std::string leaf = Identifier(WithoutNumbers(
      slash == scope.layer.npos ? scope.layer : scope.layer.substr(slash + 1)));
  // WithoutNumbers leaves block_ of block_7.
  while (absl::EndsWith(leaf, "_")) leaf.pop_back();
  Named named;
  named.source = InstructionSource(inst);
  named.primitive =
      absl::StrCat(scope.primitive, " ", ShapeUtil::HumanString(inst.shape()));
  std::vector<std::string> parts;
  for (std::string part :
       {leaf, Identifier(scope.primitive), LineOf(named.source)}) {
    if (!part.empty()) parts.push_back(std::move(part));
  }
  named.name = absl::StrJoin(parts, "_");
  return named;
}

class Finder {
 public:
  // By name, numbers kept.
  std::map<std::string, Layer> Find(const HloModule& module) {
    std::vector<const HloInstruction*> forward;
    for (const HloComputation* computation : module.computations()) {
      for (const HloInstruction* inst : computation->instructions()) {
        const OpScope scope = ParseOpName(inst->metadata().op_name());
        if (!scope.differentiated || scope.backward) continue;
        if (IsClone(*inst)) {
          AddAgain(*inst, scope);
        } else {
          forward.push_back(inst);
        }
      }
    }
    for (const HloInstruction* inst : forward) AddKept(*inst);
    return std::move(layers_);
  }

 private:
  void AddAgain(const HloInstruction& clone, const OpScope& scope) {
    if (OnlyReforms(clone)) return;
    Layer& layer = layers_[scope.layer];
    const std::string source = InstructionSource(clone);
    ++layer.again[source.empty()
                      ? scope.primitive
                      : absl::StrCat(scope.primitive, " (", source, ")")];
    layer.bytes += ShapeUtil::ByteSizeOfElements(clone.shape());
  }

  void AddKept(const HloInstruction& inst) {
    if (!inst.shape().IsArray() || ShapeUtil::ElementsIn(inst.shape()) <= 1 ||
        inst.opcode() == HloOpcode::kParameter || OnlyReforms(inst)) {
      return;
    }
    const OpScope scope = ParseOpName(inst.metadata().op_name());
    auto layer = layers_.find(scope.layer);
    if (layer == layers_.end() || !IsReadLate(inst, scope.layer)) return;
    layer->second.kept.insert(NameOf(inst, scope));
  }

  // Whether the backward pass of the layer reads the value, also for clones.
  static bool IsReadLate(const HloInstruction& value,
                         const std::string& layer) {
    std::vector<const HloInstruction*> work = {&value};
    absl::flat_hash_set<const HloInstruction*> seen = {&value};
    while (!work.empty()) {
      const HloInstruction* read = work.back();
      work.pop_back();
      for (const HloInstruction* user : read->users()) {
        if (Stacks(*user, *read)) return true;
        if (OnlyReforms(*user)) {
          if (seen.insert(user).second) work.push_back(user);
          continue;
        }
        const OpScope reader = ParseOpName(user->metadata().op_name());
        if (reader.layer == layer && (reader.backward || IsClone(*user))) {
          return true;
        }
      }
    }
    return false;
  }

  std::map<std::string, Layer> layers_;
};

std::vector<std::string> Names(const Layer& layer) {
  std::vector<std::string> names;
  for (const Named& named : layer.kept) names.push_back(named.name);
  return names;
}

// Names are of modules, and may hold anything: Python reads these escapes, and
// comments stay in their line.
std::string Escaped(absl::string_view text) {
  return absl::Utf8SafeCEscape(text);
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", Escaped(text), "\"");
}

// Takes `from` for a layer that has the same name but for numbers.
void Join(const Layer& from, Layer* to) {
  to->kept.insert(from.kept.begin(), from.kept.end());
  for (const auto& [what, times] : from.again) to->again[what] += times;
  to->bytes += from.bytes;
}

// Layers that differ only in numbers, where all of those in the module keep the
// same.
std::map<std::string, Layer> JoinEqual(
    const std::map<std::string, Layer>& layers,
    const std::map<std::string, int64_t>& in_module) {
  std::map<std::string, std::set<std::vector<std::string>>> ways;
  std::map<std::string, int64_t> count;
  for (const auto& [name, layer] : layers) {
    ways[WithoutNumbers(name)].insert(Names(layer));
    ++count[WithoutNumbers(name)];
  }
  std::map<std::string, Layer> joined;
  for (const auto& [name, layer] : layers) {
    const std::string common = WithoutNumbers(name);
    const bool all =
        ways[common].size() == 1 && count[common] == in_module.at(common);
    Join(layer, &joined[all ? common : name]);
  }
  return joined;
}

// How many layers the forward pass has by each name without numbers.
std::map<std::string, int64_t> CountLayers(const HloModule& module) {
  std::set<std::string> layers;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      const OpScope scope = ParseOpName(inst->metadata().op_name());
      if (scope.differentiated && !scope.backward) layers.insert(scope.layer);
    }
  }
  std::map<std::string, int64_t> count;
  for (const std::string& layer : layers) ++count[WithoutNumbers(layer)];
  return count;
}

std::string TextOfAgain(const Layer& layer) {
  std::vector<std::string> parts;
  for (const auto& [what, times] : layer.again) {
    parts.push_back(times == 1 ? Escaped(what)
                               : absl::StrCat(times, " x ", Escaped(what)));
  }
  return absl::StrCat("    # computed again: ", absl::StrJoin(parts, ", "),
                      ": ", HumanBytes(static_cast<double>(layer.bytes)), "\n");
}

std::string TextOfPolicy(const Layer& layer) {
  if (layer.kept.empty()) return "jax.checkpoint_policies.nothing_saveable";
  return absl::StrCat(
      "jax.checkpoint_policies.save_only_these_names(\n        ",
      absl::StrJoin(Names(layer), ", ",
                    [](std::string* out, const std::string& name) {
                      absl::StrAppend(out, Quoted(name));
                    }),
      ")");
}

}  // namespace

std::string JaxPolicies(const HloModule& module) {
  const std::map<std::string, Layer> layers =
      JoinEqual(Finder().Find(module), CountLayers(module));
  std::string out = absl::StrCat("# jax.checkpoint for ", module.name(), "\n");
  if (layers.empty()) {
    return out + "# nothing of a forward pass is computed again\n";
  }
  std::set<Named> kept;
  for (const auto& [name, layer] : layers) {
    kept.insert(layer.kept.begin(), layer.kept.end());
  }
  absl::StrAppend(&out, "import jax\n");
  if (!kept.empty()) {
    absl::StrAppend(&out,
                    "from jax.ad_checkpoint import checkpoint_name\n\n"
                    "# 1. Where these values are made, name them:\n");
    for (const Named& named : kept) {
      absl::StrAppend(&out, "#      x = checkpoint_name(x, ",
                      Quoted(named.name), ")  # ", named.primitive,
                      named.source.empty() ? "" : ", ", named.source, "\n");
    }
  }
  absl::StrAppend(&out, "\n# ", kept.empty() ? "" : "2. ",
                  "Wrap the functions of these layers:\nLAYERS = {\n");
  for (const auto& [name, layer] : layers) {
    // What has no scope is the function that is differentiated.
    absl::StrAppend(&out, TextOfAgain(layer), "    ",
                    Quoted(name.empty() ? "(all)" : name), ": ",
                    TextOfPolicy(layer), ",\n");
  }
  absl::StrAppend(&out, R"(}


def checkpointed(function, layer):
  """`function`, which computes `layer`, differentiated as planned."""
  return jax.checkpoint(function, policy=LAYERS[layer])
)");
  return out;
}

}  // namespace xla

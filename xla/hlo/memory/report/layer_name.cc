#include "xla/hlo/memory/report/layer_name.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace xla {
namespace {

// Parts of names added by control flow and transformations.
constexpr absl::string_view kNoLayers[] = {
    "body",      "branch",    "checkpoint",      "closed_call",
    "cond",      "core_call", "custom_jvp_call", "custom_vjp_call",
    "main",      "pjit",      "remat",           "rematted_computation",
    "shard_map", "while",
};

// Splits at slashes outside of brackets.
std::vector<absl::string_view> Components(absl::string_view name) {
  std::vector<absl::string_view> components;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(' || name[i] == '[') ++depth;
    if (name[i] == ')' || name[i] == ']') --depth;
    if (name[i] != '/' || depth > 0) continue;
    components.push_back(name.substr(begin, i - begin));
    begin = i + 1;
  }
  components.push_back(name.substr(begin));
  return components;
}

// `a['b'][3]` → a/b/3.
std::string WithoutSubscripts(absl::string_view component) {
  std::string result;
  for (size_t i = 0; i < component.size(); ++i) {
    const char c = component[i];
    if (c == '[') {
      result.push_back('/');
    } else if (c != ']' && c != '\'' && c != '"') {
      result.push_back(c);
    }
  }
  return std::string(absl::StripPrefix(result, "/"));
}

}  // namespace

// `block_12` → block_*, but conv2d stays.
std::string WithoutNumbers(absl::string_view component) {
  std::string result;
  for (size_t i = 0; i < component.size();) {
    size_t end = i;
    while (end < component.size() && absl::ascii_isdigit(component[end])) ++end;
    if (end == i) {
      result.push_back(component[i++]);
      continue;
    }
    if (end < component.size() && absl::ascii_isalpha(component[end])) {
      absl::StrAppend(&result, component.substr(i, end - i));
    } else {
      result.push_back('*');
    }
    i = end;
  }
  return result;
}

OpScope ParseOpName(absl::string_view op_name) {
  op_name = op_name.substr(0, op_name.find(';'));
  const std::vector<absl::string_view> components = Components(op_name);
  OpScope scope;
  scope.primitive = WithoutSubscripts(components.back());
  std::vector<std::string> layers;
  for (size_t i = 0; i + 1 < std::max<size_t>(components.size(), 2); ++i) {
    absl::string_view component = components[i];
    // transpose(jvp(x)) → x; the compiled function itself is not a layer.
    const bool is_program = i == 0 && absl::StartsWith(component, "jit(");
    while (absl::EndsWith(component, ")")) {
      const size_t open = component.find('(');
      if (open == component.npos) break;
      scope.backward |= component.substr(0, open) == "transpose";
      scope.differentiated |= component.substr(0, open) == "jvp";
      component = component.substr(open + 1, component.size() - open - 2);
    }
    if (component.empty() || is_program ||
        std::find(std::begin(kNoLayers), std::end(kNoLayers), component) !=
            std::end(kNoLayers)) {
      continue;
    }
    layers.push_back(WithoutSubscripts(component));
  }
  scope.layer = absl::StrJoin(layers, "/");
  return scope;
}

std::string LayerName(absl::string_view op_name) {
  const OpScope scope = ParseOpName(op_name);
  return absl::StrCat(
      WithoutNumbers(scope.layer.empty() ? scope.primitive : scope.layer),
      scope.backward ? " (backward)" : "");
}

}  // namespace xla

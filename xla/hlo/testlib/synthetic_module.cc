#include "xla/hlo/testlib/synthetic_module.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace xla {
namespace {

// Writes the module line by line.
class Writer {
 public:
  Writer(int64_t layers, const SyntheticModuleOptions& options)
      : layers_(layers),
        options_(options),
        act_(absl::StrCat("f32[", options.batch, ",", options.width, "]")),
        weight_(absl::StrCat("f32[", options.width, ",", options.width, "]")),
        bias_(absl::StrCat("f32[", options.width, "]")) {}

  std::string Write() && {
    absl::StrAppend(&text_, "HloModule synthetic_", layers_,
                    options_.scheduled ? ", is_scheduled=true" : "", "\n\n");
    absl::StrAppend(&text_,
                    "%add_f32 (x: f32[], y: f32[]) -> f32[] {\n"
                    "  %x = f32[] parameter(0)\n"
                    "  %y = f32[] parameter(1)\n"
                    "  ROOT %sum = f32[] add(%x, %y)\n"
                    "}\n\n");
    Signature();
    Prologue();
    for (int64_t i = 0; i < layers_; ++i) Forward(i);
    Line(absl::StrCat("g.", layers_), act_, "{1,0}",
         absl::StrCat("subtract(%a.", layers_, ", %target)"), "loss/sub");
    for (int64_t i = layers_ - 1; i >= 0; --i) Backward(i);
    Result();
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  // %name = shape right-hand-side, metadata={...}
  void Line(absl::string_view name, absl::string_view shape,
            absl::string_view layout, absl::string_view rhs,
            absl::string_view scope, int64_t layer = -1) {
    absl::StrAppend(&text_, "  %", name, " = ", shape, layout, " ", rhs);
    if (options_.metadata) {
      absl::StrAppend(&text_, ", metadata={op_name=\"jit(train_step)/");
      if (layer >= 0) absl::StrAppend(&text_, "layer_", layer, "/");
      absl::StrAppend(&text_, scope, "\"}");
    }
    text_ += "\n";
  }

  void Signature() {
    text_ += "ENTRY %main (";
    for (int64_t i = 0; i < layers_; ++i) {
      absl::StrAppend(&text_, "w.", i, ": ", weight_, ", ");
    }
    for (int64_t i = 0; i < layers_; ++i) {
      absl::StrAppend(&text_, "b.", i, ": ", bias_, ", ");
    }
    absl::StrAppend(&text_, "a.0: ", act_, ", target: ", act_, ") -> ");
    ResultShape("", "");
    text_ += " {\n";
  }

  void ResultShape(absl::string_view weight_layout,
                   absl::string_view bias_layout) {
    text_ += "(";
    for (int64_t i = 0; i < 2 * layers_; ++i) {
      if (i > 0) text_ += ", ";
      if (i > 0 && i % 5 == 0) absl::StrAppend(&text_, "/*index=", i, "*/");
      if (i < layers_) {
        absl::StrAppend(&text_, weight_, weight_layout);
      } else {
        absl::StrAppend(&text_, bias_, bias_layout);
      }
    }
    text_ += ")";
  }

  void Prologue() {
    for (int64_t i = 0; i < layers_; ++i) {
      Line(absl::StrCat("w.", i), weight_, "{1,0}",
           absl::StrCat("parameter(", i, ")"), "w");
    }
    for (int64_t i = 0; i < layers_; ++i) {
      Line(absl::StrCat("b.", i), bias_, "{0}",
           absl::StrCat("parameter(", layers_ + i, ")"), "b");
    }
    Line("a.0", act_, "{1,0}", absl::StrCat("parameter(", 2 * layers_, ")"),
         "input");
    Line("target", act_, "{1,0}",
         absl::StrCat("parameter(", 2 * layers_ + 1, ")"), "target");
    Line("zero", "f32[]", "", "constant(0)", "zero");
    Line("one", "f32[]", "", "constant(1)", "one");
    Line("rate", "f32[]", "", "constant(0.01)", "rate");
    Line("ones", act_, "{1,0}", "broadcast(%one), dimensions={}", "ones");
    Line("rate_w", weight_, "{1,0}", "broadcast(%rate), dimensions={}", "rate");
    Line("rate_b", bias_, "{0}", "broadcast(%rate), dimensions={}", "rate");
  }

  void Forward(int64_t i) {
    auto line = [&](absl::string_view name, absl::string_view rhs,
                    absl::string_view scope) {
      Line(absl::StrCat(name, ".", i), act_, "{1,0}", rhs, scope, i);
    };
    line("mm",
         absl::StrCat("dot(%a.", i, ", %w.", i,
                      "), lhs_contracting_dims={1}, "
                      "rhs_contracting_dims={0}"),
         "jvp/dot_general");
    line("bb", absl::StrCat("broadcast(%b.", i, "), dimensions={1}"),
         "jvp/broadcast_in_dim");
    line("z", absl::StrCat("add(%mm.", i, ", %bb.", i, ")"), "jvp/add");
    line("sg", absl::StrCat("logistic(%z.", i, ")"), "jvp/logistic");
    line("h", absl::StrCat("multiply(%z.", i, ", %sg.", i, ")"), "jvp/mul");
    Line(absl::StrCat("a.", i + 1), act_, "{1,0}",
         absl::StrCat("add(%a.", i, ", %h.", i, ")"), "jvp/residual", i);
  }

  void Backward(int64_t i) {
    auto line = [&](absl::string_view name, absl::string_view shape,
                    absl::string_view layout, absl::string_view rhs,
                    absl::string_view scope) {
      Line(absl::StrCat(name, ".", i), shape, layout, rhs, scope, i);
    };
    line("t", act_, "{1,0}", absl::StrCat("subtract(%ones, %sg.", i, ")"),
         "transpose/sub");
    line("us", act_, "{1,0}", absl::StrCat("multiply(%h.", i, ", %t.", i, ")"),
         "transpose/mul");
    line("d", act_, "{1,0}", absl::StrCat("add(%sg.", i, ", %us.", i, ")"),
         "transpose/add");
    line("dz", act_, "{1,0}",
         absl::StrCat("multiply(%g.", i + 1, ", %d.", i, ")"), "transpose/mul");
    line("dw", weight_, "{1,0}",
         absl::StrCat("dot(%a.", i, ", %dz.", i,
                      "), lhs_contracting_dims={0}, rhs_contracting_dims={0}"),
         "transpose/dot_general");
    line("db", bias_, "{0}",
         absl::StrCat("reduce(%dz.", i,
                      ", %zero), dimensions={0}, to_apply=%add_f32"),
         "transpose/reduce_sum");
    line("gx", act_, "{1,0}",
         absl::StrCat("dot(%dz.", i, ", %w.", i,
                      "), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
         "transpose/dot_general");
    line("g", act_, "{1,0}", absl::StrCat("add(%g.", i + 1, ", %gx.", i, ")"),
         "transpose/residual");
    line("sw", weight_, "{1,0}", absl::StrCat("multiply(%dw.", i, ", %rate_w)"),
         "sgd/mul");
    line("nw", weight_, "{1,0}",
         absl::StrCat("subtract(%w.", i, ", %sw.", i, ")"), "sgd/sub");
    line("sb", bias_, "{0}", absl::StrCat("multiply(%db.", i, ", %rate_b)"),
         "sgd/mul");
    line("nb", bias_, "{0}", absl::StrCat("subtract(%b.", i, ", %sb.", i, ")"),
         "sgd/sub");
  }

  void Result() {
    text_ += "  ROOT %out = ";
    ResultShape("{1,0}", "{0}");
    text_ += " tuple(";
    for (int64_t i = 0; i < 2 * layers_; ++i) {
      if (i > 0) text_ += ", ";
      if (i > 0 && i % 5 == 0) absl::StrAppend(&text_, "/*index=", i, "*/");
      absl::StrAppend(&text_, i < layers_ ? "%nw." : "%nb.", i % layers_);
    }
    text_ += ")\n";
  }

  const int64_t layers_;
  const SyntheticModuleOptions options_;
  const std::string act_, weight_, bias_;
  std::string text_;
};

}  // namespace

std::string SyntheticTrainingModule(int64_t num_layers,
                                    const SyntheticModuleOptions& options) {
  return Writer(std::max<int64_t>(num_layers, 1), options).Write();
}

std::string SyntheticTrainingModuleOfSize(
    int64_t instructions, const SyntheticModuleOptions& options) {
  const int64_t layers = (instructions - kSyntheticFixedInstructions +
                          kSyntheticInstructionsPerLayer / 2) /
                         kSyntheticInstructionsPerLayer;
  return SyntheticTrainingModule(layers, options);
}

}  // namespace xla

// Reads a module from a file and prints it after hlo's passes and one more.

#include <iostream>

#include "double_negation.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/hlo/transforms/simplifiers/canonicalizer.h"
#include "xla/hlo/transforms/simplifiers/hlo_dce.h"
#include "xla/hlo/utils/module_io.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: my_opt FILE\n";
    return 2;
  }
  auto module = xla::ReadModuleFromFile(argv[1]);
  if (!module.ok()) {
    std::cerr << module.status().message() << "\n";
    return 1;
  }
  // The passes that this tool offers; xla::AllPasses() has every one of hlo's.
  xla::PassRegistry registry;
  registry.Register<xla::Canonicalizer, xla::CanonicalizerOptions>(
      "canonicalizer", "local rewrites");
  registry.Register<xla::HloDCE, xla::HloDceOptions>("hlo-dce",
                                                     "removes what is unused");
  registry.Register<DoubleNegation>("double-negation", "replaces -(-x) by x");
  auto pipeline = registry.ParsePipeline(
      "mine", "fix(canonicalizer,double-negation,hlo-dce)");
  if (pipeline.ok()) {
    absl::Status status = (*pipeline)->Run(module->get()).status();
    if (status.ok()) {
      std::cout << (*module)->ToString();
      return 0;
    }
    std::cerr << status.message() << "\n";
    return 1;
  }
  std::cerr << pipeline.status().message() << "\n";
  return 1;
}

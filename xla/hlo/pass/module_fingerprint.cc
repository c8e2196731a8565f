#include "xla/hlo/pass/module_fingerprint.h"

#include <utility>

#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/printer.h"

namespace xla {
uint64_t ModuleFingerprint(const HloModule& module) {
  HighwayHashPrinter printer;
  module.Print(&printer, HloPrintOptions::Default());
  return std::move(printer).ToFingerprint();
}

}  // namespace xla

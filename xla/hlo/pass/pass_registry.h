#ifndef XLA_HLO_PASS_PASS_REGISTRY_H_
#define XLA_HLO_PASS_PASS_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/hlo_pass_pipeline.h"
#include "xla/hlo/pass/pass_options.h"

namespace xla {

// Passes by name, and pipelines from text.
//
//   PassRegistry registry = AllPasses();           // xla/hlo/pipeline
//   registry.Register<MyPass>("my-pass", "counts the dots");
//   auto pipeline = registry.ParsePipeline("mine",
//   "hlo-dce,my-pass,fix(hlo-cse)");
//
// Grammar of the text:
//
//   passes = pass {"," pass}            (empty: no passes)
//   pass   = NAME ["{" [NAME ["=" VALUE] {"," …}] "}"]     one pass
//          | "fix" ["{limit=N}"] "(" passes ")"            to a fixed point
//          | "if-partitions" "(" passes ")"       on modules of several
//                                     devices only (partitions_pipeline.h)
//          | NAME "(" passes ")"                            a nested pipeline
//
// A VALUE may hold balanced braces, and commas inside them.
class PassRegistry {
 public:
  struct Entry {
    std::string help;
    std::vector<PassOptionInfo> options;
    std::function<absl::StatusOr<std::unique_ptr<HloPassInterface>>(
        const PassOptionText&)>
        make;
  };

  // Adds `Pass`, which is constructed from `Options` or, where there are none,
  // from nothing. A later entry of the same name takes the earlier one's place.
  template <typename Pass, typename Options = NoPassOptions>
  void Register(absl::string_view name, absl::string_view help) {
    Entry entry;
    entry.help = std::string(help);
    entry.options = DescribePassOptions<Options>();
    entry.make = [](const PassOptionText& text)
        -> absl::StatusOr<std::unique_ptr<HloPassInterface>> {
      absl::StatusOr<Options> options = ParsePassOptions<Options>(text);
      if (!options.ok()) return options.status();
      if constexpr (std::is_same_v<Options, NoPassOptions>) {
        return std::make_unique<Pass>();
      } else {
        return std::make_unique<Pass>(*std::move(options));
      }
    };
    entries_[std::string(name)] = std::move(entry);
  }

  // From now on `option` has this value in every pass that has such an option,
  // whatever texts say. Returns how many have one.
  int OverrideOption(absl::string_view option, absl::string_view value);

  // By name, sorted.
  const absl::btree_map<std::string, Entry>& entries() const {
    return entries_;
  }

  // Makes one pass; `_` in the name is as good as `-`. Errors: InvalidArgument
  // for an unknown name or option.
  absl::StatusOr<std::unique_ptr<HloPassInterface>> MakePass(
      absl::string_view name, const PassOptionText& options) const;

  // Parses `text` by the grammar above. Errors say the column.
  absl::StatusOr<std::unique_ptr<HloPassPipeline>> ParsePipeline(
      absl::string_view name, absl::string_view text) const;

 private:
  absl::btree_map<std::string, Entry> entries_;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_PASS_REGISTRY_H_

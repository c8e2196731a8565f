#ifndef XLA_HLO_PASS_HLO_PASS_PIPELINE_H_
#define XLA_HLO_PASS_HLO_PASS_PIPELINE_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/compilation_stats.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/hlo/pass/pass_instrumentation.h"

namespace xla {

// Passes that run one after another; a pipeline is itself a pass and nests.
//
//   HloPassPipeline pipeline("cleanup");
//   pipeline.AddInvariantChecker<HloVerifier>(…);
//   pipeline.AddPass<TupleSimplifier>();
//   pipeline.AddPass<HloDCE>();
//   absl::StatusOr<bool> changed = pipeline.Run(module);
//
// Invariant checkers run before the first pass and after each pass that changed
// the module. Instrumentations see the passes of nested pipelines too.
// Cleanup() of the module follows every pass that changed it. An error names
// the pass.
class HloPassPipeline : public HloPassInterface {
 public:
  // `compilation_stats` may be null; else it outlives the pipeline.
  explicit HloPassPipeline(const std::string& name,
                           CompilationStats* compilation_stats = nullptr)
      : name_(name), compilation_stats_(compilation_stats) {}

  absl::string_view name() const override { return name_; }

  // Constructs a pass from `args` and appends it.
  template <typename T, typename... Args>
  T& AddPass(Args&&... args) {
    return AddPass(std::make_unique<T>(std::forward<Args>(args)...));
  }

  template <typename T>
  T& AddPass(std::unique_ptr<T> pass) {
    static_assert(std::is_base_of_v<HloPassInterface, T>);
    T* raw = pass.get();
    passes_.push_back({std::move(pass), ""});
    return *raw;
  }

  // Appends a pass that was made from `text`, which reproducers quote.
  HloPassInterface& AddPassFromText(std::unique_ptr<HloPassInterface> pass,
                                    std::string text) {
    passes_.push_back({std::move(pass), std::move(text)});
    return *passes_.back().pass;
  }

  template <typename T, typename... Args>
  T& AddInvariantChecker(Args&&... args) {
    auto checker = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = checker.get();
    invariant_checkers_.push_back(std::move(checker));
    return *raw;
  }

  // The same, but only in builds with assertions.
  template <typename T, typename... Args>
  void AddInvariantCheckerDebug(Args&&... args) {
#ifndef NDEBUG
    AddInvariantChecker<T>(std::forward<Args>(args)...);
#endif
  }

  // Watches this pipeline and those nested in it.
  void AddInstrumentation(
      std::shared_ptr<PassInstrumentation> instrumentation) {
    instrumentations_.push_back(std::move(instrumentation));
  }

  bool IsPassPipeline() const override { return true; }

  int PassesSize() const { return static_cast<int>(passes_.size()); }
  HloPassInterface& GetPass(int index) { return *passes_[index].pass; }
  const HloPassInterface& GetPass(int index) const {
    return *passes_[index].pass;
  }

  using HloPassInterface::Run;

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  // The settings that a nested pipeline takes over from the enclosing one for a
  // run.
  struct Outer {
    std::vector<PassInstrumentation*> instrumentations;
    int* next_index = nullptr;
    int depth = 0;
  };

  struct Step {
    std::unique_ptr<HloPassInterface> pass;
    // Empty where the pass was not made from text.
    std::string text;
  };

  absl::StatusOr<bool> RunStep(
      const Step& step, HloModule* module, const Outer& context,
      const absl::flat_hash_set<absl::string_view>& execution_threads);

  absl::Status RunInvariantCheckers(
      HloModule* module, absl::string_view after,
      const absl::flat_hash_set<absl::string_view>& execution_threads);

  std::string name_;
  CompilationStats* compilation_stats_;
  std::vector<Step> passes_;
  std::vector<std::unique_ptr<HloPassInterface>> invariant_checkers_;
  std::vector<std::shared_ptr<PassInstrumentation>> instrumentations_;
  // Set by the surrounding pipeline while it runs this one.
  const Outer* outer_ = nullptr;
};

}  // namespace xla

#endif  // XLA_HLO_PASS_HLO_PASS_PIPELINE_H_

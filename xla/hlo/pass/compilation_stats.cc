#include "xla/hlo/pass/compilation_stats.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "absl/log/log.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace xla {
namespace {

class NoStats : public CompilationStats {
 public:
  void StartPass(absl::string_view pass_name) override {}
  void EndPass(absl::string_view pass_name) override {}
  void CompilationReport() override {}
  int GetPassesSize() override { return 0; }
};

class Stats : public CompilationStats {
 public:
  void StartPass(absl::string_view pass_name) override {
    running_.push_back(absl::Now());
  }

  void EndPass(absl::string_view pass_name) override {
    CHECK(!running_.empty()) << "no pass is running: " << pass_name;
    Entry& entry = entries_[std::string(pass_name)];
    entry.time += absl::Now() - running_.back();
    ++entry.runs;
    ++runs_;
    running_.pop_back();
  }

  void CompilationReport() override {
    std::vector<std::pair<std::string, Entry>> rows(entries_.begin(),
                                                    entries_.end());
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      if (a.second.time != b.second.time) return a.second.time > b.second.time;
      return a.first < b.first;
    });
    for (const auto& [name, entry] : rows) {
      LOG(INFO) << name << ": " << entry.runs << " runs, "
                << absl::ToDoubleSeconds(entry.time) << " s";
    }
  }

  int GetPassesSize() override { return runs_; }

 private:
  struct Entry {
    int runs = 0;
    absl::Duration time;
  };
  std::vector<absl::Time> running_;
  absl::flat_hash_map<std::string, Entry> entries_;
  int runs_ = 0;
};

}  // namespace

std::unique_ptr<CompilationStats> CompilationStats::MakeNoopStats() {
  return std::make_unique<NoStats>();
}

std::unique_ptr<CompilationStats> CompilationStats::MakeStats() {
  return std::make_unique<Stats>();
}

}  // namespace xla

#ifndef XLA_HLO_TRANSFORMS_SPMD_SPMD_LOGGER_H_
#define XLA_HLO_TRANSFORMS_SPMD_SPMD_LOGGER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::spmd {

// Which arrays are large, before and after partitioning, and the original
// instructions they come from.
class SpmdLogger {
 public:
  explicit SpmdLogger(int64_t report_instruction_count, bool disabled = false)
      : report_instruction_count_(report_instruction_count),
        disabled_(disabled) {}

  // The largest arrays: those that every device holds whole, then all.
  static std::string ReportBeforePartition(const HloModule& module,
                                           int64_t report_instruction_count);
  static std::string ReportAfterPartition(const HloModule& module,
                                          int64_t report_instruction_count);

  // Records that `group` was created from `hlo`.
  void RegisterLogEntry(HloInstruction* hlo,
                        const std::vector<HloInstruction*>& group);
  // The report, entries with the largest arrays first.
  std::string MakeReport();

 private:
  template <typename F>
  static std::string ReportMemoryUsage(const HloModule& module, const F& filter,
                                       int64_t report_instruction_count);

  // Bytes of the largest array, or -1, and the text; the largest first, equal
  // ones as they were recorded. No more than are reported: texts take time.
  std::vector<std::pair<int64_t, std::string>> entries_;
  int64_t report_instruction_count_;
  bool disabled_;
};

}  // namespace xla::spmd

#endif  // XLA_HLO_TRANSFORMS_SPMD_SPMD_LOGGER_H_

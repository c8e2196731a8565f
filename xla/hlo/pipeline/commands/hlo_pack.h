#ifndef XLA_HLO_PIPELINE_COMMANDS_HLO_PACK_H_
#define XLA_HLO_PIPELINE_COMMANDS_HLO_PACK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace xla {

struct HloPackOptions {
  std::string input;   // CSV file, "-" for standard input; see packing_csv.h
  std::string output;  // CSV file, "-" for standard output; empty: none
  std::optional<int64_t> capacity;  // bytes
  // Wall time for the exact search. Unset: its default budget of steps, which
  // makes results repeatable.
  std::optional<double> seconds;
};

// What hlo-pack does: reads, plans, checks, writes, and sets `summary` to a
// line with height, lower bound and seconds. ResourceExhausted if the capacity
// is not reached; the best packing is written all the same.
absl::Status RunHloPack(const HloPackOptions& options, std::string* summary);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_HLO_PACK_H_

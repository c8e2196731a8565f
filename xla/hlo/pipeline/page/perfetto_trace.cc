#include "xla/hlo/pipeline/page/perfetto_trace.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace xla {
namespace {

constexpr int kKernelTrack = 1;
constexpr int kCollectiveTrack = 2;

std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", c);
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

class Trace {
 public:
  explicit Trace(const MemoryPage& page) : page_(page) {
    const int count = page.instructions().name_size();
    kernel_.assign(count, -1);
    collective_.assign(count, -1);
    for (int k = 0; k < page.kernels().instruction_size(); ++k) {
      kernel_[page.kernels().instruction(k)] = k;
    }
    for (int c = 0; c < page.collectives().instruction_size(); ++c) {
      collective_[page.collectives().instruction(c)] = c;
    }
  }

  std::string Take() {
    Describe("process_name", 0, page_.memory().module());
    Describe("thread_name", kKernelTrack,
             absl::StrCat("kernels (model of ", page_.kernels().device(), ")"));
    Describe("thread_name", kCollectiveTrack, "collectives");
    const std::vector<double> live = LiveBytes();
    std::vector<bool> ran(kernel_.size(), false);
    double now = 0;     // microseconds
    double busy = 0;    // until when started collectives run
    double shown = -1;  // bytes of the last counter
    for (int tick = 0; tick < page_.ticks_size(); ++tick) {
      if (live[tick] != shown) {
        shown = live[tick];
        Event(
            absl::StrFormat("\"ph\":\"C\",\"name\":\"live bytes\",\"ts\":%.3f,"
                            "\"args\":{\"bytes\":%.0f}",
                            now, shown));
      }
      const int inst = page_.ticks(tick);
      if (inst < 0 || ran[inst]) continue;
      ran[inst] = true;
      const absl::string_view opcode =
          page_.strings(page_.instructions().opcode(inst));
      if (collective_[inst] >= 0) {
        const double time = page_.collectives().microseconds(collective_[inst]);
        const double begin = std::max(now, busy);
        Slice(inst, kCollectiveTrack, begin, time,
              page_.collectives().runs(collective_[inst]),
              page_.collectives().bytes(collective_[inst]));
        busy = begin + time;
        if (!absl::EndsWith(opcode, "-start")) now = busy;
      } else if (absl::EndsWith(opcode, "-done")) {
        now = std::max(now, busy);
      } else if (kernel_[inst] >= 0) {
        const int k = kernel_[inst];
        Slice(inst, kKernelTrack, now, page_.kernels().microseconds(k),
              page_.kernels().runs(k), page_.kernels().bytes(k));
        now += page_.kernels().microseconds(k);
      }
    }
    return absl::StrCat("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n",
                        events_, "\n]}\n");
  }

 private:
  std::vector<double> LiveBytes() const {
    std::vector<double> live(page_.ticks_size() + 1, 0);
    const MemoryPage::Buffers& buffers = page_.buffers();
    for (int b = 0; b < buffers.bytes_size(); ++b) {
      live[buffers.first(b)] += buffers.bytes(b);
      live[std::min(buffers.last(b) + 1, page_.ticks_size())] -=
          buffers.bytes(b);
    }
    for (size_t t = 1; t < live.size(); ++t) live[t] += live[t - 1];
    return live;
  }

  void Event(absl::string_view fields) {
    absl::StrAppend(&events_, events_.empty() ? "" : ",\n", "{\"pid\":1,",
                    fields, "}");
  }

  void Describe(absl::string_view what, int track, absl::string_view name) {
    Event(absl::StrFormat(
        "\"ph\":\"M\",\"name\":\"%s\",\"tid\":%d,\"args\":{\"name\":%s}", what,
        track, Quoted(name)));
  }

  void Slice(int inst, int track, double begin, double time, double runs,
             double bytes) {
    const MemoryPage::Instructions& table = page_.instructions();
    Event(absl::StrFormat(
        "\"ph\":\"X\",\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":%s,"
        "\"cat\":%s,\"args\":{\"op_name\":%s,\"source\":%s,\"runs\":%.0f,"
        "\"bytes\":%.0f}",
        track, begin, time, Quoted(table.name(inst)),
        Quoted(page_.strings(table.opcode(inst))),
        Quoted(page_.strings(table.op_name(inst))),
        Quoted(page_.strings(table.source(inst))), runs, bytes));
  }

  const MemoryPage& page_;
  std::vector<int> kernel_, collective_;  // per instruction: its row, or -1
  std::string events_;
};

}  // namespace

std::string MemoryPageToPerfetto(const MemoryPage& page) {
  return Trace(page).Take();
}

}  // namespace xla

#include "xla/backends/gpu/smem/report/smem_svg.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/kernel_positions.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"
#include "xla/backends/gpu/smem/plan/smem_footprint.h"
#include "xla/backends/gpu/smem/plan/smem_liveness.h"

namespace xla::gpu {
namespace {

constexpr double kWidth = 1000, kHeight = 480;
constexpr double kLeft = 84, kTop = 64, kBottom = 44, kRight = 24;
// Tableau's ten colors, lightened.
constexpr absl::string_view kColors[] = {
    "#8fb8de", "#f6b26b", "#93c990", "#ea9999", "#b4a7d6",
    "#c9a58a", "#f4b6d7", "#bdbdbd", "#d9d97a", "#80cfd6"};

std::string Escape(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

class Picture {
 public:
  explicit Picture(const SmemPlan& plan)
      : plan_(plan), positions_(plan.planned) {
    end_ = std::max(1, positions_.kernel_end());
    top_bytes_ = std::max<int64_t>(1, plan.total_bytes);
  }

  std::string Draw() {
    absl::StrAppendFormat(
        &text_,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
        "viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
        kWidth, kHeight, kWidth, kHeight);
    Text(kLeft, 24, "start", 16,
         absl::StrCat("@", plan_.planned.name, ": ", plan_.total_bytes,
                      " bytes"));
    Text(kLeft, 44, "start", 12,
         absl::StrCat("lower bound ", plan_.lower_bound_bytes, ", ",
                      plan_.syncs_total, " barriers of the block, ",
                      plan_.syncs_inserted(), " inserted for reuse, mode ",
                      plan_.mode));
    Text(kWidth - kRight, 24, "end", 11,
         "barriers: gray given, blue for data, red for reuse; green in halves");
    Text(kWidth - kRight, 44, "end", 11,
         "shaded: loops that repeat; dotted: lower bound");
    Loops();
    Axes();
    Buffers();
    Barriers();
    // On top of everything.
    text_ += labels_;
    text_ += "</svg>\n";
    return std::move(text_);
  }

 private:
  // The middle of a position, and the height of an address.
  double X(double position) const {
    return kLeft + (kWidth - kLeft - kRight) * position / (end_ + 1);
  }
  double Y(double bytes) const {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * bytes / static_cast<double>(top_bytes_);
  }

  void Text(double x, double y, absl::string_view anchor, int size,
            absl::string_view text) {
    absl::StrAppendFormat(
        &text_,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s"
        "</text>\n",
        x, y, anchor, size, Escape(text));
  }

  // Readable over lines: with a white rim.
  void Label(double x, double y, absl::string_view text) {
    absl::StrAppendFormat(
        &labels_,
        "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" stroke=\"white\" "
        "stroke-width=\"3\" paint-order=\"stroke\">%s</text>\n",
        x, y, Escape(text));
  }

  void Line(double x1, double y1, double x2, double y2, absl::string_view style,
            absl::string_view title = "") {
    absl::StrAppendFormat(
        &text_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s>", x1,
        y1, x2, y2, style);
    if (!title.empty()) {
      absl::StrAppend(&text_, "<title>", Escape(title), "</title>");
    }
    text_ += "</line>\n";
  }

  // Bands of the loops that repeat; deeper ones are darker.
  void Loops() {
    for (int p = 1; p <= end_; ++p) {
      const KernelPositions::Entry& entry = positions_.entries()[p];
      if (entry.kind != KernelPositions::Entry::Kind::kStatement) continue;
      const kir::Loop* loop = entry.statement->As<kir::Loop>();
      if (loop == nullptr || IsTrivialLoop(plan_.planned, *loop)) continue;
      const double x = X(p), width = X(positions_.EndOf(p) + 1) - x;
      absl::StrAppendFormat(
          &text_,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
          "fill=\"black\" fill-opacity=\"0.05\"><title>for %%%s : %s"
          "</title></rect>\n",
          x, kTop, width, kHeight - kTop - kBottom, Escape(loop->index),
          kir::LoopKindName(loop->kind));
    }
  }

  void Axes() {
    Line(kLeft, Y(0), kWidth - kRight, Y(0), "stroke=\"black\"");
    Line(kLeft, Y(0), kLeft, kTop, "stroke=\"black\"");
    const int step = std::max(1, end_ / 16);
    for (int p = 0; p <= end_; p += step) {
      Text(X(p + 0.5), kHeight - kBottom + 16, "middle", 11, absl::StrCat(p));
    }
    Text((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", 12,
         "position in the kernel");
    for (int k = 0; k <= 4; ++k) {
      const int64_t bytes = top_bytes_ * k / 4;
      Text(kLeft - 6, Y(static_cast<double>(bytes)) + 4, "end", 11,
           absl::StrCat(bytes));
    }
    absl::StrAppendFormat(&text_,
                          "<text transform=\"translate(16 %.1f) rotate(-90)\" "
                          "text-anchor=\"middle\">bytes</text>\n",
                          (Y(0) + kTop) / 2);
    if (plan_.lower_bound_bytes > 0 &&
        plan_.lower_bound_bytes <= plan_.total_bytes) {
      const double y = Y(static_cast<double>(plan_.lower_bound_bytes));
      Line(kLeft, y, kWidth - kRight, y,
           "stroke=\"#1a7f37\" stroke-dasharray=\"2 3\"", "lower bound");
    }
  }

  // The intervals in which a buffer lives; one from first to last where they
  // cannot be found again.
  std::vector<SmemLife> Lives() const {
    absl::StatusOr<SmemFlow> flow = SmemFlow::Create(plan_.planned);
    if (!flow.ok() || plan_.mode != "plan") return {};
    return ComputeSmemLives(*flow, SmemFootprints(*flow));
  }

  void Buffers() {
    const std::vector<SmemLife> lives = Lives();
    size_t color = 0;
    for (const SmemBufferPlan& buffer : plan_.buffers) {
      if (buffer.last < buffer.first || buffer.bytes <= 0 ||
          plan_.planned.buffers[buffer.buffer].memory != kir::Memory::kShared) {
        continue;
      }
      std::vector<SmemLife::Interval> intervals = {{buffer.first, buffer.last}};
      if (!lives.empty() && !lives[buffer.buffer].empty()) {
        intervals = lives[buffer.buffer].intervals;
      }
      const double y =
          Y(static_cast<double>(buffer.address_bytes + buffer.bytes));
      const double height = Y(static_cast<double>(buffer.address_bytes)) - y;
      const absl::string_view fill = kColors[color++ % 10];
      for (const SmemLife::Interval& i : intervals) {
        const double x = X(i.first), width = X(i.last + 1) - x;
        absl::StrAppendFormat(
            &text_,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
            "fill=\"%s\" fill-opacity=\"0.85\" stroke=\"#444\"><title>%%%s: "
            "%d bytes at %d, alive at %d..%d</title></rect>\n",
            x, y, width, std::max(1.0, height), fill, Escape(buffer.name),
            buffer.bytes, buffer.address_bytes, i.first, i.last);
        // In the middle, or above what is too low for it.
        Label(x + width / 2, height >= 14 ? y + height / 2 + 4 : y - 4,
              absl::StrCat("%", buffer.name));
      }
    }
  }

  void Barriers() {
    for (int p = 1; p <= end_; ++p) {
      const KernelPositions::Entry& entry = positions_.entries()[p];
      if (entry.kind != KernelPositions::Entry::Kind::kStatement) continue;
      const kir::Sync* sync = entry.statement->As<kir::Sync>();
      const kir::Expr* expr = entry.statement->As<kir::Expr>();
      const auto* half = entry.statement->As<kir::ArriveWait>();
      if (half != nullptr) {
        Line(X(p + 0.5), Y(0), X(p + 0.5), kTop - 6,
             "stroke=\"#1a7f37\" stroke-width=\"2\" stroke-dasharray=\"8 3\"",
             absl::StrCat(half->is_wait ? "wait at " : "arrive at ", p));
        continue;
      }
      if (sync == nullptr && (expr == nullptr || !expr->sync)) continue;
      std::string title = absl::StrCat("barrier at ", p);
      absl::string_view style =
          "stroke=\"#666\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"";
      for (const SmemSync& inserted : plan_.syncs) {
        if (inserted.position != p) continue;
        style = inserted.reason == SmemSync::Reason::kReuse
                    ? "stroke=\"#c00000\" stroke-width=\"2\""
                    : "stroke=\"#1f4e9c\" stroke-width=\"2\"";
        absl::StrAppend(&title, ", inserted (",
                        SmemSyncReasonName(inserted.reason),
                        "): ", inserted.why);
      }
      Line(X(p + 0.5), Y(0), X(p + 0.5), kTop - 6, style, title);
    }
  }

  const SmemPlan& plan_;
  const KernelPositions positions_;
  int end_ = 1;
  int64_t top_bytes_ = 1;
  std::string text_, labels_;
};

}  // namespace

std::string SmemPlanToSvg(const SmemPlan& plan) { return Picture(plan).Draw(); }

}  // namespace xla::gpu

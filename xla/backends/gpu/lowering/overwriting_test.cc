#include "xla/backends/gpu/lowering/overwriting.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"

namespace xla::gpu {
namespace {

// Operands 0 (of `type`) and 1 of a fusion with one result.
LoweredKernel KernelOf(absl::string_view body,
                       absl::string_view type = "f32[4, 128]") {
  const std::string text = absl::StrCat(
      "kernel @k {\n  launch grid(4, 1, 1) block(32, 1, 1)\n"
      "  param %p : global ",
      type, R"(
  param %q : global s32[4, 128]
  param %out : global f32[4, 128]
  alloc %v : local f32[1]
  alloc %w : local f32[1]
  alloc %x : local f32[4]
  alloc %h : local f32[1]
  alloc %i : local s64[1]
  alloc %j : local s64[1]
  alloc %l : local s64[1]
  alloc %m : local s64[1]
  alloc %n : local s64[1]
  alloc %o : local s32[1]
  alloc %y : local s64[2]
  for %b : bidx [0, 4) {
  for %t : tidx [0, 32) {
)",
      body, "\n  }\n  }\n}\n");
  absl::StatusOr<kir::Kernel> kernel = kir::ParseKernel(text, "test.kir");
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  LoweredKernel result;
  if (kernel.ok()) result.kernel = *std::move(kernel);
  result.operands = {{0, {}}, {1, {}}};
  result.results = {{}};
  return result;
}

bool InPlace(absl::string_view body, absl::string_view type = "f32[4, 128]") {
  return MayOverwrite(KernelOf(body, type), 0, {}, {});
}

constexpr absl::string_view kOwn =
    "%v[0] = copy(%p[b, t])\n%w[0] = neg(%v[0])\n%out[b, t] = copy(%w[0])";

TEST(OverwritingTest, ThreadsThatReadWhatTheyWrite) {
  EXPECT_TRUE(InPlace(kOwn));
  EXPECT_FALSE(
      InPlace("%v[0] = copy(%p[b, 31 - t])\n%out[b, t] = copy(%v[0])"));
  // Read again behind the write, or elsewhere.
  EXPECT_FALSE(InPlace(absl::StrCat(kOwn, "\n%v[0] = copy(%p[b, t])")));
  EXPECT_FALSE(InPlace(absl::StrCat("%v[0] = copy(%p[3 - b, t])\n", kOwn)));
  EXPECT_TRUE(InPlace(absl::StrCat("%v[0] = copy(%p[b, t])\n", kOwn)));
  // One of several writes is that of the element.
  EXPECT_TRUE(InPlace(absl::StrCat("%v[0] = copy(%p[b, t + 32])\n", kOwn,
                                   "\n%out[b, t + 32] = copy(%v[0])")));
}

TEST(OverwritingTest, ArraysThatAreNotAlike) {
  EXPECT_FALSE(InPlace(kOwn, "bf16[4, 128]"));
  EXPECT_FALSE(InPlace(kOwn, "f32[4, 256]"));
  EXPECT_TRUE(InPlace(kOwn, "s32[4, 128]"));
  // What is not read may be anything.
  const absl::string_view fill = "%v[0] = full(1.0)\n%out[b, t] = copy(%v[0])";
  EXPECT_TRUE(InPlace(fill));
  EXPECT_TRUE(InPlace(fill, "bf16[4, 256]"));
}

TEST(OverwritingTest, FindsTheArrays) {
  const LoweredKernel other = KernelOf(
      "%v[0] = copy(%p[b, t])\n%o[0] = copy(%q[b, 31 - t])\n"
      "%out[b, t] = copy(%v[0])");
  EXPECT_TRUE(MayOverwrite(other, 0, {}, {}));
  EXPECT_FALSE(MayOverwrite(other, 1, {}, {}));
  // Pointers, which no kernel reads.
  EXPECT_TRUE(MayOverwrite(other, 1, {0}, {}));
  EXPECT_TRUE(MayOverwrite(other, 1, {}, {0}));
  EXPECT_TRUE(MayOverwrite(other, 2, {}, {}));
  // A constant lies between the operands and the results.
  LoweredKernel constant = KernelOf(kOwn);
  constant.operands.pop_back();
  constant.constants.push_back(nullptr);
  EXPECT_TRUE(MayOverwrite(constant, 0, {}, {}));
  // The second of two results is the one that is written.
  LoweredKernel results = KernelOf(kOwn);
  results.operands.pop_back();
  results.results = {{0}, {1}};
  EXPECT_FALSE(MayOverwrite(results, 0, {}, {0}));
  EXPECT_TRUE(MayOverwrite(results, 0, {}, {1}));
}

TEST(OverwritingTest, Branches) {
  const std::string some = "if divergent (9 - t) {\n";
  const std::string fewer = "if divergent (8 - t) {\n";
  const std::string others = some + "} else {\n";
  const std::string read = "%v[0] = copy(%p[b, t])\n";
  const std::string write = "%out[b, t] = copy(%v[0])\n";
  const auto under = [&](const std::string& reads, const std::string& writes) {
    return InPlace(reads + read + "}\n" + writes + write + "}\n");
  };
  EXPECT_TRUE(under(some, some));
  EXPECT_FALSE(under(some, fewer));
  EXPECT_FALSE(under(some, others));
  EXPECT_FALSE(under(others, some));
  EXPECT_TRUE(under(others, others));
  // Threads that do not write have read; threads that have not read write.
  EXPECT_FALSE(InPlace(read + some + write + "}\n"));
  EXPECT_TRUE(InPlace(some + read + "}\n" + write));
  // A branch that is over.
  EXPECT_TRUE(InPlace(some + "%w[0] = full(1.0)\n}\n" + read + write));
}

TEST(OverwritingTest, Vectors) {
  const auto vectors = [](absl::string_view loop, absl::string_view reads,
                          absl::string_view writes) {
    return InPlace(absl::StrCat("for %r : ", loop, " {\n%x[r] = copy(%p[",
                                reads,
                                "])\n}\nfor %s : vectorize [0, 4) {\n%out[",
                                writes, "] = copy(%x[s])\n}"));
  };
  EXPECT_TRUE(vectors("vectorize [0, 4)", "b, 4*t + r", "b, 4*t + s"));
  EXPECT_FALSE(vectors("vectorize [0, 4)", "b, 4*t + r", "b, 4*t - s + 3"));
  EXPECT_FALSE(vectors("vectorize [0, 2)", "b, 4*t + r", "b, 4*t + s"));
  EXPECT_FALSE(vectors("vectorize [1, 4)", "b, 4*t + r", "b, 4*t + s"));
  EXPECT_FALSE(vectors("vectorize [0, 4) step 2", "b, 4*t + r", "b, 4*t + s"));
  // A vector and one element.
  EXPECT_FALSE(
      InPlace("for %r : vectorize [0, 4) {\n%x[r] = copy(%p[b, 4*t + r])\n}\n"
              "%out[b, 4*t] = copy(%x[0])"));
  // Loops that are written out, like vectors.
  EXPECT_TRUE(vectors("unroll [0, 4)", "b, 4*t + r", "b, 4*t + s"));
  EXPECT_FALSE(vectors("unroll [0, 4)", "b, 4*t + r", "b, 4*t + s + 1"));
  EXPECT_FALSE(vectors("serial [0, 4)", "b, 4*t + r", "b, 4*t + s"));
}

TEST(OverwritingTest, Rounds) {
  const auto rounds = [](absl::string_view read_if, absl::string_view write_if,
                         absl::string_view place) {
    return InPlace(
        absl::StrCat("for %r : unroll [0, 4) {\nif divergent (", read_if,
                     ") {\n%x[r] = copy(%p[b, 32*r + t])\n}\n}\n"
                     "for %s : unroll [0, 4) {\nif divergent (",
                     write_if, ") {\n%out[", place, "] = copy(%x[s])\n}\n}"));
  };
  EXPECT_TRUE(rounds("99 - 32*r - t", "99 - 32*s - t", "b, 32*s + t"));
  EXPECT_FALSE(rounds("99 - 32*r - t", "98 - 32*s - t", "b, 32*s + t"));
  EXPECT_FALSE(rounds("99 - 32*r - t", "99 - 32*s - t", "b, 96 - 32*s + t"));
  // One loop: each round reads and writes an element of its own.
  EXPECT_TRUE(InPlace(
      absl::StrCat("for %r : serial [0, 4) {\n%v[0] = copy(%p[b, 32*r + t])\n"
                   "%out[b, 32*r + t] = copy(%v[0])\n}")));
  // The second round would read what the first one has written.
  EXPECT_FALSE(
      InPlace("for %r : serial [0, 2) {\n%v[0] = copy(%p[b, t])\n"
              "%out[b, 32*r + t] = copy(%v[0])\n}"));
  // A write behind the rounds that read, but none in rounds behind the read.
  EXPECT_TRUE(
      InPlace("for %r : serial [0, 2) {\n%v[0] = copy(%p[b, t])\n}\n"
              "%out[b, t] = copy(%v[0])"));
  EXPECT_FALSE(
      InPlace("%v[0] = copy(%p[b, t])\n"
              "for %r : serial [0, 2) {\n%out[b, t] = copy(%v[0])\n}"));
  // Other loops.
  EXPECT_FALSE(
      InPlace("for %r : serial [0, 2) {\n%v[0] = copy(%p[b, t])\n}\n"
              "for %s : serial [0, 2) {\n%out[b, t] = copy(%v[0])\n}"));
  EXPECT_FALSE(
      InPlace("for %y : serial [0, 2) {\nfor %r : unroll [0, 4) {\n"
              "%x[r] = copy(%p[b, 4*t + r])\n}\n}\n"
              "for %z : serial [0, 2) {\nfor %s : unroll [0, 4) {\n"
              "%out[b, 4*t + s] = copy(%x[s])\n}\n}"));
}

// Rounds of vectors are not compared: those of the same name may be shorter.
TEST(OverwritingTest, RoundsOfVectors) {
  EXPECT_FALSE(
      InPlace("for %r : unroll [0, 4) {\nfor %s : vectorize [0, 4) {\n"
              "%x[s] = copy(%p[b, 4*r + s])\n}\n}\n"
              "for %y : unroll [0, 4) {\nfor %s : vectorize [0, 2) {\n"
              "%out[b, 4*y + s] = copy(%x[s])\n}\n}"));
}

// Numbers of elements that threads compute.
TEST(OverwritingTest, Scatters) {
  const auto scatter = [](absl::string_view numbers, absl::string_view from,
                          absl::string_view to) {
    return InPlace(absl::StrCat("%i[0] = copy(%q[b, t])\n", numbers,
                                "\n%v[0] = gather(%p[0, 0], ", from,
                                ")\n%w[0] = neg(%v[0])\n",
                                "%out[0, 0] = scatter(%w[0], ", to, ")"));
  };
  EXPECT_TRUE(scatter("", "%i[0]", "%i[0]"));
  EXPECT_TRUE(scatter("", "%q[b, t]", "%q[b, t]"));
  EXPECT_FALSE(scatter("", "%q[b, t]", "%q[b, 31 - t]"));
  EXPECT_FALSE(scatter("", "%q[b, t]", "%i[0]"));
  // The same operations on the same values, and others.
  EXPECT_TRUE(scatter("%j[0] = mul(%i[0], 2)\n%l[0] = mul(%i[0], 2)", "%j[0]",
                      "%l[0]"));
  EXPECT_TRUE(
      scatter("%j[0] = mul(%i[0], 2)\n%l[0] = mul(%i[0], 2)\n"
              "%m[0] = neg(%j[0])\n%n[0] = neg(%l[0])",
              "%m[0]", "%n[0]"));
  EXPECT_FALSE(scatter("%j[0] = mul(%i[0], 2)\n%l[0] = mul(%i[0], 3)", "%j[0]",
                       "%l[0]"));
  EXPECT_FALSE(scatter("%j[0] = mul(%i[0], 2)\n%l[0] = add(%i[0], 2)", "%j[0]",
                       "%l[0]"));
  EXPECT_FALSE(
      scatter("%j[0] = mul(%i[0], 2)\n%l[0] = neg(%i[0])", "%j[0]", "%l[0]"));
  EXPECT_FALSE(
      scatter("%o[0] = cast(%i[0])\n%j[0] = cast(%i[0])", "%o[0]", "%j[0]"));
  EXPECT_FALSE(
      scatter("%m[0] = full(2)\n%j[0] = mul(%i[0], 2)\n"
              "%l[0] = mul(%i[0], %m[0])",
              "%j[0]", "%l[0]"));
  // Nobody looks into arrays.
  EXPECT_FALSE(scatter("%y[0] = copy(%i[0])", "%y[0]", "%y[0]"));
  // A register that changes in between, and registers of which each is computed
  // from what it was.
  EXPECT_FALSE(scatter("%j[0] = add(%j[0], 1)\n%l[0] = add(%l[0], 1)", "%j[0]",
                       "%l[0]"));
  EXPECT_FALSE(scatter("%i[0] = mul(%i[0], 2)", "%i[0]", "%i[0]"));
  // Only behind the read does the register hold what the other one does.
  EXPECT_FALSE(
      InPlace("%i[0] = copy(%q[b, 31 - t])\n%v[0] = gather(%p[0, 0], %i[0])\n"
              "%i[0] = copy(%q[b, t])\n%j[0] = copy(%q[b, t])\n"
              "%out[0, 0] = scatter(%v[0], %j[0])"));
  // A vector that reads one element again and again.
  EXPECT_TRUE(
      InPlace("%i[0] = copy(%q[b, t])\nfor %r : vectorize [0, 4) {\n"
              "%v[0] = gather(%p[0, 0], %i[0])\n}\n"
              "%out[0, 0] = scatter(%v[0], %i[0])"));
  // One side alone has a number.
  EXPECT_FALSE(
      InPlace("%i[0] = copy(%q[b, t])\n%v[0] = gather(%p[0, 0], %i[0])\n"
              "%out[0, 0] = copy(%v[0])"));
  EXPECT_FALSE(
      InPlace("%i[0] = copy(%q[b, t])\n%v[0] = copy(%p[0, 0])\n"
              "%out[0, 0] = scatter(%v[0], %i[0])"));
}

// An element that is written twice is read before one of the writes alone.
TEST(OverwritingTest, SecondWrites) {
  const absl::string_view own =
      "%i[0] = copy(%q[b, t])\n%v[0] = gather(%p[0, 0], %i[0])\n"
      "%out[0, 0] = scatter(%v[0], %i[0])\n";
  EXPECT_TRUE(InPlace(own));
  EXPECT_FALSE(
      InPlace(absl::StrCat(own, "%out[0, 0] = scatter(%v[0], %i[0])")));
  EXPECT_FALSE(InPlace(absl::StrCat(own, "%out[b, t] = copy(%v[0])")));
  EXPECT_FALSE(InPlace(absl::StrCat(kOwn, "\n%p[b, t] = copy(%w[0])")));
}

}  // namespace
}  // namespace xla::gpu

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/backends/gpu/lowering/lowering_test_util.h"
#include "xla/hlo/ir/hlo_instruction.h"

// What each thread takes of a kernel on a device that few threads fill: several
// neighbors, several vectors, rows in registers. fusion_lowering_test.cc has
// the kinds of kernels.

namespace xla::gpu {
namespace {

constexpr absl::string_view kAddAndMax = R"(
HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT d = f32[] maximum(a, b)
}
)";

class ThreadWorkTest : public ::testing::Test {
 protected:
  absl::Status Compare(absl::string_view text) {
    return CompareWithEvaluator(text, [this](const HloInstruction& hlo) {
      FusionLoweringOptions options;
      options.threads_of_tiles = threads_;
      options.min_reduced = 2;
      options.min_vector_columns = 2;
      options.device_threads = device_threads_;
      absl::StatusOr<LoweredKernel> lowered = LowerFusion(hlo, options);
      if (lowered.ok()) Count(lowered->kernel);
      return lowered;
    });
  }
  absl::Status CompareRows(absl::string_view body) {
    return Compare(absl::StrCat(kAddAndMax, "ENTRY e {\n", body, "\n}"));
  }

  void Count(const kir::Kernel& kernel) {
    reads_ = writes_ = barriers_ = groups_ = shared_ = roots_ = 0;
    for (const kir::Buffer& buffer : kernel.buffers) {
      shared_ += buffer.memory == kir::Memory::kShared;
    }
    kir::ForEachStatement(kernel.body, [&](const kir::Statement& statement) {
      const auto* sync = statement.As<kir::Sync>();
      barriers_ += sync != nullptr && sync->scope == kir::SyncScope::kBlock;
      const auto* loop = statement.As<kir::Loop>();
      if (loop != nullptr && loop->kind == kir::LoopKind::kUnroll) {
        kir::ForEachStatement(loop->body, [&](const kir::Statement& inner) {
          const auto* expr = inner.As<kir::Expr>();
          roots_ += expr != nullptr && expr->op == "sqrt";
        });
      }
      if (loop != nullptr && loop->kind == kir::LoopKind::kVectorize) {
        const auto* copy = loop->body[0].As<kir::Expr>();
        const bool writes = kernel.buffers[copy->outputs[0].buffer].is_param;
        (writes ? writes_ : reads_) += 1;
      }
      const auto* expr = statement.As<kir::Expr>();
      groups_ += expr != nullptr && expr->op.rfind("warp_reduce", 0) == 0 &&
                 expr->arguments.size() == 2;
    });
  }

  int64_t threads_ = 128;
  int64_t device_threads_ = 1;
  // What the last kernel has: vectors that are read and written, barriers of
  // the block, reductions of a part of a warp, arrays in shared memory, and
  // square roots of each column.
  int64_t reads_ = 0, writes_ = 0, barriers_ = 0, groups_ = 0, shared_ = 0;
  int64_t roots_ = 0;
};

std::string Softmax(absl::string_view shape, absl::string_view rows,
                    absl::string_view dims, absl::string_view along) {
  return absl::StrCat(
      "p = bf16", shape, " parameter(0)\nf = f32", shape,
      " convert(p)\nlow = f32[] constant(-inf)\nm = f32", rows,
      " reduce(f, low), dimensions={", along, "}, to_apply=max\nmb = f32",
      shape, " broadcast(m), dimensions={", dims, "}\nd = f32", shape,
      " subtract(f, mb)\nx = f32", shape,
      " exponential(d)\nz = f32[] constant(0)\ns = f32", rows,
      " reduce(x, z), dimensions={", along, "}, to_apply=add\nsb = f32", shape,
      " broadcast(s), dimensions={", dims, "}\nROOT v = f32", shape,
      " divide(x, sb)");
}

TEST_F(ThreadWorkTest, RowsStayInRegisters) {
  // One warp for a row, or several; a last step that only some lanes have.
  for (const auto& [shape, rows] :
       {std::pair<std::string, std::string>{"[5,256]", "[5]"},
        {"[3,1024]", "[3]"},
        {"[5,328]", "[5]"},
        {"[40,48]", "[40]"}}) {
    EXPECT_EQ(CompareRows(Softmax(shape, rows, "0", "1")), absl::OkStatus());
    EXPECT_EQ(reads_, shape == "[5,328]" ? 2 : 1) << shape;
    EXPECT_GE(writes_, 1) << shape;
  }
  // Through bitcasts.
  EXPECT_EQ(CompareRows(R"(
  p = bf16[1,6,128] parameter(0)
  f = f32[1,6,128] convert(p)
  g = f32[6,128] bitcast(f)
  z = f32[] constant(0)
  s = f32[6] reduce(g, z), dimensions={1}, to_apply=add
  t = f32[1,6] bitcast(s)
  q = f32[1,6] sqrt(t)
  b = f32[1,6,128] broadcast(q), dimensions={0,1}
  ROOT d = f32[1,6,128] divide(f, b))"),
            absl::OkStatus());
  EXPECT_EQ(reads_, 1);
  EXPECT_EQ(roots_, 0);
  // Elements one by one.
  EXPECT_EQ(CompareRows(Softmax("[7,45]", "[7]", "0", "1")), absl::OkStatus());
  EXPECT_EQ(shared_, 0);
  // Too long for registers: read at each of three stages.
  EXPECT_EQ(CompareRows(Softmax("[1,16384]", "[1]", "0", "1")),
            absl::OkStatus());
  EXPECT_EQ(reads_, 3);
  // An initial value that counts is taken with the first column.
  EXPECT_EQ(CompareRows(R"(
  p = f32[6,70] parameter(0)
  z = f32[] constant(3)
  s = f32[6] reduce(p, z), dimensions={1}, to_apply=add
  sb = f32[6,70] broadcast(s), dimensions={0}
  ROOT d = f32[6,70] divide(p, sb))"),
            absl::OkStatus());
}

TEST_F(ThreadWorkTest, LanesOfShortRowsShareAWarp) {
  EXPECT_EQ(CompareRows(R"(
  p = f32[37,64] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[37] reduce(p, z), dimensions={1}, to_apply=add)"),
            absl::OkStatus());
  EXPECT_EQ(groups_, 1);
  EXPECT_EQ(shared_, 0);
  EXPECT_EQ(reads_, 1);
  // Not where the device has threads to spare.
  device_threads_ = 1 << 18;
  EXPECT_EQ(CompareRows(R"(
  p = f32[37,256] parameter(0)
  z = f32[] constant(0)
  ROOT s = f32[37] reduce(p, z), dimensions={1}, to_apply=add)"),
            absl::OkStatus());
  EXPECT_EQ(groups_, 0);
  EXPECT_EQ(shared_, 0);
}

TEST_F(ThreadWorkTest, WarpsJoinNumbersOfAllTypes) {
  for (absl::string_view type : {"f64", "bf16", "s32", "u8", "s16", "f16"}) {
    for (absl::string_view op : {"add", "maximum", "minimum", "multiply"}) {
      EXPECT_EQ(
          Compare(absl::StrCat(
              "HloModule m\nop { a = ", type, "[] parameter(0) b = ", type,
              "[] parameter(1) ROOT c = ", type, "[] ", op,
              "(a, b) }\nENTRY e {\np = ", type, "[9,40] parameter(0)\nz = ",
              type, "[] constant(1)\nROOT s = ", type,
              "[9] reduce(p, z), dimensions={1}, to_apply=op\n}")),
          absl::OkStatus())
          << type << " " << op;
      const bool is_float = type.find('f') != absl::string_view::npos;
      EXPECT_EQ(shared_, is_float || op != "multiply" ? 0 : 1)
          << type << " " << op;
    }
  }
  for (absl::string_view op : {"and", "or"}) {
    EXPECT_EQ(Compare(absl::StrCat(
                  "HloModule m\nop { a = pred[] parameter(0) b = pred[] "
                  "parameter(1) ROOT c = pred[] ",
                  op,
                  "(a, b) }\nENTRY e {\np = pred[9,40] parameter(0)\nz = "
                  "pred[] constant(",
                  op == "and",
                  ")\nROOT s = pred[9] reduce(p, z), dimensions={1}, "
                  "to_apply=op\n}")),
              absl::OkStatus());
    EXPECT_EQ(shared_, 0);
  }
}

TEST_F(ThreadWorkTest, ColumnsAreTakenInVectors) {
  for (int64_t threads : {32, 64, 128}) {
    threads_ = threads;
    for (int64_t device_threads : {1, 1 << 18}) {
      device_threads_ = device_threads;
      // Whole tiles and parts, few columns and many, several results.
      for (absl::string_view size : {"40,256", "7,36", "90,8", "3,516"}) {
        const std::string shape = absl::StrCat("[", size, "]");
        const std::string left =
            absl::StrCat("[", size.substr(size.find(',') + 1), "]");
        EXPECT_EQ(
            CompareRows(absl::StrCat(
                "p = f32", shape, " parameter(0)\nz = f32[] constant(0)\n",
                "low = f32[] constant(-inf)\nn = f32", shape,
                " negate(p)\ns = f32", left,
                " reduce(n, z), dimensions={0}, to_apply=add\nm = f32", left,
                " reduce(p, low), dimensions={0}, to_apply=max\nd = f32", left,
                " multiply(s, m)\nROOT t = (f32", left, ", f32", left,
                ") tuple(s, d)")),
            absl::OkStatus())
            << shape << " " << threads;
        EXPECT_GE(reads_, 1) << shape << " " << threads;
        EXPECT_LE(barriers_, 1) << shape << " " << threads;
      }
      // Rows on both sides of the columns.
      EXPECT_EQ(CompareRows(R"(
  p = bf16[3,20,24] parameter(0)
  f = f32[3,20,24] convert(p)
  z = f32[] constant(0)
  s = f32[3,24] reduce(f, z), dimensions={1}, to_apply=add
  ROOT r = bf16[24,3] transpose(bf16[3,24] convert(s)), dimensions={1,0})"),
                absl::OkStatus());
      EXPECT_GE(reads_, 1);
    }
  }
  // What lies along the columns is written where they are read, one by one.
  EXPECT_EQ(CompareRows(R"(
  p = f32[20,24] parameter(0)
  z = f32[] constant(0)
  s = f32[24] reduce(p, z), dimensions={0}, to_apply=add
  b = f32[20,24] broadcast(s), dimensions={1}
  ROOT r = f32[20,24] subtract(p, b))"),
            absl::OkStatus());
  EXPECT_EQ(reads_, 0);
}

TEST_F(ThreadWorkTest, NeighborsOfOneConditionAreReadAtOnce) {
  struct Case {
    absl::string_view body;
    int64_t reads, writes;
  };
  for (const Case& c : {
           Case{"p = f32[6,8] parameter(0)\nq = f32[6,12] parameter(1)\n"
                "ROOT c = f32[6,20] concatenate(p, q), dimensions={1}",
                2, 1},
           // Three, the middle one first.
           {"p = bf16[6,8] parameter(0)\nq = bf16[6,16] parameter(1)\n"
            "ROOT c = bf16[6,32] concatenate(p, q, p), dimensions={1}",
            3, 1},
           {"p = f32[5,8] parameter(0)\nz = f32[] constant(7)\n"
            "ROOT x = f32[7,20] pad(p, z), padding=1_1x8_4",
            1, 1},
           // The condition tells neighbors apart.
           {"p = f32[6,6] parameter(0)\nq = f32[6,10] parameter(1)\n"
            "ROOT c = f32[6,16] concatenate(p, q), dimensions={1}",
            0, 0},
           {"p = f32[5,8] parameter(0)\nz = f32[] constant(7)\n"
            "ROOT x = f32[7,20] pad(p, z), padding=1_1x7_5",
            0, 0},
       }) {
    EXPECT_EQ(Compare(absl::StrCat("HloModule m\nENTRY e {\n", c.body, "\n}")),
              absl::OkStatus())
        << c.body;
    EXPECT_EQ(reads_, c.reads) << c.body;
    EXPECT_EQ(writes_, c.writes) << c.body;
  }
}

TEST_F(ThreadWorkTest, NarrowNeighborsAreTransposedByWords) {
  // Parts of tiles on one side, on both, on none; two results, one of them
  // wider.
  for (absl::string_view type : {"bf16", "s8"}) {
    for (absl::string_view size : {"64,128", "72,68", "64,66"}) {
      const std::string from = absl::StrCat("[", size, "]");
      const size_t comma = size.find(',');
      const std::string to = absl::StrCat("[", size.substr(comma + 1), ",",
                                          size.substr(0, comma), "]");
      EXPECT_EQ(Compare(absl::StrCat("HloModule m\nENTRY e {\np = ", type, from,
                                     " parameter(0)\nt = ", type, to,
                                     " transpose(p), dimensions={1,0}\nf = f32",
                                     to, " convert(t)\nROOT r = (", type, to,
                                     ", f32", to, ") tuple(t, f)\n}")),
                absl::OkStatus())
          << type << from;
      EXPECT_EQ(reads_, 1) << type << from;
      EXPECT_EQ(writes_, 2) << type << from;
    }
  }
  EXPECT_EQ(Compare("HloModule m\nENTRY e {\np = bf16[65,67] parameter(0)\n"
                    "ROOT t = bf16[67,65] transpose(p), dimensions={1,0}\n}"),
            absl::OkStatus());
  EXPECT_EQ(reads_, 0);
}

TEST_F(ThreadWorkTest, SortsTakeStepsInRegisters) {
  for (int64_t threads : {16, 128}) {
    threads_ = threads;
    for (int64_t elements : {2, 8, 16, 128}) {
      const std::string shape = absl::StrCat("[3,", elements, "]");
      EXPECT_EQ(Compare(absl::StrCat(
                    "HloModule m\nless { a = s32[] parameter(0) b = s32[] "
                    "parameter(1) ROOT c = pred[] compare(a, b), direction=LT "
                    "}\nENTRY e {\np = s32",
                    shape, " parameter(0)\nROOT s = s32", shape,
                    " sort(p), dimensions={1}, to_apply=less, "
                    "is_stable=true\n}")),
                absl::OkStatus())
          << elements;
      EXPECT_EQ(shared_, 1) << elements;
      // What goes along tells equals apart.
      EXPECT_EQ(Compare(absl::StrCat(
                    "HloModule m\nless { a = s32[] parameter(0) b = s32[] "
                    "parameter(1) i = f32[] parameter(2) j = f32[] "
                    "parameter(3) ROOT c = pred[] compare(a, b), direction=GT "
                    "}\nENTRY e {\np = s32",
                    shape, " parameter(0)\nq = f32", shape,
                    " parameter(1)\nn = s32[] constant(3)\nnb = s32", shape,
                    " broadcast(n), dimensions={}\nr = s32", shape,
                    " remainder(p, nb)\nROOT s = (s32", shape, ", f32", shape,
                    ") sort(r, q), dimensions={1}, to_apply=less\n}")),
                absl::OkStatus())
          << elements;
      EXPECT_EQ(shared_, 3) << elements;
    }
  }
  // 16 visits of shared memory instead of 45, a barrier behind each and one
  // behind the loads.
  EXPECT_EQ(Compare("HloModule m\nless { a = f32[] parameter(0) b = f32[] "
                    "parameter(1) ROOT c = pred[] compare(a, b), direction=LT "
                    "}\nENTRY e {\np = f32[1,512] parameter(0)\n"
                    "ROOT s = f32[1,512] sort(p), dimensions={1}, "
                    "to_apply=less\n}"),
            absl::OkStatus());
  EXPECT_EQ(barriers_, 17);
}

}  // namespace
}  // namespace xla::gpu

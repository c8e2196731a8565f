// Broken kernels: whatever is done to a text, parsing ends with kernels or a
// message. The seeds are fixed, so that a failure can be run again;
// KIR_MUTATIONS is how many there are of each.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "xla/backends/gpu/kernel_ir/kir_fuzz_target.h"

namespace xla::gpu::kir {
namespace {

constexpr absl::string_view kPieces[] = {"{",
                                         "}",
                                         "(",
                                         ")",
                                         "[",
                                         "]",
                                         ",",
                                         "=",
                                         "%",
                                         "?",
                                         ":",
                                         "-1",
                                         "0",
                                         "1",
                                         "for ",
                                         "if ",
                                         "sync ",
                                         "alloc ",
                                         "param ",
                                         "launch ",
                                         "kernel @",
                                         "block",
                                         "warp",
                                         "uniform",
                                         "f32",
                                         "global",
                                         "shared",
                                         "local",
                                         "align 0",
                                         "swizzle 3",
                                         "vec 4",
                                         " mod ",
                                         " div ",
                                         "alias ",
                                         "addr(",
                                         "circ(0, 0)",
                                         "\n",
                                         "//",
                                         "unroll",
                                         "stage ",
                                         "step 0",
                                         "tid.x",
                                         "bid.y",
                                         "sym n",
                                         "id i = ",
                                         "option",
                                         "async=",
                                         "mbar=",
                                         "commit",
                                         "wait ",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "99999999999999999999"};

std::string Mutate(std::string text, std::mt19937_64& random) {
  const int changes = 1 + random() % 3;
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const size_t at = random() % text.size();
    const size_t length = 1 + random() % std::min<size_t>(30, text.size() - at);
    switch (random() % 6) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), length));
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      default: {
        const absl::string_view piece = kPieces[random() % std::size(kPieces)];
        text.replace(at, random() % 2 == 0 ? 0 : length, piece.data(),
                     piece.size());
        break;
      }
    }
  }
  return text;
}

TEST(KirMutationTest, NothingCrashes) {
  const char* wanted = std::getenv("KIR_MUTATIONS");
  const uint64_t mutations = wanted == nullptr ? 600 : std::atoll(wanted);
  int kernels = 0;
  for (const char* name :
       {"column_reduce", "heroes", "row_reduce", "softmax", "transpose"}) {
    std::ifstream in(std::string("examples/kernels/") + name + ".kir");
    std::stringstream text;
    text << in.rdbuf();
    ASSERT_TRUE(KernelsRoundTrip(text.str())) << name;
    for (uint64_t seed = 0; seed < mutations; ++seed) {
      std::mt19937_64 random(seed);
      kernels += KernelsRoundTrip(Mutate(text.str(), random));
    }
  }
  // Some are kernels still; if none were, none would get far.
  EXPECT_GT(kernels, 10);
}

}  // namespace
}  // namespace xla::gpu::kir

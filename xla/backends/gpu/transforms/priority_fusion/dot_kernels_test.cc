// Random dots that need no matrix unit, between other kernels: fused, they are
// valid and compute what they did.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "xla/backends/gpu/transforms/priority_fusion/kernel_replacement_test_util.h"

namespace xla::gpu {
namespace {

class RandomDot {
 public:
  explicit RandomDot(uint64_t seed) : random_(seed) {}

  // `sums`: of a matrix and a vector; else dots that add nothing up.
  std::string Module(bool sums) {
    for (int i = Between(0, 2); i > 0; --i) {
      AddToBoth("batch", Between(1, 3), &result_);
    }
    const int contractions = sums ? Between(1, 2) : Between(0, 1);
    for (int i = 0; i < contractions; ++i) {
      AddToBoth("contracting", sums ? 8 << Between(0, 3) : 1, nullptr);
    }
    const int matrix = Between(0, 1);
    for (int side : {0, 1}) {
      for (int i = Between(0, 2); i > 0; --i) {
        const int size = sums && side != matrix ? 1 : Between(1, 4);
        sides_[side].push_back({"free", size, 0});
      }
      Shuffle(&sides_[side]);
      for (const Dimension& d : sides_[side]) {
        if (d.role == "free") result_.push_back(d.size);
      }
    }
    const std::string from = Between(0, 3) == 0 ? "bf16" : "f32";
    const std::string to = Between(0, 1) == 0 ? from : "f32";
    const std::string x = Shape(0), y = Shape(1);
    const std::string result =
        absl::StrCat("[", absl::StrJoin(result_, ","), "]");
    return absl::StrFormat(
        "HloModule m\nENTRY e {\n  p = %1$s%2$s parameter(0)\n"
        "  q = %1$s%3$s parameter(1)\n  x = %1$s%2$s negate(p)\n"
        "  y = %1$s%3$s negate(q)\n  d = %4$s%5$s dot(x, y)%6$s\n"
        "  ROOT a = %4$s%5$s abs(d)\n}\n",
        from, x, y, to, result, Attributes());
  }

 private:
  struct Dimension {
    std::string role;
    int size;
    int number;  // of those of a role
  };

  int Between(int low, int high) {
    return low + static_cast<int>(random_() % (high - low + 1));
  }

  void AddToBoth(const std::string& role, int size, std::vector<int>* result) {
    for (auto& side : sides_) side.push_back({role, size, added_});
    ++added_;
    if (result != nullptr) result->push_back(size);
  }

  // Half of the time they stay in order, so that nothing is to be transposed.
  void Shuffle(std::vector<Dimension>* side) {
    if (Between(0, 1) == 0) return;
    for (int i = static_cast<int>(side->size()) - 1; i > 0; --i) {
      std::swap((*side)[i], (*side)[Between(0, i)]);
    }
  }

  std::string Shape(int side) const {
    std::vector<int> sizes;
    for (const Dimension& d : sides_[side]) sizes.push_back(d.size);
    return absl::StrCat("[", absl::StrJoin(sizes, ","), "]");
  }

  // Each pair in the order in which it was added.
  std::string Attributes() const {
    std::string text;
    for (const char* role : {"batch", "contracting"}) {
      std::vector<int> places[2];
      for (int number = 0; number < added_; ++number) {
        for (int side : {0, 1}) {
          for (size_t i = 0; i < sides_[side].size(); ++i) {
            const Dimension& d = sides_[side][i];
            if (d.role == role && d.number == number) places[side].push_back(i);
          }
        }
      }
      if (places[0].empty()) continue;
      absl::StrAppend(&text, ", lhs_", role, "_dims={",
                      absl::StrJoin(places[0], ","), "}, rhs_", role, "_dims={",
                      absl::StrJoin(places[1], ","), "}");
    }
    return text;
  }

  std::mt19937_64 random_;
  std::vector<Dimension> sides_[2];
  std::vector<int> result_;
  int added_ = 0;
};

int Fused(bool sums) {
  int fused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    fused += BecomesFusion(RandomDot(seed).Module(sums), "dot");
    if (testing::Test::HasFailure()) break;
  }
  return fused;
}

TEST(DotKernelsTest, RandomProductsKeepTheirMeaning) {
  EXPECT_GT(Fused(/*sums=*/false), 100);
}

TEST(DotKernelsTest, RandomSumsKeepTheirMeaning) {
  EXPECT_GT(Fused(/*sums=*/true), 30);
}

}  // namespace
}  // namespace xla::gpu

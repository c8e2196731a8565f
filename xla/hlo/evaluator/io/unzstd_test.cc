#include "xla/hlo/evaluator/io/unzstd.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace xla {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = 1 << 20;

// What `zstd -19` wrote of Letters(): a Huffman code whose weights are coded,
// four streams of literals, and sequences with tables of their own.
constexpr absl::string_view kLetters =
    "28b52ffd64d4068513002a4b70080eb06b0c2449922421726618864e637f008200810045"
    "a5e43409715324f9ccba84a95bc9a769cb346bd11da794aa178b4cadb7d653248737bff1"
    "f9a0002b92a8aa6fd4d5899134cf2af40cb8f3246784ca8608e474f542e7968e25251241"
    "9601b99c969751f45e3185ed67dee12242876910ee83366d77cb905e307648cd5bcca641"
    "0974064b8b26cd7ea62a4a92acfe978efa6a8878d01dce9d44ab12f58892bc11a9ae109d"
    "ac769fd6d1a27e11b7b7a0d08bee3a77aa156218bb87c3d51e31c81b7b52f8f71ced756d"
    "c9d819dba9d9e0055569dd4e3972829c48c39ff10951b00f6ba13139f49066a3b7a3a8e4"
    "3b35cbeab977cf1516d77bcf641a1b4b59659ae95fe48a4eb26b49d433b09cf1e8e478e3"
    "563aa101b2953723e1048d6ba6c4c333da5388754a3ce438740dad44d52cae6278aac6e0"
    "1aabdda659ea505c36abf31b9f638899d8936d9e584c98d4d9158d73896f3d0a07195e71"
    "b8eef427b20c6679e3429e5e34b896d32e5389d6aa7ef05ca9982a7bfb913db926b795c3"
    "770ccdb288b1d1a9ff53b14f2192123785bbc35e8f782c9807ec18100b490c279375f8e4"
    "967dc65742adf392df35c29cb2f2d89ef0d12b869c33c9d0f2ebadc4e95ec53b0d0b2124"
    "d6a3062adac42207296db0bb351989bc267636a62ffb92da37b39a6ed03551bbbc722511"
    "a2eb10be480cb1d5332d7555f71e34974c337f4babf8e9cd14bc12d2501df14e4729e334"
    "c7d0d5c6844b57996d0df1f993011ea010fe7fc807100e6179e81c861ecc80396a92e0cb"
    "ed102d9ee7c4df77e2932182061138d034007418fd50060f36f80fce20af842138e06208"
    "6694d6e883273a19861ec257875bcc89cb9597025e1c07397219";

// And of a hundred times that: two blocks, the second with codes of the first.
constexpr absl::string_view kManyLetters =
    "28b52ffda4d00e0300b413002a4b70080eb06b0c2449922421726618864e637f00820081"
    "0045a5e43409715324f9ccba84a95bc9a769cb346bd11da794aa178b4cadb7d653248737"
    "bff1f9a0002b92a8aa6fd4d5899134cf2af40cb8f3246784ca8608e474f542e7968e2525"
    "12419601b99c969751f45e3185ed67dee12242876910ee83366d77cb905e307648cd5bcc"
    "a6410974064b8b26cd7ea62a4a92acfe978efa6a8878d01dce9d44ab12f58892bc11a9ae"
    "109dac769fd6d1a27e11b7b7a0d08bee3a77aa156218bb87c3d51e31c81b7b52f8f71ced"
    "756dc9d819dba9d9e0055569dd4e3972829c48c39ff10951b00f6ba13139f49066a3b7a3"
    "a8e43b35cbeab977cf1516d77bcf641a1b4b59659ae95fe48a4eb26b49d433b09cf1e8e4"
    "78e3563aa101b2953723e1048d6ba6c4c333da5388754a3ce438740dad44d52cae6278aa"
    "c6e01aabdda659ea505c36abf31b9f638899d8936d9e584c98d4d9158d73896f3d0a0719"
    "5e71b8eef427b20c6679e3429e5e34b896d32e5389d6aa7ef05ca9982a7bfb913db926b7"
    "95c3770ccdb288b1d1a9ff53b14f2192123785bbc35e8f782c9807ec18100b490c279375"
    "f8e4967dc65742adf392df35c29cb2f2d89ef0d12b869c33c9d0f2ebadc4e95ec53b0d0b"
    "2124d6a3062adac42207296db0bb351989bc267636a62ffb92da37b39a6ed03551bbbc72"
    "2511a2eb10be480cb1d5332d7555f71e34974c337f4babf8e9cd14bc12d2501df14e4729"
    "e334c7d0d5c6844b57996d0df1f993011fa020c2ff4b3e102e5dd90129f8d797a3e730f0"
    "600ece51b3044f9ec3b478f633fede139f0c113488d0094d03a0c3f80f65e06087f98119"
    "e40a0cf1011f836046991a7df0442f63e04158eb70893973b9f0a6802a04550000000100"
    "cd0ed7fcb90602507cd4f6";

// Letters, the first of them the likeliest, and some of them again.
std::string Letters() {
  constexpr absl::string_view kLetter = "aaaaaaaabbbbccdefghijklmnopabcab";
  std::string letters;
  uint32_t x = 1;
  std::vector<std::string> parts;
  for (int i = 0; i < 1200; ++i) {
    x = (x * 1103515245u + 12345u) & 0x7fffffff;
    parts.emplace_back(1, kLetter[(x >> 16) % 32]);
    if (i % 40 != 39) continue;
    const int begin = (i * 7) % (i - 20);
    std::string again = "\n";
    for (int k = begin; k < begin + 8 + i % 23 && k < parts.size(); ++k) {
      again += parts[k];
    }
    parts.push_back(again);
  }
  return absl::StrJoin(parts, "");
}

std::string Unhex(absl::string_view hex) {
  std::string bytes;
  EXPECT_TRUE(absl::HexStringToBytes(hex, &bytes));
  return bytes;
}

TEST(UnzstdTest, LiteralsAsTheyAre) {
  const std::string packed =
      Unhex("28b52ffd0458610000486c6f4d6f64756c65206d0a252e70e1");
  EXPECT_TRUE(IsZstd(packed));
  EXPECT_EQ(Unzstd(packed, kMax).value(), "HloModule m\n");
}

TEST(UnzstdTest, CodedLiteralsAndSequences) {
  EXPECT_EQ(Unzstd(Unhex(kLetters), kMax).value(), Letters());
}

TEST(UnzstdTest, BlocksThatUseTheCodesOfOthers) {
  std::string many;
  for (int i = 0; i < 100; ++i) many += Letters();
  EXPECT_EQ(Unzstd(Unhex(kManyLetters), kMax).value(), many);
}

TEST(UnzstdTest, RepeatedBytes) {
  EXPECT_EQ(Unzstd(Unhex("28b52ffd20052b000078"), kMax).value(), "xxxxx");
  EXPECT_EQ(Unzstd(Unhex("28b52ffd04584d0000100000010083d3032c25b73230"), kMax)
                .value(),
            std::string(5000, '\0'));
}

TEST(UnzstdTest, SeveralFramesAndSkippedOnes) {
  const std::string x = Unhex("28b52ffd20052b000078");
  const std::string skipped = Unhex("502a4d1803000000aabbcc");
  EXPECT_EQ(Unzstd(x + skipped + x, kMax).value(), "xxxxxxxxxx");
}

TEST(UnzstdTest, SaysWhatIsWrong) {
  const auto message = [](absl::string_view hex, int64_t max_size) {
    return std::string(Unzstd(Unhex(hex), max_size).status().message());
  };
  EXPECT_THAT(message("1f8b", kMax),
              HasSubstr("a frame without the magic number"));
  EXPECT_THAT(message("28b52ffd2105072b000078", kMax),
              HasSubstr("needs dictionary 5"));
  EXPECT_THAT(message("28b52ffd20062b000078", kMax),
              HasSubstr("expected 6 bytes, found 5"));
  EXPECT_THAT(message(kLetters, 1000), HasSubstr("more than 1000 bytes"));
}

// The checksum finds what the codes let pass.
TEST(UnzstdTest, EveryCutAndEveryFlippedByteIsFound) {
  const std::string whole = Unhex(kLetters);
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(Unzstd(whole.substr(0, size), kMax).ok()) << size;
  }
  const std::string letters = Letters();
  for (size_t at = 6; at < whole.size(); ++at) {
    for (const char flip : {1, 0x10, 0x7f}) {
      std::string broken = whole;
      broken[at] = static_cast<char>(broken[at] ^ flip);
      const absl::StatusOr<std::string> read = Unzstd(broken, kMax);
      // Not all bits mean something.
      EXPECT_TRUE(!read.ok() || *read == letters) << at;
    }
  }
}

}  // namespace
}  // namespace xla

#include "xla/hlo/utils/module_file.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "xla/hlo/utils/file_util.h"

namespace xla {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// "HloModule m\n" as `gzip -n` packs it, and with a name in its header.
std::string Packed(const std::string& flags, const std::string& fields) {
  std::string bytes;
  EXPECT_TRUE(absl::HexStringToBytes(
      absl::StrCat("1f8b08", flags, "000000000003", fields,
                   "f3c8c9f7cd4f29cd4955c8e50200c9d9696d0c000000"),
      &bytes));
  return bytes;
}

std::string Folder(const std::string& name) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/", name);
  EXPECT_EQ(std::system(
                absl::StrCat("rm -rf '", folder, "' && mkdir -p '", folder, "'")
                    .c_str()),
            0);
  return folder;
}

TEST(GunzipTest, UnpacksWithAndWithoutName) {
  EXPECT_EQ(Gunzip(Packed("00", "")).value(), "HloModule m\n");
  EXPECT_EQ(Gunzip(Packed("08", "612e686c6f00")).value(), "HloModule m\n");
}

TEST(GunzipTest, EveryCutAndEveryFlippedByteOfTheBodyIsFound) {
  const std::string whole = Packed("08", "612e686c6f00");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Gunzip(whole.substr(0, size)).ok()) << size;
  }
  // After the header; the last byte of the body only fills up its last bits.
  for (size_t at = 16; at < whole.size(); ++at) {
    if (at == 29) continue;
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x20);
    EXPECT_FALSE(Gunzip(broken).ok()) << at;
  }
}

TEST(ModuleFileTest, UnpacksAndNamesTheFile) {
  const std::string folder = Folder("packed");
  const std::string path = absl::StrCat(folder, "/m.hlo.gz");
  ASSERT_TRUE(WriteFileOrStdout(path, Packed("00", "")).ok());
  EXPECT_EQ(ReadModuleFile(path)->contents, "HloModule m\n");
  ASSERT_TRUE(WriteFileOrStdout(path, Packed("00", "").substr(0, 20)).ok());
  EXPECT_THAT(std::string(ReadModuleFile(path).status().message()),
              HasSubstr("m.hlo.gz: error: bad gzip file: damaged"));
}

TEST(ModuleFileTest, UnpacksWhatZstdPacked) {
  const std::string path = absl::StrCat(Folder("zstd"), "/m.hlo.zst");
  std::string packed;
  ASSERT_TRUE(absl::HexStringToBytes(
      "28b52ffd0458610000486c6f4d6f64756c65206d0a252e70e1", &packed));
  ASSERT_TRUE(WriteFileOrStdout(path, packed).ok());
  EXPECT_EQ(ReadModuleFile(path)->contents, "HloModule m\n");
  packed.back() ^= 1;
  ASSERT_TRUE(WriteFileOrStdout(path, packed).ok());
  EXPECT_THAT(std::string(ReadModuleFile(path).status().message()),
              HasSubstr("m.hlo.zst: error: bad zstd file: damaged"));
}

TEST(ModuleFileTest, TakesTheLargestOptimizedModuleOfAFolder) {
  const std::string folder = Folder("dump");
  EXPECT_THAT(std::string(ReadModuleFile(folder).status().message()),
              HasSubstr("a folder without modules"));
  for (const auto& [name, contents] :
       {std::pair("module_0001.jit_step.before_optimizations.txt",
                  "the longest text of all of these"),
        std::pair("module_0001.jit_step.cpu_after_optimizations.txt",
                  "the step itself"),
        std::pair("module_0001.jit_step.cpu_after_optimizations-buffer-"
                  "assignment.txt",
                  "by far the longest text of all of these"),
        std::pair("module_0002.jit_add.cpu_after_optimizations.txt", "small"),
        std::pair("module_0001.jit_step.0003.after_dce.before_cse.txt",
                  "between passes, and not listed"),
        std::pair("notes.png", "no module, however long its contents are")}) {
    ASSERT_TRUE(
        WriteFileOrStdout(absl::StrCat(folder, "/", name), contents).ok());
  }
  const auto modules = ListDumpedModules(folder);
  ASSERT_EQ(modules->size(), 3);
  EXPECT_EQ((*modules)[0].number, 1);
  EXPECT_EQ((*modules)[1].number, 2);
  EXPECT_FALSE((*modules)[2].after_optimizations);
  const auto file = ReadModuleFile(folder);
  EXPECT_EQ(file->contents, "the step itself");
  EXPECT_THAT(file->name, EndsWith("module_0001.jit_step.cpu_after_"
                                   "optimizations.txt"));
}

TEST(ModuleFileTest, TakesTheNewestModuleOfTheLargestProgram) {
  const std::string folder = Folder("again");
  const auto now = std::filesystem::file_time_type::clock::now();
  int seconds = 0;
  // In the order in which they were written; a new process counts from 0.
  for (const auto& [name, contents] :
       {std::pair("module_0021.jit_step.cpu_after_optimizations.txt",
                  "the step before it took less"),
        std::pair("module_0007.jit_step.cpu_after_optimizations.txt",
                  "the step now"),
        std::pair("module_0007.jit_step.cpu_after_optimizations.hlo.pb",
                  "the step now as a proto"),
        std::pair("module_0022.jit_add.cpu_after_optimizations.txt", "small"),
        std::pair("module_0023.jit_step.before_optimizations.txt",
                  "the longest text, and the newest")}) {
    const std::string path = absl::StrCat(folder, "/", name);
    ASSERT_TRUE(WriteFileOrStdout(path, contents).ok());
    std::filesystem::last_write_time(path,
                                     now + std::chrono::seconds(++seconds));
  }
  const auto modules = ListDumpedModules(folder);
  std::vector<std::string> contents;
  for (const DumpedModule& module : *modules) {
    contents.push_back(ReadModuleFile(module.path)->contents);
  }
  EXPECT_THAT(contents, ElementsAre("the step now", "the step now as a proto",
                                    "the step before it took less", "small",
                                    "the longest text, and the newest"));
}

// Short names live in strings that are sorted.
TEST(ModuleFileTest, ListsModulesWithShortNames) {
  const std::string folder = Folder("short");
  std::vector<std::string> paths;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) {
    const std::string path = absl::StrCat(folder, "/", name, ".hlo");
    paths.push_back(path);
    ASSERT_TRUE(WriteFileOrStdout(path, std::string(paths.size(), 'x')).ok());
  }
  const auto modules = ListDumpedModules(folder);
  std::vector<std::string> listed;
  for (const DumpedModule& module : *modules) {
    listed.insert(listed.begin(), module.path);
  }
  EXPECT_EQ(listed, paths);
}

// As in a folder that was cloned or unpacked.
TEST(ModuleFileTest, OfEqualTimesTheHighestNumberIsTheNewest) {
  const std::string folder = Folder("copied");
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const char* number : {"0007", "0021", "0003", "0100"}) {
    const std::string path = absl::StrCat(
        folder, "/module_", number, ".jit_step.cpu_after_optimizations.txt");
    ASSERT_TRUE(WriteFileOrStdout(path, number).ok());
    std::filesystem::last_write_time(path, now);
  }
  EXPECT_EQ(ReadModuleFile(folder)->contents, "0100");
}

TEST(ModuleFileTest, NamesOfDumpsTellTheDevice) {
  const std::string cpu = "module_0004.jit_f.cpu_after_optimizations.txt";
  EXPECT_EQ(DeviceTypeOfDump(cpu), "cpu");
  EXPECT_EQ(DeviceTypeOfDump("dump/" + cpu), "cpu");
  EXPECT_EQ(DeviceTypeOfDump(
                "dump/module_0012.jit_f.sm_9.0_gpu_after_optimizations.hlo.pb"),
            "gpu");
  EXPECT_EQ(DeviceTypeOfDump("module_0004.jit_f.before_optimizations.txt"), "");
  EXPECT_EQ(DeviceTypeOfDump(cpu + "/f.hlo"), "") << "a folder";
}

TEST(ModuleFileTest, MissingFileIsNamed) {
  EXPECT_THAT(std::string(ReadModuleFile("/no/such/file").status().message()),
              HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace xla

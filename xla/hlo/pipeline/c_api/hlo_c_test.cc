#include "xla/hlo/pipeline/c_api/hlo_c.h"

#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::HasSubstr;

constexpr char kStep[] = R"(HloModule step
ENTRY main {
  p = f32[1024]{0} parameter(0)
  a = f32[1024]{0} exponential(p)
  b = f32[4,1024]{1,0} broadcast(a), dimensions={1}
  ROOT r = f32[4,1024]{1,0} negate(b)
}
)";

// A text that a function handed out.
std::string Take(char* text) {
  if (text == nullptr) return "";
  std::string copy = text;
  hlo_free(text);
  return copy;
}

hlo_module* Parse(const char* text) {
  hlo_module* module = nullptr;
  char* error = nullptr;
  EXPECT_EQ(hlo_parse(text, std::strlen(text), "step.hlo", 0, &module, &error),
            0)
      << Take(error);
  return module;
}

std::string Print(const hlo_module* module, const char* form) {
  char *bytes = nullptr, *error = nullptr;
  size_t size = 0;
  EXPECT_EQ(hlo_print(module, form, &bytes, &size, &error), 0) << Take(error);
  std::string text(bytes, size);
  hlo_free(bytes);
  return text;
}

TEST(HloCTest, ModulesGoInAndOut) {
  hlo_module* module = Parse(kStep);
  EXPECT_THAT(Print(module, "hlo"), HasSubstr("HloModule step"));
  const std::string proto = Print(module, "proto");
  hlo_module* again = nullptr;
  char* error = nullptr;
  EXPECT_EQ(hlo_parse(proto.data(), proto.size(), "step.pb", 0, &again, &error),
            0);
  char* report = nullptr;
  EXPECT_EQ(hlo_diff(module, again, "", &report, &error), 0);
  EXPECT_THAT(Take(report), HasSubstr("equal"));
  char* json = nullptr;
  EXPECT_EQ(hlo_describe(again, &json, &error), 0);
  EXPECT_EQ(Take(json),
            "{\"name\": \"step\", \"instructions\": 4, \"computations\": 1, "
            "\"partitions\": 1, \"replicas\": 1, \"scheduled\": false}");
  hlo_release(again);
  hlo_release(module);
}

TEST(HloCTest, ErrorsSayWhere) {
  hlo_module* module = nullptr;
  char* error = nullptr;
  const char text[] = "HloModule m\nENTRY e {\n  ROOT p = f32[2] ad(p)\n}\n";
  EXPECT_EQ(hlo_parse(text, sizeof(text) - 1, "m.hlo", 0, &module, &error), 1);
  EXPECT_EQ(module, nullptr);
  EXPECT_THAT(Take(error), HasSubstr("m.hlo:3:19: error: unknown opcode"));
  EXPECT_EQ(hlo_read("/nowhere/m.hlo", 0, &module, &error), 1);
  EXPECT_THAT(Take(error), HasSubstr("/nowhere/m.hlo"));
}

TEST(HloCTest, OptionsAreCheckedByNameAndValue) {
  hlo_module* module = Parse(kStep);
  hlo_module* result = nullptr;
  char *report = nullptr, *json = nullptr, *error = nullptr;
  EXPECT_EQ(hlo_opt(module, "pipelin=gpu", &result, &error), 1);
  EXPECT_EQ(Take(error), "unknown option 'pipelin'; did you mean pipeline?");
  EXPECT_EQ(hlo_explain(module, "effort=much", nullptr, &report, &json, &error),
            1);
  EXPECT_EQ(Take(error), "option 'effort' cannot be 'much'");
  EXPECT_EQ(result, nullptr);
  hlo_release(module);
}

TEST(HloCTest, PassesLeaveTheirInputAlone) {
  hlo_module* module = Parse(kStep);
  const std::string before = Print(module, "hlo");
  hlo_module* fused = nullptr;
  char* error = nullptr;
  ASSERT_EQ(hlo_opt(module, "pipeline=gpu\ndevice=h100", &fused, &error), 0)
      << Take(error);
  EXPECT_THAT(Print(fused, "hlo"), HasSubstr("fusion("));
  EXPECT_EQ(Print(module, "hlo"), before);
  hlo_release(fused);
  hlo_release(module);
}

TEST(HloCTest, MissedLimitsLeaveReportAndModule) {
  hlo_module* module = Parse(kStep);
  hlo_module* fitted = nullptr;
  char *report = nullptr, *json = nullptr, *error = nullptr;
  EXPECT_EQ(hlo_explain(module, "limit=1KiB\nfit=true", &fitted, &report, &json,
                        &error),
            3);
  EXPECT_THAT(Take(json), HasSubstr("\"met\": false"));
  EXPECT_THAT(Take(error), HasSubstr("step does not fit in 1.0 KiB"));
  EXPECT_THAT(Take(report), HasSubstr("arguments and results alone take"));
  EXPECT_THAT(Print(fitted, "short"), HasSubstr("is_scheduled=true"));
  hlo_release(fitted);
  hlo_release(module);
}

TEST(HloCTest, CurvesAndCollectivesAreJsonToo) {
  hlo_module* module = Parse(kStep);
  const std::pair<const char*, const char*> cases[] = {
      {"budget-curve=2", "\"points\": ["},
      {"budget-curve=2\nfit=true\nlimit=100%", "\"curve\": {"},
      {"collectives=true", "\"collectives\": {"}};
  for (const auto& [options, expected] : cases) {
    char *report = nullptr, *json = nullptr, *error = nullptr;
    ASSERT_EQ(hlo_explain(module, options, nullptr, &report, &json, &error), 0)
        << Take(error);
    EXPECT_THAT(Take(json), HasSubstr(expected)) << options;
    EXPECT_THAT(Take(report), HasSubstr("step: ")) << options;
  }
  hlo_release(module);
}

TEST(HloCTest, DifferentModulesAreStatusFour) {
  hlo_module* module = Parse(kStep);
  std::string text = kStep;
  text.replace(text.find("exponential"), 11, "logistic");
  hlo_module* other = Parse(text.c_str());
  char *report = nullptr, *error = nullptr;
  EXPECT_EQ(hlo_diff(module, other, "json=true", &report, &error), 4);
  EXPECT_THAT(Take(report), HasSubstr("logistic"));
  EXPECT_EQ(hlo_diff(module, other, "html=-", &report, &error), 4);
  EXPECT_THAT(Take(report), HasSubstr("<!doctype html>"));
  hlo_release(other);
  hlo_release(module);
}

TEST(HloCTest, ThreadsShareAModule) {
  hlo_module* module = Parse(kStep);
  std::vector<std::string> reports(8);
  std::vector<std::thread> threads;
  for (std::string& to : reports) {
    threads.emplace_back([module, &to] {
      char *report = nullptr, *json = nullptr, *error = nullptr;
      hlo_explain(module, "limit=h100", nullptr, &report, &json, &error);
      to = Take(report) + Take(json);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& report : reports) EXPECT_EQ(report, reports[0]);
  EXPECT_THAT(reports[0], HasSubstr("\"fits\": true"));
  hlo_release(module);
}

}  // namespace

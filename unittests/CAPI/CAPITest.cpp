//===- CAPITest.cpp - The compiler's C ABI ----------------------------------------------------===//
#include "tessera-c/tessera.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

/// One compilation of a text with fp32 vectors of one size as arguments.
struct Compilation {
  std::vector<std::string> names;
  std::vector<tessera_dim> dims;
  std::vector<tessera_argument> arguments;
  std::vector<const char *> stages;
  tessera_compile_request request = {};
  tessera_result *result = nullptr;

  Compilation(const char *source, std::vector<std::string> arguments, int64_t size = 5)
      : names(std::move(arguments)), dims(names.size(), {size, 1, 16, 0, 0}) {
    for (size_t i = 0; i < names.size(); ++i) {
      tessera_argument argument = {};
      argument.struct_bytes = sizeof argument;
      argument.name = names[i].c_str();
      argument.dtype = TESSERA_RT_FP32;
      argument.rank = 1;
      argument.contiguous = 1;
      argument.dims = &dims[i];
      this->arguments.push_back(argument);
    }
    request.struct_bytes = sizeof request;
    request.source = source;
    request.source_bytes = std::strlen(source);
    request.file = "test.tsr";
    request.first_line = 1;
    request.arguments = this->arguments.data();
    request.argument_count = this->arguments.size();
    request.target = "cpu";
  }
  ~Compilation() { tessera_result_release(result); }

  tessera_status compile() {
    request.stages = stages.data();
    request.stage_count = stages.size();
    return tessera_compile(&request, &result);
  }
  std::string text() const { return tessera_result_text(result, 0); }
};

const char *const doubled = "@tsr.function\n"
                            "def doubled(x):\n"
                            "    return x * 2.0\n";

TEST(CAPI, Versions) {
  EXPECT_EQ(tessera_abi_version(), TESSERA_ABI_VERSION);
  EXPECT_NE(std::string(tessera_version()), "");
  EXPECT_NE(std::string(tessera_devices()).find("\"cpu\""), std::string::npos);
}

TEST(CAPI, Chips) {
  std::string text = tessera_chips();
  EXPECT_NE(text.find("\"chip\": \"sm_90\""), std::string::npos);
  EXPECT_NE(text.find("\"shared_bytes_per_cta\": 232448"), std::string::npos);
  EXPECT_NE(text.find("\"launch_seconds\": \"assumed\""), std::string::npos);
  EXPECT_NE(text.find("\"copy_terabytes_per_second\": \"measured\""), std::string::npos);
  EXPECT_DOUBLE_EQ(tessera_occupancy("sm_90", 256, 128, 0), 0.25);
  EXPECT_LT(tessera_occupancy("sm_60", 256, 128, 0), 0);
}

TEST(CAPI, CompilesAndRuns) {
  Compilation c(doubled, {"x"});
  ASSERT_EQ(c.compile(), TESSERA_OK) << c.text();
  uint64_t length = 0;
  const void *bundle = tessera_result_bundle(c.result, &length);
  ASSERT_NE(bundle, nullptr);
  tessera_rt_module *module = nullptr;
  ASSERT_EQ(tessera_rt_load(bundle, length, &module), TESSERA_RT_OK) << tessera_rt_last_error();
  const tessera_rt_function *function = tessera_rt_find_function(module, "doubled", 0);
  ASSERT_NE(function, nullptr);

  float in[5] = {1, 2, 3, 4, 5}, out[5] = {};
  int64_t size = 5, stride = 1;
  tessera_rt_value value = {};
  value.as.tensor = {in, TESSERA_RT_FP32, 1, &size, &stride, TESSERA_RT_DEVICE_CPU, 0};
  tessera_rt_frame *frame = nullptr;
  ASSERT_EQ(tessera_rt_prepare(function, &value, 1, &frame), TESSERA_RT_OK);
  void *results[] = {out};
  EXPECT_EQ(tessera_rt_execute(frame, results), TESSERA_RT_OK);
  tessera_rt_frame_release(frame);
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(out[i], 2 * in[i]);
  tessera_rt_module_release(module);
}

TEST(CAPI, ArgumentsFromAnnotations) {
  Compilation c("@tsr.function\n"
                "def scaled(x: Tensor[\"N\", 4, fp32], by: float):\n"
                "    return x * by\n",
                {});
  c.stages = {"graph"};
  c.request.no_code = 1;
  EXPECT_EQ(c.compile(), TESSERA_DIAGNOSTICS);
  tessera_result_release(c.result);
  c.request.from_annotations = 1;
  ASSERT_EQ(c.compile(), TESSERA_OK) << c.text();
  EXPECT_NE(std::string(tessera_result_ir(c.result, "graph")).find("!gir.tensor<N, 4, f32>"),
            std::string::npos);
}

TEST(CAPI, FunctionsOfAText) {
  Compilation c("@tsr.function\ndef a(x):\n    return x\n"
                "def b(x):\n    return x\n"
                "class C:\n    @tsr.function\n    def m(self, x):\n        return x\n",
                {});
  ASSERT_EQ(tessera_functions(&c.request, &c.result), TESSERA_OK) << c.text();
  EXPECT_STREQ(tessera_result_ir(c.result, "functions"), "a\nC.m\n");

  Compilation wrong("@tsr.function\ndef a(x:\n", {});
  EXPECT_EQ(tessera_functions(&wrong.request, &wrong.result), TESSERA_DIAGNOSTICS);
}

TEST(CAPI, TextsOnlyOnRequest) {
  Compilation c(doubled, {"x"});
  c.stages = {"graph", "sched", "explain"};
  c.request.no_code = 1;
  ASSERT_EQ(c.compile(), TESSERA_OK) << c.text();
  EXPECT_NE(tessera_result_ir(c.result, "graph"), nullptr);
  EXPECT_NE(tessera_result_ir(c.result, "sched"), nullptr);
  EXPECT_NE(tessera_result_ir(c.result, "explain"), nullptr);
  EXPECT_EQ(tessera_result_ir(c.result, "tile"), nullptr);
  EXPECT_EQ(tessera_result_bundle(c.result, nullptr), nullptr);
  EXPECT_NE(std::string(tessera_result_report(c.result)).find("\"timings\""), std::string::npos);
}

TEST(CAPI, DiagnosticsAreData) {
  Compilation c("@tsr.function\ndef f(x):\n    return tsr.nothing(x)\n", {"x"});
  ASSERT_EQ(c.compile(), TESSERA_DIAGNOSTICS);
  ASSERT_GE(tessera_result_diagnostic_count(c.result), 1u);
  tessera_diagnostic diagnostic = tessera_result_diagnostic(c.result, 0);
  EXPECT_EQ(diagnostic.severity, TESSERA_ERROR);
  EXPECT_EQ(diagnostic.line, 3);
  EXPECT_STREQ(diagnostic.file, "test.tsr");
  EXPECT_NE(c.text().find("test.tsr:3:"), std::string::npos);
  EXPECT_EQ(tessera_result_bundle(c.result, nullptr), nullptr);
}

TEST(CAPI, MalformedRequests) {
  tessera_result *result = nullptr;
  EXPECT_EQ(tessera_compile(nullptr, &result), TESSERA_REQUEST);
  EXPECT_EQ(tessera_result_diagnostic_count(result), 1u);
  tessera_result_release(result);

  Compilation badType(doubled, {"x"});
  badType.arguments[0].dtype = 99;
  EXPECT_EQ(badType.compile(), TESSERA_REQUEST);
  EXPECT_NE(badType.text().find("unknown type number 99"), std::string::npos);

  Compilation badRank(doubled, {"x"});
  badRank.arguments[0].rank = -3;
  EXPECT_EQ(badRank.compile(), TESSERA_REQUEST);

  Compilation badTarget(doubled, {"x"});
  badTarget.request.target = "abacus";
  EXPECT_EQ(badTarget.compile(), TESSERA_UNSUPPORTED);

  Compilation badStage(doubled, {"x"});
  badStage.stages = {"sass"};
  EXPECT_EQ(badStage.compile(), TESSERA_UNSUPPORTED);
}

TEST(CAPI, FieldsBeyondTheStructsSizeAreZero) {
  Compilation c(doubled, {"x"});
  c.stages = {"graph"};
  c.request.stages = c.stages.data();
  c.request.stage_count = 1;
  c.request.struct_bytes = offsetof(tessera_compile_request, stages);
  ASSERT_EQ(tessera_compile(&c.request, &c.result), TESSERA_OK) << c.text();
  EXPECT_EQ(tessera_result_ir(c.result, "graph"), nullptr);
}

TEST(CAPI, InvalidTextIsDiagnosed) {
  using namespace std::string_literals;
  std::string text = "@tsr.function\ndef f(x):\n    return x \xff\0 1\n"s;
  Compilation c("", {"x"});
  c.request.source = text.data();
  c.request.source_bytes = text.size();
  EXPECT_EQ(c.compile(), TESSERA_DIAGNOSTICS);
}

const char *answerHalf(void *user, const char *, const char *name) {
  ++*static_cast<int *>(user);
  if (std::strcmp(name, "HALF") == 0)
    return "{\"kind\": \"float\", \"value\": 0.5}";
  return std::strcmp(name, "tsr") == 0 ? "{\"kind\": \"module\", \"value\": \"tessera\"}"
                                       : "{\"kind\": \"missing\", \"names\": [\"HALF\"]}";
}

TEST(CAPI, AsksForFreeNames) {
  int questions = 0;
  Compilation c("@tsr.function\ndef f(x):\n    return x * HALF\n", {"x"});
  c.request.resolve = answerHalf;
  c.request.resolve_user = &questions;
  EXPECT_EQ(c.compile(), TESSERA_OK) << c.text();
  EXPECT_GE(questions, 1);

  Compilation wrong("@tsr.function\ndef f(x):\n    return x * HALFF\n", {"x"});
  wrong.request.resolve = answerHalf;
  wrong.request.resolve_user = &questions;
  EXPECT_EQ(wrong.compile(), TESSERA_DIAGNOSTICS);
  EXPECT_NE(wrong.text().find("HALF"), std::string::npos);
}

TEST(CAPI, ReferenceHasBounds) {
  Compilation c("@tsr.function\ndef f(x):\n    return tsr.exp(x), x > 2.0\n", {"x"});
  float in[5] = {0, 1, 2, 3, 4};
  int64_t size = 5, stride = 1;
  tessera_rt_value value = {};
  value.as.tensor = {in, TESSERA_RT_FP32, 1, &size, &stride, TESSERA_RT_DEVICE_CPU, 0};
  ASSERT_EQ(tessera_reference(&c.request, &value, 1, &c.result), TESSERA_OK) << c.text();
  ASSERT_EQ(tessera_result_output_count(c.result), 2u);
  EXPECT_TRUE(tessera_result_is_tuple(c.result));
  tessera_output exp = tessera_result_output(c.result, 0);
  EXPECT_EQ(exp.dtype, TESSERA_RT_FP32);
  EXPECT_EQ(exp.value.dtype, TESSERA_RT_FP64);
  EXPECT_NEAR(static_cast<const double *>(exp.value.data)[1], 2.718281828459045, 1e-12);
  EXPECT_GT(exp.bound[1], 0);
  EXPECT_LT(exp.bound[1], 1e-5);
  tessera_output greater = tessera_result_output(c.result, 1);
  EXPECT_EQ(greater.value.dtype, TESSERA_RT_BOOL);
  EXPECT_EQ(static_cast<const uint8_t *>(greater.value.data)[4], 1);
}

TEST(CAPI, ThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&good, t] {
      for (int i = 0; i < 3; ++i) {
        Compilation c(doubled, {"x"}, 5 + t);
        good[t] += c.compile() == TESSERA_OK;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 3));
}

} // namespace

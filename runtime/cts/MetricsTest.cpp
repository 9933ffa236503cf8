//===- MetricsTest.cpp - Metrics as numbers and as text; the ABI in C -----===//

#include "tessera_rt.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sstream>

extern "C" uint32_t tessera_cts_c_version(void);

TEST(Abi, TheHeadersAreC) { EXPECT_EQ(tessera_cts_c_version(), tessera_rt_abi_version()); }

TEST(Metrics, TextIsWhatPrometheusReads) {
  tessera_rt_count_compilation(1'500'000'000);
  char *text = tessera_rt_metrics_text();
  std::istringstream lines(text);
  std::string line, family;
  int samples = 0;
  double seconds = 0;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string first, second, third;
    words >> first >> second >> third;
    if (first == "#") {
      ASSERT_TRUE(second == "HELP" || second == "TYPE") << line;
      family = third;
    } else {
      EXPECT_EQ(first.substr(0, first.find('{')), family);
      EXPECT_TRUE(first.starts_with("tessera_")) << line;
      char *end = nullptr;
      double value = std::strtod(second.c_str(), &end);
      EXPECT_EQ(*end, 0) << line;
      if (first == "tessera_compile_seconds_total")
        seconds = value;
      ++samples;
    }
  }
  EXPECT_GT(samples, 20);
  EXPECT_GE(seconds, 1.5);
  tessera_rt_free(text);
}

TEST(Metrics, ACallerMayKnowLessOfThem) {
  tessera_rt_metrics metrics;
  std::memset(&metrics, 0x11, sizeof(metrics));
  metrics.struct_bytes = offsetof(tessera_rt_metrics, device_launches);
  tessera_rt_get_metrics(&metrics);
  EXPECT_EQ(metrics.struct_bytes, offsetof(tessera_rt_metrics, device_launches));
  EXPECT_NE(metrics.memory_cached, 0x1111111111111111u);
  EXPECT_EQ(metrics.device_launches, 0x1111111111111111u);
}

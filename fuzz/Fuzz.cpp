//===- Fuzz.cpp - Promises and what was seen ------------------------------===//
#include "Fuzz.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>

using namespace tessera;

/// libFuzzer reads these beside the counters of instrumented code.
__attribute__((section("__libfuzzer_extra_counters"), used)) static uint8_t counters[1 << 13];

void fuzz::expect(bool holds, std::string_view promise, std::string_view detail) {
  if (holds)
    return;
  std::fprintf(stderr, "fuzz: expected %.*s\n%.*s\n", int(promise.size()), promise.data(),
               int(detail.size()), detail.data());
  std::abort();
}

void fuzz::saw(std::string_view what) {
  uint64_t hash = 0xcbf29ce484222325;
  char quote = 0;
  for (char c : what) {
    if (quote) {
      quote = c == quote ? 0 : quote;
      continue;
    }
    if (c == '\'' || c == '"')
      quote = c;
    if (!std::isdigit(static_cast<unsigned char>(c)))
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  counters[(hash ^ hash >> 32) % std::size(counters)] = 1;
}

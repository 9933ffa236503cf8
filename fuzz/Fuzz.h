//===- Fuzz.h - What the fuzzers share --------------------------*- C++ -*-===//
//
// A fuzzer is one file Fuzz….cpp with a LLVMFuzzerTestOneInput, linked with libFuzzer: it feeds one
// reader and checks what the reader promises. Those of texts also link TextMutator.cpp, which
// mutates tokens, brackets and lines: plain bytes rarely get past a lexer.
//
// LLVM's archives are not instrumented, and in a plain build ours are not either. So that libFuzzer
// still tells inputs apart, a fuzzer says what it saw (the kind of a message, an operation that was
// accepted); that is counted as coverage is.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_FUZZ_FUZZ_H
#define TESSERA_FUZZ_FUZZ_H

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::fuzz {

/// Ends the process if a promise is not kept; libFuzzer then keeps the input.
void expect(bool holds, std::string_view promise, std::string_view detail = "");

/// Measures one input: it may take some seconds of the processor, however busy the machine is.
class Stopwatch {
public:
  Stopwatch() : start(std::clock()) {}
  ~Stopwatch() { expect(double(std::clock() - start) / CLOCKS_PER_SEC < 10, "an end within 10 s"); }

private:
  std::clock_t start;
};

/// An input that shows something new is worth keeping. Of a message only its kind counts: what
/// stands in quotes, and numbers, do not.
void saw(std::string_view what);

inline std::string_view asText(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Words of the language at hand, for TextMutator: every text fuzzer defines it.
const std::vector<std::string> &vocabulary();

} // namespace tessera::fuzz

#endif

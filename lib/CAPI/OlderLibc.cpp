//===- OlderLibc.cpp - Runs with a libc that is older than the build's ----===//
//
// LLVM and libstdc++ call arc4random where the machine they were built on has it: glibc 2.36. It is the
// only function that is newer than glibc 2.35, so the library brings its own.
//
//===----------------------------------------------------------------------===//
#include <cstdint>
#include <sys/random.h>

extern "C" uint32_t arc4random(void) noexcept {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

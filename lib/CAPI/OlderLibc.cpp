//===- OlderLibc.cpp - Compatibility with an older libc -------------------===//
//
// LLVM and libstdc++ call arc4random if the build machine has it (glibc 2.36). It is the only
// function that is newer than glibc 2.35, so the library defines it.
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

//===- Numbers.h - Random inputs and their comparison ---------------------===//
#ifndef TESSERA_TOOLS_TESSERA_NUMBERS_H
#define TESSERA_TOOLS_TESSERA_NUMBERS_H

#include "tessera-c/tessera.h"

namespace tessera::cli {

bool isFloat(int32_t dtype);

/// Fills memory with numbers that depend on the seed alone: floats of a standard normal
/// distribution, integers from -8 to 8 (0 to 8 without a sign), bools.
void fillRandom(void *data, int32_t dtype, int64_t count, uint64_t seed);

/// Element `index` of dense memory as a double; integers of 64 bits lose what a double cannot hold.
double elementAt(const void *data, int32_t dtype, int64_t index);

struct Comparison {
  double error = 0; // the greatest, and the greatest bound
  double bound = 0;
  double share = 0; // the greatest error in proportion to its bound
  uint64_t excluded = 0;
  uint64_t wrong = 0;
  uint64_t firstWrong = 0;
  double expected = 0, got = 0, firstBound = 0;
};

/// Compares a dense result with the reference. Floats may differ by the bound, and NaN and
/// infinities must agree; integers and bools must be equal.
Comparison compare(const void *data, int32_t dtype, int64_t count, const tessera_output &expected);

} // namespace tessera::cli

#endif // TESSERA_TOOLS_TESSERA_NUMBERS_H

//===- MathPhilox.cpp - Random bits -----------------------------------------===//
//
// Philox4x32-10: ten rounds of two products of 32 by 32 bits. A word of 32 bits is the lower half
// of a 64-bit integer. The upper half is masked before a product, where hardware multiplies the
// lower halves anyway, so that a round is eight instructions.
//
//===----------------------------------------------------------------------===//
#include "MathExpansions.h"

using namespace tessera;
using namespace tessera::tile;

Term tile::expandPhilox(Term low, Term high, Term key, bool isUpper) {
  Term mask = low.integer(0xFFFFFFFF);
  Term m0 = low.integer(0xD2511F53), m1 = low.integer(0xCD9E8D57);
  Term c0 = low, c1 = low >> 32, c2 = high, c3 = high >> 32;
  Term key0 = key, key1 = key >> 32;
  for (int64_t round = 0; round < 10; ++round) {
    Term p0 = (c0 & mask) * m0, p1 = (c2 & mask) * m1;
    c0 = (p1 >> 32) ^ c1 ^ (key0 + key.integer(round * 0x9E3779B9));
    c1 = p1;
    c2 = (p0 >> 32) ^ c3 ^ (key1 + key.integer(round * 0xBB67AE85));
    c3 = p0;
  }
  return isUpper ? (c3 << 32) | (c2 & mask) : (c1 << 32) | (c0 & mask);
}

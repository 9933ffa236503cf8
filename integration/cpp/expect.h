//===- expect.h - Assertions of the test programs ---------------*- C++ -*-===//
#ifndef TESSERA_INTEGRATION_CPP_EXPECT_H
#define TESSERA_INTEGRATION_CPP_EXPECT_H

#include <cstdio>
#include <cstdlib>

/// Ends the program with status 1 and the location if a condition does not hold.
#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);                \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

#endif

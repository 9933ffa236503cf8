//===- Main.cpp - The conformance suite -----------------------------------===//
//
//   runtime_cts [--gtest_filter=…]       the suite; GPU tests are skipped without a GPU
//   runtime_cts --child SCENARIO DEVICE  a scenario in a child process
//
//===----------------------------------------------------------------------===//

#include "Devices.h"

#include <cstdlib>
#include <cstring>

int main(int argc, char **argv) {
#ifdef TESSERA_CTS_FAKE_CUDA
  setenv("TESSERA_CUDA_LIBRARY", TESSERA_CTS_FAKE_CUDA, /*overwrite=*/0);
#endif
  if (argc == 4 && !std::strcmp(argv[1], "--child"))
    return tessera::rt::test::childMain(argv[2], std::atoi(argv[3]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

//===- Files.h - The bytecode files of Inputs/ -----------------*- C++ -*-===//
#ifndef TESSERA_UNITTESTS_CODEGEN_CUDATILEIR_FILES_H
#define TESSERA_UNITTESTS_CODEGEN_CUDATILEIR_FILES_H

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tessera::cudatile {

struct InputFile {
  std::string name;
  std::vector<uint8_t> bytes;
};

/// Files that NVIDIA's frontend wrote from the kernels of Inputs/generate.py.
inline std::vector<InputFile> inputFiles() {
  std::vector<InputFile> files;
  for (const auto &entry : std::filesystem::directory_iterator(TESSERA_CUDATILE_INPUTS)) {
    if (entry.path().extension() != ".tileirbc")
      continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files.push_back({entry.path().filename().string(),
                     std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {})});
  }
  std::sort(files.begin(), files.end(), [](auto &a, auto &b) { return a.name < b.name; });
  return files;
}

} // namespace tessera::cudatile

#endif

//===- FakeCubin.cpp - The entries of a cubin -----------------------------===//
//
// Parses enough of the format to find the kernels, their visible parameters and their block sizes.
// Each kernel has a section ".nv.info.NAME" of records; records with the number 0x17 or 0x45
// describe one parameter each, 0x10 has the threads of a block, and a bit of 0x66 is set in tile
// kernels only.
//
//===----------------------------------------------------------------------===//

#include "FakeState.h"

#include <cstring>
#include <elf.h>

namespace fake_cuda {

template <typename T> static T read(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// The sizes of a kernel's parameters in their order, and the threads of its block.
static void readRecords(const char *records, size_t bytes, FakeKernel &kernel) {
  constexpr uint8_t withData = 4, isParameter = 0x17, isLaterParameter = 0x45;
  constexpr uint8_t isBlock = 0x10, isTile = 0x66;
  constexpr uint32_t tileBit = 4;
  std::vector<size_t> &sizes = kernel.parameterBytes;
  uint64_t threads = 1;
  for (size_t at = 0; at + 4 <= bytes;) {
    auto format = read<uint8_t>(records + at), number = read<uint8_t>(records + at + 1);
    auto length = read<uint16_t>(records + at + 2);
    at += 4;
    if (format != withData)
      continue; // the value replaces the length
    if ((number == isParameter || number == isLaterParameter) && length >= 12) {
      auto ordinal = read<uint16_t>(records + at + 4);
      sizes.resize(std::max<size_t>(sizes.size(), ordinal + 1u));
      sizes[ordinal] = number == isParameter ? read<uint32_t>(records + at + 8) >> 18
                                             : read<uint16_t>(records + at + 8);
    }
    if (number == isBlock && length >= 12 && threads)
      threads = uint64_t(read<uint32_t>(records + at)) * read<uint32_t>(records + at + 4) *
                read<uint32_t>(records + at + 8);
    if (number == isTile && length >= 4 && read<uint32_t>(records + at) & tileBit)
      threads = 0;
    at += length;
  }
  kernel.block = threads ? threads : 1;
}

bool parseCubin(const void *code, FakeLibrary &library) {
  auto *file = static_cast<const char *>(code);
  auto header = read<Elf64_Ehdr>(file);
  if (!header.e_shnum)
    return false;
  auto section = [&](unsigned i) {
    return read<Elf64_Shdr>(file + header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  auto name = [&](const Elf64_Shdr &of) {
    return std::string(file + section(header.e_shstrndx).sh_offset + of.sh_name);
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr info = section(i);
    const std::string mark = ".nv.info.";
    if (!name(info).starts_with(mark))
      continue;
    auto kernel = std::make_unique<FakeKernel>();
    kernel->name = name(info).substr(mark.size());
    kernel->library = &library;
    readRecords(file + info.sh_offset, info.sh_size, *kernel);
    library.kernels.push_back(std::move(kernel));
  }
  return !library.kernels.empty();
}

} // namespace fake_cuda

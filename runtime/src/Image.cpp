//===- Image.cpp - A code image mapped into the process -------------------===//

#include "Image.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::rt {

Image::~Image() {
  if (base)
    munmap(base, length);
}

bool Image::map(std::span<const uint8_t> code, std::string &error) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  length = (code.size() + page - 1) / page * page;
  if (length == 0)
    length = page;
  void *memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    error = std::string("a code image could not be mapped: ") + std::strerror(errno);
    return false;
  }
  base = memory;
  if (!code.empty())
    std::memcpy(base, code.data(), code.size());
  auto *begin = static_cast<char *>(base);
  __builtin___clear_cache(begin, begin + code.size());
  if (mprotect(base, length, PROT_READ | PROT_EXEC) != 0) {
    error = std::string("a code image could not be made executable: ") + std::strerror(errno);
    return false;
  }
  return true;
}

} // namespace tessera::rt

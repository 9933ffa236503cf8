//===- Messages.cpp - Resource usage from assembler messages --------------===//
#include "Messages.h"

#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>

using namespace tessera::cuda;

/// The number before these words in a line; 0 without them.
static unsigned numberBefore(const std::string &line, const char *words) {
  size_t end = line.find(words);
  if (end == std::string::npos)
    return 0;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])))
    --begin;
  return static_cast<unsigned>(std::strtoul(line.c_str() + begin, nullptr, 10));
}

/// What follows some words in a line, up to the closing quote; empty without them.
static std::string quotedAfter(const std::string &line, const std::string &words) {
  size_t at = line.find(words);
  if (at == std::string::npos)
    return "";
  at += words.size();
  return line.substr(at, line.find('\'', at) - at);
}

std::vector<KernelUse> tessera::cuda::usesOf(const std::string &messages) {
  std::vector<KernelUse> kernels;
  std::set<std::string> serialized;
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("wgmma.mma_async instructions are serialized") != std::string::npos)
      serialized.insert(quotedAfter(line, "in the function '"));
    else if (std::string name = quotedAfter(line, "Compiling entry function '"); !name.empty()) {
      kernels.emplace_back().name = name;
    } else if (!kernels.empty() && line.find(" bytes stack frame") != std::string::npos) {
      kernels.back().stackBytes = numberBefore(line, " bytes stack frame");
      kernels.back().spillStoreBytes = numberBefore(line, " bytes spill stores");
      kernels.back().spillLoadBytes = numberBefore(line, " bytes spill loads");
    } else if (!kernels.empty() && line.find("Used ") != std::string::npos) {
      kernels.back().registers = numberBefore(line, " registers");
      kernels.back().sharedBytes = numberBefore(line, " bytes smem");
    }
  }
  for (KernelUse &kernel : kernels)
    kernel.isSerialized = serialized.count(kernel.name) > 0;
  return kernels;
}

//===- bundle.h - The file format that carries compiled functions ---------===//
//
// A bundle is one blob, little-endian:
//
//   header    "TSRB", u32 version, u64 total length, u32 section count, u32 zero, u64 checksum of
//   header and table table     per section: u32 kind, u32 zero, u64 offset, u64 length, u64
//   checksum of the section sections  manifest (JSON text), code images, programs; each 64-byte
//   aligned
//
// A code image for a CPU is flat and position independent: its relocations are already applied,
// its entry points are offsets. One for a GPU is a cubin or PTX text. A program belongs to one
// image, so that a function may be tiled differently per target; for a GPU it may have further ones,
// where its kernels were made by several roads. For each function name, the runtime takes the
// programs of one target, or of one chip: the one that fits the device best (target.h), and of
// equals the one that stands first in the bundle.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_BUNDLE_H
#define TESSERA_RT_BUNDLE_H

#include "tessera_rt/program.h"
#include "tessera_rt/target.h"

namespace tessera::rt {

/// How a GPU's kernel is launched, besides its grid. A CPU's kernels leave it alone.
struct KernelShape {
  enum Flags : uint32_t {
    Cooperative = 1, // all blocks run at once
    Dependent = 2,   // may start while the launch before it in the stream ends
  };
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t sharedBytes = 0; // dynamic shared memory per block
  uint32_t flags = 0;
};
inline constexpr uint32_t knownKernelFlags = 3;

struct KernelEntry {
  std::string name;
  uint64_t offset = 0; // into the code of a CPU
  uint64_t scratchBytes = 0;
  KernelShape shape;
};

struct CodeImage {
  std::string target; // "x86_64:avx2,fma" or "sm_90:tileir,x86_64"; see target.h
  std::vector<KernelEntry> kernels;
  std::vector<uint8_t> code;
};

struct FunctionEntry {
  std::string name;
  uint32_t image = 0;
  std::vector<uint8_t> program; // encoded
  std::vector<uint32_t> more;   // further images that hold its kernels
};

struct Bundle {
  std::string manifest; // JSON
  std::vector<CodeImage> images;
  std::vector<FunctionEntry> functions;
};

/// Adds the functions and images of another bundle (one that was compiled for another target, or
/// another function), after those that are there; equal images are kept once. The manifest stays.
void append(Bundle &bundle, Bundle other);

std::vector<uint8_t> encode(const Bundle &bundle);

/// Checks lengths, checksums and references; programs are decoded by whoever uses them.
bool decode(std::span<const uint8_t> bytes, Bundle &bundle, std::string &error);

/// 64-bit checksum: detects any change within one aligned word, and other damage with probability 1
/// - 2^-64.
uint64_t checksum(std::span<const uint8_t> bytes);

} // namespace tessera::rt

#endif // TESSERA_RT_BUNDLE_H

//===- bundle.h - The file format of compiled functions -------------------===//
//
// A bundle is one blob, little-endian:
//
//   header    "TSRB", u32 version, u64 total length, u32 section count, u32 zero, u64 checksum of
//             header and table
//   table     per section: u32 kind, u32 zero, u64 offset, u64 length, u64 checksum of the section
//   sections  manifest (JSON text), code images, programs; each 64-byte aligned, in order,
//             without overlap
//
// A reader allocates memory in proportion to the file: it rejects counts and lengths that exceed
// the remaining bytes. Since version 4; earlier versions are rejected with a message.
//
// A code image for a CPU is flat and position independent: its relocations are already applied, its
// entry points are offsets. One for a GPU is a cubin or PTX text. A program belongs to one image,
// so that a function may be tiled differently per target; for a GPU it may have further ones, if
// several backends compiled its kernels. For each function name, the runtime uses the programs of
// one target, or of one chip: the one that fits the device best (target.h), and among equals the
// first in the bundle.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_BUNDLE_H
#define TESSERA_RT_BUNDLE_H

#include "tessera_rt/program.h"
#include "tessera_rt/target.h"

namespace tessera::rt {

/// The launch attributes of a GPU kernel, besides its grid. CPU kernels do not use them.
struct KernelShape {
  enum Flags : uint32_t {
    Cooperative = 1, // cooperative: all CTAs are resident at once
    Dependent =
        2, // programmatic dependent launch: may start while the previous launch in the stream ends
  };
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t sharedBytes = 0; // dynamic shared memory per CTA
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

/// Appends the functions and images of another bundle (for another target, or another function);
/// equal images are stored once. The manifest is unchanged.
void append(Bundle &bundle, Bundle other);

std::vector<uint8_t> encode(const Bundle &bundle);

/// Checks lengths, checksums and references; programs are decoded by their users.
bool decode(std::span<const uint8_t> bytes, Bundle &bundle, std::string &error);

/// Whether a bundle may begin with these bytes: false as soon as reading on is pointless.
bool isBundlePrefix(std::span<const uint8_t> bytes);

/// 64-bit checksum: detects any change within one aligned word, and other corruption with
/// probability 1 - 2^-64.
uint64_t checksum(std::span<const uint8_t> bytes);

} // namespace tessera::rt

#endif // TESSERA_RT_BUNDLE_H

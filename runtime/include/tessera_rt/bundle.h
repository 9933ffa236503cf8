//===- bundle.h - The file format that carries compiled functions ---------===//
//
// A bundle is one blob, little-endian:
//
//   header    "TSRB", u32 version, u64 total length, u32 section count, u32 zero, u64 checksum of
//   header and table table     per section: u32 kind, u32 zero, u64 offset, u64 length, u64
//   checksum of the section sections  manifest (JSON text), code images, programs; each 64-byte
//   aligned
//
// A code image is flat and position independent: its relocations are already applied, its entry
// points are offsets. A program belongs to one image, so that a function may be tiled differently
// per target. For each function name, images stand best first; the runtime takes the programs of
// the first image of a name that the machine can run.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RT_BUNDLE_H
#define TESSERA_RT_BUNDLE_H

#include "tessera_rt/program.h"

namespace tessera::rt {

struct KernelEntry {
  std::string name;
  uint64_t offset = 0; // into the code
  uint64_t scratchBytes = 0;
};

struct CodeImage {
  std::string target; // "x86_64:avx2,fma": architecture and the features that the code needs
  std::vector<KernelEntry> kernels;
  std::vector<uint8_t> code;
};

struct FunctionEntry {
  std::string name;
  uint32_t image = 0;
  std::vector<uint8_t> program; // encoded
};

struct Bundle {
  std::string manifest; // JSON
  std::vector<CodeImage> images;
  std::vector<FunctionEntry> functions;
};

std::vector<uint8_t> encode(const Bundle &bundle);

/// Checks lengths, checksums and references; programs are decoded by whoever uses them.
bool decode(std::span<const uint8_t> bytes, Bundle &bundle, std::string &error);

/// 64-bit checksum: detects any change within one aligned word, and other damage with probability 1
/// - 2^-64.
uint64_t checksum(std::span<const uint8_t> bytes);

/// The machine's target string: "x86_64:avx,avx2,…".
const std::string &hostTarget();

/// Whether code for `target` runs on this machine; `why` names what is missing.
bool hostSupports(const std::string &target, std::string &why);

} // namespace tessera::rt

#endif // TESSERA_RT_BUNDLE_H

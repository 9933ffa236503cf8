//===- Codec.h - Encoders and decoders --------------------------*- C++ -*-===//
//
// For each part of the format one file holds both directions: TypeCodec.cpp, AttributeCodec.cpp,
// OperationCodec.cpp. FileReader.cpp and FileWriter.cpp combine the parts.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_LIB_CODEGEN_CUDATILEIR_BYTECODE_CODEC_H
#define TESSERA_LIB_CODEGEN_CUDATILEIR_BYTECODE_CODEC_H

#include "Stream.h"
#include "tessera/CodeGen/CudaTileIR/Bytecode/Module.h"
#include <array>

namespace tessera::cudatile {

inline constexpr std::array<uint8_t, 8> kMagic = {0x7F, 'T', 'i', 'l', 'e', 'I', 'R', 0};
/// Set in a section's id if an alignment follows its length.
inline constexpr uint8_t kAlignedBit = 0x80;
enum FunctionFlag : uint8_t { kPrivate = 1, kEntry = 2, kHints = 4 };

/// Calls `visit` for each operation in file order, outer operations first.
template <typename Body, typename Visit> void walk(Body &block, const Visit &visit) {
  for (auto &op : block.operations) {
    visit(op);
    for (auto &region : op.regions)
      for (auto &inner : region.blocks)
        walk(inner, visit);
  }
}

/// The maximum nesting depth of attributes and regions; deeper files are rejected.
inline constexpr unsigned kMaxAttributeDepth = 16;
inline constexpr unsigned kMaxRegionDepth = 64;

/// Reads parts of a module whose strings, constants and earlier types are known.
struct Decoder {
  Module &module;
  ByteReader &in;

  bool has(unsigned minor) const { return module.version.minor >= minor; }

  Type typeIndex();
  StringId stringIndex();
  ConstantId constantIndex();
  std::vector<Type> typeIndices();
  std::vector<int64_t> integers(unsigned width);

  TypeData type();
  Attribute taggedAttribute(unsigned depth = 0);
  Attribute dictionary(Attribute::Kind kind, unsigned depth = 0);
  /// Reads an operation's attribute as described by its table entry.
  Attribute attribute(const AttrSpec &spec, Type resultType);
  /// Reads the body of a function with the given parameters; all bytes are operations.
  void body(Function &function);
};

/// Writes parts of a module. `error` keeps the first failure.
struct Encoder {
  const Module &module;
  std::string &error;
  ByteWriter out;

  bool has(unsigned minor) const { return module.version.minor >= minor; }
  bool ok() const { return error.empty(); }
  void fail(const std::string &message) {
    if (ok())
      error = message;
  }
  /// Fails if `name` is newer than the version that is written.
  void require(std::string_view name, unsigned minor);

  void typeIndex(Type type);
  void stringIndex(StringId id);
  void constantIndex(ConstantId id);
  void typeIndices(const std::vector<Type> &types);
  void integers(const std::vector<int64_t> &values, unsigned width);

  void type(const TypeData &type);
  void taggedAttribute(const Attribute &attribute);
  void dictionary(const Attribute &attribute);
  void attribute(const Operation &op, const AttrSpec &spec, const Attribute &attribute);
  void body(const Function &function);
};

} // namespace tessera::cudatile

#endif

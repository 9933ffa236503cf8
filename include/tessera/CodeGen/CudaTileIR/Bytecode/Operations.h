//===- Operations.h - The tables of CUDA Tile IR in C++ ---------*- C++ -*-===//
//
// Types.def, Enumerations.def and Operations.def as C++: the enumerations, and a description of
// each operation that drives the reader, the writer, the verifier and the printer.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_BYTECODE_OPERATIONS_H
#define TESSERA_CODEGEN_CUDATILEIR_BYTECODE_OPERATIONS_H

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cudatile {

inline constexpr uint8_t kNewestMinor = 4;

/// A format of the bytecode, 13.1 to 13.4.
struct Version {
  uint8_t major = 13;
  uint8_t minor = 3;

  auto operator<=>(const Version &) const = default;
  bool isKnown() const { return major == 13 && minor >= 1 && minor <= kNewestMinor; }
  std::string str() const { return std::to_string(major) + "." + std::to_string(minor); }
};

enum class TypeKind : uint8_t {
#define CUDATILE_ELEMENT(enumerator, spelling, tag, since, bits, exponent) enumerator = tag,
#define CUDATILE_TYPE(enumerator, spelling, tag, since) enumerator = tag,
#include "tessera/CodeGen/CudaTileIR/Bytecode/Types.def"
};

#define CUDATILE_ENUM(name) enum class name : uint8_t {
#define CUDATILE_CASE(enumerator, spelling, value) enumerator = value,
#define CUDATILE_ENUM_END(name)                                                                    \
  }                                                                                                \
  ;
#include "tessera/CodeGen/CudaTileIR/Bytecode/Enumerations.def"

enum class Opcode : uint32_t {
#define CUDATILE_OP(enumerator, mnemonic, opcode, ...) enumerator = opcode,
#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.def"
};

struct TypeSpec {
  TypeKind kind;
  std::string_view name;
  uint8_t since;
  uint8_t bits;     // of an element type, otherwise 0
  uint8_t exponent; // exponent bits, 0 for integers

  bool isElement() const { return bits != 0; }
  bool isFloat() const { return exponent != 0; }
  bool isInteger() const { return isElement() && !isFloat(); }
};

/// Null for an unknown tag.
const TypeSpec *typeSpec(uint64_t tag);
const TypeSpec &typeSpec(TypeKind kind);

struct EnumSpec {
  std::string_view name;
  std::vector<std::string_view> cases; // by value
};

const EnumSpec *enumSpec(std::string_view name);

enum class AttrForm : uint8_t {
  Flag,
  Bool,
  Int,
  Enum,
  Str,
  Dense,
  Tagged,
  Array,
  Hints,
  I32s,
  Bools
};
enum class Multiplicity : uint8_t { One, Optional, Any };
enum class TypeRule : uint8_t { Same, Compare, Select, Convert, Free };

struct FieldSpec {
  std::string name;
  Multiplicity multiplicity = Multiplicity::One;
  uint8_t since = 1;
  int flagBit = -1; // flag bit of an optional field
};

struct AttrSpec : FieldSpec {
  AttrForm form = AttrForm::Int;
  const EnumSpec *enumeration = nullptr;
  uint64_t fallback = 0; // the value in files older than the attribute
};

/// One entry of Operations.def.
struct OpSpec {
  Opcode opcode;
  std::string_view name;
  uint8_t since;
  TypeRule rule;
  bool countsResults = false;  // whether the file states the number of results
  bool countsOperands = false; // whether the file states the number of operands
  std::vector<FieldSpec> results;
  std::vector<FieldSpec> operands;
  std::vector<AttrSpec> attributes;
  unsigned regions;
  std::string_view meaning;
  unsigned flagsSince = 0; // the format that introduced the flags, 0 when there are none

  bool hasFlags(Version version) const { return flagsSince && version.minor >= flagsSince; }
  /// Index of an attribute or an operand; asserts that it exists.
  size_t attribute(std::string_view name) const;
  size_t operand(std::string_view name) const;
};

std::span<const OpSpec> allOperations();
/// Null for an unknown opcode.
const OpSpec *opSpec(uint64_t opcode);
const OpSpec &opSpec(Opcode opcode);

/// Converts a number to the bits of a floating-point type, rounded to nearest even, and back.
uint64_t encodeFloat(TypeKind kind, double value);
double decodeFloat(TypeKind kind, uint64_t bits);

} // namespace tessera::cudatile

#endif

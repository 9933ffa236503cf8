//===- Module.h - A CUDA Tile IR module in memory --------------*- C++ -*-===//
//
// Plain data, close to the file: strings, types and constants are in tables and are referenced by
// index, so that a module that was read is written back byte for byte. Values are numbered uniquely
// within a function. The file's numbering, which reuses a region's numbers after its end, exists
// only in the reader and the writer.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_BYTECODE_MODULE_H
#define TESSERA_CODEGEN_CUDATILEIR_BYTECODE_MODULE_H

#include "tessera/CodeGen/CudaTileIR/Bytecode/Operations.h"
#include <limits>

namespace tessera::cudatile {

/// An index into one of the tables. A default-constructed one is invalid.
template <typename Tag> struct Id {
  static constexpr uint32_t kNone = ~uint32_t(0);
  uint32_t index = kNone;

  explicit operator bool() const { return index != kNone; }
  auto operator<=>(const Id &) const = default;
};
using Type = Id<struct TypeTag>;
using StringId = Id<struct StringTag>;
using ConstantId = Id<struct ConstantTag>;
using Value = Id<struct ValueTag>;

/// A size or stride that is known only at run time.
inline constexpr int64_t kDynamic = std::numeric_limits<int64_t>::min();

struct TypeData {
  TypeKind kind = TypeKind::I1;
  /// The pointee of a pointer, the element of a tile or tensor, the tensor of a view.
  Type inner = {};
  /// The shape of a tile or tensor, or of the tiles of a view.
  std::vector<int64_t> shape = {};
  /// The strides of a tensor, or the steps between the tiles of a strided view.
  std::vector<int64_t> strides = {};
  /// The tensor dimension of each tile dimension.
  std::vector<int64_t> dimMap = {};
  uint64_t sparseDim = 0;
  std::optional<Padding> padding = {};
  /// Pointers and tensors from 13.4 on; 0 is the only value so far.
  std::optional<uint8_t> pointerAttr = {};
  std::vector<Type> parameters = {}, results = {};

  auto operator<=>(const TypeData &) const = default;
};

/// The value of an operation's attribute, an entry's hints, an assumption, a reduction's identity.
struct Attribute {
  enum class Kind : uint8_t {
    None = 0,
    Integer,      // type (when tagged) and bits
    Float,        // type and bits
    Bool,         // bits
    Type,         // type
    String,       // bits: the index of a string
    Array,        // elements
    Dense,        // type (when tagged) and bits: the index of a constant
    DivBy,        // bits divide; first: every, second: along
    SameElements, // integers
    Dictionary,   // keys and elements
    Hints,        // keys and elements, a dictionary for each architecture
    Bounded,      // first: lower, second: upper bound
    Integers,     // integers; never tagged
  };
  Kind kind = Kind::None;
  cudatile::Type type;
  uint64_t bits = 0;
  std::optional<int64_t> first, second;
  std::vector<int64_t> integers;
  std::vector<StringId> keys;
  std::vector<Attribute> elements;
  /// A float with its highest bit set that was encoded in 65 bits, as some writers do.
  bool wide = false;

  bool operator==(const Attribute &) const = default;
  explicit operator bool() const { return kind != Kind::None; }

  static Attribute integer(uint64_t bits, cudatile::Type type = {}) {
    return make(Kind::Integer, bits, type);
  }
  static Attribute floating(uint64_t bits, cudatile::Type type) {
    return make(Kind::Float, bits, type);
  }
  static Attribute boolean(bool value) { return make(Kind::Bool, value, {}); }
  static Attribute string(StringId id) { return make(Kind::String, id.index, {}); }
  static Attribute dense(ConstantId id) { return make(Kind::Dense, id.index, {}); }
  static Attribute list(Kind kind, std::vector<int64_t> integers) {
    Attribute attribute = make(kind, 0, {});
    attribute.integers = std::move(integers);
    return attribute;
  }
  static Attribute array(std::vector<Attribute> elements) {
    Attribute attribute = make(Kind::Array, 0, {});
    attribute.elements = std::move(elements);
    return attribute;
  }

private:
  static Attribute make(Kind kind, uint64_t bits, cudatile::Type type) {
    Attribute attribute;
    attribute.kind = kind;
    attribute.bits = bits;
    attribute.type = type;
    return attribute;
  }
};

struct Region;

/// Attributes and operands are in the order of the operation's OpSpec, one entry for each.
struct Operation {
  Opcode opcode = Opcode::Return;
  std::vector<Value> results;
  std::vector<Attribute> attributes;
  std::vector<std::vector<Value>> operands;
  std::vector<Region> regions;
  uint32_t location = 0; // 1-based index into Module::debug, 0 when unknown

  const OpSpec &spec() const { return opSpec(opcode); }
};

struct Block {
  std::vector<Value> arguments;
  std::vector<Operation> operations;
};

struct Region {
  std::vector<Block> blocks;
};

struct Function {
  StringId name;
  Type signature;
  bool isEntry = false;
  bool isPrivate = false;
  Attribute hints;           // hints of an entry, possibly none
  bool hasLocations = false; // whether the debug section has locations of it
  uint32_t location = 0;     // as Operation's
  std::vector<Type> values;  // the type of each value
  Block body;                // its arguments are the function's parameters

  Type typeOf(Value value) const { return values[value.index]; }
  Value newValue(Type type) {
    values.push_back(type);
    return {uint32_t(values.size() - 1)};
  }
};

struct Global {
  StringId name;
  Type type;
  ConstantId value;
  uint64_t alignment = 0;
  Visibility visibility = Visibility::Public;
  bool isConstant = false;
};

/// An entry of the debug section: its fields are numbers, strings and 1-based entries, as described
/// by debugFields().
struct DebugEntry {
  enum class Kind : uint8_t {
    Unknown,
    CompileUnit,
    File,
    LexicalBlock,
    Location,
    Subprogram,
    CallSite
  };
  Kind kind = Kind::Unknown;
  std::vector<uint64_t> fields;
};

enum class SectionId : uint8_t { End, String, Function, Debug, Constant, Type, Global, Producer };

struct SectionPlace {
  SectionId id;
  uint64_t alignment;
};

struct Module {
  Version version;
  uint16_t tag = 0; // bit 0: uses preview features
  std::vector<std::string> strings;
  std::vector<TypeData> types;
  std::vector<std::vector<uint8_t>> constants;
  std::vector<Function> functions;
  std::vector<Global> globals;
  std::vector<DebugEntry> debug;
  std::optional<StringId> producer;
  /// The sections of the file that was read, in its order; empty for a module that was built.
  std::vector<SectionPlace> layout;
  /// Bytes of padding after the last function, in the file that was read.
  unsigned functionPadding = 0;

  const TypeData &operator[](Type type) const { return types[type.index]; }
  const std::string &operator[](StringId id) const { return strings[id.index]; }
  const TypeSpec &specOf(Type type) const { return typeSpec(types[type.index].kind); }
};

/// Whether a block ends in a terminator.
bool endsInTerminator(const Block &block);

/// For each field of a debug entry: 'n' a number, 's' a string, 'd' another entry.
std::string_view debugFields(DebugEntry::Kind kind);

/// A type as text: `tile<128x64xf32>`.
std::string str(const Module &module, Type type);

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Reads bytecode. Returns nothing for malformed input; `error` then holds the message with the
/// offset.
std::optional<Module> readModule(std::span<const uint8_t> bytes, std::string &error);

/// Writes bytecode of the module's version; fails if that version cannot express the module.
std::optional<std::vector<uint8_t>> writeModule(const Module &module, std::string &error);

/// Checks operations and their types against the tables. Returns the first error, or nothing.
std::optional<std::string> verifyModule(const Module &module);

/// The module as human-readable text.
std::string printModule(const Module &module);

} // namespace tessera::cudatile

#endif

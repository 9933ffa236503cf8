//===- Builder.h - A builder of CUDA Tile IR modules ------------*- C++ -*-===//
//
// Appends operations to a module's entries. Result types are inferred from operands wherever
// possible; elementwise operations choose the floating-point or the integer form by the element
// type.
//
//   Builder b;
//   Type ptr = b.tile(b.pointer(b.element(TypeKind::F32)), {});
//   auto args = b.beginEntry("double", {ptr, ptr}, {{"default", {.workerWarps = 4}}});
//   Value x = b.partition(b.tensorView(args[0], {1024}, {1}), {256});
//   Value y = b.partition(b.tensorView(args[1], {1024}, {1}), {256});
//   Value i = b.blockId()[0];
//   Value t = b.load(x, {i}).tile;
//   b.store(b.add(t, t), y, {i});
//   b.endEntry();
//
// A region is built by a function that receives its arguments and returns the yielded values.
// Memory accesses are unordered unless tokens order them. The builder asserts its preconditions;
// verifyModule() finds all other errors.
//
//===----------------------------------------------------------------------===//
#ifndef TESSERA_CODEGEN_CUDATILEIR_BYTECODE_BUILDER_H
#define TESSERA_CODEGEN_CUDATILEIR_BYTECODE_BUILDER_H

#include "tessera/CodeGen/CudaTileIR/Bytecode/Module.h"
#include <array>
#include <functional>
#include <map>

namespace tessera::cudatile {

/// Compilation hints of an entry for an architecture, or for "default".
struct EntryHints {
  std::optional<unsigned> clusterSize = {}; // tile blocks per cluster
  std::optional<unsigned> occupancy = {};   // tile blocks per SM
  std::optional<unsigned> workerWarps = {}; // 4 or 8; formats before 13.3 cannot express it
};

/// Compilation hints of a load or a store.
struct AccessHints {
  bool allowTma = true;
  std::optional<unsigned> latency = {}; // prefetch distance, 1 to 10
};

/// An attribute of Operations.def, by name.
using NamedAttribute = std::pair<std::string_view, Attribute>;

class Builder {
public:
  using Values = std::vector<Value>;
  using Shape = std::vector<int64_t>;
  using RegionBody = std::function<Values(const Values &arguments)>;

  explicit Builder(Version version = {}) { result.version = version; }
  const Module &module() const { return result; }
  Module take() { return std::move(result); }

  //===--------------------------------------------------------------------===//
  // Tables
  //===--------------------------------------------------------------------===//

  StringId string(std::string_view text);
  Type type(const TypeData &data);
  ConstantId constantData(std::vector<uint8_t> bytes);

  Type element(TypeKind kind) { return type({.kind = kind}); }
  Type pointer(Type pointee);
  Type tile(Type elementType, Shape shape);
  Type tile(TypeKind elementKind, Shape shape) { return tile(element(elementKind), shape); }
  Type token() { return element(TypeKind::Token); }
  Type tensorViewType(Type elementType, Shape shape, Shape strides);
  Type partitionViewType(Type tensorView, Shape tileShape, Shape dimMap = {},
                         std::optional<Padding> padding = {});

  Type typeOf(Value value) const { return function->typeOf(value); }
  const Shape &shapeOf(Value value) const { return result[typeOf(value)].shape; }
  Type elementOf(Value value) const { return result[typeOf(value)].inner; }
  TypeKind elementKindOf(Value value) const { return result[elementOf(value)].kind; }
  bool isFloat(Value value) const { return typeSpec(elementKindOf(value)).isFloat(); }

  //===--------------------------------------------------------------------===//
  // Entries
  //===--------------------------------------------------------------------===//

  /// Begins a kernel; returns its parameters.
  Values beginEntry(std::string_view name, const std::vector<Type> &parameters,
                    const std::map<std::string, EntryHints> &hints = {});
  /// Ends the kernel with a return.
  void endEntry();
  /// The module's producer, in formats that can record it.
  void setProducer(std::string_view name) { result.producer = string(name); }

  /// Entries of the debug section, as 1-based numbers; equal ones are stored once.
  uint32_t debugFile(std::string_view name, std::string_view folder);
  uint32_t debugSubprogram(uint32_t file, unsigned line, std::string_view name);
  uint32_t debugLocation(uint32_t scope, std::string_view file, unsigned line, unsigned column);
  /// The location of operations that are appended from now on, and of the current entry itself.
  void setLocation(uint32_t entry) { location = entry; }
  void setEntryLocation(uint32_t entry);

  //===--------------------------------------------------------------------===//
  // Any operation
  //===--------------------------------------------------------------------===//

  /// Appends an operation with operands and attributes in the order of Operations.def. Attributes
  /// that are not given have their first or default value; trailing operands that are not given are
  /// absent.
  Values append(Opcode opcode, const std::vector<Type> &resultTypes,
                const std::vector<Values> &operands,
                const std::vector<NamedAttribute> &attributes = {},
                std::vector<Region> regions = {});
  /// One operand group for each value; one result of the first operand's type.
  Value elementwise(Opcode opcode, const Values &operands,
                    const std::vector<NamedAttribute> &attributes = {});

  template <typename Enum> static Attribute of(Enum value) {
    return Attribute::integer(uint64_t(value));
  }

  //===--------------------------------------------------------------------===//
  // Constants and shapes
  //===--------------------------------------------------------------------===//

  /// A splat constant, rounded to its element type.
  Value constant(Type tileType, double value);
  Value constantInt(Type tileType, int64_t value);
  Value constantBits(Type tileType, uint64_t bits);
  Value i32(int32_t value) { return constantInt(tile(TypeKind::I32, {}), value); }
  Value i64(int64_t value) { return constantInt(tile(TypeKind::I64, {}), value); }
  /// 0, 1, 2, ... along the only dimension.
  Value iota(TypeKind kind, int64_t size);
  Value reshape(Value tile, Shape shape);
  /// Broadcasts along dimensions of size 1.
  Value broadcast(Value tile, Shape shape);
  /// Broadcasts a tile along new dimensions: dimension `i` becomes `dims[i]` of the result.
  Value broadcastInDims(Value tile, Shape shape, const Shape &dims);
  Value permute(Value tile, const Shape &permutation);
  Value cat(Value lhs, Value rhs, unsigned dim);
  /// Divides the tile into parts of `shape` and extracts the part at `indices`.
  Value extract(Value tile, Shape shape, const Values &indices);

  //===--------------------------------------------------------------------===//
  // Elementwise
  //===--------------------------------------------------------------------===//

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  /// Floating-point division, or the integer quotient in the given rounding mode.
  Value div(Value a, Value b, Rounding rounding = Rounding::NearestEven,
            Signedness sign = Signedness::Signed);
  Value floorDiv(Value a, Value b) { return div(a, b, Rounding::NegativeInf); }
  Value ceilDiv(Value a, Value b) { return div(a, b, Rounding::PositiveInf); }
  /// The remainder has the sign of `a`.
  Value rem(Value a, Value b, Signedness sign = Signedness::Signed);
  /// NaN if either operand is NaN.
  Value max(Value a, Value b, Signedness sign = Signedness::Signed);
  Value min(Value a, Value b, Signedness sign = Signedness::Signed);
  Value neg(Value a);
  Value abs(Value a);
  Value fma(Value a, Value b, Value c);
  Value compare(Predicate predicate, Value a, Value b, Ordering ordering = Ordering::Ordered,
                Signedness sign = Signedness::Signed);
  Value select(Value condition, Value a, Value b);
  /// Converts between element types by value: bools are 0 and 1; `sign` is that of the integer
  /// type, of the source if both are integers.
  Value convert(Value tile, TypeKind to, Signedness sign = Signedness::Signed);
  Value bitcast(Value tile, TypeKind to);
  /// acc + lhs * rhs.
  Value mma(Value lhs, Value rhs, Value acc, Signedness lhsSign = Signedness::Signed,
            Signedness rhsSign = Signedness::Signed);

  //===--------------------------------------------------------------------===//
  // Facts
  //===--------------------------------------------------------------------===//

  Value assumeDivisible(Value value, uint64_t divisor);
  Value assumeBounded(Value value, std::optional<int64_t> lower, std::optional<int64_t> upper = {});

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// A tensor at a pointer. A size or stride is a number, or kDynamic for the next element of
  /// `dynamicSizes` or `dynamicStrides`.
  Value tensorView(Value pointer, Shape shape, Shape strides, const Values &dynamicSizes = {},
                   const Values &dynamicStrides = {});
  Value partition(Value tensorView, Shape tileShape, Shape dimMap = {},
                  std::optional<Padding> padding = {});
  Value makeToken() { return append(Opcode::MakeToken, {token()}, {}).front(); }
  Value joinTokens(const Values &tokens);

  struct Loaded {
    Value tile, token;
  };
  Loaded load(Value view, const Values &index, Value token = {}, const AccessHints &hints = {});
  Value store(Value tile, Value view, const Values &index, Value token = {},
              const AccessHints &hints = {});
  /// Elements where the mask is false are `padding`.
  Loaded loadPointers(Value pointers, Value mask = {}, Value padding = {}, Value token = {});
  Value storePointers(Value pointers, Value tile, Value mask = {}, Value token = {});
  /// Adds to memory atomically at device scope, in an unspecified order. Elements have 32 or 64
  /// bits.
  Value atomicAdd(Value pointers, Value tile, Value mask = {}, Value token = {});
  Value offset(Value pointers, Value offsets);

  //===--------------------------------------------------------------------===//
  // Control
  //===--------------------------------------------------------------------===//

  std::array<Value, 3> blockId() { return three(Opcode::GetTileBlockId); }
  std::array<Value, 3> gridSize() { return three(Opcode::GetNumTileBlocks); }

  /// `body` receives the induction variable and the carried values and returns the next ones.
  Values forLoop(Value lower, Value upper, Value step, const Values &initial,
                 const RegionBody &body);
  /// Each branch returns values of the result types.
  Values ifElse(Value condition, const std::vector<Type> &resultTypes,
                const std::function<Values()> &then, const std::function<Values()> &otherwise);
  /// `body` ends in a break or continue that it appends itself, and so may a branch inside it.
  Values loop(const Values &initial, const std::vector<Type> &resultTypes,
              const std::function<void(const Values &)> &body);
  void breakLoop(const Values &values) { append(Opcode::Break, {}, {values}); }
  void continueLoop(const Values &values) { append(Opcode::Continue, {}, {values}); }

  /// Reduces along `dim`. For each operand `body` receives an element and the accumulator (e0, a0,
  /// e1, a1, ...) as rank-0 tiles and returns the new accumulators.
  Values reduce(const Values &operands, unsigned dim, const std::vector<double> &identities,
                const RegionBody &body);
  Values scan(const Values &operands, unsigned dim, bool reverse,
              const std::vector<double> &identities, const RegionBody &body);

private:
  std::array<Value, 3> three(Opcode opcode);
  Type withElement(Value tile, TypeKind element);
  Attribute accessHints(const AccessHints &hints);
  Attribute identity(Type elementType, double value);
  /// Builds a region of one block and ends it with `terminator` over the values that `body`
  /// returns.
  Region region(const std::vector<Type> &arguments, const RegionBody &body,
                std::optional<Opcode> terminator);
  Values reduction(Opcode opcode, const Values &operands, unsigned dim,
                   const std::vector<double> &identities, const RegionBody &body,
                   std::optional<bool> reverse);
  uint32_t debugEntry(DebugEntry entry);

  Module result;
  std::map<std::string, StringId, std::less<>> strings;
  std::map<TypeData, Type> types;
  std::map<std::vector<uint8_t>, ConstantId> constants;
  std::map<std::pair<DebugEntry::Kind, std::vector<uint64_t>>, uint32_t> debugEntries;
  std::optional<Function> function;
  std::vector<Block *> blocks; // innermost last
  uint32_t location = 0;
};

} // namespace tessera::cudatile

#endif

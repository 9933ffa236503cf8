//===- BuilderOps.cpp - Operations of the builder -------------------------===//
#include "tessera/CodeGen/CudaTileIR/Bytecode/Builder.h"
#include <algorithm>
#include <cassert>

using namespace tessera::cudatile;

//===----------------------------------------------------------------------===//
// Constants and shapes
//===----------------------------------------------------------------------===//

Value Builder::constantBits(Type tileType, uint64_t bits) {
  const TypeSpec &spec = result.specOf(result[tileType].inner);
  assert(spec.isElement() && "a constant is a tile of numbers");
  // A bool is a byte whose bits are all equal.
  if (spec.bits == 1)
    bits = bits ? 0xFF : 0;
  std::vector<uint8_t> bytes;
  for (unsigned byte = 0; byte < (spec.bits + 7u) / 8; ++byte)
    bytes.push_back(uint8_t(bits >> (8 * byte)));
  Attribute value = Attribute::dense(constantData(std::move(bytes)));
  value.type = tileType;
  return append(Opcode::Constant, {tileType}, {}, {{"value", value}}).front();
}

Value Builder::constantInt(Type tileType, int64_t value) {
  const TypeSpec &spec = result.specOf(result[tileType].inner);
  return constantBits(tileType,
                      spec.isFloat() ? encodeFloat(spec.kind, double(value)) : uint64_t(value));
}

Value Builder::constant(Type tileType, double value) {
  const TypeSpec &spec = result.specOf(result[tileType].inner);
  return constantBits(tileType,
                      spec.isFloat() ? encodeFloat(spec.kind, value) : uint64_t(int64_t(value)));
}

Value Builder::iota(TypeKind kind, int64_t size) {
  return append(Opcode::Iota, {tile(kind, {size})}, {}).front();
}

Value Builder::reshape(Value value, Shape shape) {
  if (shape == shapeOf(value))
    return value;
  return append(Opcode::Reshape, {tile(elementOf(value), std::move(shape))}, {{value}}).front();
}

Value Builder::broadcast(Value value, Shape shape) {
  if (shape == shapeOf(value))
    return value;
  return append(Opcode::Broadcast, {tile(elementOf(value), std::move(shape))}, {{value}}).front();
}

Value Builder::broadcastInDims(Value value, Shape shape, const Shape &dims) {
  Shape ones(shape.size(), 1);
  for (size_t i = 0; i < dims.size(); ++i)
    ones[dims[i]] = shapeOf(value)[i];
  return broadcast(reshape(value, std::move(ones)), std::move(shape));
}

Value Builder::permute(Value value, const Shape &permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end()))
    return value;
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(value)[dim]);
  Attribute order = Attribute::list(Attribute::Kind::Integers, permutation);
  return append(Opcode::Permute, {tile(elementOf(value), std::move(shape))}, {{value}},
                {{"permutation", order}})
      .front();
}

Value Builder::cat(Value lhs, Value rhs, unsigned dim) {
  Shape shape = shapeOf(lhs);
  shape[dim] += shapeOf(rhs)[dim];
  return append(Opcode::Cat, {tile(elementOf(lhs), std::move(shape))}, {{lhs}, {rhs}},
                {{"dim", Attribute::integer(dim)}})
      .front();
}

Value Builder::extract(Value value, Shape shape, const Values &indices) {
  return append(Opcode::Extract, {tile(elementOf(value), std::move(shape))}, {{value}, indices})
      .front();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Attributes of the floating-point or the integer form of a maximum or remainder.
static std::vector<NamedAttribute> signOf(Signedness sign) {
  return {{"signedness", Attribute::integer(uint64_t(sign))}};
}
static std::vector<NamedAttribute> propagatingNan() {
  return {{"propagate_nan", Attribute::boolean(true)}};
}

Value Builder::add(Value a, Value b) {
  return elementwise(isFloat(a) ? Opcode::AddF : Opcode::AddI, {a, b});
}
Value Builder::sub(Value a, Value b) {
  return elementwise(isFloat(a) ? Opcode::SubF : Opcode::SubI, {a, b});
}
Value Builder::mul(Value a, Value b) {
  return elementwise(isFloat(a) ? Opcode::MulF : Opcode::MulI, {a, b});
}

Value Builder::div(Value a, Value b, Rounding rounding, Signedness sign) {
  if (isFloat(a))
    return elementwise(Opcode::DivF, {a, b}, {{"rounding_mode", of(rounding)}});
  if (rounding == Rounding::NearestEven)
    rounding = Rounding::Zero;
  return elementwise(Opcode::DivI, {a, b}, {{"signedness", of(sign)}, {"rounding", of(rounding)}});
}

Value Builder::rem(Value a, Value b, Signedness sign) {
  return isFloat(a) ? elementwise(Opcode::RemF, {a, b})
                    : elementwise(Opcode::RemI, {a, b}, signOf(sign));
}
Value Builder::max(Value a, Value b, Signedness sign) {
  return isFloat(a) ? elementwise(Opcode::MaxF, {a, b}, propagatingNan())
                    : elementwise(Opcode::MaxI, {a, b}, signOf(sign));
}
Value Builder::min(Value a, Value b, Signedness sign) {
  return isFloat(a) ? elementwise(Opcode::MinF, {a, b}, propagatingNan())
                    : elementwise(Opcode::MinI, {a, b}, signOf(sign));
}
Value Builder::neg(Value a) { return elementwise(isFloat(a) ? Opcode::NegF : Opcode::NegI, {a}); }
Value Builder::abs(Value a) { return elementwise(isFloat(a) ? Opcode::AbsF : Opcode::AbsI, {a}); }
Value Builder::fma(Value a, Value b, Value c) { return elementwise(Opcode::Fma, {a, b, c}); }

Value Builder::compare(Predicate predicate, Value a, Value b, Ordering ordering, Signedness sign) {
  Type type = withElement(a, TypeKind::I1);
  NamedAttribute how = {"comparison_predicate", of(predicate)};
  if (isFloat(a))
    return append(Opcode::CmpF, {type}, {{a}, {b}}, {how, {"comparison_ordering", of(ordering)}})
        .front();
  // True is the larger bool, but -1 as a signed number.
  if (elementKindOf(a) == TypeKind::I1)
    sign = Signedness::Unsigned;
  return append(Opcode::CmpI, {type}, {{a}, {b}}, {how, {"signedness", of(sign)}}).front();
}

Value Builder::select(Value condition, Value a, Value b) {
  return append(Opcode::Select, {typeOf(a)}, {{condition}, {a}, {b}}).front();
}

Value Builder::convert(Value value, TypeKind to, Signedness sign) {
  TypeKind from = elementKindOf(value);
  if (from == to)
    return value;
  const TypeSpec &source = typeSpec(from), &target = typeSpec(to);
  Type type = withElement(value, to);
  if (to == TypeKind::I1) {
    // Nonzero numbers and NaN are true; only an unordered comparison covers NaN.
    Value zero = constantBits(typeOf(value), 0);
    return compare(Predicate::NotEqual, value, zero, Ordering::Unordered);
  }
  Attribute signedness = of(from == TypeKind::I1 ? Signedness::Unsigned : sign);
  auto emit = [&](Opcode opcode, std::vector<NamedAttribute> attributes) {
    return append(opcode, {type}, {{value}}, attributes).front();
  };
  if (source.isFloat() && target.isFloat())
    return emit(Opcode::FToF, {});
  if (source.isFloat())
    return emit(Opcode::FToI,
                {{"signedness", of(sign)}, {"rounding_mode", of(Rounding::NearestIntToZero)}});
  if (target.isFloat())
    return emit(Opcode::IToF, {{"signedness", signedness}});
  if (source.bits < target.bits)
    return emit(Opcode::ExtI, {{"signedness", signedness}});
  return emit(Opcode::TruncI, {});
}

Value Builder::bitcast(Value value, TypeKind to) {
  if (elementKindOf(value) == to)
    return value;
  return append(Opcode::Bitcast, {withElement(value, to)}, {{value}}).front();
}

Value Builder::mma(Value lhs, Value rhs, Value acc, Signedness lhsSign, Signedness rhsSign) {
  std::vector<Values> operands = {{lhs}, {rhs}, {acc}};
  if (isFloat(lhs))
    return append(Opcode::MmaF, {typeOf(acc)}, operands).front();
  return append(Opcode::MmaI, {typeOf(acc)}, operands,
                {{"signedness_lhs", of(lhsSign)}, {"signedness_rhs", of(rhsSign)}})
      .front();
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

Value Builder::assumeDivisible(Value value, uint64_t divisor) {
  // Only powers of two can be expressed.
  divisor &= -divisor;
  if (divisor <= 1)
    return value;
  Attribute fact;
  fact.kind = Attribute::Kind::DivBy;
  fact.bits = divisor;
  return elementwise(Opcode::Assume, {value}, {{"predicate", fact}});
}

Value Builder::assumeBounded(Value value, std::optional<int64_t> lower,
                             std::optional<int64_t> upper) {
  Attribute fact;
  fact.kind = Attribute::Kind::Bounded;
  fact.first = lower;
  fact.second = upper;
  return elementwise(Opcode::Assume, {value}, {{"predicate", fact}});
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Builder::tensorView(Value pointer, Shape shape, Shape strides, const Values &dynamicSizes,
                          const Values &dynamicStrides) {
  Type pointee = result[elementOf(pointer)].inner;
  Type type = tensorViewType(pointee, std::move(shape), std::move(strides));
  return append(Opcode::MakeTensorView, {type}, {{pointer}, dynamicSizes, dynamicStrides}).front();
}

Value Builder::partition(Value tensorView, Shape tileShape, Shape dimMap,
                         std::optional<Padding> padding) {
  Type type =
      partitionViewType(typeOf(tensorView), std::move(tileShape), std::move(dimMap), padding);
  return append(Opcode::MakePartitionView, {type}, {{tensorView}}).front();
}

Value Builder::joinTokens(const Values &tokens) {
  if (tokens.size() == 1)
    return tokens.front();
  return append(Opcode::JoinTokens, {token()}, {tokens}).front();
}

Attribute Builder::accessHints(const AccessHints &hints) {
  Attribute attribute;
  if (hints.allowTma && !hints.latency)
    return attribute;
  Attribute entries;
  entries.kind = Attribute::Kind::Dictionary;
  if (!hints.allowTma) {
    entries.keys.push_back(string("allow_tma"));
    entries.elements.push_back(Attribute::boolean(false));
  }
  if (hints.latency) {
    entries.keys.push_back(string("latency"));
    entries.elements.push_back(Attribute::integer(*hints.latency, element(TypeKind::I32)));
  }
  attribute.kind = Attribute::Kind::Hints;
  attribute.keys = {string("default")};
  attribute.elements = {std::move(entries)};
  return attribute;
}

/// The operand group of a value that may be absent.
static Builder::Values optional(Value value) {
  return value ? Builder::Values{value} : Builder::Values();
}

Builder::Loaded Builder::load(Value view, const Values &index, Value after,
                              const AccessHints &hints) {
  const TypeData &viewType = result[typeOf(view)];
  Type tileType = tile(result[viewType.inner].inner, viewType.shape);
  Values values = append(Opcode::LoadView, {tileType, token()}, {{view}, index, optional(after)},
                         {{"optimization_hints", accessHints(hints)}});
  return {values[0], values[1]};
}

Value Builder::store(Value value, Value view, const Values &index, Value after,
                     const AccessHints &hints) {
  return append(Opcode::StoreView, {token()}, {{value}, {view}, index, optional(after)},
                {{"optimization_hints", accessHints(hints)}})
      .front();
}

Builder::Loaded Builder::loadPointers(Value pointers, Value mask, Value padding, Value after) {
  Type pointee = result[elementOf(pointers)].inner;
  Values values = append(Opcode::LoadPtr, {tile(pointee, shapeOf(pointers)), token()},
                         {{pointers}, optional(mask), optional(padding), optional(after)});
  return {values[0], values[1]};
}

Value Builder::storePointers(Value pointers, Value value, Value mask, Value after) {
  return append(Opcode::StorePtr, {token()}, {{pointers}, {value}, optional(mask), optional(after)})
      .front();
}

Value Builder::atomicAdd(Value pointers, Value value, Value mask, Value after) {
  return append(Opcode::AtomicRmw, {typeOf(value), token()},
                {{pointers}, {value}, optional(mask), optional(after)},
                {{"memory_ordering_semantics", of(MemoryOrder::Relaxed)},
                 {"memory_scope", of(MemoryScope::Device)},
                 {"mode", of(isFloat(value) ? AtomicMode::AddF : AtomicMode::Add)}})
      .back();
}

Value Builder::offset(Value pointers, Value offsets) {
  return append(Opcode::Offset, {typeOf(pointers)}, {{pointers}, {offsets}}).front();
}

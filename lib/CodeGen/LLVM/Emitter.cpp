//===- Emitter.cpp - A thin builder of scf and llvm operations ------------===//
#include "tessera/CodeGen/LLVM/Emitter.h"
#include "tessera/Dialect/Common/ScalarTypes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::codegen;

Emitter::Emitter(OpBuilder builder, Location loc, const CpuDescription &cpu)
    : b(loc, builder), cpu(cpu) {
  i1 = b.getI1Type();
  i8 = b.getI8Type();
  i16 = b.getIntegerType(16);
  i32 = b.getI32Type();
  i64 = b.getI64Type();
  f32 = b.getF32Type();
  f64 = b.getF64Type();
  ptr = LLVM::LLVMPointerType::get(b.getContext());
  domain = LLVM::AliasScopeDomainAttr::get(b.getContext(), b.getStringAttr("kernel"));
}

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

Type Emitter::elementOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getElementType() : type;
}

int64_t Emitter::lanesOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 0;
}

Type Emitter::withLanes(Type element, int64_t lanes) {
  return lanes ? VectorType::get({lanes}, element) : element;
}

Type Emitter::valueType(Type element) const {
  if (element.isBF16())
    return i16;
  if (isFloat8(element))
    return i8;
  if (isa<FloatTF32Type>(element))
    return f32;
  if (auto integer = dyn_cast<IntegerType>(element))
    return IntegerType::get(element.getContext(), integer.getWidth());
  if (isa<IndexType>(element))
    return i64;
  return element;
}

Type Emitter::storageType(Type element) const {
  return element.isInteger(1) ? i8 : valueType(element);
}

int64_t Emitter::byteWidth(Type element) {
  if (isa<FloatTF32Type>(element))
    return 4;
  return !element.isIntOrFloat() ? 8 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

Value Emitter::constantOp(Type type, Attribute attribute) {
  Value &value = constants[{type, attribute}];
  if (!value) {
    OpBuilder::InsertionGuard guard(b);
    if (constantBlock)
      b.setInsertionPointToStart(constantBlock);
    value = LLVM::ConstantOp::create(b, type, attribute);
  }
  return value;
}

Value Emitter::integer(int64_t value, Type type) {
  Type element = elementOf(type);
  Attribute attribute = b.getIntegerAttr(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, attribute);
  return constantOp(type, attribute);
}

Value Emitter::real(double value, Type type) {
  Attribute attribute = b.getFloatAttr(elementOf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, attribute);
  return constantOp(type, attribute);
}

Value Emitter::integerOrReal(int64_t value, Type type) {
  return isa<FloatType>(elementOf(type)) ? real(value, type) : integer(value, type);
}

Value Emitter::number(TypedAttr attribute, Type element, int64_t lanes) {
  Type type = withLanes(valueType(element), lanes);
  if (auto floating = dyn_cast<FloatAttr>(attribute)) {
    if (element.isBF16() || isFloat8(element))
      return integer(floating.getValue().bitcastToAPInt().getSExtValue(), type);
    if (isa<FloatTF32Type>(element))
      return real(floating.getValueAsDouble(), type);
    Attribute value = floating;
    if (auto vector = dyn_cast<VectorType>(type))
      value = DenseElementsAttr::get(vector, value);
    return constantOp(type, value);
  }
  if (auto flag = dyn_cast<BoolAttr>(attribute))
    return integer(flag.getValue(), type);
  return integer(cast<IntegerAttr>(attribute).getValue().getSExtValue(), type);
}

Value Emitter::iota(Type element, int64_t lanes) {
  SmallVector<Attribute> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.push_back(b.getIntegerAttr(element, i));
  auto type = VectorType::get({lanes}, element);
  return constantOp(type, DenseElementsAttr::get(type, numbers));
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

static std::optional<int64_t> constantOf(Value value) {
  if (auto constant = value.getDefiningOp<LLVM::ConstantOp>())
    if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      return integer.getValue().getSExtValue();
  return std::nullopt;
}

Value Emitter::materialize(Ix index) {
  if (!index.value)
    return integer(index.constant);
  return index.constant ? addI(index.value, integer(index.constant)) : index.value;
}

Ix Emitter::add(Ix x, Ix y) {
  Value value = !x.value ? y.value : !y.value ? x.value : addI(x.value, y.value);
  return Ix(value, x.constant + y.constant);
}

Ix Emitter::mul(Ix x, Ix y) {
  if (!x.value)
    std::swap(x, y);
  if (!x.value)
    return x.constant * y.constant;
  if (!y.value) {
    if (y.constant == 0)
      return 0;
    return Ix(y.constant == 1 ? x.value : mulI(x.value, integer(y.constant)),
              x.constant * y.constant);
  }
  return Ix(mulI(materialize(x), materialize(y)));
}

Value Emitter::addI(Value x, Value y) {
  if (constantOf(y) == 0)
    return x;
  if (constantOf(x) == 0)
    return y;
  return LLVM::AddOp::create(b, x, y);
}
Value Emitter::subI(Value x, Value y) {
  return constantOf(y) == 0 ? x : Value(LLVM::SubOp::create(b, x, y));
}
Value Emitter::mulI(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy && x.getType() == i64)
    return integer(*cx * *cy);
  if (cy == 1)
    return x;
  if (cx == 1)
    return y;
  return LLVM::MulOp::create(b, x, y);
}
Value Emitter::minI(Value x, Value y) {
  auto cx = constantOf(x), cy = constantOf(y);
  if (cx && cy)
    return *cx < *cy ? x : y;
  return LLVM::SMinOp::create(b, x, y);
}
Value Emitter::maxI(Value x, Value y) { return LLVM::SMaxOp::create(b, x, y); }
Value Emitter::cmp(LLVM::ICmpPredicate predicate, Value x, Value y) {
  return LLVM::ICmpOp::create(b, predicate, x, y);
}
Value Emitter::andI(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return LLVM::AndOp::create(b, x, y);
}
Value Emitter::orI(Value x, Value y) { return LLVM::OrOp::create(b, x, y); }
Value Emitter::xorI(Value x, Value y) { return LLVM::XOrOp::create(b, x, y); }
Value Emitter::select(Value condition, Value x, Value y) {
  return LLVM::SelectOp::create(b, condition, x, y);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

LLVM::FastmathFlags Emitter::fastmathFlags() const {
  return cpu.fusesArithmetic ? LLVM::FastmathFlags::contract : LLVM::FastmathFlags::none;
}

/// sum + x * y of f16 with one rounding (FMLAL); the operands are the low halves of f16 registers.
static Value fusedMultiplyAddHalves(Emitter &e, Value sum, Value x, Value y) {
  int64_t lanes = Emitter::lanesOf(sum.getType());
  Type type = Emitter::withLanes(e.b.getF16Type(), 2 * lanes);
  auto grown = [&](Value halves) {
    if (halves.getType() == type)
      return halves;
    auto mask = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
    mask.resize(2 * lanes, -1);
    return e.shuffle(halves, halves, mask);
  };
  return e.intrinsic("llvm.aarch64.neon.fmlal", sum.getType(), {sum, grown(x), grown(y)});
}

Value Emitter::addHalves(Value sum, Value halves) {
  Type type = withLanes(b.getF16Type(), 2 * lanesOf(sum.getType()));
  return fusedMultiplyAddHalves(*this, sum, halves, real(1, type));
}

Value Emitter::fadd(Value x, Value y) {
  for (auto [sum, added] : {std::pair(x, y), std::pair(y, x)}) {
    if (Value halves = halvesOf.lookup(added))
      return addHalves(sum, halves);
    // The product of two f16 is exact in f32.
    auto product = added.getDefiningOp<LLVM::FMulOp>();
    Value lhs = product ? halvesOf.lookup(product.getLhs()) : Value();
    Value rhs = product ? halvesOf.lookup(product.getRhs()) : Value();
    if (lhs && rhs)
      return fusedMultiplyAddHalves(*this, sum, lhs, rhs);
  }
  return LLVM::FAddOp::create(b, x, y, fastmathFlags());
}

Value Emitter::fsub(Value x, Value y) {
  if (Value halves = halvesOf.lookup(x))
    return addHalves(LLVM::FNegOp::create(b, y), halves);
  return LLVM::FSubOp::create(b, x, y, fastmathFlags());
}

Value Emitter::fmul(Value x, Value y) { return LLVM::FMulOp::create(b, x, y, fastmathFlags()); }
Value Emitter::fdiv(Value x, Value y) {
  return LLVM::FDivOp::create(
      b, x, y, cpu.usesReciprocals ? LLVM::FastmathFlags::arcp : LLVM::FastmathFlags::none);
}
Value Emitter::fcmp(LLVM::FCmpPredicate predicate, Value x, Value y) {
  return LLVM::FCmpOp::create(b, predicate, x, y);
}

Value Emitter::mulAdd(Value x, Value y, Value z) {
  if (!isa<FloatType>(elementOf(x.getType())))
    return LLVM::AddOp::create(b, LLVM::MulOp::create(b, x, y), z);
  if (cpu.hasFma)
    return LLVM::FMAOp::create(b, x, y, z);
  return fadd(fmul(x, y), z);
}

Value Emitter::opaque(Value integer) {
  return LLVM::InlineAsmOp::create(
             b, integer.getType(), integer, /*asm_string=*/"", /*constraints=*/"=r,0",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
      .getResult(0);
}

Value Emitter::intrinsic(StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
}

void Emitter::procedure(StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value Emitter::splat(Value scalar, int64_t lanes) {
  if (!lanes || lanesOf(scalar.getType()))
    return scalar;
  Type type = withLanes(scalar.getType(), lanes);
  if (auto constant = scalar.getDefiningOp<LLVM::ConstantOp>())
    return constantOp(
        type, DenseElementsAttr::get(cast<VectorType>(type), cast<Attribute>(constant.getValue())));
  Value poison = LLVM::PoisonOp::create(b, type);
  Value first = LLVM::InsertElementOp::create(b, type, poison, scalar, integer(0));
  return shuffle(first, poison, SmallVector<int32_t>(lanes, 0));
}

Value Emitter::shuffle(Value x, Value y, ArrayRef<int32_t> mask) {
  return LLVM::ShuffleVectorOp::create(b, x, y, mask);
}

Value Emitter::concat(Value x, Value y) {
  SmallVector<int32_t> mask;
  for (int64_t i = 0, n = 2 * lanesOf(x.getType()); i < n; ++i)
    mask.push_back(i);
  return shuffle(x, y, mask);
}

Value Emitter::concat(ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  assert(llvm::isPowerOf2_64(vectors.size()));
  size_t half = vectors.size() / 2;
  return concat(concat(vectors.take_front(half)), concat(vectors.drop_front(half)));
}

Value Emitter::widen(Value value, Value filler) {
  int64_t have = lanesOf(value.getType()), want = lanesOf(filler.getType());
  if (have == want)
    return value;
  SmallVector<int32_t> grow(want, 0), choose(want);
  for (int64_t i = 0; i < have; ++i)
    grow[i] = i;
  for (int64_t i = 0; i < want; ++i)
    choose[i] = i < have ? i : want + i;
  return shuffle(shuffle(value, value, grow), filler, choose);
}

Value Emitter::insert(Value vector, Value scalar, int64_t lane) {
  return LLVM::InsertElementOp::create(b, vector.getType(), vector, scalar, integer(lane));
}
Value Emitter::extract(Value vector, int64_t lane) {
  return LLVM::ExtractElementOp::create(b, vector, integer(lane));
}

Value Emitter::laneMask(int64_t lanes, Value count) {
  Value narrow = LLVM::TruncOp::create(b, i32, count);
  return cmp(LLVM::ICmpPredicate::slt, iota(i32, lanes), splat(narrow, lanes));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::address(Value base, Ix bytes) {
  if (bytes.value)
    base = LLVM::GEPOp::create(b, ptr, i8, base, ArrayRef<LLVM::GEPArg>{bytes.value});
  if (!bytes.constant)
    return base;
  if (llvm::isInt<32>(bytes.constant))
    return LLVM::GEPOp::create(b, ptr, i8, base, ArrayRef<LLVM::GEPArg>{int32_t(bytes.constant)});
  return LLVM::GEPOp::create(b, ptr, i8, base, ArrayRef<LLVM::GEPArg>{integer(bytes.constant)});
}

Scope Emitter::newScope(StringRef name) {
  auto id = DistinctAttr::create(b.getUnitAttr());
  auto scope = LLVM::AliasScopeAttr::get(b.getContext(), id, domain, b.getStringAttr(name));
  scopes.push_back(scope);
  return scope;
}

void Emitter::tag(Operation *op, Scope scope) {
  if (scope)
    tagged.push_back({op, scope});
}

void Emitter::closeScopes() {
  DenseMap<Attribute, ArrayAttr> others;
  for (Attribute scope : scopes) {
    SmallVector<Attribute> rest;
    llvm::copy_if(scopes, std::back_inserter(rest),
                  [&](Attribute other) { return other != scope; });
    others[scope] = b.getArrayAttr(rest);
  }
  for (auto [op, scope] : tagged) {
    op->setAttr("alias_scopes", b.getArrayAttr(scope));
    op->setAttr("noalias_scopes", others[scope]);
  }
  tagged.clear();
}

Value Emitter::load(Type type, Value address, Scope scope) {
  auto op = LLVM::LoadOp::create(b, type, address, byteWidth(elementOf(type)));
  tag(op, scope);
  return op;
}

void Emitter::store(Value value, Value address, Scope scope) {
  tag(LLVM::StoreOp::create(b, value, address, byteWidth(elementOf(value.getType()))), scope);
}

void Emitter::storePastCaches(Value value, Value address, Scope scope) {
  int64_t bytes = lanesOf(value.getType()) * byteWidth(elementOf(value.getType()));
  tag(LLVM::StoreOp::create(b, value, address, bytes, /*isVolatile=*/false, /*isNonTemporal=*/true),
      scope);
}

Value Emitter::maskedLoad(Type type, Value address, Value mask, Value passThrough) {
  return LLVM::MaskedLoadOp::create(b, type, address, mask, passThrough,
                                    uint32_t(byteWidth(elementOf(type))));
}

bool Emitter::hasMaskedAccess(Type type) const {
  return cpu.hasMaskedMemory && (cpu.vectorBytes == 64 || byteWidth(elementOf(type)) >= 4);
}

Value Emitter::part(Value vector, int64_t first, int64_t count) {
  return shuffle(vector, vector, llvm::to_vector(llvm::seq<int32_t>(first, first + count)));
}

Value Emitter::loadLanes(Type type, Value address, Value count, Value padding) {
  int64_t lanes = lanesOf(type);
  if (hasMaskedAccess(type) || !llvm::isPowerOf2_64(lanes))
    return maskedLoad(type, address, laneMask(lanes, count), padding);
  return choose(
      type, cmp(LLVM::ICmpPredicate::sge, count, integer(lanes)),
      [&] { return load(type, address, Scope()); },
      [&] { return loadByHalves(type, address, count, padding); });
}

/// Loads fewer than all lanes.
Value Emitter::loadByHalves(Type type, Value address, Value count, Value padding) {
  int64_t lanes = lanesOf(type), half = lanes / 2;
  if (lanes == 1)
    return padding;
  Type narrow = withLanes(elementOf(type), half);
  Value low = part(padding, 0, half), high = part(padding, half, half);
  Value upper = this->address(address, half * byteWidth(elementOf(type)));
  return choose(
      type, cmp(LLVM::ICmpPredicate::sge, count, integer(half)),
      [&] {
        Value rest = loadByHalves(narrow, upper, subI(count, integer(half)), high);
        return concat(load(narrow, address, Scope()), rest);
      },
      [&] { return concat(loadByHalves(narrow, address, count, low), high); });
}

void Emitter::storeLanes(Value value, Value address, Value count) {
  int64_t lanes = lanesOf(value.getType());
  if (hasMaskedAccess(value.getType()) || !llvm::isPowerOf2_64(lanes))
    return maskedStore(value, address, laneMask(lanes, count));
  branch(
      cmp(LLVM::ICmpPredicate::sge, count, integer(lanes)), [&] { store(value, address, Scope()); },
      [&] { storeByHalves(value, address, count); });
}

void Emitter::storeByHalves(Value value, Value address, Value count) {
  int64_t lanes = lanesOf(value.getType()), half = lanes / 2;
  if (lanes == 1)
    return;
  Value low = part(value, 0, half), high = part(value, half, half);
  Value upper = this->address(address, half * byteWidth(elementOf(value.getType())));
  branch(
      cmp(LLVM::ICmpPredicate::sge, count, integer(half)),
      [&] {
        store(low, address, Scope());
        storeByHalves(high, upper, subI(count, integer(half)));
      },
      [&] { storeByHalves(low, address, count); });
}

Value Emitter::maskedGather(Type type, Value address, Value bytes, Value mask, Value passThrough) {
  Value addresses = LLVM::GEPOp::create(b, withLanes(ptr, lanesOf(type)), i8, address,
                                        ArrayRef<LLVM::GEPArg>{bytes});
  return LLVM::masked_gather::create(b, type, addresses, mask, passThrough,
                                     b.getI32IntegerAttr(byteWidth(elementOf(type))));
}

void Emitter::maskedScatter(Value value, Value address, Value bytes, Value mask) {
  Value addresses = LLVM::GEPOp::create(b, withLanes(ptr, lanesOf(value.getType())), i8, address,
                                        ArrayRef<LLVM::GEPArg>{bytes});
  LLVM::masked_scatter::create(b, value, addresses, mask,
                               b.getI32IntegerAttr(byteWidth(elementOf(value.getType()))));
}

void Emitter::maskedStore(Value value, Value address, Value mask) {
  LLVM::MaskedStoreOp::create(b, value, address, mask,
                              uint32_t(byteWidth(elementOf(value.getType()))));
}

Value Emitter::fromStorage(Value stored, Type element) {
  if (!element.isInteger(1))
    return stored;
  return cmp(LLVM::ICmpPredicate::ne, stored, integer(0, stored.getType()));
}

Value Emitter::toStorage(Value value, Type element) {
  if (!element.isInteger(1))
    return value;
  return LLVM::ZExtOp::create(b, withLanes(i8, lanesOf(value.getType())), value);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::loop(Value lower, Value upper, int64_t step, ValueRange inits,
                                 LoopBody body) {
  auto op = scf::ForOp::create(b, lower, upper, integer(step), inits);
  OpBuilder::InsertionGuard guard(b);
  Block *block = op.getBody();
  if (!block->empty())
    block->getTerminator()->erase();
  b.setInsertionPointToEnd(block);
  SmallVector<Value> yielded = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, yielded);
  return llvm::to_vector_of<Value>(op.getResults());
}

void Emitter::loop(Value lower, Value upper, int64_t step, function_ref<void(Value)> body) {
  loop(lower, upper, step, ValueRange(), [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>();
  });
}

void Emitter::branch(Value condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, TypeRange(), condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
  if (otherwise) {
    b.setInsertionPointToStart(op.elseBlock());
    otherwise();
  }
}

Value Emitter::choose(Type type, Value condition, function_ref<Value()> then,
                      function_ref<Value()> otherwise) {
  auto op = scf::IfOp::create(b, TypeRange(type), condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(op.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToEnd(op.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return op.getResult(0);
}

SmallVector<Value> Emitter::selectUnlessAny(Value isRare, ValueRange usual,
                                            function_ref<SmallVector<Value>()> instead) {
  Type bits = b.getIntegerType(lanesOf(isRare.getType()));
  Value any =
      cmp(LLVM::ICmpPredicate::ne, LLVM::BitcastOp::create(b, bits, isRare), integer(0, bits));
  auto op = scf::IfOp::create(b, TypeRange(usual), any, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(op.thenBlock());
  scf::YieldOp::create(b, instead());
  b.setInsertionPointToEnd(op.elseBlock());
  scf::YieldOp::create(b, usual);
  return llvm::to_vector_of<Value>(op.getResults());
}

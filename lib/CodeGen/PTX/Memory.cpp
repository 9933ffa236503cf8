//===- Memory.cpp - Global memory -----------------------------------------===//
//
// A thread accesses vectors of up to 16 bytes where the layout gives it neighbours, the rows of the
// tensor are aligned and do not end within a vector. An unaligned row is accessed from the aligned
// address before it. Elements of the vectors that the ends of such a row, or of a tensor of one
// dimension, cut are accessed one by one.
// Accesses outside of a tensor are predicated off. Gathers and scatters along the contiguous
// dimension access single elements; a scatter with a sum uses atomic additions, in any order.
//
//===----------------------------------------------------------------------===//
#include "KernelEmitter.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::ptx;
using codegen::Ix;
using LLVM::ICmpPredicate;

Value KernelEmitter::pointerOf(const GlobalAccess &access, unsigned reg) {
  const View &view = views[access.view];
  // The part that differs between registers is loop-invariant, so it is added last.
  Ix offset = 0, invariant = 0;
  for (int64_t dim = 0; dim < int64_t(access.coords.size()); ++dim) {
    Ix index = e.mul(Ix(get(access.coords[dim])), access.tileSize(dim));
    if (std::optional<unsigned> place = access.tileDim(dim)) {
      Ix at = coordinate(access.layout, reg, tensorDim(*place));
      invariant = e.add(invariant, e.mul(Ix(at.constant), view.strides[dim]));
      index = at.value ? e.add(index, Ix(at.value)) : index;
    }
    offset = e.add(offset, e.mul(index, view.strides[dim]));
  }
  for (auto [i, tile] : llvm::enumerate(access.indices)) {
    unsigned dim = access.coords.size() + i;
    Value index = e.cast(tiles.lookup(tile)[reg], elementOf(tile), e.i64);
    Value last = e.subI(e.materialize(view.sizes[dim]), e.integer(1));
    index = e.maxI(e.minI(index, last), e.integer(0));
    offset = e.add(offset, e.mul(Ix(index), view.strides[dim]));
  }
  // This tells LLVM to compute the offset in 32 bits.
  if (offset.value && !options.wideIndices)
    offset.value =
        LLVM::SExtOp::create(e.b, e.i64, LLVM::TruncOp::create(e.b, e.i32, offset.value));
  Value pointer = view.pointer;
  auto move = [&](Value by) {
    pointer = LLVM::GEPOp::create(e.b, pointer.getType(), e.i8, pointer, ValueRange(by));
  };
  int64_t constant = 0;
  for (Ix part : {offset, invariant}) {
    Ix bytes = e.mul(part, access.bytes());
    if (bytes.value)
      move(bytes.value);
    constant += bytes.constant;
  }
  if (constant)
    move(e.integer(constant));
  return pointer;
}

/// The view starts at the aligned address before the row; `from` is the row's first element in it.
void KernelEmitter::emitAlignedRow(tile::AlignedRowOp row) {
  const View whole = views[row.getView()];
  unsigned bytes = codegen::Emitter::byteWidth(row.getType().getElementType());
  Ix place = 0;
  SmallVector<Ix> strides = whole.strides;
  strides.erase(strides.begin() + row.getDim());
  for (auto [coordinate, stride] : llvm::zip_equal(row.getCoords(), strides))
    place = e.add(place, e.mul(Ix(get(coordinate)), stride));
  Value start = LLVM::PtrToIntOp::create(e.b, e.i64, whole.pointer);
  start = e.addI(start, e.materialize(e.mul(place, bytes)));
  Value begin = e.andI(start, e.integer(-tile::AlignedRowOp::kAlignment));
  Value from = LLVM::LShrOp::create(e.b, e.subI(start, begin), e.integer(llvm::Log2_32(bytes)));
  views[row] = {LLVM::IntToPtrOp::create(e.b, whole.pointer.getType(), begin),
                {e.add(whole.sizes[row.getDim()], Ix(from))},
                {Ix(1)},
                from};
}

Value KernelEmitter::maskOf(const GlobalAccess &access, unsigned reg, unsigned width) {
  Value mask;
  for (int64_t dim : access.checkedDims) {
    Ix index = e.mul(Ix(get(access.coords[dim])), access.tileSize(dim));
    if (std::optional<unsigned> place = access.tileDim(dim))
      index = e.add(index, coordinate(access.layout, reg, tensorDim(*place)));
    // Compared as unsigned, a negative position is past every size.
    Value at = e.materialize(index), size = e.materialize(views[access.view].sizes[dim]);
    if (Value from = views[access.view].from) {
      at = e.subI(at, from);
      size = e.subI(size, from);
    }
    if (width > 1)
      size = e.maxI(e.subI(size, e.integer(width - 1)), e.integer(0));
    int64_t step = access.type().getStrides()[dim];
    bool mayExceed32Bits =
        ShapedType::isDynamic(step) ? !coordinates.hasPositiveStride(access.view, dim) : !step;
    if (!options.wideIndices && !mayExceed32Bits) {
      at = LLVM::TruncOp::create(e.b, e.i32, at);
      size = LLVM::TruncOp::create(e.b, e.i32, size);
    }
    Value inside = e.cmp(ICmpPredicate::ult, at, size);
    mask = mask ? e.andI(mask, inside) : inside;
  }
  return mask;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

KernelEmitter::Registers KernelEmitter::unpack(ValueRange words, Type element) {
  Type stored = e.storageType(element);
  unsigned bits = stored.getIntOrFloatBitWidth();
  Type integer = IntegerType::get(stored.getContext(), bits);
  Registers elements;
  for (Value word : words)
    for (unsigned at = 0; at < std::max(bits, word.getType().getIntOrFloatBitWidth() / bits * bits);
         at += bits) {
      Value part = word;
      if (at)
        part = LLVM::LShrOp::create(e.b, word, e.integer(at, word.getType()));
      if (part.getType() != integer)
        part = LLVM::TruncOp::create(e.b, integer, part);
      if (integer != stored)
        part = LLVM::BitcastOp::create(e.b, stored, part);
      elements.push_back(e.fromStorage(part, element));
    }
  return elements;
}

KernelEmitter::Registers KernelEmitter::pack(ValueRange elements, Type element) {
  unsigned bits = e.storageType(element).getIntOrFloatBitWidth();
  Type integer = IntegerType::get(element.getContext(), bits);
  unsigned total = bits * elements.size();
  Type word = total >= 64 && bits == 64 ? e.i64 : total >= 32 ? e.i32 : e.i16;
  Registers words;
  for (auto [i, value] : llvm::enumerate(elements)) {
    Value part = e.toStorage(value, element);
    if (part.getType() != integer)
      part = LLVM::BitcastOp::create(e.b, integer, part);
    if (integer != word)
      part = LLVM::ZExtOp::create(e.b, word, part);
    unsigned at = i * bits % word.getIntOrFloatBitWidth();
    if (!at)
      words.push_back(part);
    else
      words.back() = e.orI(words.back(), LLVM::ShlOp::create(e.b, part, e.integer(at, word)));
  }
  return words;
}

/// `.v4.b32`, and the constraint of such registers.
static std::pair<std::string, char> instructionType(unsigned bytes, unsigned element) {
  if (bytes == 1)
    return {".b8", 'h'};
  if (bytes == 2)
    return {".b16", 'h'};
  unsigned word = element == 8 ? 8 : 4, count = bytes / word;
  std::string vector = count > 1 ? ".v" + std::to_string(count) : "";
  return {vector + (word == 8 ? ".b64" : ".b32"), word == 8 ? 'l' : 'r'};
}

static unsigned registersOf(unsigned bytes, unsigned element) {
  return std::max(1u, bytes / (element == 8 ? 8 : 4));
}

/// `{$0, $1}`, or `$0`.
static std::string registerList(unsigned first, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count > 1 ? "{" + text + "}" : text;
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

KernelEmitter::Policy KernelEmitter::addPolicy(SmallVectorImpl<Value> &operands,
                                               std::string &constraints, unsigned results) {
  if (kernel.getField(TuningField::L2EvictLast) != 1 || !gpu.has(GpuFeature::CachePolicies))
    return {};
  if (!evictLast) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(entry->getTerminator());
    evictLast = assembly("createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l", e.i64, {});
  }
  operands.push_back(evictLast);
  constraints += ",l";
  return {".L2::cache_hint", ", $" + std::to_string(results + operands.size() - 1)};
}

/// Loads the words of `width` elements from register `reg` on. Where the mask is false they hold
/// the pad, or anything without one.
KernelEmitter::Registers KernelEmitter::loadWords(const GlobalAccess &access, unsigned reg,
                                                  unsigned width, Value mask, TypedAttr pad) {
  Type element = access.type().getElementType();
  unsigned bytes = width * access.bytes(), count = registersOf(bytes, access.bytes());
  auto [type, kind] = instructionType(bytes, access.bytes());
  Type word = kind == 'h' ? e.i16 : kind == 'l' ? e.i64 : e.i32;
  SmallVector<Type> words(count, word);
  Type result =
      count > 1 ? Type(LLVM::LLVMStructType::getLiteral(kernel.getContext(), words)) : word;
  std::string text, constraints;
  for (unsigned i = 0; i < count; ++i)
    constraints += std::string(i ? ",=" : "=") + kind;
  SmallVector<Value> operands = {pointerOf(access, reg)};
  constraints += ",l";
  std::string address = "[$" + std::to_string(count) + "]";
  if (mask) {
    operands.push_back(LLVM::ZExtOp::create(e.b, e.i32, mask));
    constraints += ",r";
    text = "{ .reg .pred p; setp.ne.b32 p, $" + std::to_string(count + 1) + ", 0; ";
    Registers pads =
        pad ? pack(SmallVector<Value>(width, e.number(pad, element, 0)), element) : Registers();
    for (auto [i, part] : llvm::enumerate(pads)) {
      text += "mov.b" + std::to_string(word.getIntOrFloatBitWidth()) + " $" + std::to_string(i) +
              ", $" + std::to_string(count + 2 + i) + "; ";
      operands.push_back(part);
      constraints += std::string(",") + kind;
    }
    text += "@p ";
  }
  Policy policy = addPolicy(operands, constraints, count);
  text += "ld.global" + policy.suffix + type + " " + registerList(0, count) + ", " + address +
          policy.operand + (mask ? "; }" : ";");
  Value loaded = assembly(text, constraints, result, operands, /*hasEffects=*/true);
  Registers loadedWords;
  for (unsigned i = 0; i < count; ++i)
    loadedWords.push_back(count > 1 ? Value(LLVM::ExtractValueOp::create(e.b, loaded, i)) : loaded);
  return loadedWords;
}

KernelEmitter::Registers KernelEmitter::loadPartial(const GlobalAccess &access, unsigned reg,
                                                    unsigned width, TypedAttr pad) {
  Type element = access.type().getElementType();
  SmallVector<Type> types(width, e.valueType(element));
  auto branch = scf::IfOp::create(e.b, types, maskOf(access, reg, width), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(branch.thenBlock());
  Registers vector = unpack(loadWords(access, reg, width, Value(), nullptr), element), single;
  vector.truncate(width);
  scf::YieldOp::create(e.b, vector);
  e.b.setInsertionPointToStart(branch.elseBlock());
  for (unsigned i = 0; i < width; ++i)
    single.push_back(
        unpack(loadWords(access, reg + i, 1, maskOf(access, reg + i), pad), element).front());
  scf::YieldOp::create(e.b, single);
  return Registers(branch.getResults());
}

LogicalResult KernelEmitter::emitLoad(Operation *op) {
  GlobalAccess access = globalAccess(op, coordinates);
  Type element = access.type().getElementType();
  unsigned width = access.width, registers = countRegisters(access.tile);
  auto pad = access.needsPad ? op->getAttrOfType<TypedAttr>("pad") : TypedAttr();
  if (access.hasCutVectors) {
    Registers &parts = tiles[access.tile];
    for (unsigned reg = 0; reg < registers; reg += width)
      parts.append(loadPartial(access, reg, width, pad));
    return success();
  }
  SmallVector<Registers> vectors;
  for (unsigned reg = 0; reg < registers; reg += width)
    vectors.push_back(loadWords(access, reg, width, maskOf(access, reg), pad));
  Registers &parts = tiles[access.tile];
  for (const Registers &words : vectors) {
    Registers elements = unpack(words, element);
    parts.append(elements.begin(), elements.begin() + width);
  }
  return success();
}

void KernelEmitter::storeWords(const GlobalAccess &access, unsigned reg, unsigned width,
                               Value mask) {
  unsigned bytes = width * access.bytes(), count = registersOf(bytes, access.bytes());
  auto [type, kind] = instructionType(bytes, access.bytes());
  SmallVector<Value> operands = {pointerOf(access, reg)};
  std::string constraints = "l", text;
  for (Value word :
       pack(ArrayRef(tiles[access.tile]).slice(reg, width), access.type().getElementType())) {
    operands.push_back(word);
    constraints += std::string(",") + kind;
  }
  if (mask) {
    text = "{ .reg .pred p; setp.ne.b32 p, $" + std::to_string(count + 1) + ", 0; @p ";
    operands.push_back(LLVM::ZExtOp::create(e.b, e.i32, mask));
    constraints += ",r";
  }
  text += "st.global" + type + " [$0], " + registerList(1, count) + ";" + (mask ? " }" : "");
  assembly(text, constraints + ",~{memory}", Type(), operands, /*hasEffects=*/true);
}

void KernelEmitter::storePartial(const GlobalAccess &access, unsigned reg, unsigned width,
                                 Value owner) {
  auto branch =
      scf::IfOp::create(e.b, TypeRange(), maskOf(access, reg, width), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(branch.thenBlock());
  storeWords(access, reg, width, owner);
  e.b.setInsertionPointToStart(branch.elseBlock());
  for (unsigned i = 0; i < width; ++i) {
    Value mask = maskOf(access, reg + i);
    storeWords(access, reg + i, 1, owner ? e.andI(mask, owner) : mask);
  }
}

LogicalResult KernelEmitter::emitStore(tile::StoreOp store) {
  GlobalAccess access = globalAccess(store, coordinates);
  unsigned width = access.width;
  Value owner = isOwner(access.layout);
  for (unsigned reg = 0; reg < tiles[access.tile].size(); reg += width) {
    if (access.hasCutVectors) {
      storePartial(access, reg, width, owner);
      continue;
    }
    Value mask = maskOf(access, reg);
    storeWords(access, reg, width, mask && owner ? e.andI(mask, owner) : mask ? mask : owner);
  }
  return success();
}

/// An element that several registers or threads hold is stored once, since it may be added.
LogicalResult KernelEmitter::emitScatter(tile::ScatterOp scatter) {
  if (scatter.getSum() && !scatter.getUnordered())
    return scatter.emitOpError("expected an unordered sum for PTX");
  GlobalAccess access = globalAccess(scatter, coordinates);
  Type element = access.type().getElementType();
  auto [type, kind] = instructionType(access.bytes(), access.bytes());
  std::string instruction = "st.global" + type;
  if (scatter.getSum()) // unsigned and signed additions are the same
    instruction = (isa<FloatType>(element) ? "red.global.add.f" : "red.global.add.u") +
                  std::to_string(8 * access.bytes());
  uint64_t copies = access.layout.freeBits() & access.layout.in().mask({Dim::Register});
  Value owner = isOwner(access.layout);
  for (auto [reg, part] : llvm::enumerate(tiles.lookup(access.tile))) {
    if (reg << access.layout.in().shift(Dim::Register) & copies)
      continue;
    Value mask = maskOf(access, reg);
    auto require = [&](Value condition) { mask = mask ? e.andI(mask, condition) : condition; };
    if (owner)
      require(owner);
    for (auto [i, indices] : llvm::enumerate(access.indices)) {
      Value index = e.cast(tiles.lookup(indices)[reg], elementOf(indices), e.i64);
      Ix size = views[access.view].sizes[access.coords.size() + i];
      // Compared as unsigned, a negative index is past every size.
      require(e.cmp(ICmpPredicate::ult, index, e.materialize(size)));
    }
    std::string text = "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p " + instruction + " [$0], $1; }";
    assembly(text, std::string("l,") + kind + ",r,~{memory}", Type(),
             {pointerOf(access, reg), pack(part, element).front(),
              LLVM::ZExtOp::create(e.b, e.i32, mask)},
             /*hasEffects=*/true);
  }
  return success();
}

/// Copies chunks of 16 bytes; a masked chunk becomes zeros.
LogicalResult KernelEmitter::emitCpAsync(tile::CpAsyncOp copy) {
  GlobalAccess access = globalAccess(copy, coordinates);
  constexpr unsigned kChunk = 16;
  unsigned width = access.width, bytes = access.bytes();
  if (width * bytes != kChunk)
    return copy.emitError("expected rows that threads copy by 16 bytes, loadedWords ")
           << width * bytes;
  // The stage holds the tile as its layout says: (register, lane, warp) -> element -> offset.
  Layout offsets = access.layout.then(offsetsOf(copy.getBuffer().getType().getMemory()));
  Value stage = stageAddress(copy.getBuffer(), copy.getStage());
  for (unsigned reg = 0; reg < access.layout.in().size(Dim::Register); reg += width) {
    Ix offset = e.mul(coordinate(offsets, reg, Dim::Offset), bytes);
    Value to =
        LLVM::GEPOp::create(e.b, stage.getType(), e.i8, stage, ValueRange(e.materialize(offset)));
    SmallVector<Value> operands = {LLVM::PtrToIntOp::create(e.b, e.i32, to),
                                   pointerOf(access, reg)};
    std::string sizes = "16", constraints = "r,l";
    Value mask = maskOf(access, reg);
    if (copy.getCondition())
      mask = mask ? e.andI(mask, get(copy.getCondition())) : get(copy.getCondition());
    if (mask) {
      operands.push_back(e.select(mask, e.integer(kChunk, e.i32), e.integer(0, e.i32)));
      sizes += ", $2";
      constraints += ",r";
    }
    // No L2 policy: ptxas of CUDA 13 may remove the `createpolicy` of a cp.async for sm_90. The
    // instruction then reads an undefined descriptor and traps as illegal.
    assembly("cp.async.cg.shared.global [$0], [$1], " + sizes + ";", constraints + ",~{memory}",
             Type(), operands, /*hasEffects=*/true);
  }
  return success();
}

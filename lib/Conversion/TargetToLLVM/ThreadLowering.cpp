//===- ThreadLowering.cpp - Operations of one thread to LLVM --------------===//
//
// Barriers and asynchronous copies become NVVM intrinsics, because LLVM must not move or merge
// them. Other instructions become inline PTX.
//
//===----------------------------------------------------------------------===//
#include "ThreadLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Target/TensorCores.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

static constexpr StringLiteral kSharedMemory = "shared_memory", kAssertFail = "__assertfail";
static constexpr unsigned kSharedAlignment = 1024;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

Value ThreadLowering::integer(int64_t value, unsigned bits) {
  return LLVM::ConstantOp::create(b, b.getIntegerType(bits),
                                  b.getIntegerAttr(b.getIntegerType(bits), value));
}

Value ThreadLowering::advance(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer, ValueRange(bytes));
}

Value ThreadLowering::intrinsic(StringRef name, Type result, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
}

void ThreadLowering::callIntrinsic(StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(b, b.getStringAttr(name), operands);
}

/// The inline assembly constraint of a type.
static char constraintOf(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return 'l';
  if (type.isF32() || type.isF64())
    return type.isF32() ? 'f' : 'd';
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return 'b';
  case 16:
    return 'h';
  default:
    return type.getIntOrFloatBitWidth() == 32 ? 'r' : 'l';
  }
}

SmallVector<Value> ThreadLowering::assembly(StringRef text, TypeRange results, ValueRange operands,
                                            bool isPure) {
  // 16-bit floats are passed as their bits.
  auto passed = [&](Type type) -> Type {
    return type.isF16() || type.isBF16() ? b.getI16Type() : type;
  };
  std::string constraints;
  auto add = [&](StringRef prefix, Type type) {
    constraints += (constraints.empty() ? "" : ",") + prefix.str() + constraintOf(type);
  };
  SmallVector<Type> made;
  for (Type type : results) {
    add("=", type);
    made.push_back(passed(type));
  }
  SmallVector<Value> given;
  for (Value value : operands) {
    add("", value.getType());
    Type type = passed(value.getType());
    given.push_back(type == value.getType() ? value : LLVM::BitcastOp::create(b, type, value));
  }
  if (!isPure)
    constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
  Type result = made.size() > 1 ? LLVM::LLVMStructType::getLiteral(b.getContext(), made)
                : made.empty()  ? Type()
                                : made[0];
  auto op = LLVM::InlineAsmOp::create(
      b, result ? TypeRange(result) : TypeRange(), given, text, constraints,
      /*has_side_effects=*/!isPure, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), ArrayAttr());
  SmallVector<Value> values;
  for (auto [i, type] : llvm::enumerate(results)) {
    Value part = made.size() > 1 ? Value(LLVM::ExtractValueOp::create(b, op.getResult(0), i))
                                 : op.getResult(0);
    values.push_back(part.getType() == type ? part : LLVM::BitcastOp::create(b, type, part));
  }
  return values;
}

/// A generic pointer to a zero-terminated constant.
Value ThreadLowering::text(StringRef text) {
  std::string bytes = text.str() + '\0';
  unsigned number = llvm::range_size(functions.getOps<LLVM::GlobalOp>());
  LLVM::GlobalOp global;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(functions.getBody());
    auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
    global = LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                    "tessera_text_" + std::to_string(number),
                                    b.getStringAttr(bytes), /*alignment=*/1,
                                    /*addrSpace=*/Global);
  }
  Type generic = LLVM::LLVMPointerType::get(b.getContext());
  return LLVM::AddrSpaceCastOp::create(b, generic, LLVM::AddressOfOp::create(b, global));
}

//===----------------------------------------------------------------------===//
// Special registers and memory
//===----------------------------------------------------------------------===//

Value ThreadLowering::special(StringRef name, Type type) {
  std::string known = name.str();
  llvm::replace(known, '_', '.'); // lanemask_lt, cluster_ctaid.x
  return intrinsic("llvm.nvvm.read.ptx.sreg." + known, type, {});
}

Value ThreadLowering::lower(SpecialRegisterOp op) { return special(op.getName(), op.getType()); }

/// All kernels share one symbol for shared memory; a launch sets its size.
Value ThreadLowering::sharedMemory(int64_t offset) {
  auto shared = functions.lookupSymbol<LLVM::GlobalOp>(kSharedMemory);
  if (!shared) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(functions.getBody());
    shared = LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                                    /*isConstant=*/false, LLVM::Linkage::External, kSharedMemory,
                                    Attribute(), kSharedAlignment,
                                    /*addrSpace=*/Shared);
  }
  Value start = LLVM::AddressOfOp::create(b, shared);
  return offset ? advance(start, integer(offset)) : start;
}

/// All threads of the CTA store zeros, strided by the number of threads.
void ThreadLowering::fillShared(Value memory, int64_t bytes, int64_t alignment) {
  std::array<int64_t, 3> block = kernel.getKernelConfig().getBlockSizes();
  int64_t unit = std::min<int64_t>({8, alignment, bytes & -bytes});
  Value thread = special("tid.x", b.getI32Type());
  if (block[1] * block[2] > 1) {
    Value row = special("tid.y", b.getI32Type());
    if (block[2] > 1)
      row = LLVM::AddOp::create(
          b, row, LLVM::MulOp::create(b, special("tid.z", b.getI32Type()), integer(block[1])));
    thread = LLVM::AddOp::create(b, thread, LLVM::MulOp::create(b, row, integer(block[0])));
  }
  Value first = LLVM::MulOp::create(b, thread, integer(unit)), zero = integer(0, 8 * unit);
  int64_t step = unit * kernel.getKernelConfig().getThreads();
  scf::ForOp::create(b, first, integer(bytes), integer(step), ValueRange(),
                     [&](OpBuilder &, Location, Value offset, ValueRange) {
                       LLVM::StoreOp::create(b, zero, advance(memory, offset), unit);
                       scf::YieldOp::create(b);
                     });
  callIntrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", integer(0));
}

Value ThreadLowering::lower(AllocateOp op) {
  int64_t bytes = op.getBytes();
  if (op.getPool() == "shared") {
    Value memory = sharedMemory(sharedOffsets[nextShared++]);
    if (op.getZero())
      fillShared(memory, bytes, op.getAlignment());
    return memory;
  }
  Value memory;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&function.getBody().front());
    Type generic = LLVM::LLVMPointerType::get(b.getContext());
    memory = LLVM::AllocaOp::create(b, generic, b.getI8Type(), integer(bytes), op.getAlignment());
  }
  if (op.getZero())
    LLVM::MemsetOp::create(b, memory, integer(0, 8), integer(bytes, 64), /*isVolatile=*/false);
  return LLVM::AddrSpaceCastOp::create(b, op.getType(), memory);
}

/// Copies up to 16 bytes by one load and one store.
void ThreadLowering::copy(Value to, Value from, Value offset, int64_t bytes) {
  Type type =
      bytes == 16 ? Type(VectorType::get({4}, b.getI32Type())) : b.getIntegerType(8 * bytes);
  Value loaded = LLVM::LoadOp::create(b, type, advance(from, offset), bytes);
  LLVM::StoreOp::create(b, loaded, advance(to, offset), bytes);
}

void ThreadLowering::lower(MemcpyOp op) {
  Value to = op.getDestination(), from = op.getSource();
  int64_t bytes = op.getBytes(), unit = op.getAlignment();
  if (op.getAsync()) {
    // Copies of 16 bytes bypass the L1 cache.
    StringRef cache = bytes == 16 ? "cg" : "ca";
    callIntrinsic(("llvm.nvvm.cp.async." + cache + ".shared.global." + Twine(bytes)).str(),
                  {to, from});
    return;
  }
  constexpr int64_t maxUnrolled = 16;
  int64_t whole = bytes / unit * unit, at = 0;
  if (whole / unit > maxUnrolled) {
    scf::ForOp::create(b, integer(0), integer(whole), integer(unit), ValueRange(),
                       [&](OpBuilder &, Location, Value offset, ValueRange) {
                         copy(to, from, offset, unit);
                         scf::YieldOp::create(b);
                       });
    at = whole;
  }
  for (; at < bytes; at += unit) {
    while (at + unit > bytes)
      unit /= 2;
    copy(to, from, integer(at), unit);
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void ThreadLowering::lower(BarrierOp op) {
  if (op.getScope() == "warp")
    return callIntrinsic("llvm.nvvm.bar.warp.sync", integer(-1));
  if (op.getScope() == "block")
    return callIntrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", integer(0));
  callIntrinsic("llvm.nvvm.barrier.cluster.arrive.aligned", {});
  callIntrinsic("llvm.nvvm.barrier.cluster.wait.aligned", {});
}

SmallVector<Value> ThreadLowering::lower(TensorCoreOp op) {
  const TensorCoreShape *shape = op.findShape();
  ptxVersion = std::max(ptxVersion, shape->ptxVersion);
  std::string accumulator = op.getTypeName(2).str();
  std::string text = "mma.sync.aligned." + shape->name() + "." + op.getLayout().str() +
                     std::string(shape->kind) + "." + accumulator + "." + op.getTypeName(0).str() +
                     "." + op.getTypeName(1).str() + "." + accumulator + " ";
  unsigned operand = 0;
  for (size_t count : {op.getD().size(), op.getA().size(), op.getB().size(), op.getC().size()}) {
    text += operand ? ", {" : "{";
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(operand++);
    text += "}";
  }
  return assembly(text + ";", op.getResultTypes(), op.getOperands(), /*isPure=*/true);
}

SmallVector<Value> ThreadLowering::lower(PtxInstrOp op) {
  return assembly(op.getText(), op.getResultTypes(), op.getInputs(), op.getPure());
}

/// The file and line of the innermost known location.
static std::pair<std::string, unsigned> sourceOf(Location loc) {
  std::pair<std::string, unsigned> found = {"", 0};
  loc->walk([&](Location each) {
    if (auto source = dyn_cast<FileLineColLoc>(each)) {
      found = {source.getFilename().str(), source.getLine()};
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

void ThreadLowering::lower(AssertOp op) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto callee = functions.lookupSymbol<LLVM::LLVMFuncOp>(kAssertFail);
  if (!callee) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(functions.getBody());
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                    {pointer, pointer, b.getI32Type(), pointer, b.getI64Type()});
    callee = LLVM::LLVMFuncOp::create(b, kAssertFail, type);
  }
  Value fails = LLVM::XOrOp::create(b, op.getCondition(), integer(1, 1));
  auto [file, line] = sourceOf(op.getLoc());
  scf::IfOp::create(b, fails, [&](OpBuilder &, Location) {
    LLVM::CallOp::create(b, callee,
                         ValueRange{text(op.getMessage()), text(file), integer(line),
                                    text(kernel.getSymName()), integer(1, 64)});
    scf::YieldOp::create(b);
  });
}

void ThreadLowering::lower(Operation *op) {
  b.setLoc(op->getLoc());
  b.setInsertionPoint(op);
  SmallVector<Value> results;
  llvm::TypeSwitch<Operation *>(op)
      .Case<SpecialRegisterOp, AllocateOp>([&](auto each) { results.push_back(lower(each)); })
      .Case<TensorCoreOp, PtxInstrOp>([&](auto each) { results = lower(each); })
      .Case<MemcpyOp, BarrierOp, AssertOp>([&](auto each) { lower(each); })
      .Case([&](CommitOp) { callIntrinsic("llvm.nvvm.cp.async.commit.group", {}); })
      .Case([&](WaitOp wait) {
        callIntrinsic("llvm.nvvm.cp.async.wait.group", integer(wait.getPending()));
      })
      .Case([&](BreakpointOp) { assembly("brkpt;", {}, {}, /*isPure=*/false); })
      .Case([&](target::ReturnOp) { LLVM::ReturnOp::create(b, ValueRange()); });
  op->replaceAllUsesWith(results);
  op->erase();
}

void ThreadLowering::run() {
  kernel.placeShared([&](AllocateOp, int64_t offset) { sharedOffsets.push_back(offset); });
  SmallVector<Operation *> ours;
  function.walk([&](Operation *op) {
    if (isa<TargetDialect>(op->getDialect()))
      ours.push_back(op);
  });
  for (Operation *op : ours)
    lower(op);
}

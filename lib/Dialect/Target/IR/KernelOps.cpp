//===- KernelOps.cpp - Verifiers of per-thread kernels --------------------===//
//
// The verifiers of kernels and of the operations of a GPU thread. A feature that the chip lacks is
// an error here, so that the assembler accepts all verified code.
//
//===----------------------------------------------------------------------===//
#include "tessera/Dialect/Common/PtxTypes.h"
#include "tessera/Dialect/Target/IR/Target.h"
#include "tessera/Target/GpuFeatures.h"
#include "tessera/Target/TensorCores.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The bits of a type that is one register, or 0.
static unsigned registerBits(Type type) {
  if (isa<LLVM::LLVMPointerType>(type))
    return 64;
  bool isScalar =
      isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type) || type.isSignlessInteger();
  unsigned bits = isScalar ? type.getIntOrFloatBitWidth() : 0;
  return llvm::is_contained({1u, 8u, 16u, 32u, 64u}, bits) ? bits : 0;
}

int64_t KernelOp::placeShared(function_ref<void(AllocateOp, int64_t)> place) {
  int64_t bytes = 0;
  walk([&](AllocateOp memory) {
    if (memory.getPool() != "shared")
      return;
    int64_t start = llvm::alignTo(bytes, memory.getAlignment());
    place(memory, start);
    bytes = start + memory.getBytes();
  });
  return bytes;
}

LogicalResult KernelOp::verifyRegions() {
  MLIRContext *context = getContext();
  TypeRange types = getBody().front().getArgumentTypes();
  KernelConfigAttr config = getKernelConfig();
  if (!config) {
    Type pointer = LLVM::LLVMPointerType::get(context), integer = IntegerType::get(context, 64);
    if (types != TypeRange{pointer, integer, integer, pointer})
      return emitOpError("expected block arguments (!llvm.ptr, i64, i64, !llvm.ptr), got (")
             << types << ")";
    return success();
  }
  for (Type type : types) {
    auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
    if (!registerBits(type) || (pointer && pointer.getAddressSpace() != Global))
      return emitOpError(
                 "expected arguments that are !llvm.ptr<1> or scalars of up to 64 bits, got ")
             << type;
  }
  std::optional<GpuDescription> gpu = gpuOf(*this);
  if (!gpu)
    return emitOpError("expected a module for one of ")
           << GpuDescription::knownChips() << " around a kernel with a kernel_config";
  if (failed(verifyConfig(*this, getSymName(), config, *gpu)))
    return failure();
  int64_t shared = placeShared([](AllocateOp, int64_t) {});
  if (shared > config.getShared())
    return emitOpError("allocates ")
           << shared << " bytes of shared memory, but its configuration has " << config.getShared();
  return success();
}

/// The chip of the kernel around an operation of a GPU thread.
static FailureOr<GpuDescription> chipAround(Operation *op) {
  auto kernel = op->getParentOfType<KernelOp>();
  std::optional<GpuDescription> gpu = gpuOf(op);
  if (!kernel || !kernel.getKernelConfig() || !gpu)
    return op->emitOpError("expected a kernel with a kernel_config around it");
  return *gpu;
}

static LogicalResult verifyParent(Operation *op) { return failure(failed(chipAround(op))); }

/// Verifies that the chip around an operation has a feature; `what` needs it.
static LogicalResult verifyFeature(Operation *op, GpuFeature feature, const Twine &what) {
  FailureOr<GpuDescription> gpu = chipAround(op);
  if (failed(gpu))
    return failure();
  if (gpu->has(feature))
    return success();
  return op->emitOpError() << what << " needs '" << nameOf(feature) << "' (" << chipsWith(feature)
                           << "), but the module is for " << gpu->chip;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool isAlignment(int64_t value, int64_t most) {
  return value >= 1 && value <= most && llvm::isPowerOf2_64(value);
}

/// The limit is the local memory of a thread.
static LogicalResult verifyBytes(Operation *op, int64_t bytes) {
  constexpr int64_t most = 512 << 10;
  if (bytes >= 1 && bytes <= most)
    return success();
  return op->emitOpError("expected 1 to ") << most << " bytes, got " << bytes;
}

LogicalResult AllocateOp::verify() {
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(getType());
  if (isa<ProgramOp>((*this)->getParentOp())) {
    if (getPool() != "device" || pointer)
      return emitOpError("expected a tensor of the pool 'device' in a program, got ")
             << getType() << " of '" << getPool() << "'";
    return success();
  }
  if (failed(verifyParent(*this)))
    return failure();
  constexpr int64_t mostAlignment = 1024;
  if (getPool() != "shared" && getPool() != "local")
    return emitOpError("expected the pool 'shared' or 'local' in a kernel, got '")
           << getPool() << "'";
  unsigned space = getPool() == "shared" ? Shared : Local;
  if (!pointer || pointer.getAddressSpace() != space)
    return emitOpError("expected !llvm.ptr<")
           << space << "> for memory of the pool '" << getPool() << "', got " << getType();
  if (failed(verifyBytes(*this, getBytes())))
    return failure();
  if (!isAlignment(getAlignment(), mostAlignment))
    return emitOpError("expected an alignment that is a power of two up to ")
           << mostAlignment << ", got " << getAlignment();
  if (getZero() && getPool() == "shared" && !isa<KernelOp>((*this)->getParentOp()))
    return emitOpError(
        "expected zeroed shared memory outside of control flow, where all threads execute it");
  return success();
}

LogicalResult MemcpyOp::verify() {
  if (failed(verifyParent(*this)))
    return failure();
  if (failed(verifyBytes(*this, getBytes())))
    return failure();
  if (!isAlignment(getAlignment(), 16))
    return emitOpError("expected an alignment that is a power of two up to 16, got ")
           << getAlignment();
  if (!getAsync())
    return success();
  unsigned to = getDestination().getType().getAddressSpace(),
           from = getSource().getType().getAddressSpace();
  if (to != Shared || from != Global)
    return emitOpError("expected an asynchronous copy to !llvm.ptr<3> from !llvm.ptr<1>, got to ")
           << getDestination().getType() << " from " << getSource().getType();
  if (getBytes() != 4 && getBytes() != 8 && getBytes() != 16)
    return emitOpError("expected an asynchronous copy of 4, 8 or 16 bytes, got ") << getBytes();
  if (getAlignment() < getBytes())
    return emitOpError("expected addresses that are multiples of ")
           << getBytes() << " for an asynchronous copy, got an alignment of " << getAlignment();
  return verifyFeature(*this, GpuFeature::CpAsync, "an asynchronous copy");
}

LogicalResult CommitOp::verify() {
  return verifyFeature(*this, GpuFeature::CpAsync, "a group of asynchronous copies");
}

LogicalResult WaitOp::verify() {
  if (int64_t pending = getPending(); pending < 0)
    return emitOpError("expected a non-negative number of groups, got ") << pending;
  return verifyFeature(*this, GpuFeature::CpAsync, "a group of asynchronous copies");
}

LogicalResult BarrierOp::verify() {
  if (getScope() == "cluster")
    return verifyFeature(*this, GpuFeature::Clusters, "a barrier of a cluster");
  if (getScope() != "warp" && getScope() != "block")
    return emitOpError("expected the scope 'warp', 'block' or 'cluster', got '")
           << getScope() << "'";
  return verifyParent(*this);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

LogicalResult SpecialRegisterOp::verify() {
  StringRef name = getName(), base = name;
  bool isVector = base.consume_back(".x") || base.consume_back(".y") || base.consume_back(".z");
  bool ofCluster = false;
  unsigned bits = 0;
  if (isVector) {
    ofCluster =
        llvm::is_contained({"clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"}, base);
    bits = ofCluster || llvm::is_contained({"tid", "ntid", "ctaid", "nctaid"}, base) ? 32 : 0;
  } else {
    ofCluster = name == "cluster_ctarank" || name == "cluster_nctarank";
    bits =
        llvm::StringSwitch<unsigned>(name)
            .Cases({"laneid", "warpid", "nwarpid", "smid", "nsmid", "clock", "cluster_ctarank",
                    "cluster_nctarank", "dynamic_smem_size"},
                   32)
            .Cases({"lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge"}, 32)
            .Cases({"clock64", "globaltimer"}, 64)
            .Default(0);
  }
  if (!bits)
    return emitOpError(
               "expected a special register such as tid.x, ctaid.x, laneid or clock64, got '")
           << name << "'";
  if (!getType().isInteger(bits))
    return emitOpError("expected i") << bits << " for '" << name << "', got " << getType();
  return ofCluster ? verifyFeature(*this, GpuFeature::Clusters, "'" + name + "'")
                   : verifyParent(*this);
}

LogicalResult AssertOp::verify() { return verifyParent(*this); }
LogicalResult BreakpointOp::verify() { return verifyParent(*this); }

/// The largest operand number after a `$`; -1 without any.
static int64_t largestOperand(StringRef text) {
  int64_t largest = -1;
  for (size_t at = text.find('$'); at != StringRef::npos; at = text.find('$', at + 1)) {
    int64_t number;
    StringRef rest = text.drop_front(at + 1);
    rest.consume_front("{");
    if (!rest.take_while(llvm::isDigit).getAsInteger(10, number))
      largest = std::max(largest, number);
  }
  return largest;
}

LogicalResult PtxInstrOp::verify() {
  FailureOr<GpuDescription> gpu = chipAround(*this);
  if (failed(gpu))
    return failure();
  SmallVector<Type> types(getResultTypes());
  llvm::append_range(types, getOperandTypes());
  for (Type type : types)
    if (unsigned bits = registerBits(type); !bits || bits == 8)
      return emitOpError("expected values of 1, 16, 32 or 64 bits or pointers, got ") << type;
  int64_t count = types.size();
  if (int64_t largest = largestOperand(getText()); largest >= count)
    return emitOpError("refers to $")
           << largest << ", but has " << count << " results and operands";
  if (getPure() && getOutputs().empty())
    return emitOpError("expected results of a pure instruction, got none");
  if (!getSince())
    return success();
  std::optional<GpuDescription> first = GpuDescription::from(getSince()->str());
  if (!first)
    return emitOpError("expected one of ")
           << GpuDescription::knownChips() << ", got '" << *getSince() << "'";
  if (gpu->number < first->number)
    return emitOpError("needs ") << first->chip << ", but the module is for " << gpu->chip;
  return success();
}

void PtxInstrOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (getPure())
    return;
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

StringRef TensorCoreOp::getTypeName(unsigned which) {
  return ptxTypeName(cast<TypeAttr>(getTypes()[which]).getValue());
}

static bool acceptsTypes(const TensorCoreShape &shape, TensorCoreOp op) {
  return hasType(shape.operands, op.getTypeName(0)) && hasType(shape.operands, op.getTypeName(1)) &&
         hasType(shape.accumulators, op.getTypeName(2));
}

const TensorCoreShape *TensorCoreOp::findShape() {
  const TensorCoreShape *found = nullptr;
  std::optional<GpuDescription> gpu = gpuOf(*this);
  for (const TensorCoreShape &shape : tensorCoreShapes())
    if (getShape() == ArrayRef<int64_t>{shape.m, shape.n, shape.k} && acceptsTypes(shape, *this))
      if (!found || (gpu && gpu->has(shape.feature) && !gpu->has(found->feature)))
        found = &shape;
  return found;
}

/// Verifies the number and the type of the registers of an operand.
static LogicalResult verifyRegisters(TensorCoreOp op, TypeRange given, int64_t count, Type type,
                                     StringRef what) {
  if (int64_t(given.size()) != count)
    return op.emitOpError("expected ")
           << count << " registers as " << what << ", got " << given.size();
  for (Type each : given)
    if (each != type)
      return op.emitOpError("expected ") << type << " as " << what << ", got " << each;
  return success();
}

LogicalResult TensorCoreOp::verify() {
  if (getKind() != "mma")
    return emitOpError("expected the kind 'mma', got '")
           << getKind() << "'; other instructions of tensor cores are written as ptx_instr";
  if (getShape().size() != 3 || getTypes().size() != 3)
    return emitOpError("expected 3 sizes and 3 types, got ")
           << getShape().size() << " and " << getTypes().size();
  const TensorCoreShape *shape = findShape();
  if (!shape) {
    InFlightDiagnostic error = emitOpError("expected a shape that mma.sync has, got [")
                               << getShape() << "] of types " << getTypes();
    std::string known;
    for (const TensorCoreShape &each : tensorCoreShapes())
      if (acceptsTypes(each, *this))
        known += (known.empty() ? "" : ", ") + each.name();
    if (!known.empty())
      error.attachNote() << "for these types it has " << known;
    return error;
  }
  if (failed(verifyFeature(*this, shape->feature, Twine(shape->name()) + " of " + getTypeName(0))))
    return failure();
  auto [rows, columns] = getLayout().split('.');
  auto isOrder = [](StringRef order) { return order == "row" || order == "col"; };
  if (getLayout() != "row.col" && !(shape->anyLayout && isOrder(rows) && isOrder(columns)))
    return emitOpError("expected the layout 'row.col'")
           << (shape->anyLayout ? " or another of 'row' and 'col'" : "") << ", got '" << getLayout()
           << "'";
  Builder builder(getContext());
  std::string a = getTypeName(0).str(), b = getTypeName(1).str(),
              accumulator = getTypeName(2).str();
  Type word = builder.getI32Type();
  Type operandType = a == "f64" ? Type(builder.getF64Type()) : word;
  Type accumulatorType = accumulator == "f64"   ? Type(builder.getF64Type())
                         : accumulator == "f32" ? Type(builder.getF32Type())
                                                : word;
  int64_t count = shape->registersOfAccumulator(accumulator);
  return failure(
      failed(verifyRegisters(*this, getA().getTypes(), shape->registersOfA(a), operandType, "a")) ||
      failed(verifyRegisters(*this, getB().getTypes(), shape->registersOfB(b), operandType, "b")) ||
      failed(verifyRegisters(*this, getC().getTypes(), count, accumulatorType, "c")) ||
      failed(verifyRegisters(*this, getResultTypes(), count, accumulatorType, "d")));
}

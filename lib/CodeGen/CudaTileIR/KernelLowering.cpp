//===- KernelLowering.cpp - Parameters, control flow and coordinates ------===//
#include "KernelLowering.h"
#include "tessera/Conversion/TileToTarget/ArgumentWords.h"
#include "tessera/Dialect/Common/ScalarTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace arith = mlir::arith;
namespace scf = mlir::scf;
using llvm::cast;
using llvm::dyn_cast;
using llvm::isa;
using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace tessera::cudatile {

//===----------------------------------------------------------------------===//
// Types and parameters
//===----------------------------------------------------------------------===//

TypeKind KernelLowering::kindOf(mlir::Type type) const {
  if (type.isIndex())
    return indexKind();
  if (type.isF64())
    return TypeKind::F64;
  if (type.isF32())
    return TypeKind::F32;
  if (type.isF16())
    return TypeKind::F16;
  if (type.isBF16())
    return TypeKind::BF16;
  if (isFloat8(type) && !options.hasFloat8)
    return TypeKind::I8;
  if (isa<mlir::Float8E4M3FNType>(type))
    return TypeKind::E4M3;
  if (isa<mlir::Float8E5M2Type>(type))
    return TypeKind::E5M2;
  if (isa<mlir::FloatTF32Type>(type))
    return TypeKind::TF32;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return TypeKind::I1;
  case 8:
    return TypeKind::I8;
  case 16:
    return TypeKind::I16;
  case 32:
    return TypeKind::I32;
  default:
    return TypeKind::I64;
  }
}

Type KernelLowering::typeOf(mlir::Type type) {
  if (auto tensor = dyn_cast<mlir::RankedTensorType>(type))
    return b.tile(kindOf(tensor.getElementType()), shapeOf(tensor));
  return b.tile(kindOf(type), {});
}

/// Whether an argument is a 64-bit integer of the program, and not a size or a coordinate.
static bool isInteger64(mlir::Value argument) {
  return argument.getType().isIndex() && !argument.use_empty() &&
         llvm::all_of(argument.getUsers(), [](mlir::Operation *user) {
           auto splat = dyn_cast<tile::SplatOp>(user);
           return splat && splat.getType().getElementType().isSignlessInteger(64);
         });
}

void KernelLowering::declare() {
  std::vector<Type> parameters;
  Type size = b.tile(indexKind(), {});
  bool isLinear = fieldOf(LaunchField::PersistentCtas) || kernel.getGridRank() > 1;
  forEachWord(kernel, [&](WordRole role, unsigned argument, unsigned) {
    if (role == WordRole::Grid) {
      if (isLinear)
        parameters.push_back(b.tile(TypeKind::I32, {}));
      return;
    }
    mlir::Type type = kernel.getArgumentTypes()[argument];
    if (role == WordRole::Address) {
      TypeKind element = kindOf(cast<tile::ViewType>(type).getElementType());
      parameters.push_back(b.tile(b.pointer(b.element(inMemory(element))), {}));
    } else if (role == WordRole::Scalar) {
      bool isWide = isInteger64(kernel.getArgument(argument));
      parameters.push_back(b.tile(isWide ? TypeKind::I64 : inMemory(kindOf(type)), {}));
    } else {
      parameters.push_back(size);
    }
  });
  EntryHints entry;
  entry.workerWarps = fieldOf(LaunchField::NumWarps);
  entry.occupancy = fieldOf(TuningField::MinCtasPerSm);
  entry.clusterSize = fieldOf(LaunchField::ClusterSize);
  std::map<std::string, EntryHints> hints;
  if (entry.workerWarps || entry.occupancy || entry.clusterSize)
    hints["default"] = entry;
  Values words = b.beginEntry(kernel.getName().str(), parameters, hints);
  setLocation(kernel.getLoc());

  auto word = words.begin();
  forEachWord(kernel, [&](WordRole role, unsigned number, unsigned) {
    if (role == WordRole::Grid) {
      if (isLinear)
        gridWords.push_back(b.assumeBounded(*word++, 1));
      return;
    }
    mlir::Value argument = kernel.getArgument(number);
    Value value = *word++;
    if (role == WordRole::Scalar) {
      if (isInteger64(argument))
        set(argument, value);
      else
        set(argument, argument.getType().isIndex() ? b.assumeBounded(value, 0)
                                                   : b.convert(value, kindOf(argument.getType())));
      return;
    }
    Tensor &tensor = tensors[argument];
    if (role == WordRole::Address)
      tensor.pointer = b.assumeDivisible(value, coordinates.addressDivisor(argument));
    else
      (role == WordRole::Size ? tensor.sizes : tensor.strides).push_back(value);
  });
  declareTensors();
}

/// The innermost location in a source file; null: none.
static mlir::FileLineColLoc fileLocation(mlir::Location location) {
  mlir::FileLineColLoc found;
  location->walk([&](mlir::Location each) {
    found = dyn_cast<mlir::FileLineColLoc>(each);
    return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

void KernelLowering::setLocation(mlir::Location location) {
  mlir::FileLineColLoc source = fileLocation(location);
  if (!source)
    return b.setLocation(0);
  std::string file = source.getFilename().str();
  if (!subprogram) {
    size_t slash = file.rfind('/');
    std::string folder = slash == std::string::npos ? "" : file.substr(0, slash);
    uint32_t entry =
        b.debugFile(slash == std::string::npos ? file : file.substr(slash + 1), folder);
    subprogram = b.debugSubprogram(entry, source.getLine(), kernel.getName().str());
    b.setEntryLocation(b.debugLocation(subprogram, file, source.getLine(), source.getColumn()));
  }
  b.setLocation(b.debugLocation(subprogram, file, source.getLine(), source.getColumn()));
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// Appends the tokens to the values that a region yields.
static Builder::Values withTokens(llvm::MapVector<mlir::Value, Value> &tokens,
                                  Builder::Values yielded) {
  for (auto &[view, token] : tokens)
    yielded.push_back(token);
  return yielded;
}

LogicalResult KernelLowering::run() {
  auto bad = kernel.walk([&](mlir::Operation *op) {
    for (mlir::Value result : op->getResults())
      if (auto type = dyn_cast<mlir::RankedTensorType>(result.getType()))
        if (!llvm::all_of(type.getShape(),
                          [](int64_t size) { return llvm::isPowerOf2_64(size); })) {
          op->emitError("expected tile sizes that are powers of two for CUDA Tile IR, got ")
              << type;
          return mlir::WalkResult::interrupt();
        }
    return mlir::WalkResult::advance();
  });
  if (bad.wasInterrupted())
    return failure();
  declare();
  declareAccesses();
  if (failed(lowerGrid()) || failedInside)
    return failure();
  b.endEntry();
  return success();
}

std::array<Value, 3> KernelLowering::programIds(Value linear, const std::array<Value, 3> &sizes) {
  auto [nx, ny, nz] = sizes;
  Value z, rest = linear;
  if (kernel.getGridRank() > 2) {
    Value plane = b.mul(nx, ny);
    z = b.div(linear, plane);
    rest = b.rem(linear, plane);
  }
  std::optional<int64_t> group = fieldOf(TuningField::RasterGroup);
  if (!group || kernel.getGridRank() < 2)
    return {b.rem(rest, nx), b.div(rest, nx), z};
  // Within groups of `group` rows the row varies fastest. The last group may be smaller.
  Value rows = b.i32(*group), area = b.mul(nx, rows);
  Value first = b.mul(b.div(rest, area), rows);
  Value height = b.min(b.sub(ny, first), rows), inside = b.rem(rest, area);
  return {b.div(inside, height), b.add(first, b.rem(inside, height)), z};
}

LogicalResult KernelLowering::lowerGrid() {
  mlir::Block &body = kernel.getBody().front();
  std::array<Value, 3> launched = b.blockId();
  if (gridWords.empty()) {
    blockId = launched;
    return lower(body);
  }
  std::array<Value, 3> sizes = {gridWords[0], gridWords[0], gridWords[0]};
  Value count = gridWords[0];
  for (size_t dim = 1; dim < gridWords.size(); ++dim)
    count = b.mul(count, sizes[dim] = gridWords[dim]);
  if (!fieldOf(LaunchField::PersistentCtas)) {
    blockId = programIds(launched[0], sizes);
    return lower(body);
  }
  b.forLoop(launched[0], count, b.gridSize()[0], withTokens(tokens, {}),
            [&](const Values &arguments) {
              for (auto [i, entry] : llvm::enumerate(tokens))
                entry.second = arguments[1 + i];
              blockId = programIds(arguments[0], sizes);
              failedInside |= failed(lower(body));
              return withTokens(tokens, {});
            });
  return success(!failedInside);
}

LogicalResult KernelLowering::lower(mlir::Block &block) {
  for (mlir::Operation &op : block.without_terminator()) {
    setLocation(op.getLoc());
    if (failed(lower(op)))
      return failure();
  }
  return success();
}

LogicalResult KernelLowering::lower(mlir::Operation &op) {
  return llvm::TypeSwitch<mlir::Operation *, LogicalResult>(&op)
      .Case([&](tile::LoadOp load) { return lowerLoad(load); })
      .Case([&](tile::GatherOp gather) { return lowerGather(gather); })
      .Case([&](tile::ScatterOp scatter) { return lowerScatter(scatter); })
      .Case([&](tile::StoreOp store) { return lowerStore(store); })
      .Case([&](tile::MapOp map) { return lowerMap(map); })
      .Case([&](tile::CastOp cast) { return lowerCast(cast); })
      .Case([&](tile::ReduceOp reduce) { return lowerReduce(reduce); })
      .Case([&](tile::ScanOp scan) { return lowerScan(scan); })
      .Case([&](tile::MmaOp mma) { return lowerMma(mma); })
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Default([&](mlir::Operation *other) {
        return other->getName().getDialectNamespace() == "arith" ? lowerIndex(*other)
                                                                 : lowerShape(*other);
      });
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

/// The initial value of a loop-carried variable. tileiras 13.3 and 13.4 crash if it is a scalar
/// that another loop has reduced; a multiplication by 1 in between avoids that.
Value KernelLowering::initialValue(mlir::Value value) {
  auto type = dyn_cast<mlir::RankedTensorType>(value.getType());
  bool isReduced = type && type.getRank() == 0 && value.getDefiningOp<scf::ForOp>();
  if (!isReduced || !isa<mlir::FloatType>(type.getElementType()))
    return get(value);
  return b.mul(get(value), fill(get(value), 1));
}

LogicalResult KernelLowering::lowerFor(scf::ForOp loop) {
  Values initial;
  for (mlir::Value value : loop.getInitArgs())
    initial.push_back(initialValue(value));
  initial = withTokens(tokens, initial);
  size_t carried = loop.getInitArgs().size();
  auto takeTokens = [&](const Values &from, size_t offset) {
    for (auto [i, entry] : llvm::enumerate(tokens))
      entry.second = from[offset + carried + i];
  };
  Values results =
      b.forLoop(get(loop.getLowerBound()), get(loop.getUpperBound()), get(loop.getStep()), initial,
                [&](const Values &arguments) {
                  set(loop.getInductionVar(), arguments[0]);
                  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
                    set(argument, arguments[1 + i]);
                  takeTokens(arguments, 1);
                  failedInside |= failed(lower(*loop.getBody()));
                  Values next;
                  if (!failedInside)
                    for (mlir::Value value : loop.getBody()->getTerminator()->getOperands())
                      next.push_back(get(value));
                  return withTokens(tokens, next);
                });
  if (failedInside)
    return failure();
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    set(result, results[i]);
  takeTokens(results, 0);
  return success();
}

LogicalResult KernelLowering::lowerIf(scf::IfOp branch) {
  std::vector<Type> types;
  for (mlir::Type type : branch.getResultTypes())
    types.push_back(typeOf(type));
  types.insert(types.end(), tokens.size(), b.token());
  auto before = tokens;
  auto side = [&](mlir::Region &region) {
    tokens = before;
    Values yielded;
    if (!region.empty()) {
      failedInside |= failed(lower(region.front()));
      if (!failedInside)
        for (mlir::Value value : region.front().getTerminator()->getOperands())
          yielded.push_back(get(value));
    }
    return withTokens(tokens, yielded);
  };
  Values results = b.ifElse(
      get(branch.getCondition()), types, [&] { return side(branch.getThenRegion()); },
      [&] { return side(branch.getElseRegion()); });
  if (failedInside)
    return failure();
  for (auto [i, result] : llvm::enumerate(branch.getResults()))
    set(result, results[i]);
  for (auto [i, entry] : llvm::enumerate(tokens))
    entry.second = results[branch.getNumResults() + i];
  return success();
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

static Predicate predicateOf(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return Predicate::Equal;
  case arith::CmpIPredicate::ne:
    return Predicate::NotEqual;
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::ult:
    return Predicate::Less;
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ule:
    return Predicate::LessOrEqual;
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::ugt:
    return Predicate::Greater;
  default:
    return Predicate::GreaterOrEqual;
  }
}

LogicalResult KernelLowering::lowerIndex(mlir::Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Type type = typeOf(constant.getType());
    if (auto number = dyn_cast<mlir::IntegerAttr>(constant.getValue()))
      set(constant, b.constantInt(type, number.getInt()));
    else if (auto number = dyn_cast<mlir::FloatAttr>(constant.getValue()))
      set(constant, b.constantBits(type, number.getValue().bitcastToAPInt().getZExtValue()));
    else
      return op.emitError("expected an integer or floating-point constant");
    return success();
  }
  Value x = get(op.getOperand(0)), y = op.getNumOperands() > 1 ? get(op.getOperand(1)) : Value();
  Value result =
      llvm::TypeSwitch<mlir::Operation *, Value>(&op)
          .Case([&](arith::AddIOp) { return b.add(x, y); })
          .Case([&](arith::SubIOp) { return b.sub(x, y); })
          .Case([&](arith::MulIOp) { return b.mul(x, y); })
          .Case([&](arith::MinSIOp) { return b.min(x, y); })
          .Case([&](arith::MaxSIOp) { return b.max(x, y); })
          .Case([&](arith::CeilDivSIOp) { return b.ceilDiv(x, y); })
          .Case([&](arith::FloorDivSIOp) { return b.floorDiv(x, y); })
          .Case([&](arith::DivSIOp) { return b.div(x, y); })
          .Case([&](arith::RemSIOp) { return b.rem(x, y); })
          // These are used with non-negative coordinates only.
          .Case([&](arith::DivUIOp) { return b.div(x, y); })
          .Case([&](arith::RemUIOp) { return b.rem(x, y); })
          .Case([&](arith::AndIOp) { return b.elementwise(Opcode::AndI, {x, y}); })
          .Case([&](arith::OrIOp) { return b.elementwise(Opcode::OrI, {x, y}); })
          .Case([&](arith::CmpIOp cmp) { return b.compare(predicateOf(cmp.getPredicate()), x, y); })
          .Case([&](arith::SelectOp select) { return b.select(x, y, get(select.getFalseValue())); })
          .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>([&](mlir::Operation *cast) {
            return b.convert(x, kindOf(cast->getResult(0).getType()));
          })
          .Default([](mlir::Operation *) { return Value(); });
  if (!result)
    return op.emitError("is not lowered to CUDA Tile IR");
  set(op.getResult(0), result);
  return success();
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

std::optional<std::vector<uint8_t>> withoutOccupancy(llvm::ArrayRef<uint8_t> bytecode,
                                                     std::vector<OccupancyHint> &dropped) {
  std::string error;
  std::optional<Module> module = readModule(bytecode, error);
  if (!module)
    return std::nullopt;
  for (Function &function : module->functions)
    for (Attribute &hints : function.hints.elements)
      for (size_t i = hints.keys.size(); i-- > 0;)
        if (module->strings[hints.keys[i].index] == "occupancy") {
          dropped.push_back(
              {module->strings[function.name.index], int64_t(hints.elements[i].bits)});
          hints.keys.erase(hints.keys.begin() + i);
          hints.elements.erase(hints.elements.begin() + i);
        }
  return dropped.empty() ? std::nullopt : writeModule(*module, error);
}

mlir::FailureOr<Module> lowerToCudaTile(mlir::ModuleOp module, const LoweringOptions &options) {
  Builder builder(options.version);
  builder.setProducer("tessera");
  for (tile::KernelOp kernel : module.getOps<tile::KernelOp>())
    if (failed(KernelLowering(kernel, builder, options).run()))
      return failure();
  Module result = builder.take();
  if (std::optional<std::string> wrong = verifyModule(result))
    return module.emitError("CUDA Tile IR is malformed: ") << *wrong;
  return result;
}

} // namespace tessera::cudatile

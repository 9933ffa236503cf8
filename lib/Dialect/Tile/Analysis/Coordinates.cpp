//===- Coordinates.cpp - Bounds of index values ---------------------------===//
#include "tessera/Dialect/Tile/Analysis/Coordinates.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <limits>
#include <numeric>
#include <string>
#include <utility>

using namespace mlir;
using namespace tessera;

static SmallVector<tile::LaunchOp> launchesOf(tile::KernelOp kernel) {
  SmallVector<tile::LaunchOp> launches;
  if (auto module = kernel->getParentOfType<ModuleOp>())
    module.walk([&](tile::LaunchOp launch) {
      if (launch.getKernel() == kernel.getName())
        launches.push_back(launch);
    });
  return launches;
}

static SymExpr parsed(Attribute attribute) {
  return *SymExpr::parse(cast<StringAttr>(attribute).getValue().str());
}

/// Whether an expression names no stride of an argument ($0, $1, ...).
static bool dependsOnSizesOnly(SymExpr expression) {
  std::set<std::string> names;
  expression.collectSymbols(names);
  return llvm::none_of(names, [](const std::string &name) { return name.front() == '$'; });
}

int64_t tessera::addressAlignment(ModuleOp module) {
  bool isAnywhere =
      module && llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        auto options = function->getAttrOfType<DictionaryAttr>(gir::kNumericsAttr);
        auto alignment = options ? options.getAs<StringAttr>("alignment") : StringAttr();
        return alignment && alignment.getValue() == "element";
      });
  return isAnywhere ? 1 : 16;
}

Coordinates::Coordinates(tile::KernelOp kernel)
    : kernel(kernel), alignment(addressAlignment(kernel->getParentOfType<ModuleOp>())) {
  // A kernel with several launches has no facts from them.
  SmallVector<tile::LaunchOp> launches = launchesOf(kernel);
  bool agree = llvm::all_of(launches, [&](tile::LaunchOp other) {
    return other.getGrid() == launches[0].getGrid() && other.getViews() == launches[0].getViews() &&
           other.getSizes() == launches[0].getSizes();
  });
  tile::LaunchOp launch = agree && !launches.empty() ? launches.front() : tile::LaunchOp();
  if (launch)
    facts = SizeFacts(launch->getParentOfType<func::FuncOp>());
  unsigned view = 0, indexArgument = 0;
  for (auto [number, argument] : llvm::enumerate(kernel.getArguments())) {
    std::string name = "argument" + std::to_string(number);
    if (auto type = dyn_cast<tile::ViewType>(argument.getType())) {
      tile::OperandViewAttr operand;
      if (launch)
        operand = cast<tile::OperandViewAttr>(launch.getViews()[view++]);
      bool isAtStart = operand ? operand.getOffset().isConstant(0) : launches.empty();
      offsetDivisors[argument] = isAtStart ? 0 : operand ? facts.divisor(operand.getOffset()) : 1;
      for (unsigned dim = 0; dim < type.getRank(); ++dim) {
        SymExpr size =
            operand ? operand.getSizes()[dim] : SymExpr::symbol(name + "_" + std::to_string(dim));
        sizes[argument].push_back(type.isDynamic(dim) ? size : SymExpr(type.getShape()[dim]));
        SymExpr stride = operand ? operand.getStrides()[dim] : SymExpr::symbol("$");
        strideDivisors[argument].push_back(operand ? facts.divisor(stride) : 1);
        // Sizes and the arguments' own strides are not negative, so that any of them tells the
        // sign.
        SymExpr sample =
            stride.substitute([](const std::string &) { return std::optional(SymExpr(3)); });
        int64_t step = type.getStrides()[dim];
        strides[argument].push_back(!mlir::ShapedType::isDynamic(step)
                                        ? std::optional(SymExpr(step))
                                    : operand && dependsOnSizesOnly(stride) ? std::optional(stride)
                                                                            : std::nullopt);
        backward[argument].push_back(step < 0 && !mlir::ShapedType::isDynamic(step)
                                         ? true
                                         : sample.isConstant() && sample.constantValue() < 0);
        positiveStrides[argument].push_back(dependsOnSizesOnly(stride) &&
                                            !backward[argument].back());
      }
    } else if (argument.getType().isIndex()) {
      SymExpr size = launch ? parsed(launch.getSizes()[indexArgument++]) : SymExpr::symbol(name);
      arguments.try_emplace(argument, size);
      divisors[argument] = launch ? facts.divisor(size) : 1;
    }
  }
  for (unsigned dim = 0; dim < kernel.getGridRank(); ++dim)
    grid.push_back(launch ? parsed(launch.getGrid()[dim])
                          : SymExpr::symbol("grid" + std::to_string(dim)));
  kernel.walk([&](tile::AlignedRowOp row) { addRow(row); });
}

/// The misalignment of a row is a fresh symbol, the same for rows with the same misalignment.
void Coordinates::addRow(tile::AlignedRowOp row) {
  auto isAlike = [&](tile::AlignedRowOp other) {
    return other.getDim() == row.getDim() && other.getCoords() == row.getCoords() &&
           beginAlike(row.getView(), other.getView());
  };
  std::string name = "$row" + std::to_string(llvm::find_if(rows, isAlike) - rows.begin());
  rows.push_back(row);
  facts.add(name, SizeFact{.max = row.getAlignmentElements() - 1, .hint = 0});
  sizes[row].push_back(size(row.getView(), row.getDim()) + SymExpr::symbol(name));
  strides[row].push_back(SymExpr(1));
  strideDivisors[row].push_back(1);
  backward[row].push_back(false);
  positiveStrides[row].push_back(true);
  offsetDivisors[row] = 0;
}

SymExpr Coordinates::size(Value view, unsigned dim) const { return sizes.lookup(view)[dim]; }

std::optional<SymExpr> Coordinates::stride(Value view, unsigned dim) const {
  return strides.lookup(view)[dim];
}

int64_t Coordinates::strideDivisor(Value view, unsigned dim) const {
  return strideDivisors.lookup(view)[dim];
}

int64_t Coordinates::addressDivisor(Value view) const {
  Type element = cast<tile::ViewType>(view.getType()).getElementType();
  int64_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  return std::gcd(alignment, offsetDivisors.lookup(view) * bytes);
}

int64_t Coordinates::rowAlignment(Value view) const {
  auto type = cast<tile::ViewType>(view.getType());
  int64_t bytes = std::max(1u, type.getElementType().getIntOrFloatBitWidth() / 8),
          aligned = addressDivisor(view);
  for (auto [dim, stride] : llvm::enumerate(type.getStrides()))
    if (stride != 1)
      aligned = std::gcd(
          aligned, bytes * (ShapedType::isDynamic(stride) ? strideDivisor(view, dim) : stride));
  // Windows have two dimensions along memory: rows of one begin at each element of the other.
  auto isAlongMemory = [](auto pair) { return std::get<0>(pair) == 1 && std::get<1>(pair) != 1; };
  return llvm::count_if(llvm::zip_equal(type.getStrides(), type.getShape()), isAlongMemory) > 1
             ? std::gcd(aligned, bytes)
             : aligned;
}

int64_t Coordinates::leastRowAlignment(Value tile) const {
  int64_t least = std::numeric_limits<int64_t>::max();
  llvm::SetVector<Value> made;
  made.insert(tile);
  for (unsigned i = 0; i < made.size(); ++i) {
    Operation *op = made[i].getDefiningOp();
    if (auto load = dyn_cast_or_null<tile::LoadOp>(op))
      least = std::min(least, rowAlignment(load.getView()));
    if (isa_and_nonnull<tile::MapOp, tile::CastOp>(op))
      made.insert_range(op->getOperands());
  }
  return least;
}

unsigned Coordinates::accessWidth(Value view, ArrayRef<int64_t> dims, const Layout &layout,
                                  bool isChecked) const {
  auto type = cast<tile::ViewType>(view.getType());
  int64_t bytes = std::max(1u, type.getElementType().getIntOrFloatBitWidth() / 8);
  int64_t aligned = addressDivisor(view), whole = 0;
  std::optional<Dim> inner;
  bool isAlongMemory = false; // a dimension before
  for (int64_t dim = 0; dim < int64_t(type.getRank()); ++dim) {
    int64_t stride = type.getStrides()[dim];
    const auto *place = llvm::find(dims, dim);
    if (stride == 1 && place != dims.end()) {
      if (type.getShape()[dim] != 1 && std::exchange(isAlongMemory, true))
        aligned = std::gcd(aligned, bytes); // windows, as above
      inner = tensorDim(place - dims.begin());
      whole = isChecked && !view.getDefiningOp<tile::AlignedRowOp>() ? type.getDivisor(dim) : 0;
    } else {
      aligned = std::gcd(
          aligned, bytes * (ShapedType::isDynamic(stride) ? strideDivisor(view, dim) : stride));
    }
  }
  if (!inner)
    return 1;
  unsigned width = 1;
  for (uint64_t column : layout.columns(Dim::Register)) {
    bool isNext =
        width < layout.out().size(*inner) && column == layout.out().pack(Point({{*inner, width}}));
    if (!isNext || 2 * width * bytes > aligned || whole % (2 * width))
      break;
    width *= 2;
  }
  // The registers hold the low bits.
  for (uint64_t column : layout.columns().subspan(llvm::Log2_32(width)))
    while (width > 1 && layout.out().unpack(column)[*inner] % width)
      width /= 2;
  return width;
}

bool Coordinates::beginAlike(Value view, Value other) const {
  auto type = cast<tile::ViewType>(view.getType()), same = cast<tile::ViewType>(other.getType());
  auto bytesOf = [](tile::ViewType each) {
    return (each.getElementType().getIntOrFloatBitWidth() + 7) / 8;
  };
  if (type.getRank() != same.getRank() || bytesOf(type) != bytesOf(same) ||
      addressDivisor(view) % tile::AlignedRowOp::kAlignment ||
      addressDivisor(other) % tile::AlignedRowOp::kAlignment)
    return false;
  return llvm::all_of(llvm::seq<int64_t>(0, type.getRank()), [&](int64_t dim) {
    std::optional<SymExpr> a = stride(view, dim), b = stride(other, dim);
    return a && b && *a == *b;
  });
}

bool Coordinates::isBackward(Value view, unsigned dim) const { return backward.lookup(view)[dim]; }

bool Coordinates::hasPositiveStride(Value view, unsigned dim) const {
  return positiveStrides.lookup(view)[dim];
}

std::optional<SymExpr> Coordinates::expression(Value value) const {
  if (auto argument = arguments.find(value); argument != arguments.end())
    return argument->second;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
    return SymExpr(constant.value());
  if (auto dim = dyn_cast<tile::DimOp>(op))
    return size(dim.getView(), dim.getDim());
  if (op->getNumOperands() != 2 || op->getDialect()->getNamespace() != "arith")
    return std::nullopt;
  auto x = expression(op->getOperand(0)), y = expression(op->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return *x + *y;
  if (isa<arith::MulIOp>(op))
    return *x * *y;
  if (isa<arith::MinSIOp>(op))
    return SymExpr::min(*x, *y);
  if (isa<arith::MaxSIOp>(op))
    return SymExpr::max(*x, *y);
  if (isa<arith::CeilDivSIOp>(op))
    return x->ceilDiv(*y);
  if (isa<arith::FloorDivSIOp, arith::DivUIOp>(op))
    return x->floorDiv(*y);
  return std::nullopt;
}

int64_t Coordinates::divisor(Value value) const {
  if (auto known = divisors.find(value); known != divisors.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<arith::ConstantIndexOp>(op))
    return std::abs(constant.value());
  if (auto dim = dyn_cast_or_null<tile::DimOp>(op))
    return cast<tile::ViewType>(dim.getView().getType()).getDivisor(dim.getDim());
  if (isa_and_nonnull<arith::AddIOp>(op))
    return std::gcd(divisor(op->getOperand(0)), divisor(op->getOperand(1)));
  if (isa_and_nonnull<arith::MulIOp>(op))
    return divisor(op->getOperand(0)) * divisor(op->getOperand(1));
  return 1;
}

/// The depth to which definitions are followed; index arithmetic of kernels is short.
static constexpr unsigned kMaxDepth = 8;

/// The loop whose induction variable a value is.
static scf::ForOp loopOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && loop.getInductionVar() == value ? loop : scf::ForOp();
}

int64_t Coordinates::most(Value value, unsigned depth) const {
  if (depth > kMaxDepth)
    return INT64_MAX;
  if (std::optional<SymExpr> known = expression(value))
    return facts.max(*known);
  if (scf::ForOp loop = loopOf(value))
    return most(loop.getUpperBound(), depth + 1);
  Operation *op = value.getDefiningOp();
  if (auto program = dyn_cast_or_null<tile::ProgramIdOp>(op))
    return facts.max(grid[program.getDim()]);
  if (!isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op) ||
      !isNonNegative(op->getOperand(0), depth) || !isNonNegative(op->getOperand(1), depth))
    return INT64_MAX;
  uint64_t x = most(op->getOperand(0), depth + 1), y = most(op->getOperand(1), depth + 1);
  uint64_t both =
      isa<arith::AddIOp>(op) ? llvm::SaturatingAdd(x, y) : llvm::SaturatingMultiply(x, y);
  return std::min<uint64_t>(both, INT64_MAX);
}

bool Coordinates::isNonNegative(Value value, unsigned depth) const {
  if (depth > kMaxDepth)
    return false;
  if (arguments.contains(value))
    return true;
  if (scf::ForOp loop = loopOf(value))
    return isNonNegative(loop.getLowerBound(), depth + 1);
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto constant = dyn_cast<arith::ConstantIndexOp>(op))
    return constant.value() >= 0;
  if (isa<tile::ProgramIdOp, tile::DimOp>(op))
    return true;
  auto operand = [&](unsigned i) { return isNonNegative(op->getOperand(i), depth + 1); };
  if (isa<arith::MaxSIOp>(op))
    return operand(0) || operand(1);
  if (isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::CeilDivSIOp, arith::FloorDivSIOp,
          arith::DivUIOp, arith::RemUIOp>(op))
    return operand(0) && operand(1);
  return false;
}

bool Coordinates::isAtMost(Value value, SymExpr bound, unsigned depth) const {
  if (auto known = expression(value)) {
    if (*known == bound)
      return true;
    if (known->isConstant() && bound.isConstant())
      return known->constantValue() <= bound.constantValue();
  }
  if (depth > kMaxDepth)
    return false;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<arith::MinSIOp>(op))
    return isAtMost(op->getOperand(0), bound, depth + 1) ||
           isAtMost(op->getOperand(1), bound, depth + 1);
  if (isa_and_nonnull<arith::MaxSIOp>(op))
    return isAtMost(op->getOperand(0), bound, depth + 1) &&
           isAtMost(op->getOperand(1), bound, depth + 1);
  // Larger units of what is at most so many small ones.
  if (auto quotient = dyn_cast_or_null<arith::CeilDivSIOp>(op);
      quotient && bound.kind() == SymExpr::Kind::CeilDiv) {
    auto unit = expression(quotient.getRhs());
    SymExpr size = bound.operands()[0], whole = bound.operands()[1];
    if (unit && unit->isConstant() && whole.isConstant() && unit->constantValue() > 0 &&
        whole.constantValue() % unit->constantValue() == 0)
      return isAtMost(quotient.getLhs(),
                      size.ceilDiv(whole.constantValue() / unit->constantValue()), depth + 1);
  }
  return false;
}

bool Coordinates::isBelow(Value value, SymExpr bound, Operation *at) const {
  auto isSaidBy = [&](Value condition) {
    auto less = condition ? condition.getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    return less && less.getPredicate() == arith::CmpIPredicate::slt && less.getLhs() == value &&
           isAtMost(less.getRhs(), bound);
  };
  if (auto copy = dyn_cast_or_null<tile::CpAsyncOp>(at); copy && isSaidBy(copy.getCondition()))
    return true;
  for (; at && at != kernel; at = at->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(at->getParentOp());
    if (branch && at->getParentRegion() == &branch.getThenRegion() &&
        isSaidBy(branch.getCondition()))
      return true;
  }
  if (scf::ForOp loop = loopOf(value))
    return isAtMost(loop.getUpperBound(), bound);
  if (auto id = value.getDefiningOp<tile::ProgramIdOp>()) {
    SymExpr count = grid[id.getDim()];
    return count == bound || (count.isConstant() && bound.isConstant() &&
                              count.constantValue() <= bound.constantValue());
  }
  // A tensor with elements has a first tile.
  auto known = expression(value);
  if (!known || !known->isConstant())
    return false;
  return known->constantValue() == 0 ||
         (bound.isConstant() && known->constantValue() < bound.constantValue());
}

bool Coordinates::touches(Value coordinate, Value view, unsigned dim, int64_t tileSize,
                          Operation *at) const {
  return isNonNegative(coordinate, 0) &&
         isBelow(coordinate, size(view, dim).ceilDiv(SymExpr(tileSize)), at);
}

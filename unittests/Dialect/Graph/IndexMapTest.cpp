//===- IndexMapTest.cpp - Operand indices against brute force -------------===//
#include "tessera/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace tessera;

namespace {

using Point = std::vector<int64_t>;

/// Values of the symbolic sizes in these tests.
const std::map<std::string, int64_t> sizes = {{"A", 2}, {"B", 3}, {"C", 5}, {"D", 4}, {"E", 1}};
SymExpr symbol(const char *name) { return SymExpr::symbol(name); }

int64_t valueOf(SymExpr expr, const Point &point = {}) {
  return *expr.evaluate([&](const std::string &name) -> std::optional<int64_t> {
    return name[0] == '#' ? point[std::stoul(name.substr(1))] : sizes.at(name);
  });
}

Point valuesOf(ArrayRef<SymExpr> exprs, const Point &point = {}) {
  Point values;
  for (SymExpr expr : exprs)
    values.push_back(valueOf(expr, point));
  return values;
}

/// Calls `visit` for every point of a box.
template <typename Visit> void forEachPoint(const Point &box, Visit visit) {
  int64_t count = 1;
  for (int64_t size : box)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    Point point(box.size());
    int64_t rest = i;
    for (size_t dim = box.size(); dim-- > 0; rest /= box[dim])
      point[dim] = rest % box[dim];
    visit(point);
  }
}

int64_t linearise(const Point &box, const Point &point) {
  int64_t linear = 0;
  for (size_t dim = 0; dim < box.size(); ++dim)
    linear = linear * box[dim] + point[dim];
  return linear;
}

void checkReshape(ArrayRef<SymExpr> from, ArrayRef<SymExpr> to) {
  SmallVector<SymExpr> identity;
  for (unsigned i = 0; i < to.size(); ++i)
    identity.push_back(gir::iterationSymbol(i));
  SmallVector<SymExpr> index = gir::reshapeIndex(from, to, identity);
  ASSERT_EQ(index.size(), from.size());
  Point fromBox = valuesOf(from), toBox = valuesOf(to);
  forEachPoint(toBox, [&](const Point &point) {
    Point source = valuesOf(index, point);
    for (size_t dim = 0; dim < source.size(); ++dim) {
      EXPECT_GE(source[dim], 0);
      EXPECT_LT(source[dim], fromBox[dim]);
    }
    EXPECT_EQ(linearise(fromBox, source), linearise(toBox, point));
  });
}

TEST(ReshapeIndex, SharedDimensionsStayPlain) {
  SymExpr a = symbol("A"), b = symbol("B"), c = symbol("C"), d = symbol("D");
  auto i = [](unsigned n) { return gir::iterationSymbol(n); };
  SmallVector<SymExpr> merged = gir::reshapeIndex({a, b, c, d}, {a, b * c, d}, {i(0), i(1), i(2)});
  EXPECT_EQ(merged, (SmallVector<SymExpr>{i(0), i(1).floorDiv(c), i(1).mod(c), i(2)}));
  SmallVector<SymExpr> split =
      gir::reshapeIndex({a, b * c, d}, {a, b, c, d}, {i(0), i(1), i(2), i(3)});
  EXPECT_EQ(split, (SmallVector<SymExpr>{i(0), i(1) * c + i(2), i(3)}));
  SmallVector<SymExpr> unit =
      gir::reshapeIndex({a, b}, {1, a, 1, b, 1}, {i(0), i(1), i(2), i(3), i(4)});
  EXPECT_EQ(unit, (SmallVector<SymExpr>{i(1), i(3)}));
  // Regrouping inside a pair of dimensions.
  SmallVector<SymExpr> regrouped = gir::reshapeIndex({a * b, c}, {a, b * c}, {i(0), i(1)});
  EXPECT_EQ(regrouped, (SmallVector<SymExpr>{i(0) * b + i(1).floorDiv(c), i(1).mod(c)}));
}

TEST(ReshapeIndex, RandomGroupings) {
  std::mt19937 random(7);
  for (unsigned trial = 0; trial < 500; ++trial) {
    SmallVector<SymExpr> factors;
    for (unsigned n = random() % 5; factors.size() < n;) {
      const char *names[] = {"A", "B", "C", "D", "E"};
      factors.push_back(random() % 4 ? symbol(names[random() % 5])
                                     : SymExpr(int64_t(1 + random() % 4)));
    }
    auto group = [&] {
      SmallVector<SymExpr> shape;
      bool open = false;
      for (SymExpr factor : factors) {
        while (random() % 5 == 0) {
          shape.push_back(SymExpr(1));
          open = false;
        }
        if (open && random() % 2)
          shape.back() = shape.back() * factor;
        else
          shape.push_back(factor);
        open = true;
      }
      return shape;
    };
    checkReshape(group(), group());
  }
}

TEST(ReshapeIndex, UnrelatedShapesAndNoElements) {
  checkReshape({4, 6}, {6, 4});
  checkReshape({symbol("A"), symbol("D")}, {symbol("D"), symbol("A")});
  checkReshape({8}, {symbol("A").floorDiv(1) * 2, 2});
  EXPECT_EQ(gir::reshapeIndex({0, symbol("A")}, {0}, {gir::iterationSymbol(0)}).size(), 2u);
}

/// Builds one operation on function arguments of the given shapes.
class Fixture : public ::testing::Test {
protected:
  Fixture() : builder(&context) {
    context.loadDialect<gir::GraphDialect, func::FuncDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
  }
  Value argument(ArrayRef<SymExpr> shape) {
    builder.setInsertionPointToEnd(module->getBody());
    auto type = gir::TensorType::get(shape, builder.getF32Type());
    auto function =
        func::FuncOp::create(builder, builder.getUnknownLoc(), "f" + std::to_string(count++),
                             builder.getFunctionType(type, {}));
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    func::ReturnOp::create(builder, builder.getUnknownLoc());
    builder.setInsertionPointToStart(block);
    return block->getArgument(0);
  }

  /// The operand index at every point of the iteration space.
  std::map<Point, Point> indices(gir::GraphOpInterface op, unsigned operand) {
    EXPECT_TRUE(succeeded(mlir::verify(op)));
    std::map<Point, Point> result;
    SmallVector<SymExpr> index = op.getOperandIndex(operand);
    forEachPoint(valuesOf(op.getIterationSizes()),
                 [&](const Point &point) { result[point] = valuesOf(index, point); });
    return result;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
  Location loc = UnknownLoc::get(&context);
  unsigned count = 0;
  SymExpr a = symbol("A"), b = symbol("B"), c = symbol("C"), d = symbol("D");
};

TEST_F(Fixture, Transpose) {
  auto op = gir::TransposeOp::create(builder, loc, argument({a, b, c}), ArrayRef<int64_t>{2, 0, 1});
  EXPECT_EQ(valuesOf(op.getIterationSizes()), (Point{5, 2, 3}));
  for (auto &[point, index] : indices(op, 0))
    EXPECT_EQ(index, (Point{point[1], point[2], point[0]}));
}

TEST_F(Fixture, Broadcast) {
  auto op = gir::BroadcastOp::create(builder, loc, argument({1, c}), ArrayRef<SymExpr>{a, b, c},
                                     ArrayRef<int64_t>{1, 2});
  for (auto &[point, index] : indices(op, 0))
    EXPECT_EQ(index, (Point{0, point[2]}));
}

TEST_F(Fixture, Slice) {
  auto op =
      gir::SliceOp::create(builder, loc, argument({c, d}), ArrayRef<SymExpr>{c - 1, SymExpr(1)},
                           ArrayRef<int64_t>{-2, 1}, ArrayRef<SymExpr>{c.ceilDiv(2), d - 1});
  EXPECT_EQ(valuesOf(op.getIterationSizes()), (Point{3, 3}));
  for (auto &[point, index] : indices(op, 0))
    EXPECT_EQ(index, (Point{4 - 2 * point[0], 1 + point[1]}));
}

TEST_F(Fixture, Reduce) {
  auto op = gir::ReduceOp::create(builder, loc, tessera::ReduceOp::Sum, argument({a, b, c}),
                                  ArrayRef<int64_t>{0, 2});
  EXPECT_EQ(valuesOf(op.getIterationSizes()), (Point{3, 2, 5}));
  EXPECT_EQ(op.getNumReduced(), 2u);
  for (auto &[point, index] : indices(op, 0))
    EXPECT_EQ(index, (Point{point[1], point[0], point[2]}));
}

TEST_F(Fixture, Contract) {
  // [c, a, d] and [d, b, a, d]: batch a, over d; the other d of the right operand stays.
  Value lhs = argument({c, a, d});
  Value rhs = gir::ConstantOp::create(
      builder, loc, gir::TensorType::get({d, b, a, d}, builder.getF32Type()), 1.0);
  auto op =
      gir::ContractOp::create(builder, loc, lhs, rhs, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{2},
                              ArrayRef<int64_t>{2}, ArrayRef<int64_t>{0});
  EXPECT_EQ(valuesOf(op.getIterationSizes()), (Point{2, 5, 3, 4, 4})); // a, c, b, d, over d
  EXPECT_EQ(op.getNumReduced(), 1u);
  for (auto &[point, index] : indices(op, 0))
    EXPECT_EQ(index, (Point{point[1], point[0], point[4]}));
  for (auto &[point, index] : indices(op, 1))
    EXPECT_EQ(index, (Point{point[4], point[2], point[0], point[3]}));
}

} // namespace

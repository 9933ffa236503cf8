//===- Scalars.cpp - Scalar operations of a warp --------------------------===//
#include "Program.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::simulator;

Number simulator::numberOf(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return real(number.getValueAsDouble());
  auto number = cast<IntegerAttr>(attribute);
  bool isUnsigned = number.getType().isUnsignedInteger() || number.getType().isInteger(1);
  return integer(isUnsigned ? int64_t(number.getValue().getZExtValue())
                            : number.getValue().getSExtValue());
}

BlockArgument simulator::argumentOf(Value view) {
  auto row = view.getDefiningOp<tile::AlignedRowOp>();
  return dyn_cast<BlockArgument>(row ? Value(row.getView()) : view);
}

static int64_t floorDivide(int64_t a, int64_t b) {
  return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
}

static bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  using P = arith::CmpIPredicate;
  uint64_t x = a, y = b;
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return x < y;
  case P::ule:
    return x <= y;
  case P::ugt:
    return x > y;
  case P::uge:
    return x >= y;
  }
  llvm_unreachable("all predicates are handled");
}

using BinaryFunction = std::function<int64_t(int64_t, int64_t)>;

/// The function of a binary arithmetic operation; null for other operations.
static BinaryFunction binaryFunction(Operation *op) {
  using Function = BinaryFunction;
  return llvm::TypeSwitch<Operation *, Function>(op)
      .Case([](arith::AddIOp) { return Function([](int64_t a, int64_t b) { return a + b; }); })
      .Case([](arith::SubIOp) { return Function([](int64_t a, int64_t b) { return a - b; }); })
      .Case([](arith::MulIOp) { return Function([](int64_t a, int64_t b) { return a * b; }); })
      .Case([](arith::MinSIOp) {
        return Function([](int64_t a, int64_t b) { return std::min(a, b); });
      })
      .Case([](arith::MaxSIOp) {
        return Function([](int64_t a, int64_t b) { return std::max(a, b); });
      })
      .Case([](arith::AndIOp) { return Function([](int64_t a, int64_t b) { return a & b; }); })
      .Case([](arith::OrIOp) { return Function([](int64_t a, int64_t b) { return a | b; }); })
      .Case([](arith::XOrIOp) { return Function([](int64_t a, int64_t b) { return a ^ b; }); })
      .Case([](arith::DivUIOp) {
        return Function(
            [](int64_t a, int64_t b) { return b ? int64_t(uint64_t(a) / uint64_t(b)) : 0; });
      })
      .Case([](arith::RemUIOp) {
        return Function(
            [](int64_t a, int64_t b) { return b ? int64_t(uint64_t(a) % uint64_t(b)) : a; });
      })
      .Case([](arith::FloorDivSIOp) { return Function(floorDivide); })
      .Case([](arith::CeilDivSIOp) {
        return Function([](int64_t a, int64_t b) { return -floorDivide(-a, b); });
      })
      .Case([](arith::CmpIOp comparison) {
        arith::CmpIPredicate predicate = comparison.getPredicate();
        return Function([=](int64_t a, int64_t b) { return int64_t(compare(predicate, a, b)); });
      })
      .Default([](Operation *) { return nullptr; });
}

std::function<void(Frame &)>
simulator::compileScalar(Operation *op, const std::function<unsigned(Value)> &slotOf) {
  using Compute = std::function<void(Frame &)>;
  if (op->getNumResults() != 1 || isa<RankedTensorType>(op->getResult(0).getType()))
    return nullptr;
  unsigned to = slotOf(op->getResult(0));
  auto operand = [&](unsigned i) { return slotOf(op->getOperand(i)); };
  if (BinaryFunction function = binaryFunction(op))
    return [=, a = operand(0), b = operand(1)](Frame &frame) {
      frame.slots[to].scalar =
          integer(function(frame.slots[a].scalar.integer, frame.slots[b].scalar.integer));
    };
  // The index of an element of the tensor modulo `elements`; null coordinates are 0.
  auto misalignment = [&](BlockArgument view, ArrayRef<Value> coords, int64_t elements) -> Compute {
    SmallVector<std::pair<unsigned, unsigned>> from; // dimensions and slots
    for (auto [dim, coordinate] : llvm::enumerate(coords))
      if (coordinate)
        from.push_back({dim, slotOf(coordinate)});
    return [=, argument = view.getArgNumber()](Frame &frame) {
      const View &seen = frame.launch->views[argument];
      int64_t element = seen.offset;
      for (auto [dim, slot] : from)
        element += frame.slots[slot].scalar.integer * seen.strides[dim];
      frame.slots[to].scalar = integer(element & (elements - 1));
    };
  };
  return llvm::TypeSwitch<Operation *, Compute>(op)
      .Case([&](arith::ConstantOp constant) -> Compute {
        Number value = numberOf(constant.getValue());
        return [=](Frame &frame) { frame.slots[to].scalar = value; };
      })
      .Case([&](arith::SelectOp) -> Compute {
        unsigned condition = operand(0), a = operand(1), b = operand(2);
        return [=](Frame &frame) {
          frame.slots[to].scalar =
              frame.slots[frame.slots[condition].scalar.integer ? a : b].scalar;
        };
      })
      .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>([&](Operation *) -> Compute {
        unsigned from = operand(0);
        Element element = *Element::of(op->getResult(0).getType());
        return [=](Frame &frame) {
          frame.slots[to].scalar = element.wrap(frame.slots[from].scalar.integer);
        };
      })
      .Case([&](tile::ProgramIdOp id) -> Compute {
        unsigned dim = id.getDim();
        return [=](Frame &frame) { frame.slots[to].scalar = integer(frame.program[dim]); };
      })
      .Case([&](tile::DimOp size) -> Compute {
        auto row = size.getView().getDefiningOp<tile::AlignedRowOp>();
        BlockArgument view = argumentOf(size.getView());
        if (!view)
          return nullptr;
        unsigned argument = view.getArgNumber(), dim = row ? row.getDim() : size.getDim();
        std::optional<unsigned> front = row ? std::optional(slotOf(row)) : std::nullopt;
        return [=](Frame &frame) {
          int64_t more = front ? frame.slots[*front].scalar.integer : 0;
          frame.slots[to].scalar = integer(frame.launch->views[argument].sizes[dim] + more);
        };
      })
      .Case([&](tile::MisalignmentOp shift) -> Compute {
        auto view = dyn_cast<BlockArgument>(shift.getView());
        if (!view)
          return nullptr;
        SmallVector<Value> coords(shift.getCoords());
        return misalignment(view, coords, shift.getModulus());
      })
      // The row is represented by the number of elements before it.
      .Case([&](tile::AlignedRowOp row) -> Compute {
        SmallVector<Value> coords(row.getCoords());
        coords.insert(coords.begin() + row.getDim(), Value());
        return misalignment(cast<BlockArgument>(row.getView()), coords, row.getAlignmentElements());
      })
      .Case([&](tile::ExtractOp extract) -> Compute {
        unsigned from = operand(0);
        std::optional<Element> element = Element::of(op->getResult(0).getType()),
                               was = Element::of(extract.getTile().getType().getElementType());
        if (!element || !was)
          return nullptr;
        return [to, from, element = *element, was = *was](Frame &frame) {
          frame.slots[to].scalar = element.convert(frame.slots[from].tile->values[0], was);
        };
      })
      .Case([&](tile::ElementOp element) -> Compute {
        // Register i of lane j has element 32 i + j.
        return [to, from = operand(0), at = operand(1),
                size = element.getTile().getType().getShape()[0]](Frame &frame) {
          uint64_t position = frame.slots[at].scalar.integer;
          frame.slots[to].scalar = frame.slots[from].tile->values[position % uint64_t(size)];
        };
      })
      .Default([](Operation *) { return nullptr; });
}

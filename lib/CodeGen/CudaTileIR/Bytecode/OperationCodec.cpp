//===- OperationCodec.cpp - Function bodies in the file -------------------===//
//
// An operation is its opcode, result types, flags, attributes, operands and regions; Operations.def
// says which of them are present and in which form. The file numbers values in the order in which
// they come into scope and reuses a block's numbers after its end, so an operation's results are
// numbered after its regions.
//
//===----------------------------------------------------------------------===//
#include "Codec.h"

using namespace tessera::cudatile;

static std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Returns the error in the number of results of an operation, or nothing.
static std::string checkResults(const OpSpec &spec, size_t size, Version version) {
  size_t expected = 0;
  for (const FieldSpec &result : spec.results) {
    if (result.multiplicity == Multiplicity::Any)
      return {};
    expected += version.minor >= result.since;
  }
  if (size == expected)
    return {};
  return "expected " + std::to_string(expected) + " results of " + quote(spec.name) +
         " in format " + version.str() + ", got " + std::to_string(size);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
class BodyReader {
public:
  BodyReader(Decoder &decoder, Function &function)
      : decoder(decoder), in(decoder.in), function(function) {}

  void run() {
    scope = function.body.arguments;
    while (in.ok() && !in.atEnd())
      function.body.operations.push_back(operation(0));
  }

private:
  Operation operation(unsigned depth) {
    Operation op;
    uint64_t opcode = in.varint();
    const OpSpec *spec = opSpec(opcode);
    if (!spec || !decoder.has(spec->since)) {
      in.fail("unknown operation " + std::to_string(opcode) + " in format " +
              decoder.module.version.str());
      return op;
    }
    op.opcode = spec->opcode;
    std::vector<Type> types = resultTypes(*spec);
    uint64_t flags = spec->hasFlags(decoder.module.version) ? in.varint() : 0;
    attributes(op, *spec, flags, types.empty() ? Type() : types.front());
    operands(op, *spec, flags);
    if (spec->regions)
      regions(op, *spec, depth);
    for (Type type : types)
      op.results.push_back(define(type));
    return op;
  }

  std::vector<Type> resultTypes(const OpSpec &spec) {
    size_t size = spec.countsResults ? in.count("results") : spec.results.size();
    std::string wrong = checkResults(spec, size, decoder.module.version);
    if (in.ok() && !wrong.empty())
      in.fail(wrong);
    std::vector<Type> types(in.ok() ? size : 0);
    for (Type &type : types)
      type = decoder.typeIndex();
    return in.ok() ? types : std::vector<Type>();
  }

  void attributes(Operation &op, const OpSpec &spec, uint64_t flags, Type resultType) {
    uint64_t known = 0;
    auto isSet = [&](const FieldSpec &field) { return flags >> field.flagBit & 1; };
    for (const FieldSpec &operand : spec.operands)
      if (operand.flagBit >= 0 && decoder.has(operand.since))
        known |= uint64_t(1) << operand.flagBit;
    for (const AttrSpec &attribute : spec.attributes) {
      if (attribute.flagBit >= 0 && decoder.has(attribute.since))
        known |= uint64_t(1) << attribute.flagBit;
      if (attribute.form == AttrForm::Flag)
        op.attributes.push_back(Attribute::boolean(isSet(attribute)));
      else if (!decoder.has(attribute.since))
        op.attributes.push_back(attribute.form == AttrForm::Bools
                                    ? Attribute::list(Attribute::Kind::Integers, {})
                                    : Attribute::integer(attribute.fallback));
      else if (attribute.multiplicity == Multiplicity::Optional && !isSet(attribute))
        op.attributes.emplace_back();
      else
        op.attributes.push_back(decoder.attribute(attribute, resultType));
    }
    if (flags & ~known)
      in.fail("unknown flags " + std::to_string(flags) + " of " + quote(spec.name));
  }

  Value operand() {
    uint64_t number = in.varint();
    if (in.ok() && number >= scope.size())
      in.fail("value " + std::to_string(number) + " is not defined; there are " +
              std::to_string(scope.size()));
    return in.ok() ? scope[number] : Value();
  }

  void operands(Operation &op, const OpSpec &spec, uint64_t flags) {
    size_t left = spec.countsOperands ? in.count("operands") : 0;
    for (const FieldSpec &field : spec.operands) {
      size_t size = 1;
      if (spec.countsOperands) {
        if (field.multiplicity == Multiplicity::Any)
          size = left;
        else if (field.multiplicity == Multiplicity::Optional)
          size = left != 0;
        else if (!left)
          in.fail("expected operand '" + field.name + "' of " + quote(spec.name));
        left -= in.ok() ? size : 0;
      } else if (field.multiplicity == Multiplicity::Any) {
        size = in.count("operands");
      } else if (field.multiplicity == Multiplicity::Optional) {
        size = flags >> field.flagBit & 1;
      }
      std::vector<Value> &values = op.operands.emplace_back();
      for (size_t i = 0; i < size && in.ok(); ++i)
        values.push_back(operand());
    }
    if (in.ok() && left)
      in.fail(std::to_string(left) + " operands too many of " + quote(spec.name));
  }

  void regions(Operation &op, const OpSpec &spec, unsigned depth) {
    if (depth == kMaxRegionDepth) {
      in.fail("regions are nested too deeply");
      return;
    }
    uint64_t size = in.varint();
    if (in.ok() && size != spec.regions)
      in.fail("expected " + std::to_string(spec.regions) + " regions of " + quote(spec.name) +
              ", got " + std::to_string(size));
    for (uint64_t i = 0; i < spec.regions && in.ok(); ++i) {
      Region &region = op.regions.emplace_back();
      size_t blocks = in.count("blocks", 2);
      for (size_t j = 0; j < blocks && in.ok(); ++j)
        region.blocks.push_back(block(depth));
    }
  }

  Block block(unsigned depth) {
    Block block;
    size_t outer = scope.size();
    for (Type type : decoder.typeIndices())
      if (in.ok())
        block.arguments.push_back(define(type));
    size_t size = in.count("operations");
    for (size_t i = 0; i < size && in.ok(); ++i)
      block.operations.push_back(operation(depth + 1));
    scope.resize(std::min(outer, scope.size()));
    return block;
  }

  Value define(Type type) {
    Value value = function.newValue(type);
    scope.push_back(value);
    return value;
  }

  Decoder &decoder;
  ByteReader &in;
  Function &function;
  std::vector<Value> scope; // by the file's numbers
};
} // namespace

void Decoder::body(Function &function) { BodyReader(*this, function).run(); }

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
class BodyWriter {
public:
  BodyWriter(Encoder &encoder, const Function &function)
      : encoder(encoder), out(encoder.out), function(function),
        numbers(function.values.size(), kUndefined) {}

  void run() {
    for (Value argument : function.body.arguments)
      define(argument);
    for (const Operation &op : function.body.operations)
      operation(op, 0);
  }

private:
  static constexpr uint32_t kUndefined = ~uint32_t(0);

  void operation(const Operation &op, unsigned depth) {
    const OpSpec &spec = op.spec();
    encoder.require(spec.name, spec.since);
    if (op.attributes.size() != spec.attributes.size() ||
        op.operands.size() != spec.operands.size() || op.regions.size() != spec.regions)
      return encoder.fail(quote(spec.name) + " does not have the fields of its table entry");
    std::string wrong = checkResults(spec, op.results.size(), encoder.module.version);
    if (!wrong.empty())
      encoder.fail(wrong);
    out.varint(uint64_t(op.opcode));
    if (spec.countsResults)
      out.varint(op.results.size());
    for (Value result : op.results)
      if (result.index < function.values.size())
        encoder.typeIndex(function.typeOf(result));
    flags(op, spec);
    for (size_t i = 0; i < spec.attributes.size(); ++i)
      if (op.attributes[i] || spec.attributes[i].multiplicity != Multiplicity::Optional)
        encoder.attribute(op, spec.attributes[i], op.attributes[i]);
    operands(op, spec);
    if (spec.regions)
      regions(op, depth);
    for (Value result : op.results)
      define(result);
  }

  void flags(const Operation &op, const OpSpec &spec) {
    uint64_t bits = 0;
    auto set = [&](const FieldSpec &field, bool present) {
      if (field.flagBit < 0 || !present)
        return;
      encoder.require(field.name, field.since);
      bits |= uint64_t(1) << field.flagBit;
    };
    for (size_t i = 0; i < spec.attributes.size(); ++i) {
      bool isFlag = spec.attributes[i].form == AttrForm::Flag;
      set(spec.attributes[i], isFlag ? op.attributes[i].bits != 0 : bool(op.attributes[i]));
    }
    for (size_t i = 0; i < spec.operands.size(); ++i)
      set(spec.operands[i], !op.operands[i].empty());
    if (spec.hasFlags(encoder.module.version))
      out.varint(bits);
  }

  void operands(const Operation &op, const OpSpec &spec) {
    if (spec.countsOperands) {
      size_t size = 0;
      for (const std::vector<Value> &values : op.operands)
        size += values.size();
      out.varint(size);
    }
    for (size_t i = 0; i < spec.operands.size(); ++i) {
      Multiplicity multiplicity = spec.operands[i].multiplicity;
      const std::vector<Value> &values = op.operands[i];
      if (values.size() > 1 ? multiplicity != Multiplicity::Any
                            : values.empty() && multiplicity == Multiplicity::One)
        encoder.fail(quote(spec.name) + " has " + std::to_string(values.size()) + " operands '" +
                     spec.operands[i].name + "'");
      if (!spec.countsOperands && multiplicity == Multiplicity::Any)
        out.varint(values.size());
      for (Value value : values)
        operand(value, spec);
    }
  }

  void operand(Value value, const OpSpec &spec) {
    if (value.index >= numbers.size() || numbers[value.index] == kUndefined)
      return encoder.fail("an operand of " + quote(spec.name) + " is not defined where it is used");
    out.varint(numbers[value.index]);
  }

  void regions(const Operation &op, unsigned depth) {
    if (depth == kMaxRegionDepth)
      return encoder.fail("regions are nested too deeply");
    out.varint(op.regions.size());
    for (const Region &region : op.regions) {
      out.varint(region.blocks.size());
      for (const Block &block : region.blocks) {
        size_t outer = scope.size();
        out.varint(block.arguments.size());
        for (Value argument : block.arguments) {
          if (argument.index < function.values.size())
            encoder.typeIndex(function.typeOf(argument));
          define(argument);
        }
        out.varint(block.operations.size());
        for (const Operation &nested : block.operations)
          operation(nested, depth + 1);
        for (; scope.size() > outer; scope.pop_back())
          numbers[scope.back().index] = kUndefined;
      }
    }
  }

  void define(Value value) {
    if (value.index >= numbers.size() || numbers[value.index] != kUndefined)
      return encoder.fail("a value is defined twice or has no type");
    numbers[value.index] = scope.size();
    scope.push_back(value);
  }

  Encoder &encoder;
  ByteWriter &out;
  const Function &function;
  std::vector<uint32_t> numbers; // the file's number of each value in scope
  std::vector<Value> scope;
};
} // namespace

void Encoder::body(const Function &function) { BodyWriter(*this, function).run(); }

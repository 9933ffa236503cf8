//===- AttributeCodec.cpp - Attributes in the file ------------------------===//
//
// Where the table fixes an attribute's form only its value is encoded; elsewhere a tag precedes it.
//
//===----------------------------------------------------------------------===//
#include "Codec.h"
#include <algorithm>

using namespace tessera::cudatile;
using Kind = Attribute::Kind;

/// Bits of a value of this element type, 0 when it has none.
static unsigned widthOf(const Module &module, Type type) {
  return type ? module.specOf(type).bits : 0;
}

//===----------------------------------------------------------------------===//
// Tagged attributes
//===----------------------------------------------------------------------===//

Attribute Decoder::dictionary(Kind kind, unsigned depth) {
  Attribute attribute;
  attribute.kind = kind;
  size_t size = in.count("entries", 2);
  for (size_t i = 0; i < size && in.ok(); ++i) {
    attribute.keys.push_back(stringIndex());
    attribute.elements.push_back(taggedAttribute(depth + 1));
  }
  return attribute;
}

Attribute Decoder::taggedAttribute(unsigned depth) {
  if (depth > kMaxAttributeDepth) {
    in.fail("attributes are nested too deeply");
    return {};
  }
  Attribute attribute;
  uint64_t tag = in.varint();
  if (!in.ok())
    return attribute;
  if (tag == 0 || tag > uint64_t(Kind::Bounded)) {
    in.fail("unknown attribute tag " + std::to_string(tag));
    return attribute;
  }
  attribute.kind = Kind(tag);
  auto optional = [&](uint8_t flags, uint8_t bit) -> std::optional<int64_t> {
    return flags & bit ? std::optional(in.signedVarint()) : std::nullopt;
  };
  switch (attribute.kind) {
  case Kind::Integer:
    attribute.type = typeIndex();
    if (in.ok() && !module.specOf(attribute.type).isInteger())
      in.fail("expected an integer type");
    attribute.bits = in.varint();
    break;
  case Kind::Float: {
    attribute.type = typeIndex();
    if (in.ok() && !module.specOf(attribute.type).isFloat())
      in.fail("expected a floating point type");
    if (!in.ok())
      break;
    if (widthOf(module, attribute.type) <= 8) {
      attribute.bits = in.byte();
      break;
    }
    // Zigzag encoding of a signed number. Some writers shift the unsigned bits of an f64 instead,
    // which takes 65 bits if the sign is set.
    auto [low, high] = in.wideVarint();
    attribute.wide = high == 1;
    if (high > 1 || (attribute.wide && (low & 1)))
      in.fail("number of more than 64 bits");
    attribute.bits = attribute.wide ? (low >> 1) | uint64_t(1) << 63 : (low >> 1) ^ (0 - (low & 1));
    break;
  }
  case Kind::Bool:
    attribute.bits = in.byte();
    if (attribute.bits > 1)
      in.fail("expected 0 or 1");
    break;
  case Kind::Type:
    attribute.type = typeIndex();
    break;
  case Kind::String:
    attribute.bits = stringIndex().index;
    break;
  case Kind::Array: {
    size_t size = in.count("attributes");
    for (size_t i = 0; i < size && in.ok(); ++i)
      attribute.elements.push_back(taggedAttribute(depth + 1));
    break;
  }
  case Kind::Dense:
    attribute.type = typeIndex();
    attribute.bits = constantIndex().index;
    break;
  case Kind::DivBy:
  case Kind::Bounded: {
    if (attribute.kind == Kind::DivBy)
      attribute.bits = in.varint();
    uint8_t flags = in.byte();
    if (flags > 3)
      in.fail("unknown flags of an assumption");
    attribute.first = optional(flags, 1);
    attribute.second = optional(flags, 2);
    break;
  }
  case Kind::SameElements:
    attribute.integers = integers(8);
    break;
  case Kind::Dictionary:
  case Kind::Hints:
    return dictionary(attribute.kind, depth);
  case Kind::None:
  case Kind::Integers:
    break;
  }
  return attribute;
}

void Encoder::dictionary(const Attribute &attribute) {
  out.varint(attribute.keys.size());
  for (size_t i = 0; i < attribute.keys.size(); ++i) {
    stringIndex(attribute.keys[i]);
    taggedAttribute(attribute.elements[i]);
  }
}

void Encoder::taggedAttribute(const Attribute &attribute) {
  if (attribute.kind == Kind::None || attribute.kind == Kind::Integers)
    return fail("expected an attribute that can stand alone");
  out.varint(uint64_t(attribute.kind));
  switch (attribute.kind) {
  case Kind::Integer:
    typeIndex(attribute.type);
    out.varint(attribute.bits);
    break;
  case Kind::Float:
    typeIndex(attribute.type);
    if (widthOf(module, attribute.type) <= 8) {
      out.byte(uint8_t(attribute.bits));
    } else if (attribute.wide) {
      // The lowest seven bits, then the remaining 58 of 65.
      out.byte(uint8_t(attribute.bits << 1) | 0x80);
      out.varint(attribute.bits >> 6);
    } else {
      out.signedVarint(int64_t(attribute.bits));
    }
    break;
  case Kind::Bool:
    out.byte(uint8_t(attribute.bits));
    break;
  case Kind::Type:
    typeIndex(attribute.type);
    break;
  case Kind::String:
    stringIndex({uint32_t(attribute.bits)});
    break;
  case Kind::Array:
    out.varint(attribute.elements.size());
    for (const Attribute &element : attribute.elements)
      taggedAttribute(element);
    break;
  case Kind::Dense:
    typeIndex(attribute.type);
    constantIndex({uint32_t(attribute.bits)});
    break;
  case Kind::DivBy:
  case Kind::Bounded:
    if (attribute.kind == Kind::DivBy)
      out.varint(attribute.bits);
    out.byte(attribute.first.has_value() | attribute.second.has_value() << 1);
    for (const std::optional<int64_t> &field : {attribute.first, attribute.second})
      if (field)
        out.signedVarint(*field);
    break;
  case Kind::SameElements:
    integers(attribute.integers, 8);
    break;
  case Kind::Dictionary:
  case Kind::Hints:
    dictionary(attribute);
    break;
  case Kind::None:
  case Kind::Integers:
    break;
  }
}

//===----------------------------------------------------------------------===//
// Attributes of operations
//===----------------------------------------------------------------------===//

Attribute Decoder::attribute(const AttrSpec &spec, Type resultType) {
  switch (spec.form) {
  case AttrForm::Flag:
    return Attribute::boolean(false);
  case AttrForm::Bool: {
    uint8_t value = in.byte();
    if (value > 1)
      in.fail("expected 0 or 1 for '" + spec.name + "'");
    return Attribute::boolean(value);
  }
  case AttrForm::Int:
    return Attribute::integer(in.varint());
  case AttrForm::Enum: {
    uint64_t value = in.varint();
    if (in.ok() && value >= spec.enumeration->cases.size())
      in.fail("unknown value " + std::to_string(value) + " of '" + spec.name + "'");
    return Attribute::integer(value);
  }
  case AttrForm::Str:
    return Attribute::string(stringIndex());
  case AttrForm::Dense: {
    Attribute attribute = Attribute::dense(constantIndex());
    attribute.type = resultType;
    return attribute;
  }
  case AttrForm::Tagged:
    return taggedAttribute();
  case AttrForm::Array: {
    Attribute attribute = Attribute::array({});
    size_t size = in.count("attributes");
    for (size_t i = 0; i < size && in.ok(); ++i)
      attribute.elements.push_back(taggedAttribute());
    return attribute;
  }
  case AttrForm::Hints:
    return dictionary(Kind::Hints);
  case AttrForm::I32s:
    return Attribute::list(Kind::Integers, integers(4));
  case AttrForm::Bools:
    return Attribute::list(Kind::Integers, integers(1));
  }
  return {};
}

/// The elements of a list of bools: an empty list stands for as many zeros as there are indices.
static std::vector<int64_t> boolsOf(const Operation &op, const Attribute &attribute) {
  if (!attribute.integers.empty())
    return attribute.integers;
  return std::vector<int64_t>(op.operands[op.spec().operand("index")].size(), 0);
}

void Encoder::attribute(const Operation &op, const AttrSpec &spec, const Attribute &attribute) {
  if (!has(spec.since)) {
    bool isFallback = spec.form == AttrForm::Bools
                          ? std::all_of(attribute.integers.begin(), attribute.integers.end(),
                                        [](int64_t value) { return value == 0; })
                          : attribute.bits == spec.fallback;
    if (!isFallback)
      require(spec.name, spec.since);
    return;
  }
  switch (spec.form) {
  case AttrForm::Flag:
    break;
  case AttrForm::Bool:
    out.byte(uint8_t(attribute.bits));
    break;
  case AttrForm::Int:
  case AttrForm::Enum:
    out.varint(attribute.bits);
    break;
  case AttrForm::Str:
    stringIndex({uint32_t(attribute.bits)});
    break;
  case AttrForm::Dense:
    constantIndex({uint32_t(attribute.bits)});
    break;
  case AttrForm::Tagged:
    taggedAttribute(attribute);
    break;
  case AttrForm::Array:
    out.varint(attribute.elements.size());
    for (const Attribute &element : attribute.elements)
      taggedAttribute(element);
    break;
  case AttrForm::Hints:
    dictionary(attribute);
    break;
  case AttrForm::I32s:
    integers(attribute.integers, 4);
    break;
  case AttrForm::Bools:
    integers(boolsOf(op, attribute), 1);
    break;
  }
}

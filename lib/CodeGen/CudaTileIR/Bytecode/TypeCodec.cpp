//===- TypeCodec.cpp - Types in the file ----------------------------------===//
//
// A type is a tag and its fields. A type may only reference earlier types of the table, so there
// are no cycles. Flags mark optional fields; some types gained them in a later format.
//
//===----------------------------------------------------------------------===//
#include "Codec.h"

using namespace tessera::cudatile;

//===----------------------------------------------------------------------===//
// Indices and lists
//===----------------------------------------------------------------------===//

template <typename Index, typename Table>
static Index checkedIndex(ByteReader &in, const Table &table, const char *what) {
  uint64_t index = in.varint();
  if (!in.ok())
    return {};
  if (index >= table.size()) {
    in.fail("expected one of " + std::to_string(table.size()) + " " + what + ", got number " +
            std::to_string(index));
    return {};
  }
  return {uint32_t(index)};
}

Type Decoder::typeIndex() { return checkedIndex<Type>(in, module.types, "types"); }
StringId Decoder::stringIndex() { return checkedIndex<StringId>(in, module.strings, "strings"); }
ConstantId Decoder::constantIndex() {
  return checkedIndex<ConstantId>(in, module.constants, "constants");
}

std::vector<Type> Decoder::typeIndices() {
  std::vector<Type> types(in.count("types"));
  for (Type &type : types)
    type = typeIndex();
  return types;
}

std::vector<int64_t> Decoder::integers(unsigned width) {
  std::vector<int64_t> values(in.count("numbers", width));
  for (int64_t &value : values)
    value = in.signedLittleEndian(width);
  return values;
}

void Encoder::require(std::string_view name, unsigned minor) {
  if (!has(minor))
    fail("'" + std::string(name) + "' needs format 13." + std::to_string(minor) + ", got " +
         module.version.str());
}

void Encoder::typeIndex(Type type) {
  if (type.index >= module.types.size())
    return fail("a type is not in the module's table");
  out.varint(type.index);
}

void Encoder::stringIndex(StringId id) {
  if (id.index >= module.strings.size())
    return fail("a string is not in the module's table");
  out.varint(id.index);
}

void Encoder::constantIndex(ConstantId id) {
  if (id.index >= module.constants.size())
    return fail("a constant is not in the module's table");
  out.varint(id.index);
}

void Encoder::typeIndices(const std::vector<Type> &types) {
  out.varint(types.size());
  for (Type type : types)
    typeIndex(type);
}

void Encoder::integers(const std::vector<int64_t> &values, unsigned width) {
  out.varint(values.size());
  int64_t limit = width == 8 ? 0 : int64_t(1) << (8 * width - 1);
  for (int64_t value : values) {
    if (limit && (value < -limit || value >= limit))
      fail(std::to_string(value) + " does not fit in " + std::to_string(8 * width) + " bits");
    out.littleEndian(uint64_t(value), width);
  }
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Whether flags precede the fields of a type.
static bool hasFlags(TypeKind kind, Version version) {
  switch (kind) {
  case TypeKind::Pointer:
  case TypeKind::TensorView:
    return version.minor >= 4;
  case TypeKind::PartitionView:
  case TypeKind::GatherScatterView:
  case TypeKind::StridedView:
    return version.minor >= 3;
  default:
    return false;
  }
}

static bool isView(TypeKind kind) {
  return kind == TypeKind::PartitionView || kind == TypeKind::GatherScatterView ||
         kind == TypeKind::StridedView;
}

/// Whether a type of this kind may be nested in another.
static bool mayContain(TypeKind outer, TypeKind inner) {
  bool isElement = typeSpec(inner).isElement();
  switch (outer) {
  case TypeKind::Pointer:
  case TypeKind::TensorView:
    return isElement;
  case TypeKind::Tile:
    return isElement || inner == TypeKind::Pointer;
  default:
    return inner == TypeKind::TensorView;
  }
}

TypeData Decoder::type() {
  TypeData type;
  uint64_t tag = in.varint();
  const TypeSpec *spec = typeSpec(tag);
  if (!spec || !has(spec->since)) {
    in.fail("unknown type tag " + std::to_string(tag));
    return type;
  }
  type.kind = spec->kind;
  if (spec->isElement() || type.kind == TypeKind::Token)
    return type;
  if (type.kind == TypeKind::Function) {
    type.parameters = typeIndices();
    type.results = typeIndices();
    for (const std::vector<Type> *list : {&type.parameters, &type.results})
      for (Type each : *list)
        if (in.ok() && module[each].kind == TypeKind::Function)
          in.fail("a function cannot be passed to a function");
    return type;
  }
  auto inner = [&] {
    type.inner = typeIndex();
    if (in.ok() && !mayContain(type.kind, module[type.inner].kind))
      in.fail("'" + std::string(spec->name) + "' of '" +
              std::string(module.specOf(type.inner).name) + "'");
  };
  bool flagged = hasFlags(type.kind, module.version);
  uint64_t flags = flagged ? in.varint() : 0;
  if (flags > 1)
    in.fail("unknown flags " + std::to_string(flags) + " of a type");

  if (isView(type.kind)) {
    type.shape = integers(4);
    if (type.kind == TypeKind::StridedView)
      type.strides = integers(4);
    inner();
    if (type.kind == TypeKind::GatherScatterView)
      type.sparseDim = in.varint();
    else
      type.dimMap = integers(4);
    if (flagged ? flags != 0 : in.varint() != 0) {
      uint8_t padding = in.byte();
      if (padding > uint8_t(Padding::NegInf))
        in.fail("unknown padding " + std::to_string(padding));
      type.padding = Padding(padding);
    }
    return type;
  }
  inner();
  if (type.kind != TypeKind::Pointer)
    type.shape = integers(8);
  if (type.kind == TypeKind::TensorView) {
    type.strides = integers(8);
    if (type.strides.size() != type.shape.size())
      in.fail("a tensor with " + std::to_string(type.shape.size()) + " sizes and " +
              std::to_string(type.strides.size()) + " strides");
  }
  if (flags)
    type.pointerAttr = in.byte();
  return type;
}

void Encoder::type(const TypeData &type) {
  const TypeSpec &spec = typeSpec(type.kind);
  require(spec.name, spec.since);
  out.varint(uint64_t(type.kind));
  if (spec.isElement() || type.kind == TypeKind::Token)
    return;
  if (type.kind == TypeKind::Function) {
    typeIndices(type.parameters);
    typeIndices(type.results);
    return;
  }
  bool flagged = hasFlags(type.kind, module.version);
  bool optional = isView(type.kind) ? type.padding.has_value() : type.pointerAttr.has_value();
  if (flagged)
    out.varint(optional);

  if (isView(type.kind)) {
    integers(type.shape, 4);
    if (type.kind == TypeKind::StridedView)
      integers(type.strides, 4);
    typeIndex(type.inner);
    if (type.kind == TypeKind::GatherScatterView)
      out.varint(type.sparseDim);
    else
      integers(type.dimMap, 4);
    if (!flagged)
      out.varint(optional);
    if (optional)
      out.byte(uint8_t(*type.padding));
    return;
  }
  typeIndex(type.inner);
  if (type.kind != TypeKind::Pointer)
    integers(type.shape, 8);
  if (type.kind == TypeKind::TensorView)
    integers(type.strides, 8);
  if (optional) {
    require("pointer attribute", 4);
    out.byte(*type.pointerAttr);
  }
}

//===- FileWriter.cpp - Writing a whole file ------------------------------===//
//
// The sections of a module that was read keep their order and alignment, so that the bytes are the
// same. A module that was built gets the order of NVIDIA's frontend.
//
//===----------------------------------------------------------------------===//
#include "Codec.h"

using namespace tessera::cudatile;

namespace {
class FileWriter {
public:
  FileWriter(const Module &module, std::string &error) : module(module), error(error) {}

  std::optional<std::vector<uint8_t>> run() {
    if (!module.version.isKnown())
      error = "expected format 13.1 to 13.4, got " + module.version.str();
    out.append(kMagic);
    out.byte(module.version.major);
    out.byte(module.version.minor);
    out.littleEndian(module.tag, 2);
    for (SectionPlace place : layout())
      section(place);
    out.byte(uint8_t(SectionId::End));
    if (!error.empty())
      return std::nullopt;
    return std::move(out.bytes);
  }

private:
  bool hasLocations() const {
    for (const Function &function : module.functions)
      if (function.hasLocations)
        return true;
    return false;
  }

  std::vector<SectionPlace> layout() const {
    if (!module.layout.empty())
      return module.layout;
    std::vector<SectionPlace> places = {{SectionId::Function, 8}};
    if (!module.globals.empty())
      places.push_back({SectionId::Global, 1});
    places.push_back({SectionId::Constant, 8});
    if (hasLocations())
      places.push_back({SectionId::Debug, 8});
    places.push_back({SectionId::Type, 4});
    if (module.producer && module.version.minor >= 3)
      places.push_back({SectionId::Producer, 1});
    places.push_back({SectionId::String, 4});
    return places;
  }

  void section(SectionPlace place) {
    Encoder encoder{module, error, {}};
    write(place.id, encoder);
    out.byte(uint8_t(place.id) | (place.alignment > 1 ? kAlignedBit : 0));
    out.varint(encoder.out.bytes.size());
    if (place.alignment > 1) {
      out.varint(place.alignment);
      out.alignTo(place.alignment);
    }
    out.append(encoder.out.bytes);
  }

  void write(SectionId id, Encoder &to) {
    switch (id) {
    case SectionId::String:
      return table(to, module.strings, 4, [](Encoder &entry, const std::string &text) {
        entry.out.append({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
      });
    case SectionId::Type:
      return table(to, module.types, 4,
                   [](Encoder &entry, const TypeData &type) { entry.type(type); });
    case SectionId::Constant:
      return table(to, module.constants, 8, [](Encoder &entry, const std::vector<uint8_t> &data) {
        entry.out.varint(data.size());
        entry.out.append(data);
      });
    case SectionId::Function:
      return functions(to);
    case SectionId::Global:
      return globals(to);
    case SectionId::Debug:
      return debug(to);
    case SectionId::Producer:
      to.require("producer section", 3);
      return to.stringIndex(module.producer.value_or(StringId()));
    case SectionId::End:
      break;
    }
  }

  template <typename Entries, typename Write>
  void table(Encoder &to, const Entries &entries, unsigned width, const Write &write) {
    to.out.varint(entries.size());
    to.out.alignTo(width);
    Encoder data{module, error, {}};
    for (const auto &entry : entries) {
      to.out.littleEndian(data.out.bytes.size(), width);
      write(data, entry);
    }
    to.out.append(data.out.bytes);
  }

  void functions(Encoder &to) {
    to.out.varint(module.functions.size());
    uint64_t group = 0;
    for (const Function &function : module.functions) {
      to.stringIndex(function.name);
      to.typeIndex(function.signature);
      to.out.byte((function.isPrivate ? kPrivate : 0) | (function.isEntry ? kEntry : 0) |
                  (function.hints ? kHints : 0));
      to.out.varint(function.hasLocations ? ++group : 0);
      if (function.hints)
        to.taggedAttribute(function.hints);
      Encoder body{module, error, {}};
      body.body(function);
      to.out.varint(body.out.bytes.size());
      to.out.append(body.out.bytes);
    }
    for (unsigned i = 0; i < module.functionPadding; ++i)
      to.out.byte(kPaddingByte);
  }

  void globals(Encoder &to) {
    to.out.varint(module.globals.size());
    for (const Global &global : module.globals) {
      to.stringIndex(global.name);
      to.typeIndex(global.type);
      to.constantIndex(global.value);
      to.out.varint(global.alignment);
      if (global.isConstant || global.visibility != Visibility::Public)
        to.require("constant or private global", 3);
      if (to.has(3)) {
        to.out.varint(uint64_t(global.visibility));
        to.out.varint(global.isConstant);
      }
    }
  }

  void debug(Encoder &to) {
    std::vector<uint64_t> first, locations;
    for (const Function &function : module.functions) {
      if (!function.hasLocations)
        continue;
      first.push_back(locations.size());
      locations.push_back(function.location);
      walk(function.body, [&](const Operation &op) { locations.push_back(op.location); });
    }
    to.out.varint(first.size());
    to.out.alignTo(4);
    for (uint64_t offset : first)
      to.out.littleEndian(offset, 4);
    to.out.varint(locations.size());
    to.out.alignTo(8);
    for (uint64_t location : locations)
      to.out.littleEndian(location, 8);
    // Some readers reject an empty table.
    std::vector<DebugEntry> entries = module.debug;
    if (entries.empty())
      entries.emplace_back();
    table(to, entries, 4, [](Encoder &data, const DebugEntry &entry) {
      data.out.varint(uint64_t(entry.kind));
      for (uint64_t field : entry.fields)
        data.out.varint(field);
    });
  }

  const Module &module;
  std::string &error;
  ByteWriter out;
};
} // namespace

std::optional<std::vector<uint8_t>> tessera::cudatile::writeModule(const Module &module,
                                                                   std::string &error) {
  error.clear();
  return FileWriter(module, error).run();
}

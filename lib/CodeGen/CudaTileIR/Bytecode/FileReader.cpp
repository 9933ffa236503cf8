//===- FileReader.cpp - Reading a bytecode file ---------------------------===//
//
// A file is a header and sections in any order: the tables of strings, types and constants,
// functions, globals, debug information and the producer's name. A table is a count, offsets and
// the entries. Everything else refers to tables by index, so they are read first.
//
//===----------------------------------------------------------------------===//
#include "Codec.h"
#include <map>

using namespace tessera::cudatile;

static const char *nameOf(SectionId id) {
  static constexpr const char *names[] = {"end",      "string", "function", "debug",
                                          "constant", "type",   "global",   "producer"};
  return names[size_t(id)];
}

std::string_view tessera::cudatile::debugFields(DebugEntry::Kind kind) {
  static constexpr std::string_view fields[] = {"", "d", "ss", "ddnn", "dsnn", "dnssdn", "dd"};
  return fields[size_t(kind)];
}

namespace {
class FileReader {
public:
  FileReader(std::span<const uint8_t> bytes, std::string &error)
      : bytes(bytes), error(error), in(bytes, 0, error) {}

  std::optional<Module> run() {
    header();
    sections();
    for (SectionId needed : {SectionId::String, SectionId::Type, SectionId::Function})
      if (in.ok() && !places.count(needed))
        in.fail(std::string("there is no ") + nameOf(needed) + " section");
    strings();
    types();
    constants();
    debug();
    producer();
    globals();
    functions();
    if (!error.empty())
      return std::nullopt;
    return std::move(module);
  }

private:
  void header() {
    for (uint8_t expected : kMagic)
      if (in.byte() != expected) {
        in.fail("expected CUDA Tile IR bytecode");
        return;
      }
    module.version = {in.byte(), in.byte()};
    module.tag = uint16_t(in.littleEndian(2));
    if (in.ok() && !module.version.isKnown())
      in.fail("expected format 13.1 to 13.4, got " + module.version.str());
  }

  void sections() {
    while (in.ok()) {
      uint8_t first = in.byte();
      uint8_t id = first & ~kAlignedBit;
      if (!in.ok())
        return;
      if (id > uint8_t(SectionId::Producer)) {
        in.fail("unknown section " + std::to_string(id));
        return;
      }
      if (SectionId(id) == SectionId::End) {
        if (!in.atEnd())
          in.fail("bytes after the end of the module");
        return;
      }
      section(SectionId(id), first & kAlignedBit);
    }
  }

  void section(SectionId id, bool isAligned) {
    uint64_t length = in.varint();
    uint64_t alignment = isAligned ? in.varint() : 1;
    if (!alignment || alignment > 4096 || (alignment & (alignment - 1))) {
      in.fail("expected an alignment, got " + std::to_string(alignment));
      return;
    }
    in.alignTo(alignment);
    size_t offset = in.offset();
    if (length > in.remaining())
      in.fail(std::string("the ") + nameOf(id) + " section is longer than the file");
    if (!places.emplace(id, Place{offset, in.take(length)}).second)
      in.fail(std::string("a second ") + nameOf(id) + " section");
    module.layout.push_back({id, alignment});
  }

  /// Calls `read` with a reader of a section if it exists; unused bytes are an error.
  template <typename Read> void within(SectionId id, const Read &read) {
    auto found = places.find(id);
    if (!error.empty() || found == places.end())
      return;
    ByteReader section(found->second.bytes, found->second.offset, error);
    read(section);
    if (section.ok() && !section.atEnd())
      section.fail(std::string("unused bytes in the ") + nameOf(id) + " section");
  }

  /// Reads a table of entries with offsets of `width` bytes; unused bytes are an error.
  template <typename Read> void table(ByteReader &section, unsigned width, const Read &readEntry) {
    uint64_t size = section.varint();
    section.alignTo(width);
    if (size > section.remaining() / width)
      section.fail(std::to_string(size) + " entries do not fit in the section");
    std::vector<uint64_t> offsets;
    for (uint64_t i = 0; i < size && section.ok(); ++i)
      offsets.push_back(section.littleEndian(width));
    offsets.push_back(section.remaining());
    if (offsets.front() != 0 && size)
      section.fail("the first entry is not at the beginning");
    for (uint64_t i = 0; i < size && section.ok(); ++i) {
      if (offsets[i + 1] < offsets[i] || offsets[i + 1] > offsets.back()) {
        section.fail("the entries are not in order");
        return;
      }
      size_t base = section.offset();
      ByteReader entry(section.take(offsets[i + 1] - offsets[i]), base, error);
      readEntry(entry);
      if (entry.ok() && !entry.atEnd())
        entry.fail("unused bytes in a table's entry");
    }
  }

  void strings() {
    within(SectionId::String, [&](ByteReader &section) {
      table(section, 4, [&](ByteReader &entry) {
        auto text = entry.take(entry.remaining());
        module.strings.emplace_back(text.begin(), text.end());
      });
    });
  }

  void types() {
    within(SectionId::Type, [&](ByteReader &section) {
      table(section, 4, [&](ByteReader &entry) {
        TypeData type = Decoder{module, entry}.type();
        module.types.push_back(std::move(type));
      });
    });
  }

  void constants() {
    within(SectionId::Constant, [&](ByteReader &section) {
      table(section, 8, [&](ByteReader &entry) {
        auto data = entry.take(entry.count("bytes"));
        module.constants.emplace_back(data.begin(), data.end());
      });
    });
  }

  void debug() {
    within(SectionId::Debug, [&](ByteReader &section) {
      uint64_t groups = section.varint();
      section.alignTo(4);
      if (groups > section.remaining() / 4)
        section.fail("more functions with locations than bytes");
      for (uint64_t i = 0; i < groups && section.ok(); ++i)
        firstLocation.push_back(section.littleEndian(4));
      uint64_t size = section.varint();
      section.alignTo(8);
      if (size > section.remaining() / 8)
        section.fail("more locations than bytes");
      for (uint64_t i = 0; i < size && section.ok(); ++i)
        locations.push_back(section.littleEndian(8));
      table(section, 4, [&](ByteReader &entry) { module.debug.push_back(debugEntry(entry)); });
      for (const DebugEntry &entry : module.debug)
        checkDebugEntry(section, entry);
    });
  }

  DebugEntry debugEntry(ByteReader &entry) {
    uint64_t kind = entry.varint();
    if (kind > uint64_t(DebugEntry::Kind::CallSite)) {
      entry.fail("unknown debug entry " + std::to_string(kind));
      return {};
    }
    DebugEntry result{DebugEntry::Kind(kind), {}};
    for (char field : debugFields(result.kind))
      result.fields.push_back(field == 's' ? Decoder{module, entry}.stringIndex().index
                                           : entry.varint());
    return result;
  }

  void checkDebugEntry(ByteReader &section, const DebugEntry &entry) {
    std::string_view kinds = debugFields(entry.kind);
    for (size_t i = 0; i < entry.fields.size(); ++i)
      if (kinds[i] == 'd' && entry.fields[i] > module.debug.size())
        section.fail("debug entry " + std::to_string(entry.fields[i]) + " does not exist");
  }

  void producer() {
    within(SectionId::Producer, [&](ByteReader &section) {
      if (module.version.minor < 3)
        section.fail("a producer section needs format 13.3");
      module.producer = Decoder{module, section}.stringIndex();
    });
  }

  void globals() {
    within(SectionId::Global, [&](ByteReader &section) {
      Decoder decoder{module, section};
      size_t size = section.count("globals", 4);
      for (size_t i = 0; i < size && section.ok(); ++i) {
        Global global;
        global.name = decoder.stringIndex();
        global.type = decoder.typeIndex();
        global.value = decoder.constantIndex();
        global.alignment = section.varint();
        if (decoder.has(3)) {
          uint64_t visibility = section.varint(), isConstant = section.varint();
          if (visibility > 1 || isConstant > 1)
            section.fail("unknown flags of a global");
          global.visibility = Visibility(visibility);
          global.isConstant = isConstant;
        }
        module.globals.push_back(global);
      }
    });
  }

  void functions() {
    within(SectionId::Function, [&](ByteReader &section) {
      size_t size = section.count("functions", 5);
      for (size_t i = 0; i < size && section.ok(); ++i)
        function(section);
      while (section.ok() && !section.atEnd()) {
        if (section.byte() != kPaddingByte)
          section.fail("unused bytes in the function section");
        ++module.functionPadding;
      }
    });
  }

  void function(ByteReader &section) {
    Decoder decoder{module, section};
    Function function;
    function.name = decoder.stringIndex();
    function.signature = decoder.typeIndex();
    if (section.ok() && module[function.signature].kind != TypeKind::Function)
      section.fail("expected a function type, got '" + str(module, function.signature) + "'");
    uint8_t flags = section.byte();
    if (flags > (kPrivate | kEntry | kHints))
      section.fail("unknown flags " + std::to_string(flags) + " of a function");
    function.isPrivate = flags & kPrivate;
    function.isEntry = flags & kEntry;
    uint64_t group = section.varint();
    if (flags & kHints) {
      function.hints = decoder.taggedAttribute();
      if (section.ok() && function.hints.kind != Attribute::Kind::Hints)
        section.fail("expected optimization hints");
    }
    if (!section.ok())
      return;
    for (Type type : module[function.signature].parameters)
      function.body.arguments.push_back(function.newValue(type));
    size_t length = section.count("bytes");
    size_t offset = section.offset();
    ByteReader body(section.take(length), offset, error);
    Decoder{module, body}.body(function);
    if (section.ok() && group)
      assignLocations(section, function, group);
    module.functions.push_back(std::move(function));
  }

  void assignLocations(ByteReader &section, Function &function, uint64_t group) {
    if (group > firstLocation.size()) {
      section.fail("the debug section has no locations number " + std::to_string(group));
      return;
    }
    uint64_t next = firstLocation[group - 1];
    uint64_t end = group < firstLocation.size() ? firstLocation[group] : locations.size();
    auto take = [&]() -> uint32_t {
      if (next >= end || end > locations.size() || locations[next] > module.debug.size()) {
        section.fail("a location is missing in the debug section");
        return 0;
      }
      return uint32_t(locations[next++]);
    };
    function.hasLocations = true;
    function.location = take();
    walk(function.body, [&](Operation &op) { op.location = section.ok() ? take() : 0; });
    if (section.ok() && next != end)
      section.fail(std::to_string(end - next) + " locations too many in the debug section");
  }

  struct Place {
    size_t offset;
    std::span<const uint8_t> bytes;
  };
  std::span<const uint8_t> bytes;
  std::string &error;
  ByteReader in;
  Module module;
  std::map<SectionId, Place> places;
  std::vector<uint64_t> firstLocation, locations;
};
} // namespace

std::optional<Module> tessera::cudatile::readModule(std::span<const uint8_t> bytes,
                                                    std::string &error) {
  error.clear();
  return FileReader(bytes, error).run();
}

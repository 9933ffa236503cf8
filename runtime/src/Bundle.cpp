//===- Bundle.cpp - Writing and reading bundles ---------------------------===//

#include "tessera_rt/bundle.h"

#include "Codec.h"

namespace tessera::rt {

static constexpr char bundleMagic[4] = {'T', 'S', 'R', 'B'};
static constexpr uint32_t bundleVersion = 4;
static constexpr size_t headerBytes = 32;
static constexpr size_t headerChecksumAt = 24;
static constexpr size_t tableEntryBytes = 32;
static constexpr size_t sectionAlignment = 64;

enum SectionKind : uint32_t { ManifestSection = 1, ImageSection = 2, FunctionSection = 3 };

/// Each step (xor, multiplication by an odd number, xor-shift) is a bijection of the state, so that
/// two inputs that differ in one word only never agree.
uint64_t checksum(std::span<const uint8_t> bytes) {
  uint64_t state = 0x9e3779b97f4a7c15ull ^ bytes.size();
  size_t position = 0;
  auto mix = [&](uint64_t word) {
    state = (state ^ word) * 0xff51afd7ed558ccdull;
    state ^= state >> 32;
  };
  for (; position + 8 <= bytes.size(); position += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + position, 8);
    mix(word);
  }
  uint64_t tail = 0;
  for (size_t i = position; i < bytes.size(); ++i)
    tail |= static_cast<uint64_t>(bytes[i]) << (8 * (i - position));
  mix(tail);
  state *= 0xc4ceb9fe1a85ec53ull;
  return state ^ (state >> 29);
}

static std::vector<uint8_t> encodeImage(const CodeImage &image) {
  Writer writer;
  writer.string(image.target);
  writer.u32(static_cast<uint32_t>(image.kernels.size()));
  for (const KernelEntry &kernel : image.kernels) {
    writer.string(kernel.name);
    writer.u64(kernel.offset);
    writer.u64(kernel.scratchBytes);
    for (uint32_t size : kernel.shape.block)
      writer.u32(size);
    for (uint32_t size : kernel.shape.cluster)
      writer.u32(size);
    writer.u32(kernel.shape.sharedBytes);
    writer.u32(kernel.shape.flags);
  }
  writer.u64(image.code.size());
  writer.raw(image.code.data(), image.code.size());
  return std::move(writer.bytes);
}

static bool valid(const KernelShape &shape) {
  for (int d = 0; d < 3; ++d)
    if (shape.block[d] == 0 || shape.cluster[d] == 0)
      return false;
  return (shape.flags & ~knownKernelFlags) == 0;
}

static bool decodeImage(std::span<const uint8_t> bytes, CodeImage &image) {
  Reader reader(bytes);
  image.target = reader.string();
  uint32_t kernels = reader.count(52);
  for (uint32_t i = 0; i < kernels && reader.ok(); ++i) {
    KernelEntry &kernel = image.kernels.emplace_back();
    kernel.name = reader.string();
    kernel.offset = reader.u64();
    kernel.scratchBytes = reader.u64();
    for (uint32_t &size : kernel.shape.block)
      size = reader.u32();
    for (uint32_t &size : kernel.shape.cluster)
      size = reader.u32();
    kernel.shape.sharedBytes = reader.u32();
    kernel.shape.flags = reader.u32();
  }
  auto code = reader.raw(reader.u64());
  image.code.assign(code.begin(), code.end());
  if (!reader.atEnd())
    return false;
  for (const KernelEntry &kernel : image.kernels)
    if (kernel.offset >= image.code.size() || !valid(kernel.shape))
      return false;
  return true;
}

static std::vector<uint8_t> encodeFunction(const FunctionEntry &function) {
  Writer writer;
  writer.string(function.name);
  writer.u32(function.image);
  writer.u32(static_cast<uint32_t>(function.more.size()));
  for (uint32_t image : function.more)
    writer.u32(image);
  writer.u64(function.program.size());
  writer.raw(function.program.data(), function.program.size());
  return std::move(writer.bytes);
}

static bool decodeFunction(std::span<const uint8_t> bytes, FunctionEntry &function) {
  Reader reader(bytes);
  function.name = reader.string();
  function.image = reader.u32();
  uint32_t more = reader.count(4);
  for (uint32_t i = 0; i < more && reader.ok(); ++i)
    function.more.push_back(reader.u32());
  auto program = reader.raw(reader.u64());
  function.program.assign(program.begin(), program.end());
  return reader.atEnd();
}

static bool same(const CodeImage &a, const CodeImage &b) {
  return a.target == b.target && a.code == b.code && encodeImage(a) == encodeImage(b);
}

void append(Bundle &bundle, Bundle other) {
  std::vector<uint32_t> places;
  for (CodeImage &image : other.images) {
    uint32_t place = 0;
    while (place < bundle.images.size() && !same(bundle.images[place], image))
      ++place;
    if (place == bundle.images.size())
      bundle.images.push_back(std::move(image));
    places.push_back(place);
  }
  for (FunctionEntry &function : other.functions) {
    function.image = places[function.image];
    for (uint32_t &image : function.more)
      image = places[image];
    bundle.functions.push_back(std::move(function));
  }
}

std::vector<uint8_t> encode(const Bundle &bundle) {
  std::vector<std::pair<SectionKind, std::vector<uint8_t>>> sections;
  sections.emplace_back(ManifestSection,
                        std::vector<uint8_t>(bundle.manifest.begin(), bundle.manifest.end()));
  for (const CodeImage &image : bundle.images)
    sections.emplace_back(ImageSection, encodeImage(image));
  for (const FunctionEntry &function : bundle.functions)
    sections.emplace_back(FunctionSection, encodeFunction(function));

  Writer payload;
  Writer table;
  size_t start = headerBytes + sections.size() * tableEntryBytes;
  size_t base = (start + sectionAlignment - 1) / sectionAlignment * sectionAlignment;
  for (const auto &[kind, bytes] : sections) {
    payload.alignTo(sectionAlignment);
    table.u32(kind);
    table.u32(0);
    table.u64(base + payload.bytes.size());
    table.u64(bytes.size());
    table.u64(checksum(bytes));
    payload.raw(bytes.data(), bytes.size());
  }

  Writer writer;
  writer.raw(bundleMagic, sizeof(bundleMagic));
  writer.u32(bundleVersion);
  writer.u64(base + payload.bytes.size());
  writer.u32(static_cast<uint32_t>(sections.size()));
  writer.u32(0);
  writer.u64(0);
  writer.raw(table.bytes.data(), table.bytes.size());
  uint64_t sum = checksum(writer.bytes);
  std::memcpy(writer.bytes.data() + headerChecksumAt, &sum, 8);
  writer.alignTo(sectionAlignment);
  writer.raw(payload.bytes.data(), payload.bytes.size());
  return std::move(writer.bytes);
}

bool isBundlePrefix(std::span<const uint8_t> bytes) {
  Reader header(bytes);
  auto magic = header.raw(sizeof(bundleMagic));
  if (header.ok() && std::memcmp(magic.data(), bundleMagic, sizeof(bundleMagic)) != 0)
    return false;
  header.u32();
  uint64_t total = header.u64();
  return !header.ok() || bytes.size() <= total;
}

bool decode(std::span<const uint8_t> bytes, Bundle &bundle, std::string &error) {
  bundle = Bundle();
  auto fail = [&](std::string message) {
    error = "invalid bundle: " + std::move(message);
    return false;
  };
  Reader header(bytes);
  auto magic = header.raw(sizeof(bundleMagic));
  if (!header.ok() || std::memcmp(magic.data(), bundleMagic, sizeof(bundleMagic)) != 0)
    return fail("it does not start with TSRB");
  uint32_t version = header.u32();
  if (header.ok() && version > bundleVersion)
    return fail("it is of version " + std::to_string(version) + ", this runtime reads version " +
                std::to_string(bundleVersion) + ": a newer runtime is needed");
  if (version != bundleVersion)
    return fail("it is of version " + std::to_string(version) + ", this runtime reads version " +
                std::to_string(bundleVersion) + ": build it again with this release");
  uint64_t total = header.u64();
  if (total != bytes.size())
    return fail("expected " + std::to_string(total) + " bytes, found " +
                std::to_string(bytes.size()) + (bytes.size() < total ? ": it is truncated" : ""));
  uint32_t sections = header.u32();
  bool isZero = header.u32() == 0;
  uint64_t sum = header.u64();
  auto table = header.raw(static_cast<uint64_t>(sections) * tableEntryBytes);
  if (!header.ok())
    return fail("its section table is truncated");
  std::vector<uint8_t> head(bytes.begin(), bytes.begin() + headerBytes + table.size());
  std::memset(head.data() + headerChecksumAt, 0, 8);
  if (checksum(head) != sum)
    return fail("the checksum of its header does not match");
  if (!isZero)
    return fail("its header has a field that is not known");

  Reader entries(table);
  // Sections do not overlap: their total size, which is copied, is at most that of the file.
  uint64_t end = head.size();
  for (uint32_t i = 0; i < sections; ++i) {
    uint32_t kind = entries.u32();
    bool hasZero = entries.u32() == 0;
    uint64_t offset = entries.u64(), length = entries.u64(), sectionSum = entries.u64();
    std::string name = "section " + std::to_string(i);
    if (!hasZero)
      return fail(name + " has a field that is not known");
    if (offset > bytes.size() || length > bytes.size() - offset)
      return fail(name + " is outside of the file");
    if (offset < end)
      return fail(name + " overlaps the section before it");
    end = offset + length;
    auto section = bytes.subspan(offset, length);
    if (checksum(section) != sectionSum)
      return fail("the checksum of " + name + " does not match");
    bool good = true;
    if (kind == ManifestSection)
      bundle.manifest.assign(section.begin(), section.end());
    else if (kind == ImageSection)
      good = decodeImage(section, bundle.images.emplace_back());
    else if (kind == FunctionSection)
      good = decodeFunction(section, bundle.functions.emplace_back());
    else
      return fail(name + " is of an unknown kind");
    if (!good)
      return fail(name + " is malformed");
  }
  for (const FunctionEntry &function : bundle.functions) {
    bool isThere = function.image < bundle.images.size();
    for (uint32_t image : function.more)
      isThere &= image < bundle.images.size();
    if (!isThere)
      return fail("function '" + function.name + "' names an image that is not there");
  }
  return true;
}

} // namespace tessera::rt

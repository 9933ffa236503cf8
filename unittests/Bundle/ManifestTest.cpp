//===- ManifestTest.cpp - Manifests from other sources than the compiler --===//
#include "tessera/Bundle/Bundle.h"
#include "tessera_rt/bundle.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

std::vector<uint8_t> bundleWith(std::string manifest) {
  rt::Bundle bundle;
  bundle.manifest = std::move(manifest);
  return rt::encode(bundle);
}

/// The merged manifest of two bundles, or the error.
std::string merged(std::string first, std::string second) {
  std::vector<uint8_t> one = bundleWith(std::move(first)), two = bundleWith(std::move(second));
  std::string error;
  auto bytes = mergeBundles({one, two}, error);
  if (!bytes)
    return error;
  rt::Bundle bundle;
  return rt::decode(*bytes, bundle, error) ? bundle.manifest : error;
}

TEST(Manifest, ListsAreJoined) {
  EXPECT_EQ(merged(R"({"functions":["f"],"note":1})", R"({"functions":["f","g"],"tuples":["g"]})"),
            R"({"functions":["f","g"],"note":1,"tuples":["g"]})");
  EXPECT_EQ(merged("", R"({"functions":["g"]})"), R"({"functions":["g"]})");
}

TEST(Manifest, MalformedOnesAreRefused) {
  EXPECT_EQ(merged("{", "{}"), "the bundle's manifest is no JSON");
  EXPECT_EQ(merged("\xff\xfe", "{}"), "the bundle's manifest is no JSON");
  EXPECT_EQ(merged("{}", "[1]"), "the bundle's manifest is no JSON object");
  EXPECT_EQ(merged(R"({"functions":1})", R"({"functions":["f"]})"),
            "the bundles' manifests do not fit together");
  EXPECT_EQ(merged(R"({"functions":["f"]})", R"({"functions":1})"),
            "the bundles' manifests do not fit together");
}

TEST(Manifest, DepthIsLimited) {
  std::string deep(1000000, '['), within = R"({"a":")" + std::string(1000, '[') + R"(\"[[["})";
  EXPECT_EQ(merged(deep, "{}"), "the bundle's manifest is nested more than 32 deep");
  EXPECT_EQ(merged(within, "{}"), within);
  std::string error;
  EXPECT_FALSE(makeHeader(deep, "bundle", error));
  EXPECT_EQ(error, "the bundle's manifest is nested more than 32 deep");
  EXPECT_FALSE(makeHeader("nothing", "bundle", error));
  EXPECT_EQ(error, "the bundle's manifest is no JSON");
}

} // namespace

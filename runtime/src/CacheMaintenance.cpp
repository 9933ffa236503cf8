//===- CacheMaintenance.cpp - Counting, checking and emptying a cache -----===//

#include "CacheFiles.h"
#include "Status.h"
#include "tessera_rt/cache.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace tessera::rt;
using namespace tessera::rt::cache;

namespace {

/// Opens a cache; a missing folder is empty and not a failure.
tessera_rt_status openChecked(const Place &place, Opened &folder) {
  folder = openPlace(place);
  if (folder.ok() || folder.isMissing)
    return TESSERA_RT_OK;
  return fail(TESSERA_RT_IO, "the cache " + place.path + " is not used: " + folder.problem);
}

tessera_rt_status addUp(const std::optional<Place> &place, uint64_t &entries, uint64_t &bytes) {
  Opened folder;
  if (!place)
    return TESSERA_RT_OK;
  if (auto status = openChecked(*place, folder))
    return status;
  if (folder.ok())
    walk(folder.fd(), [&](int, const std::string &, const struct stat &info) {
      ++entries;
      bytes += static_cast<uint64_t>(info.st_size);
    });
  return TESSERA_RT_OK;
}

/// Why an entry would not be loaded; empty if it would.
std::string problemOf(int shard, const std::string &hash) {
  Opened file = openFile(shard, fileOf(hash));
  if (!file.ok())
    return file.isMissing ? "" : file.problem; // evicted meanwhile
  Loaded loaded;
  Verdict verdict = load(file, loaded);
  if (verdict.kind != Verdict::Good)
    return verdict.reason;
  return cacheKey(loaded.entry.key) == hash ? "" : "it was made for another key";
}

} // namespace

tessera_rt_status tessera_rt_cache_get_info(tessera_rt_cache_info *result) {
  tessera_rt_cache_info info = {};
  std::string problem;
  info.struct_bytes = result->struct_bytes;
  info.limit = limitFromEnvironment(problem);
  if (!problem.empty())
    return fail(TESSERA_RT_INVALID, problem);
  if (auto status = addUp(ownPlace(), info.entries, info.bytes))
    return status;
  if (auto status = addUp(sharedPlace(), info.shared_entries, info.shared_bytes))
    return status;
  std::memcpy(result, &info, std::min<uint64_t>(result->struct_bytes, sizeof(info)));
  return TESSERA_RT_OK;
}

tessera_rt_status tessera_rt_cache_verify(tessera_rt_cache_tell tell, void *user,
                                          uint64_t *checked) {
  uint64_t refused = 0;
  *checked = 0;
  for (const std::optional<Place> &place : {ownPlace(), sharedPlace()}) {
    if (!place)
      continue;
    auto refuse = [&](const std::string &path, const std::string &reason) {
      ++refused;
      tell(user, path.c_str(), reason.c_str());
    };
    auto refuseInside = [&](const std::string &path, const std::string &reason) {
      refuse(place->path + "/" + path, reason);
    };
    Opened folder = openPlace(*place);
    if (!folder.ok()) {
      if (!folder.isMissing)
        refuse(place->path, folder.problem);
      continue;
    }
    walk(
        folder.fd(),
        [&](int shard, const std::string &hash, const struct stat &) {
          ++*checked;
          if (std::string problem = problemOf(shard, hash); !problem.empty())
            refuseInside(shardOf(hash) + "/" + fileOf(hash), problem);
        },
        refuseInside);
    for (const std::string &name : namesIn(folder.fd())) {
      if (!isTableName(name))
        continue;
      Opened table = openFile(folder.fd(), name);
      if (!table.ok() && !table.isMissing)
        refuseInside(name, table.problem);
      else if (table.ok() && static_cast<uint64_t>(table.info.st_size) > maxTableBytes)
        refuseInside(name, "expected at most " + formatBytes(maxTableBytes));
    }
  }
  if (!refused)
    return TESSERA_RT_OK;
  return fail(TESSERA_RT_INVALID, std::to_string(refused) + (refused == 1 ? " file" : " files") +
                                      " would not be loaded");
}

tessera_rt_status tessera_rt_cache_clear(uint64_t *entries, uint64_t *bytes) {
  *entries = *bytes = 0;
  std::optional<Place> place = ownPlace();
  Opened folder;
  if (!place)
    return TESSERA_RT_OK;
  if (auto status = openChecked(*place, folder))
    return status;
  if (!folder.ok())
    return TESSERA_RT_OK;
  std::string problem;
  auto remove = [&](int at, const std::string &name) {
    bool isGone = unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT;
    if (!isGone && problem.empty())
      problem = place->path + ": " + name + ": " + std::strerror(errno);
    return isGone;
  };
  // Only files that this library creates: the folder may have been named by mistake.
  walk(folder.fd(), [&](int shard, const std::string &hash, const struct stat &info) {
    if (remove(shard, fileOf(hash))) {
      ++*entries;
      *bytes += static_cast<uint64_t>(info.st_size);
    }
  });
  if (Opened temporaries = openFolder(folder.fd(), temporariesName); temporaries.ok())
    for (const std::string &name : namesIn(temporaries.fd()))
      remove(temporaries.fd(), name);
  remove(folder.fd(), usageName);
  for (const std::string &name : namesIn(folder.fd())) {
    if (isTableName(name) && !isMeasuredTable(name))
      remove(folder.fd(), name);
    else if (isHexadecimal(name, 2) || name == temporariesName)
      unlinkat(folder.fd(), name.c_str(), AT_REMOVEDIR); // folders that are not empty are kept
  }
  return problem.empty() ? TESSERA_RT_OK : fail(TESSERA_RT_IO, problem);
}

//===- Tuning.cpp - Measurements in the cache -----------------------------===//
#include "Tuning.h"

#include "tessera/Dialect/Schedule/Transforms/Passes.h"
#include "tessera_rt.h"
#include "tessera_rt/cache.h"

#include <mutex>
#include <set>

namespace tessera {

static std::string tableName(const std::string &device) { return "tuning-" + device + ".txt"; }

static void tellOnce(const std::string &path, const std::string &problem) {
  static std::mutex mutex;
  static std::set<std::string> reported;
  std::string text = path + ": " + problem;
  std::lock_guard lock(mutex);
  if (reported.insert(text).second)
    tessera_rt_log(TESSERA_RT_LOG_WARNING, text.c_str());
}

std::unique_ptr<mlir::Pass> createTuningPass(const std::string &device, const std::string &via) {
  std::vector<std::string> problems;
  auto table = std::make_shared<const TuningTable>();
  std::string path;
  if (std::optional<rt::CacheTable> found = rt::cacheTable(tableName(device))) {
    path = found->path;
    TuningVersions versions{TESSERA_VERSION_STRING, ""};
    table = std::make_shared<const TuningTable>(
        TuningTable::parse(found->text, device, versions, problems));
  }
  for (const std::string &problem : problems)
    tellOnce(path, problem);
  return sched::createScheduleApplyTuning(
      table, via, [path](const std::string &problem) { tellOnce(path, problem); });
}

bool isTuned(mlir::ModuleOp module) {
  return module
      .walk([](sched::KernelOp kernel) {
        return kernel->hasAttr(sched::kTuned) ? mlir::WalkResult::interrupt()
                                              : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

void tellUnusableTuning(const std::string &device) {
  std::optional<rt::CacheTable> found = rt::cacheTable(tableName(device));
  tellOnce(
      found ? found->path : tableName(device),
      "no code could be made with measured tiles, launch and tuning; the cost model's are taken");
}

} // namespace tessera

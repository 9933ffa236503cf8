//===- metrics.h - The runtime's counters -----------------------*- C++ -*-===//
#ifndef TESSERA_INTEGRATION_CPP_METRICS_H
#define TESSERA_INTEGRATION_CPP_METRICS_H

#include <tessera_rt.h>

/// Kernels on GPUs so far.
inline uint64_t launches() {
  tessera_rt_metrics metrics = {};
  metrics.struct_bytes = sizeof(metrics);
  tessera_rt_get_metrics(&metrics);
  return metrics.device_launches;
}

#endif

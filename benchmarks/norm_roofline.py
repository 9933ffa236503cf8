#!/usr/bin/env python3
"""Layer norm beside upper bounds: C code for exactly this shape, and a copy of the same bytes.

All are interleaved, each writes a new array, and then a plain sum reads the result: non-temporal
stores are faster to write and slower to read. Ratios are PyTorch's time by the row's, of the best
and the median of all rounds.

Usage: norm_roofline.py [--threads 1] [--shape 2048x1024] [--seconds 20]; needs PyTorch and a C
compiler.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent / "build" / "python"))

PROGRAM = r"""
#include <math.h>
#include <string.h>
typedef float Vector __attribute__((vector_size(64), aligned(4)));
typedef float Line __attribute__((vector_size(64)));
static float sum(Vector v) { float s = 0; for (int i = 0; i < 16; i++) s += v[i]; return s; }

// One pass for both sums of a row, one over the row while it is near. Columns are a multiple of 64.
#define NORM(name, STORE) \
  void name(const float *x, const float *w, const float *b, float *y, long rows, long columns) { \
    for (long i = 0; i < rows; ++i, x += columns, y += columns) { \
      Vector first = x[0] - (Vector){}, s[4] = {}, q[4] = {}; \
      for (long j = 0; j < columns; j += 64) \
        for (int k = 0; k < 4; ++k) { \
          Vector v = *(const Vector *)(x + j + 16 * k) - first; \
          s[k] += v; \
          q[k] += v * v; \
        } \
      float mean = sum(s[0] + s[1] + s[2] + s[3]) / columns; \
      float square = sum(q[0] + q[1] + q[2] + q[3]) / columns; \
      float scale = 1 / sqrtf(square - mean * mean + 1e-5f), shift = -(x[0] + mean) * scale; \
      for (long j = 0; j < columns; j += 16) \
        STORE((*(const Vector *)(x + j) * scale + shift) * *(const Vector *)(w + j) + \
              *(const Vector *)(b + j), y + j); \
    } \
  }
#define USUAL(value, at) *(Line *)(at) = (Line)(value)
#define PAST(value, at) __builtin_nontemporal_store((Line)(value), (Line *)(at))
NORM(norm, USUAL)
NORM(norm_past_caches, PAST)
void copy(const float *x, const float *w, const float *b, float *y, long rows, long columns) {
  memcpy(y, x, sizeof(float) * rows * columns);
}
float total(const float *x, long count) {
  Vector s[8] = {};
  for (long j = 0; j < count; j += 128)
    for (int k = 0; k < 8; ++k)
      s[k] += *(const Vector *)(x + j + 16 * k);
  for (int k = 1; k < 8; ++k)
    s[0] += s[k];
  return sum(s[0]);
}
"""


def build() -> ctypes.CDLL:
    folder = tempfile.mkdtemp()
    source, library = Path(folder, "norm.c"), Path(folder, "norm.so")
    source.write_text(PROGRAM)
    compiler = os.environ.get("CC", "clang-22")
    subprocess.run(
        [compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library, "-lm"],
        check=True,
    )
    return ctypes.CDLL(str(library))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def aligned(like: np.ndarray) -> np.ndarray:
    raw = np.empty(like.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + like.nbytes].view(like.dtype).reshape(like.shape)


def shared(function, x, w, b, threads):
    """The function on equal parts of the rows."""

    def call():
        y = aligned(x)
        parts = zip(np.array_split(x, threads), np.array_split(y, threads))
        jobs = [
            (pointer(p), pointer(w), pointer(b), pointer(q), *map(ctypes.c_long, p.shape))
            for p, q in parts
        ]
        helpers = [threading.Thread(target=function, args=job) for job in jobs[1:]]
        for helper in helpers:
            helper.start()
        function(*jobs[0])
        for helper in helpers:
            helper.join()
        return y

    return call


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shape", default="2048x1024")
    parser.add_argument("--seconds", type=float, default=20)
    arguments = parser.parse_args()
    import tessera as tsr
    import torch
    from tessera.bench.kernels import rows

    tsr.set_num_threads(arguments.threads)
    torch.set_num_threads(arguments.threads)
    shape = tuple(map(int, arguments.shape.split("x")))
    x, w, b = rows.operands("layer_norm", shape)
    tensors = [torch.from_numpy(a) for a in (x, w, b)]
    library = build()
    library.total.restype = ctypes.c_float
    calls = {
        "tessera": lambda: rows.layer_norm(x, w, b),
        "PyTorch": lambda: torch.nn.functional.layer_norm(
            tensors[0], shape[1:], *tensors[1:], 1e-5
        ),
        "C": shared(library.norm, x, w, b, arguments.threads),
        "C, past caches": shared(library.norm_past_caches, x, w, b, arguments.threads),
        "memcpy": shared(library.copy, x, w, b, arguments.threads),
    }
    for name in ("PyTorch", "C", "C, past caches"):
        np.testing.assert_allclose(
            np.asarray(calls[name]()), calls["tessera"](), rtol=1e-4, atol=1e-4
        )
    # Spinning threads use processor time too: with several threads, wall time is fairer.
    clock = time.process_time_ns if arguments.threads == 1 else time.perf_counter_ns
    written = {name: [] for name in calls}
    read = {name: [] for name in calls}
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        for name, call in calls.items():
            call()
            start = clock()
            result = call()
            middle = clock()
            library.total(pointer(np.asarray(result)), ctypes.c_long(x.size))
            read[name].append((clock() - middle) / 1e6)
            written[name].append((middle - start) / 1e6)
    print(
        f"layer norm {arguments.shape} fp32, {arguments.threads} thread(s), load {os.getloadavg()[0]:.1f}, "
        f"{len(read['C'])} rounds; ms"
    )
    print(
        f"{'':16}{'best':>8}{'median':>8}{'ratio of best':>15}{'median ratio':>14}{'with a reader':>15}"
    )
    for name in calls:
        own, peer = np.array(written[name]), np.array(written["PyTorch"])
        whole = own + np.array(read[name]), peer + np.array(read["PyTorch"])
        print(
            f"{name:16}{own.min():8.3f}{np.median(own):8.3f}{peer.min() / own.min():15.2f}"
            f"{np.median(peer / own):14.2f}{np.median(whole[1] / whole[0]):15.2f}"
        )


if __name__ == "__main__":
    main()

"""The lit suite: one small file per op, pass or message, in the directory that mirrors lib/."""

import os
import shutil
import sys
from pathlib import Path

import lit.formats
import lit.util

if not hasattr(config, "tessera_build"):
    # Started as `lit test/…`: continue with the configuration that CMake wrote for build/.
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    lit_config.load_config(config, os.path.join(top, "build", "test", "lit.site.cfg.py"))
else:
    config.name = "Tessera"
    config.test_format = lit.formats.ShTest(execute_external=False)
    config.suffixes = [".mlir", ".py", ".tsr", ".test"]
    config.excludes = [
        "lit.cfg.py",
        "CMakeLists.txt",
        "Inputs",
        "check_layers.py",
        "check_words.py",
        "check_prefixes.py",
    ]
    config.test_source_root = os.path.join(config.tessera_source, "test")

    bin_dir = os.path.join(config.tessera_build, "bin")
    venv_python = os.path.join(config.tessera_source, ".venv", "bin", "python")
    python = venv_python if os.path.exists(venv_python) else sys.executable

    # A cache of its own: a test sees neither the user's compiled kernels nor another run's.
    cache = os.path.join(config.test_exec_root, "cache")
    shutil.rmtree(cache, ignore_errors=True)
    config.environment["TESSERA_CACHE"] = cache
    config.environment["PYTHONPATH"] = os.path.join(config.tessera_build, "python")
    config.environment["NO_COLOR"] = "1"

    # Longest name first: lit substitutes in order, and %tessera begins %tessera_opt.
    config.substitutions += [
        ("%tessera_opt", os.path.join(bin_dir, "tessera-opt")),
        ("%tessera", os.path.join(bin_dir, "tessera")),
        ("%python", python),
        ("%src", config.tessera_source),
        ("%build", config.tessera_build),
    ]
    config.environment["PATH"] = os.pathsep.join(
        [bin_dir, config.llvm_tools, config.environment.get("PATH", os.environ.get("PATH", ""))]
    )

    # Back ends for both hosts are in every build; these say what code can also be run here.
    config.available_features.add(config.host_arch)
    with open("/proc/cpuinfo") as cpuinfo:
        flags = set(cpuinfo.read().split())
    config.available_features |= flags & {"avx2", "avx512f", "sve"}
    if config.sanitizer:  # binaries are larger, slower and need the checking library
        config.available_features.add("sanitizer")
    if os.path.exists("/dev/nvidiactl"):
        config.available_features.add("cuda")
    # NVIDIA's assembler comes with the one for CUDA Tile IR (make tileiras), and with CUDA.
    installed = [
        os.path.join(config.tessera_source, ".venv"),
        "/usr/local/cuda/bin",
        "/opt/cuda/bin",
    ]
    places = [p for root in installed for p in sorted(Path(root).rglob("ptxas"))]
    if places or shutil.which("ptxas"):
        config.available_features.add("ptxas")
        config.substitutions.append(("%ptxas", str(places[0]) if places else shutil.which("ptxas")))

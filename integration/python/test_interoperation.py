"""Other libraries through DLPack alone, other processes, other interpreters.

The library here is minimal: arrays with `__dlpack__`, and a namespace whose `from_dlpack` reads
capsules itself, so that types occur which NumPy does not support.
"""

import ctypes
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import types
import weakref

import numpy as np
import pytest
import tessera as tsr

ml_dtypes = pytest.importorskip("ml_dtypes")


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Unversioned(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_DTYPES = {
    (0, 8): np.int8,
    (0, 16): np.int16,
    (0, 32): np.int32,
    (0, 64): np.int64,
    (1, 8): np.uint8,
    (2, 16): np.float16,
    (2, 32): np.float32,
    (2, 64): np.float64,
    (4, 16): ml_dtypes.bfloat16,
    (6, 8): np.bool_,
    (10, 8): ml_dtypes.float8_e4m3fn,
    (12, 8): ml_dtypes.float8_e5m2,
}
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Array:
    """An array of the library: NumPy's memory, or that of a capsule."""

    def __init__(self, memory, keep=None):
        self.memory, self.keep = memory, keep

    def __dlpack__(self, **options):
        return self.memory.__dlpack__(**options)

    def __dlpack_device__(self):
        return (1, 0)

    def __array__(self, *_, **__):
        return self.memory

    def __array_namespace__(self):
        return namespace

    def __setitem__(self, index, value):
        self.memory[index] = value.memory


def from_dlpack(exporter, version=None):
    assert exporter.__dlpack_device__() == (1, 0)
    capsule = exporter.__dlpack__() if version is None else exporter.__dlpack__(max_version=version)
    kind, name = (
        (_Unversioned, b"dltensor") if version is None else (_Versioned, b"dltensor_versioned")
    )
    managed = kind.from_address(_pointer_of(capsule, name))
    _rename(capsule, b"used_dltensor")
    tensor = managed.tensor
    shape = tuple(tensor.shape[: tensor.ndim])
    dtype = np.dtype(_DTYPES[tensor.code, tensor.bits])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = (ctypes.c_uint8 * size).from_address(tensor.data or 0)
    memory = np.frombuffer(raw, dtype).reshape(shape) if size else np.empty(shape, dtype)
    assert tuple(tensor.strides[: tensor.ndim]) == tuple(
        int(np.prod(shape[i + 1 :], dtype=np.int64)) for i in range(len(shape))
    )
    array = Array(memory)
    weakref.finalize(array, managed.deleter, ctypes.addressof(managed))
    return array


namespace = types.SimpleNamespace(from_dlpack=from_dlpack)


@tsr.function
def double(x):
    return x + x


@tsr.function
def both(x):
    return x + x, tsr.sum(x)


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [kind for kind in _DTYPES.values() if kind is not np.bool_])
def test_types(dtype):
    x = np.arange(12).reshape(3, 4).astype(dtype)
    for _ in range(2):
        y = double(Array(x))
        assert type(y) is Array and y.memory.dtype == dtype
        np.testing.assert_array_equal(y.memory.astype(float), 2 * x.astype(float))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (7, 5), (300, 300)])
def test_shapes_and_several_results(shape):
    x = np.ones(shape, np.float32)
    y, total = both(Array(x))
    assert type(y) is Array and type(total) is Array
    np.testing.assert_array_equal(y.memory, 2 * x)
    assert total.memory == x.sum() and y.memory.shape == shape and total.memory.shape == ()
    assert not x.size or address(y.memory) % 64 == 0


@pytest.mark.parametrize("version", [None, (1, 0), (1, 1)])
def test_both_kinds_of_capsules(version, monkeypatch):
    monkeypatch.setattr(namespace, "from_dlpack", lambda exporter: from_dlpack(exporter, version))
    x = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(double(Array(x)).memory, 2 * x)


def test_nothing_is_copied(monkeypatch):
    from tessera.arrays import adapt

    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (x, x.T, x[::2, 1::2], x[::-1], x[:, :0]):
        specification, *_ = adapt("x", Array(view))
        assert specification[0] == address(view) and specification[2] == view.shape
        np.testing.assert_array_equal(double(Array(view)).memory, view + view)
    taken = []
    monkeypatch.setattr(namespace, "from_dlpack", lambda one: taken.append(one) or from_dlpack(one))
    y = double(Array(x))
    assert len(taken) == 1
    again = from_dlpack(taken[0])
    assert address(again.memory) == address(y.memory)


def test_memory_is_given_back():
    x = np.ones((512, 512), np.float32)
    double(Array(x))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    gc.collect()
    before = resident()
    for _ in range(100):
        double(Array(x))
    gc.collect()
    assert resident() - before < 32 << 20  # of 100 MiB


def test_a_capsule_that_nobody_takes():
    kept = []
    broken = types.SimpleNamespace(from_dlpack=lambda one: kept.append(one.__dlpack__()))

    class Careless(Array):
        def __array_namespace__(self):
            return broken

    double(Careless(np.ones(5, np.float32)))
    assert "dltensor" in repr(kept.pop())


def test_read_only_arrays():
    x = np.ones(5, np.float32)
    x.flags.writeable = False
    np.testing.assert_array_equal(double(Array(x)).memory, x + x)
    with pytest.raises(tsr.ArgumentError, match="out: expected an array that can be written"):
        double(np.ones(5, np.float32), out=Array(x))


def test_out():
    x = np.arange(6, dtype=np.float32)
    out = Array(np.empty(6, np.float32))
    assert double(Array(x), out=out) is out
    np.testing.assert_array_equal(out.memory, x + x)
    same = Array(x.copy())
    assert double(same, out=same) is same  # in place
    np.testing.assert_array_equal(same.memory, x + x)
    plain = np.empty(6, np.float32)
    assert double(Array(x), out=plain) is plain
    np.testing.assert_array_equal(plain, x + x)


def test_libraries_mix():
    @tsr.function
    def add(x, y):
        return x + y

    x = np.arange(6, dtype=np.float32)
    assert type(add(Array(x), x)) is Array and type(add(x, Array(x))) is np.ndarray


def test_arrays_without_memory():
    class Traced(Array):
        def __dlpack_device__(self):
            raise AttributeError("no memory")

    with pytest.raises(
        tsr.ArgumentError, match="argument 'x': expected an array with memory, found T"
    ):
        double(Traced(np.ones(3)))


def test_bf16_without_ml_dtypes():
    """NumPy needs ml_dtypes for bf16; the other library does not."""

    @tsr.function
    def narrow(x):
        return x.to(tsr.bf16)

    x = np.arange(6, dtype=np.float32)
    assert narrow(Array(x)).memory.dtype == ml_dtypes.bfloat16
    assert narrow(x).dtype == ml_dtypes.bfloat16


class Layer:
    scale = 3.0

    @tsr.function
    def forward(self, x):
        """Scales."""
        return x * self.scale


def test_pickling_is_by_name():
    assert pickle.loads(pickle.dumps(double)) is double
    assert pickle.loads(pickle.dumps(Layer.forward)) is Layer.forward
    layer = Layer()
    layer.scale = 4.0
    again = pickle.loads(pickle.dumps(layer.forward))
    assert again(np.ones(2, np.float32)).tolist() == [4, 4]


def test_what_cannot_be_pickled():
    @tsr.function
    def local(x):
        return x

    for function in (local, tsr.function(lambda x: x)):
        with pytest.raises(pickle.PicklingError, match="cannot be pickled: pickle stores its name"):
            pickle.dumps(function)
    with pytest.raises(pickle.PicklingError, match="write it with save"):
        pickle.dumps(double.compile(np.ones(3, np.float32)))


def run(program):
    here = os.path.dirname(__file__)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method):
    done = run(f"""
        import multiprocessing
        import numpy as np
        from test_interoperation import Layer, double

        if __name__ == "__main__":
            x = np.ones((100, 30), np.float32)
            double(x)
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                assert all((y == 2).all() for y in pool.map(double, [x] * 4))
                assert all((y == 3).all() for y in pool.map(Layer().forward, [x] * 4))
    """)
    assert done.returncode == 0, done.stderr


def test_sub_interpreters_are_refused():
    """Whether the package was imported before or not; the main interpreter's stays usable."""
    for first in ("import tessera", "pass"):
        done = run(f"""
            import sys
            {first}
            try:
                import _interpreters as interpreters
            except ImportError:
                import _xxsubinterpreters as interpreters
            other = interpreters.create()
            code = "import sys; sys.path[:] = " + repr(sys.path) + "; import tessera"
            try:
                failure = interpreters.run_string(other, code)
            except Exception as error:
                failure = error
            print(failure)
            import numpy, test_interoperation
            assert test_interoperation.double(numpy.ones(2)).tolist() == [2, 2]
        """)
        assert done.returncode == 0, done.stderr
        assert "tessera cannot be imported in a sub-interpreter" in done.stdout


def test_imported_anew():
    done = run("""
        import sys, numpy, test_interoperation
        old = test_interoperation.double
        for name in [name for name in sys.modules if name.startswith("tessera")]:
            del sys.modules[name]
        del sys.modules["test_interoperation"]
        import test_interoperation
        for double in (old, test_interoperation.double):
            assert double(numpy.ones(3)).tolist() == [2, 2, 2]
    """)
    assert done.returncode == 0, done.stderr

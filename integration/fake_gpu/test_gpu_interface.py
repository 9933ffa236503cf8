"""Arrays with `__cuda_array_interface__`, such as CuPy's."""

import sys
import types

import fake
import numpy as np
import pytest

import tessera as tsr

pytestmark = pytest.mark.assembles


class Array:
    """The used part of CuPy's array, in host memory."""

    def __init__(self, shape, dtype="float32", device=0, strides=None, frozen=False):
        self.memory = np.zeros(int(np.prod(shape)) + 64, dtype)
        offset = -self.memory.ctypes.data % 256 // self.memory.itemsize
        self.view = self.memory[offset : offset + int(np.prod(shape))].reshape(shape)
        self.ordinal = device
        self.__cuda_array_interface__ = {
            "data": (self.view.ctypes.data, frozen),
            "shape": tuple(shape),
            "strides": strides,
            "typestr": self.memory.dtype.str,
            "version": 3,
        }

    def __dlpack_device__(self):
        return 2, self.ordinal

    def __setitem__(self, key, value):
        self.view[key] = value.view


class Place:
    """A device or a stream that is made current."""

    current = {"device": 0, "stream": 0}

    def __init__(self, kind, number):
        self.kind, self.number = kind, number

    def __enter__(self):
        self.before = self.current[self.kind]
        self.current[self.kind] = self.number

    def __exit__(self, *_):
        self.current[self.kind] = self.before


@pytest.fixture
def library(monkeypatch):
    """A library `fake_cupy`, whose arrays record where they were created."""
    module = types.ModuleType("fake_cupy")

    def empty(shape, dtype):
        made = Array(shape, dtype, Place.current["device"])
        made.stream = Place.current["stream"]
        return made

    module.empty = empty
    module.cuda = types.SimpleNamespace(
        Device=lambda number: Place("device", number),
        ExternalStream=lambda handle: Place("stream", handle),
        get_current_stream=lambda: types.SimpleNamespace(ptr=Place.current["stream"]),
    )
    monkeypatch.setattr(Array, "__module__", "fake_cupy")
    monkeypatch.setitem(sys.modules, "fake_cupy", module)
    return module


@tsr.function
def double(x):
    return x + x


def test_results_are_made_on_the_arrays_device_and_stream(library):
    made = double(Array((8, 64)))
    assert type(made) is Array and made.ordinal == 0
    assert made.__cuda_array_interface__["data"][0] in fake.last_launch()[1]
    assert double(Array((8, 64), device=1)).ordinal == 1
    stream, other = fake.new_stream(), fake.new_stream()
    with Place("stream", stream):
        double(Array((8, 64)))
        assert fake.last_launch()[0] == stream
        made = double(Array((8, 64)), stream=other)
        assert fake.last_launch()[0] == other and made.stream == other


def test_results_that_are_given(library):
    x, out = Array((8, 64)), Array((8, 64))
    assert double(x, out=out) is out
    with pytest.raises(tsr.ArgumentError, match="found a read-only one"):
        double(x, out=Array((8, 64), frozen=True))
    with pytest.raises(tsr.ArgumentError, match="found one on cuda:1"):
        double(x, out=Array((8, 64), device=1))


def test_layouts_and_types(library):
    reversed_rows = Array((8, 64), strides=(-256, 4))
    double(reversed_rows)
    with pytest.raises(tsr.ArgumentError, match="multiples of the element's size"):
        double(Array((8, 64), strides=(256, 6)))
    with pytest.raises(tsr.ArgumentError, match="expected an element type of"):
        double(Array((8,), dtype="complex64"))
    with pytest.raises(tsr.ArgumentError, match="expected an element type of"):
        double(Array((8,), dtype=">f4"))


def test_no_memory(library):
    def empty(shape, dtype):
        raise MemoryError

    library.empty = empty
    with pytest.raises(tsr.OutOfMemoryError, match=r"a result has the shape \(8, 64\)"):
        double(Array((8, 64)))


def test_a_library_that_cannot_make_arrays(library):
    del library.empty
    x, out = Array((8, 64)), Array((8, 64))
    with pytest.raises(tsr.DeviceError, match="pass an array as out="):
        double(x)
    assert double(x, out=out) is out

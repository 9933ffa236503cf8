"""Files of weights beside bundles."""

import json

import numpy as np
import pytest
import tessera as tsr
from tessera import weights

HEADER = {"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}


@pytest.mark.parametrize(
    "header, message",
    [
        (b"", "no header"),
        (b"\xff" * 8, "no header"),
        (b"[]", "no JSON object"),
        (b"{", "no JSON"),
        ({"w": {**HEADER["w"], "dtype": "X"}}, "no type"),
        ({"w": {**HEADER["w"], "shape": [3]}}, "not as long"),
        ({"w": {**HEADER["w"], "data_offsets": [8, 16]}}, "not as long"),
        ({"w": {**HEADER["w"], "shape": [-2]}}, "no shape"),
        ({"__metadata__": [], **HEADER}, "metadata"),
    ],
)
def test_files_that_are_not_weights(header, message, tmp_path):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    is_short = header in (b"", b"\xff" * 8)
    data = text if is_short else len(text).to_bytes(8, "little") + text + bytes(8)
    (tmp_path / "w.safetensors").write_bytes(data)
    with pytest.raises(tsr.TesseraError, match=message):
        weights.read(tmp_path / "w.safetensors")


@tsr.function
def scaled(w, x):
    return w * x


def test_weights_are_first_arguments(tmp_path):
    w, x = np.arange(4, dtype=np.float32), np.full(4, 3, np.float32)
    scaled.compile(w, x).save(tmp_path / "scaled.tsb")
    order = {"function": "scaled", "parameters": '["w"]'}
    tensors = {"v": (tsr.int8, (3,), bytes(3)), "w": (tsr.fp32, (4,), w.tobytes())}
    weights.write(tmp_path / "a.safetensors", tensors, order)
    bundle = tsr.load(tmp_path / "scaled.tsb", weights=tmp_path / "a.safetensors")
    assert np.array_equal(bundle.scaled(x), w * x)
    out = np.empty(4, np.float32)
    assert bundle.scaled(x, out=out) is out and np.array_equal(out, w * x)


def test_weights_of_another_bundle(tmp_path):
    one = np.ones(4, np.float32)
    scaled.compile(one, one).save(tmp_path / "scaled.tsb")
    dtype = tsr.fp32
    weights.write(tmp_path / "a.safetensors", {"w": (dtype, (1,), bytes(4))}, {})
    with pytest.raises(tsr.TesseraError, match="does not say"):
        tsr.load(tmp_path / "scaled.tsb", weights=tmp_path / "a.safetensors")
    order = {"function": "forward", "parameters": '["w"]'}
    weights.write(tmp_path / "a.safetensors", {"w": (dtype, (1,), bytes(4))}, order)
    with pytest.raises(tsr.TesseraError, match="no function 'forward'"):
        tsr.load(tmp_path / "scaled.tsb", weights=tmp_path / "a.safetensors")

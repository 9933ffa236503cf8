"""Trains a small GPT on text that is made here, with NumPy and Tessera only.

    python examples/train.py --plot loss.svg

The text has sums in words, such as "two plus three is five". The model reads characters; at the
end it completes some sums. Gradients come from `tsr.value_and_grad`; AdamW is a function like
others.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import tessera as tsr
from tessera import Tensor

WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 2, 64, 8
WORDS = "zero one two three four five six seven eight".split()


def make_text(sentences: int = 2000) -> str:
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, 5, (sentences, 2))
    return "".join(f"{WORDS[a]} plus {WORDS[b]} is {WORDS[a + b]}. " for a, b in pairs)


TEXT = make_text()
LETTERS = sorted(set(TEXT))


def encode(text: str) -> np.ndarray:
    return np.array([LETTERS.index(letter) for letter in text])


# -- the model -------------------------------------------------------------------------------------


@tsr.function
def attend(x: Tensor["B", "T", "D"], qkv: Tensor["D", "E"], out: Tensor["D", "D"]):
    heads = (x @ qkv).reshape(B, T, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
    q, k, v = heads[0], heads[1], heads[2]
    scores = q @ k.mT / math.sqrt(D // HEADS)
    i = tsr.iota(scores.shape, dim=-2)
    j = tsr.iota(scores.shape, dim=-1)
    scores = tsr.where(j <= i, scores, -tsr.inf)
    return (tsr.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(B, T, D) @ out


@tsr.function
def gpt(
    tokens: Tensor["B", "T"], embed: Tensor["V", "D"], place, norm1, qkv, out, norm2, up, down, last
):
    x = tsr.embedding(tokens, embed) + place[:T]
    for layer in range(LAYERS):
        x = x + attend(tsr.rms_norm(x, (D,), norm1[layer]), qkv[layer], out[layer])
        hidden = tsr.gelu(tsr.rms_norm(x, (D,), norm2[layer]) @ up[layer])
        x = x + hidden @ down[layer]
    return tsr.rms_norm(x, (D,), last) @ embed.mT


@tsr.function
def loss(tokens, targets, embed, place, norm1, qkv, out, norm2, up, down, last):
    logits = gpt(tokens, embed, place, norm1, qkv, out, norm2, up, down, last)
    return tsr.cross_entropy(logits.flatten(0, 1), targets.flatten())


def parameters(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)

    def normal(*shape: int, scale: float = 0.05) -> np.ndarray:
        return scale * rng.standard_normal(shape, np.float32)

    return {
        "embed": normal(len(LETTERS), WIDTH),
        "place": normal(CONTEXT, WIDTH),
        "norm1": np.ones((LAYERS, WIDTH), np.float32),
        "qkv": normal(LAYERS, WIDTH, 3 * WIDTH),
        "out": normal(LAYERS, WIDTH, WIDTH),
        "norm2": np.ones((LAYERS, WIDTH), np.float32),
        "up": normal(LAYERS, WIDTH, 4 * WIDTH),
        "down": normal(LAYERS, 4 * WIDTH, WIDTH),
        "last": np.ones(WIDTH, np.float32),
    }


# -- training --------------------------------------------------------------------------------------


@tsr.function
def adamw(p, g, m, v, rate: float, step: float):
    """A parameter and its two moments after a step of AdamW."""
    m = 0.9 * m + 0.1 * g
    v = 0.99 * v + 0.01 * g * g
    root = tsr.sqrt(v / (1 - 0.99**step)) + 1e-8
    return p - rate * (0.01 * p + m / (1 - 0.9**step) / root), m, v


def batches(seed: int, steps: int):
    """Pieces of the text at random, and the same pieces one letter later."""
    rng, text = np.random.default_rng(seed), encode(TEXT)
    for _ in range(steps):
        starts = rng.integers(0, len(text) - CONTEXT, BATCH)
        pieces = text[starts[:, None] + np.arange(CONTEXT + 1)]
        yield pieces[:, :-1], pieces[:, 1:]


def train(steps: int, rate: float = 3e-3, seed: int = 0) -> tuple[dict, list[float]]:
    values = parameters(seed)
    moments = {name: (np.zeros_like(one), np.zeros_like(one)) for name, one in values.items()}
    gradients = tsr.value_and_grad(loss, wrt=tuple(values))
    losses = []
    for step, (tokens, targets) in enumerate(batches(seed, steps), 1):
        value, *found = gradients(tokens, targets, **values)
        for name, gradient in zip(values, found):
            values[name], *moments[name] = adamw(
                values[name], gradient, *moments[name], rate, float(step)
            )
        losses.append(float(value))
        if step % 50 == 0 or step == 1:
            print(f"step {step:4}  loss {losses[-1]:.3f}")
    return values, losses


def complete(values: dict, start: str, most: int = 12) -> str:
    """The likeliest letters after a start, up to the end of the sentence."""
    text = start
    while len(text) < len(start) + most and not text.endswith("."):
        logits = gpt(encode(text)[None], **values)
        text += LETTERS[int(np.argmax(logits[0, -1]))]
    return text


def plot(losses: list[float], path: Path) -> None:
    """The curve as SVG."""
    width, height, top = 640, 240, max(losses)
    points = " ".join(
        f"{40 + (width - 50) * at / max(len(losses) - 1, 1):.1f},{10 + (height - 40) * (1 - one / top):.1f}"
        for at, one in enumerate(losses)
    )
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">\n'
        f'<path d="M40 10V{height - 30}H{width - 10}" fill="none" stroke="#888"/>\n'
        f'<polyline points="{points}" fill="none" stroke="#2563eb" stroke-width="1.5"/>\n'
        f'<text x="4" y="18">{top:.1f}</text><text x="4" y="{height - 28}">0</text>\n'
        f'<text x="40" y="{height - 10}">1</text>\n'
        f'<text x="{width - 10}" y="{height - 10}" text-anchor="end">{len(losses)} steps</text>\n'
        f'<text x="50" y="22">loss</text>\n</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--plot", type=Path, help="draw the loss curve there, as SVG")
    arguments = parser.parse_args()
    values, losses = train(arguments.steps)
    for start in (
        "one plus two is three. two plus three is ",
        "one plus two is three. four plus four is ",
    ):
        print(complete(values, start))
    if arguments.plot:
        plot(losses, arguments.plot)


if __name__ == "__main__":
    main()

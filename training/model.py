"""BERT in plain PyTorch: the encoder of texts, and the cross-encoder that reads a question and a text together."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

Tensor = Any
Weights = dict[str, Tensor]
HEAD_WIDTH = 32
_EPSILON = 1e-12


class QuantizedLinear(nn.Linear):
    """A linear layer that can compute as int8 arithmetic would: weights by row, activations by tensor."""

    simulated = False

    def forward(self, values: Tensor) -> Tensor:
        """Return the product, rounded where int8 would round."""
        if not self.simulated:
            return functional.linear(values, self.weight, self.bias)
        return functional.linear(round_activations(values), round_rows(self.weight), self.bias)


def round_rows(weight: Tensor) -> Tensor:
    """Round each row to 255 levels around zero; gradients pass as if nothing was rounded."""
    scale = weight.detach().abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127
    return weight + (torch.round(weight.detach() / scale) * scale - weight.detach())


def round_activations(values: Tensor) -> Tensor:
    """Round to 256 levels between the least and the greatest value, as DynamicQuantizeLinear does."""
    exact = values.detach().float()
    low, high = exact.amin().clamp(max=0), exact.amax().clamp(min=0)
    scale = ((high - low) / 255).clamp(min=1e-8)
    zero = torch.round(-low / scale)
    rounded = (torch.clamp(torch.round(exact / scale) + zero, 0, 255) - zero) * scale
    return values + (rounded.to(values.dtype) - values.detach())


class Layer(nn.Module):
    """One layer: attention, then two products with GELU between."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.heads = width // HEAD_WIDTH
        self.qkv = QuantizedLinear(width, 3 * width)
        self.out = QuantizedLinear(width, width)
        self.norm1 = nn.LayerNorm(width, eps=_EPSILON)
        self.up = QuantizedLinear(width, inner)
        self.down = QuantizedLinear(inner, width)
        self.norm2 = nn.LayerNorm(width, eps=_EPSILON)

    def forward(self, values: Tensor, mask: Tensor) -> Tensor:
        """Return the new vectors of all tokens."""
        texts, length, width = values.shape
        query, key, value = self.qkv(values).view(texts, length, 3, self.heads, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        values = self.norm1(values + self.out(seen.transpose(1, 2).reshape(texts, length, width)))
        return self.norm2(values + self.down(functional.gelu(self.up(values))))


class Encoder(nn.Module):
    """A sentence encoder: the mean of the tokens' vectors, of unit length. Its weights alone tell its shape."""

    def __init__(self, weights: Mapping[str, Tensor], *, dropout: float = 0.0) -> None:
        super().__init__()
        vocabulary, width = weights["word.weight"].shape
        layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
        inner = weights["layers.0.up.weight"].shape[0]
        self.word = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(weights["position.weight"].shape[0], width)
        self.kind = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=_EPSILON)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(width, inner) for _ in range(layers))
        self.load_state_dict({name: value.float() for name, value in weights.items()}, strict=False)

    def tokens(self, ids: Tensor, lengths: Tensor, kinds: Tensor | None = None) -> Tensor:
        """Return the vectors of all tokens; `kinds` is 1 where the second text of a pair stands."""
        places = torch.arange(ids.shape[1], device=ids.device)
        values = self.word(ids) + self.position(places) + self.kind(torch.zeros_like(ids) if kinds is None else kinds)
        values = self.dropout(self.norm(values))
        mask = (places[None, :] < lengths[:, None])[:, None, None, :]
        for layer in self.layers:
            values = layer(values, mask)
        return values

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return a unit vector for each text."""
        values = self.tokens(ids, lengths).float()
        mask = (torch.arange(ids.shape[1], device=ids.device)[None, :] < lengths[:, None])[:, :, None]
        return functional.normalize((values * mask).sum(dim=1) / lengths[:, None], dim=1)

    def simulate_int8(self, *, on: bool) -> None:
        """Let every product be rounded from now on, or no longer."""
        for module in self.modules():
            if isinstance(module, QuantizedLinear):
                module.simulated = on


class CrossEncoder(nn.Module):
    """Scores how well a text answers a question, both read together."""

    def __init__(self, weights: Mapping[str, Tensor], *, dropout: float = 0.0) -> None:
        super().__init__()
        self.encoder = Encoder(weights, dropout=dropout)
        self.head = nn.Linear(weights["word.weight"].shape[1], 1)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, lengths: Tensor, kinds: Tensor) -> Tensor:
        """Return a score for each pair."""
        return self.head(self.encoder.tokens(ids, lengths, kinds)[:, 0].float()).squeeze(1)


def random_weights(*, vocabulary: int, width: int, layers: int, seed: int, positions: int = 512) -> Weights:
    """Return the weights of a new model, for trying the steps out."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator) / math.sqrt(width)

    weights = {"word.weight": normal(vocabulary, width), "position.weight": normal(positions, width) * 0.1}
    weights |= {"kind.weight": torch.zeros(2, width), "norm.weight": torch.ones(width), "norm.bias": torch.zeros(width)}
    shapes = {"qkv": (3 * width, width), "out": (width, width), "up": (4 * width, width), "down": (width, 4 * width)}
    for layer in range(layers):
        for name, shape in shapes.items():
            weights[f"layers.{layer}.{name}.weight"] = normal(*shape)
            weights[f"layers.{layer}.{name}.bias"] = torch.zeros(shape[0])
        for name in ("norm1", "norm2"):
            weights[f"layers.{layer}.{name}.weight"] = torch.ones(width)
            weights[f"layers.{layer}.{name}.bias"] = torch.zeros(width)
    return weights


def load_weights(file: Path) -> Weights:
    """Read the weights that a step wrote, or an encoder in ONNX: an export, or all-MiniLM-L6-v2 with int8 weights."""
    if file.suffix == ".onnx":
        graph = onnx.load(str(file)).graph
        is_export = any(each.name == "words" for each in graph.initializer)
        return _exported(graph) if is_export else _dequantized(graph)
    return torch.load(file, map_location="cpu", weights_only=True)


def average(weights: Mapping[Path, float]) -> Weights:
    """Return the weighted mean of several models."""
    total = sum(weights.values())
    loaded = [(load_weights(file), share / total) for file, share in weights.items()]
    return {name: sum(each[name].float() * share for each, share in loaded) for name in loaded[0][0]}


def _exported(graph: Any) -> Weights:
    """Read what `training.export` wrote; the vector of the first kind is within those of the places."""
    arrays = {each.name: numpy_helper.to_array(each).astype(np.float32) for each in graph.initializer}
    weights = {name: array for name, array in arrays.items() if name.endswith((".weight", ".bias"))}
    weights |= {"word.weight": arrays["words"] * arrays["word_scales"], "position.weight": arrays["places"]}
    weights["kind.weight"] = np.zeros((2, arrays["places"].shape[1]), dtype=np.float32)
    for name in [name.removesuffix("_quantized") for name in arrays if name.endswith("_quantized")]:
        weights[f"{name}.weight"] = (arrays[f"{name}_quantized"] * arrays[f"{name}_scale"]).T
    return {name: torch.tensor(np.ascontiguousarray(array)) for name, array in weights.items()}


def _dequantized(graph: Any) -> Weights:
    """Read an export whose weights are `NAME_q` (int8) and `NAME_scale`, multiplied when it runs."""
    arrays: dict[str, NDArray[np.float32]] = {
        each.name: numpy_helper.to_array(each).astype(np.float32) for each in graph.initializer
    }
    for name in [name for name in arrays if name.endswith("_q")]:
        arrays[name.removesuffix("_q")] = arrays[name] * arrays[f"{name.removesuffix('_q')}_scale"]
    # The products have no names of their own: their order is that of the layers, and their biases are named.
    products = [node.input[1] for node in graph.node if node.op_type == "MatMul" and node.input[1] in arrays]
    prefix = next(name for name in arrays if name.endswith("embeddings.LayerNorm.weight"))
    prefix = prefix.removesuffix("embeddings.LayerNorm.weight")
    layers = len(products) // 6
    weights: dict[str, NDArray[np.float32]] = {
        "word.weight": arrays[f"{prefix}embeddings.word_embeddings.weight"],
        "position.weight": arrays[f"{prefix}embeddings.position_embeddings.weight"],
        "kind.weight": arrays[f"{prefix}embeddings.token_type_embeddings.weight"],
        "norm.weight": arrays[f"{prefix}embeddings.LayerNorm.weight"],
        "norm.bias": arrays[f"{prefix}embeddings.LayerNorm.bias"],
    }
    for layer in range(layers):
        query, key, value, out, up, down = (arrays[name].T for name in products[6 * layer : 6 * layer + 6])
        there, here = f"{prefix}encoder.layer.{layer}.", f"layers.{layer}."
        biases = [arrays[f"{there}attention.self.{part}.bias"] for part in ("query", "key", "value")]
        weights |= {
            f"{here}qkv.weight": np.concatenate([query, key, value]),
            f"{here}qkv.bias": np.concatenate(biases),
            f"{here}out.weight": out,
            f"{here}out.bias": arrays[f"{there}attention.output.dense.bias"],
            f"{here}norm1.weight": arrays[f"{there}attention.output.LayerNorm.weight"],
            f"{here}norm1.bias": arrays[f"{there}attention.output.LayerNorm.bias"],
            f"{here}up.weight": up,
            f"{here}up.bias": arrays[f"{there}intermediate.dense.bias"],
            f"{here}down.weight": down,
            f"{here}down.bias": arrays[f"{there}output.dense.bias"],
            f"{here}norm2.weight": arrays[f"{there}output.LayerNorm.weight"],
            f"{here}norm2.bias": arrays[f"{there}output.LayerNorm.bias"],
        }
    return {name: torch.tensor(np.ascontiguousarray(array)) for name, array in weights.items()}

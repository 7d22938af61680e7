"""Writes the encoder as an ONNX graph with int8 arithmetic: `python -m training.export --model W --out FOLDER`.

The graph is written by hand: attention is one operator, products take int8 weights (a scale for each column) and
activations that are rounded when it runs.
"""

import argparse
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from training.corpus import MAX_TOKENS
from training.model import HEAD_WIDTH, Weights, average, load_weights

_OPSET, _IR = 20, 9
_EPSILON = 1e-12
# Of 8 bits of a weight. With 7, no sum of two products can overflow the 16 bits that x86 without VNNI adds them in.
_LEVELS = {8: 127, 7: 63}
_VOCABULARY = Path("src/scrubjay/embedding/data/vocab.txt")


class GraphBuilder:
    """Collects the nodes and the constants of a graph."""

    def __init__(self, *, bits: int) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._levels = _LEVELS[bits]

    def add(self, operator: str, inputs: list[str], outputs: list[str], *, domain: str = "", **attributes: Any) -> str:
        """Add a node and return its first output."""
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain, **attributes))
        return outputs[0]

    def fused(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        """Add one of the operators that onnxruntime fuses."""
        return self.add(operator, inputs, [output], domain="com.microsoft", **attributes)

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add a constant and return its name."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def columns(self, name: str, matrix: NDArray[np.float32]) -> tuple[str, str, str]:
        """Add a matrix as int8 with a scale for each column; returns the names of matrix, scales and zero points."""
        scale = np.maximum(np.abs(matrix).max(axis=0), 1e-8).astype(np.float32) / self._levels
        rounded = np.clip(np.round(matrix / scale), -self._levels, self._levels).astype(np.int8)
        return (
            self.constant(f"{name}_quantized", rounded),
            self.constant(f"{name}_scale", scale),
            self.constant(f"{name}_zero_point", np.zeros(len(scale), dtype=np.int8)),
        )

    def product(self, name: str, values: str, matrix: NDArray[np.float32], bias: str) -> str:
        """Add the product of activations, rounded when it runs, and a matrix of int8, and the bias."""
        weight, scale, zero = self.columns(name, matrix)
        return self.fused("DynamicQuantizeMatMul", [values, weight, scale, zero, bias], f"{name}_product")


def build(weights: Weights, *, bits: int = 8) -> Any:
    """Return the model in ONNX: `ids` are the tokens of all texts, `lengths` their numbers, `vectors` their means."""
    arrays = {name: value.float().numpy() for name, value in weights.items()}
    graph = GraphBuilder(bits=bits)
    _begin_loop(graph)
    graph.add("Slice", ["ids", "begin", "end", "zero"], ["text_ids"])
    graph.add("Unsqueeze", ["text_ids", "zero"], ["input_ids"])
    _layers(graph, arrays, _embeddings(graph, arrays))
    graph.add("ReduceMean", ["last_hidden_state", "one"], ["mean"], keepdims=0)
    graph.add("Squeeze", ["mean", "zero"], ["row"])
    _end_loop(graph, width=arrays["norm.weight"].shape[0], output="vectors")
    ids = _tensor("ids", TensorProto.INT64, "tokens")
    return _model(
        graph, "encoder", [ids], _tensor("vectors", TensorProto.FLOAT, "texts", arrays["norm.weight"].shape[0])
    )


def build_pairs(weights: Weights, *, bits: int = 8) -> Any:
    """Return the pair model in ONNX. It takes the vectors of words, since these are in the encoder's file.

    `words` and `kinds` have the tokens of all pairs, `lengths` how many each has. `logits` has a column for each label
    and one for the score of an answer.
    """
    own = {name.removeprefix("encoder."): each for name, each in weights.items() if name.startswith("encoder.")}
    arrays = {name: value.float().numpy() for name, value in own.items() if name != "word.weight"}
    heads = [
        weights[f"{head}.{part}"].float().numpy() for part in ("weight", "bias") for head in ("classes", "answers")
    ]
    graph = GraphBuilder(bits=bits)
    graph.constant("places", arrays["position.weight"][:MAX_TOKENS])
    graph.constant("kind_vectors", arrays["kind.weight"])
    _begin_loop(graph)
    graph.add("Slice", ["words", "begin", "end", "zero"], ["pair_words"])
    graph.add("Slice", ["kinds", "begin", "end", "zero"], ["pair_kinds"])
    graph.add("Gather", ["kind_vectors", "pair_kinds"], ["kind"])
    graph.add("Add", ["pair_words", "kind"], ["words_of_kind"])
    graph.add("Unsqueeze", ["words_of_kind", "zero"], ["word"])
    # The heads read the first token alone.
    _layers(graph, arrays, _placed(graph, arrays), is_first_enough=True)
    graph.add("Squeeze", ["last_hidden_state", "one"], ["first"])
    graph.constant("heads", np.concatenate(heads[:2]).T)
    graph.constant("head_biases", np.concatenate(heads[2:]))
    graph.add("Gemm", ["first", "heads", "head_biases"], ["rows"])
    graph.add("Squeeze", ["rows", "zero"], ["row"])
    columns = len(heads[2]) + 1
    _end_loop(graph, width=columns, output="logits")
    words = _tensor("words", TensorProto.FLOAT, "tokens", arrays["norm.weight"].shape[0])
    kinds = _tensor("kinds", TensorProto.INT64, "tokens")
    return _model(graph, "pairs", [words, kinds], _tensor("logits", TensorProto.FLOAT, "pairs", columns))


def _begin_loop(graph: GraphBuilder) -> None:
    """Begin the loop that computes each text by itself: its tokens are those from `begin` to `end`.

    Numbers are rounded with one scale, so that texts cannot be computed together. Without the loop each of them would
    be a call, and other threads of the program would run between two.
    """
    graph.constant("zero", np.zeros(1, dtype=np.int64))
    graph.constant("one", np.ones(1, dtype=np.int64))
    graph.add("Identity", ["on"], ["goes_on"])
    graph.add("Unsqueeze", ["number", "zero"], ["numbers"])
    graph.add("Gather", ["lengths", "numbers"], ["length"])
    graph.add("Add", ["begin", "length"], ["end"])


def _end_loop(graph: GraphBuilder, *, width: int, output: str) -> None:
    """Make all nodes until now the body of the loop, each turn of which gives a `row` of the output."""
    begins = [
        _tensor("number", TensorProto.INT64),
        _tensor("on", TensorProto.BOOL),
        _tensor("begin", TensorProto.INT64, 1),
    ]
    ends = [
        _tensor("goes_on", TensorProto.BOOL),
        _tensor("end", TensorProto.INT64, 1),
        _tensor("row", TensorProto.FLOAT, width),
    ]
    body = helper.make_graph(graph.nodes, "text", begins, ends)
    graph.nodes = []
    graph.add("Size", ["lengths"], ["count"])
    graph.add("Loop", ["count", "", "zero"], ["last_end", output], body=body)


def _tensor(name: str, kind: int, *shape: str | int) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(graph: GraphBuilder, name: str, inputs: list[Any], output: Any) -> Any:
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
    inputs = [*inputs, _tensor("lengths", TensorProto.INT64, "texts")]
    body = helper.make_graph(graph.nodes, name, inputs, [output], graph.constants)
    return helper.make_model(body, opset_imports=opsets, producer_name="scrubjay", ir_version=_IR)


def _layers(
    graph: GraphBuilder, arrays: Mapping[str, NDArray[np.float32]], values: str, *, is_first_enough: bool = False
) -> None:
    layers = 1 + max(int(name.split(".")[1]) for name in arrays if name.startswith("layers."))
    for layer in range(layers - 1):
        values = _layer(graph, arrays, layer, values, output=f"layer{layer}")
    _layer(graph, arrays, layers - 1, values, is_first_enough=is_first_enough, output="last_hidden_state")


def _embeddings(graph: GraphBuilder, arrays: Mapping[str, NDArray[np.float32]]) -> str:
    """Sum the vectors of words and places; a word's vector is int8 with a scale of its own."""
    words = arrays["word.weight"]
    scale = np.maximum(np.abs(words).max(axis=1, keepdims=True), 1e-8) / 127
    graph.constant("words", np.round(words / scale).astype(np.int8))
    graph.constant("word_scales", scale.astype(np.float32))
    # All texts have kind 0.
    graph.constant("places", arrays["position.weight"] + arrays["kind.weight"][0])
    graph.add("Gather", ["words", "input_ids"], ["word_int8"])
    graph.add("Cast", ["word_int8"], ["word_float"], to=TensorProto.FLOAT)
    graph.add("Gather", ["word_scales", "input_ids"], ["word_scale"])
    graph.add("Mul", ["word_float", "word_scale"], ["word"])
    return _placed(graph, arrays)


def _placed(graph: GraphBuilder, arrays: Mapping[str, NDArray[np.float32]]) -> str:
    """Add the vectors of the places, and normalise."""
    graph.add("Slice", ["places", "zero", "length", "zero"], ["place"])
    graph.add("Add", ["word", "place"], ["sum"])
    names = [graph.constant(f"norm.{part}", arrays[f"norm.{part}"]) for part in ("weight", "bias")]
    return graph.add("LayerNormalization", ["sum", *names], ["embedded"], axis=-1, epsilon=_EPSILON)


def _layer(
    graph: GraphBuilder,
    arrays: Mapping[str, NDArray[np.float32]],
    number: int,
    values: str,
    *,
    output: str,
    is_first_enough: bool = False,
) -> str:
    name = f"layers.{number}."

    def constant(part: str) -> str:
        return graph.constant(name + part, arrays[name + part])

    def product(part: str, of: str) -> str:
        return graph.product(name + part, of, arrays[f"{name}{part}.weight"].T, constant(f"{part}.bias"))

    # The operators that fuse the sum with LayerNormalization, and the bias with Gelu, take three times as long.
    def norm(which: str, new: str, old: str, result: str) -> str:
        graph.add("Add", [new, old], [f"{name}{which}_sum"])
        parts = [constant(f"{which}.weight"), constant(f"{which}.bias")]
        return graph.add("LayerNormalization", [f"{name}{which}_sum", *parts], [result], axis=-1, epsilon=_EPSILON)

    seen = _attention(graph, name, arrays, values, bias=constant("qkv.bias"))
    if is_first_enough:
        seen, values = (graph.add("Gather", [each, "zero"], [f"{each}_first"], axis=1) for each in (seen, values))
    middle = norm("norm1", product("out", seen), values, f"{name}middle")
    active = graph.add("Gelu", [product("up", middle)], [f"{name}active"])
    return norm("norm2", product("down", active), middle, output)


def _attention(
    graph: GraphBuilder, name: str, arrays: Mapping[str, NDArray[np.float32]], values: str, *, bias: str
) -> str:
    matrix = arrays[f"{name}qkv.weight"].T
    weight, scale, zero = graph.columns(f"{name}qkv", matrix)
    rounded = [f"{name}input{part}" for part in ("_quantized", "_scale", "_zero_point")]
    graph.add("DynamicQuantizeLinear", [values], rounded)
    inputs = [rounded[0], weight, bias, rounded[1], scale, "", rounded[2], zero]
    heads = matrix.shape[0] // HEAD_WIDTH
    return graph.fused("QAttention", inputs, f"{name}seen", num_heads=heads, unidirectional=0)


def write(
    weights: Weights, folder: Path, profile: Mapping[str, Any], *, bits: int = 8, vocabulary: Path = _VOCABULARY
) -> str:
    """Write a folder that the product reads, and return the digest of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    data = build(weights, bits=bits).SerializeToString()
    (folder / "model.onnx").write_bytes(data)
    (folder / "profile.json").write_text(json.dumps(dict(profile)) + "\n", encoding="utf-8")
    shutil.copyfile(vocabulary, folder / "vocab.txt")
    return hashlib.sha256(data).hexdigest()


def main() -> None:
    """Average and export with the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--model", nargs="+", required=True, metavar="FILE[=SHARE]", help="weights; several are averaged"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bits", type=int, choices=sorted(_LEVELS), default=8)
    parser.add_argument("--weight", type=float, default=12.0, help="of one unit of cosine beside the words")
    parser.add_argument("--same", type=float, help="the similarity above which texts say the same")
    parser.add_argument("--related", type=float, help="the cosine above which statements belong together")
    options = parser.parse_args()
    shares = {Path(name): float(share or 1) for name, _, share in (each.partition("=") for each in options.model)}
    weights = average(shares) if len(shares) > 1 else load_weights(next(iter(shares)))
    found = {"same": options.same, "related": options.related}
    profile = {"pooling": "mean", "weight": options.weight, "longest": MAX_TOKENS}
    profile |= {name: value for name, value in found.items() if value is not None}
    print(write(weights, options.out, profile, bits=options.bits))


if __name__ == "__main__":
    main()

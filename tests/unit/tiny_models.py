"""Models of a few kilobytes in the ONNX format, small enough to know what they must answer."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "acorn", "jay", "oak", "rent", "is", "due", "##s")
DIMENSION = 8
_OPSET = 17


def write_encoder(folder: Path, *, file: str = "model.onnx", output: str = "last_hidden_state", **inputs: bool) -> None:
    """A sentence encoder: the vectors of the tokens are rows of a table, with a fixed seed."""
    table = np.random.default_rng(7).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], [output])]
    names = ["input_ids", *(name for name in ("attention_mask", "token_type_ids") if inputs.get(name, True))]
    _write(folder / file, nodes, {"table": table}, inputs=names, output=(output, ["batch", "length", DIMENSION]))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")


def write_cross_encoder(folder: Path, *, file: str = "model.onnx", labels: int = 1) -> None:
    """A cross-encoder: what a pair scores is the sum of what its tokens are worth; an acorn is worth most."""
    worth = np.array([[0, -0.1, 0, 0, 3, 2, 1, -1, -0.1, -0.1, 0]], dtype=np.float32).T.repeat(labels, axis=1)
    nodes = [
        helper.make_node("Gather", ["worth", "input_ids"], ["worths"]),
        helper.make_node("ReduceSum", ["worths", "axes"], ["logits"], keepdims=0),
    ]
    constants = {"worth": worth, "axes": np.array([1], dtype=np.int64)}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    _write(folder / file, nodes, constants, inputs=names, output=("logits", ["batch", labels]))
    tokenizer = Tokenizer(models.WordPiece({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    configuration = {"model_max_length": 32, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(configuration), encoding="utf-8")


def _write(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    constants: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
    *,
    inputs: Sequence[str],
    output: tuple[str, Sequence[str | int]],
) -> None:
    graph = helper.make_graph(
        list(nodes),
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in inputs],
        [helper.make_tensor_value_info(output[0], TensorProto.FLOAT, list(output[1]))],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())

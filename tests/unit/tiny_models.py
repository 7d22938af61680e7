"""Models of a few kilobytes in ONNX format, with predictable output."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "acorn", "jay", "oak", "rent", "is", "due", "##s")
COLOURS = ("red", "green", "blue")
DIMENSION = 8
_OPSET = 17


def write_encoder(folder: Path, *, file: str = "model.onnx", output: str = "last_hidden_state", **inputs: bool) -> None:
    """Write a sentence encoder whose token vectors are rows of a table with a fixed seed."""
    table = np.random.default_rng(7).normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], [output])]
    names = ["input_ids", *(name for name in ("attention_mask", "token_type_ids") if inputs.get(name, True))]
    _write(folder / file, nodes, {"table": table}, inputs=names, output=(output, ["batch", "length", DIMENSION]))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")


def write_cross_encoder(folder: Path, *, file: str = "model.onnx", labels: int = 1) -> None:
    """Write a cross-encoder: the score of a pair is the sum of its tokens' values, with `acorn` as the highest."""
    values = np.array([[0, -0.1, 0, 0, 3, 2, 1, -1, -0.1, -0.1, 0]], dtype=np.float32).T.repeat(labels, axis=1)
    nodes = [
        helper.make_node("Gather", ["values", "input_ids"], ["token_values"]),
        helper.make_node("ReduceSum", ["token_values", "axes"], ["logits"], keepdims=0),
    ]
    constants = {"values": values, "axes": np.array([1], dtype=np.int64)}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    _write(folder / file, nodes, constants, inputs=names, output=("logits", ["batch", labels]))
    _write_tokenizer(folder, WORDS)


def write_pair_model(folder: Path, *, encoder: Path) -> None:
    """Write a pair model, whose logits are the sum of its words' vectors, and a file that has these vectors."""
    rows, width, start = 30_522, 7, 12
    words = np.random.default_rng(7).integers(-127, 128, size=(rows, width), dtype=np.int8)
    encoder.write_bytes(b"x" * start + words.tobytes() + b"y" + np.full(rows, 1e-4, dtype=np.float32).tobytes())
    nodes = [
        helper.make_node("Cast", ["kinds"], ["kind"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["kind", "unit"], ["weight"]),
        helper.make_node("Unsqueeze", ["weight", "one"], ["wide_weight"]),
        helper.make_node("Mul", ["words", "wide_weight"], ["weighted"]),
        helper.make_node("CumSum", ["weighted", "zero"], ["sums"]),
        helper.make_node("Concat", ["nothing", "sums"], ["all_sums"], axis=0),
        helper.make_node("CumSum", ["lengths", "zero"], ["ends"]),
        helper.make_node("Sub", ["ends", "lengths"], ["begins"]),
        helper.make_node("Gather", ["all_sums", "ends"], ["end_sums"]),
        helper.make_node("Gather", ["all_sums", "begins"], ["begin_sums"]),
        helper.make_node("Sub", ["end_sums", "begin_sums"], ["logits"]),
    ]
    constants = {
        "unit": np.ones(1, dtype=np.float32), "nothing": np.zeros((1, width), dtype=np.float32),
        "zero": np.zeros(1, dtype=np.int64), "one": np.ones(1, dtype=np.int64),
    }  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "pairs",
        [
            helper.make_tensor_value_info("words", TensorProto.FLOAT, ["tokens", width]),
            helper.make_tensor_value_info("kinds", TensorProto.INT64, ["tokens"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT64, ["pairs"]),
        ],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", width])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8).SerializeToString()
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model)
    profile = {
        "labels": ["same", "more", "changes", "contradicts", "near", "unrelated"], "longest": 256, "first": 127,
        "sha256": hashlib.sha256(model).hexdigest(), "encoder": hashlib.sha256(encoder.read_bytes()).hexdigest(),
        "words": {"at": start, "scales_at": start + words.size + 1, "rows": rows, "width": width},
    }  # fmt: skip
    (folder / "profile.json").write_text(json.dumps(profile), encoding="utf-8")


def write_clip(folder: Path) -> None:
    """Write a pair of models for three colours, with texts far from pictures."""
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", *COLOURS, "rent", "due")
    table = np.zeros((len(words), DIMENSION), dtype=np.float32)
    for index in range(4, len(words)):
        table[index, index - 4] = 1.0
    text, vision = folder / "text", folder / "vision"
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["each"]),
        helper.make_node("ReduceSum", ["each", "axes"], ["all"], keepdims=0),
        helper.make_node("Add", ["all", "offset"], ["text_embeds"]),
    ]
    text_offset, picture_offset = np.zeros((1, DIMENSION), np.float32), np.zeros((1, DIMENSION), np.float32)
    text_offset[0, 6] = picture_offset[0, 7] = 1.0
    constants = {"table": table, "axes": np.array([1], dtype=np.int64), "offset": text_offset}
    _write(text / "model.onnx", nodes, constants, inputs=["input_ids"], output=("text_embeds", ["batch", DIMENSION]))
    _write_tokenizer(text, words)
    nodes = [
        helper.make_node("ReduceMean", ["pixel_values"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["mean", "colours"], ["seen"]),
        helper.make_node("Add", ["seen", "offset"], ["image_embeds"]),
    ]
    pixels = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, 16, 16])
    constants = {"colours": np.eye(3, DIMENSION, dtype=np.float32), "offset": picture_offset}
    _write(vision / "model.onnx", nodes, constants, inputs=[pixels], output=("image_embeds", ["batch", DIMENSION]))
    configuration = {
        "image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 16},
        "do_center_crop": True, "crop_size": {"height": 16, "width": 16}, "do_normalize": True,
        "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "do_convert_rgb": True,
    }  # fmt: skip
    (vision / "preprocessor_config.json").write_text(json.dumps(configuration), encoding="utf-8")


def _write_tokenizer(folder: Path, words: Sequence[str]) -> None:
    tokenizer = Tokenizer(models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
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
    inputs: Sequence[str | onnx.ValueInfoProto],
    output: tuple[str, Sequence[str | int]],
) -> None:
    graph = helper.make_graph(
        list(nodes),
        "tiny",
        [
            helper.make_tensor_value_info(input_, TensorProto.INT64, ["batch", "length"])
            if isinstance(input_, str)
            else input_
            for input_ in inputs
        ],
        [helper.make_tensor_value_info(output[0], TensorProto.FLOAT, list(output[1]))],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())

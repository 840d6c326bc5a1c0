"""Runs Dynamo's offline replay of a Mooncake-format trace once and prints the seconds that it took, reading included.

usage: replay.py TRACE WORKERS GPU_BLOCKS BLOCK_SIZE MAX_NUM_SEQS TRACE_BLOCK_SIZE
"""
import gzip
import os
import sys
import tempfile
import time

from dynamo._core import KvRouterConfig
from dynamo.replay import run_trace_replay

trace, workers, blocks, size, seqs, trace_size = sys.argv[1], *map(int, sys.argv[2:7])
with tempfile.TemporaryDirectory() as folder:
    plain = os.path.join(folder, "trace.jsonl")  # the replay reads no gzip
    with gzip.open(trace, "rb") as packed, open(plain, "wb") as out:
        out.write(packed.read())
    begin = time.perf_counter()
    run_trace_replay(
        plain,
        router_config=KvRouterConfig(),
        router_mode="kv_router",
        trace_block_size=trace_size,
        num_workers=workers,
        extra_engine_args={"engine": {"num_gpu_blocks": blocks, "block_size": size, "max_num_seqs": seqs}},
    )
    print(time.perf_counter() - begin)

"""Starts the programs of the test on free ports of the loopback interface, and
ends them all."""

import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import metrics

BLOCK = 64
GPU_BLOCKS = 1024
MODEL = "tiny"
SUBJECT = "dynamo.request_trace.v1"
STREAM = "TRACES"
# A cold file cache makes the Python programs slow to start.
START = 90


class Stuck(Exception):
    """Something did not happen in time, or a program ended."""


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def die_with_parent():
    """Lets the kernel end a child even if we are killed; Linux only."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except (OSError, AttributeError):
        pass


class Stack:
    """The programs of one case. Their output is in files of the folder."""

    def __init__(self, folder, model_dir):
        self.folder, self.model_dir = folder, model_dir
        self.processes = {}
        os.makedirs(os.path.join(folder, "kv"))
        self.env = dict(
            os.environ, DYN_TCP_RPC_HOST="127.0.0.1", DYN_HTTP_RPC_HOST="127.0.0.1", DYN_DISCOVERY_BACKEND="file",
            DYN_FILE_KV=self.path("kv"), DYN_REQUEST_PLANE="tcp", DYN_EVENT_PLANE="zmq", HF_HUB_OFFLINE="1",
            DYN_LOG="info", DYN_LOGGING_JSONL="1")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, command, env=None, stdin=subprocess.DEVNULL, stderr=None):
        with open(self.path(name + ".out"), "wb") as out, open(self.path(name + ".err"), "wb") as err:
            self.processes[name] = subprocess.Popen(
                command, env=env or self.env, stdin=stdin, stdout=out, stderr=stderr or err,
                start_new_session=True, preexec_fn=die_with_parent)
        return self.processes[name]

    def stop(self):
        """Ends everything, the consumers last."""
        for sig, patience in (signal.SIGTERM, 5), (signal.SIGKILL, 5):
            running = [p for p in self.processes.values() if p.poll() is None]
            for p in running:
                try:
                    os.killpg(p.pid, sig)
                except ProcessLookupError:
                    pass
            for p in running:
                try:
                    p.wait(patience)
                except subprocess.TimeoutExpired:
                    pass

    def wait(self, what, seconds, done):
        """Polls until done returns something true, and returns that."""
        end = time.monotonic() + seconds
        while True:
            for name, p in self.processes.items():
                if p.poll() is not None:
                    raise Stuck(f"{name} ended with {p.returncode}: {self.errors(name)[-600:].strip()}")
            try:
                if result := done():
                    return result
            except (OSError, ValueError):  # not listening yet, or half an answer
                pass
            if time.monotonic() > end:
                raise Stuck(f"{what}: not within {seconds} s")
            time.sleep(0.1)

    def errors(self, name):
        with open(self.path(name + ".err"), errors="replace") as f:
            return f.read()

    def nats(self):
        """Starts a NATS server with a stream that captures the traces, and returns
        its port."""
        port, = free_ports(1)
        server = os.path.join(os.path.dirname(sys.executable), "nats-server")
        self.start("nats", [server, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", self.path("jetstream")])
        config = json.dumps({"name": STREAM, "subjects": [SUBJECT], "storage": "file"})
        self.wait("the NATS stream", START, lambda: create_stream(port, config))
        return port

    def workers(self, disaggregated, count=2):
        command = [
            sys.executable, "-m", "dynamo.mocker", "--model-path", self.model_dir, "--model-name", MODEL, "--num-gpu-blocks-override", str(GPU_BLOCKS),
            "--block-size", str(BLOCK), "--max-num-seqs", "8", "--speedup-ratio", "0.6", "--num-workers", str(count), *self.planes()]
        if not disaggregated:
            self.start("workers", command)
            return
        ports = ",".join(map(str, free_ports(count)))
        self.start("prefill", [*command, "--disaggregation-mode", "prefill", "--bootstrap-ports", ports])
        self.start("decode", [*command, "--disaggregation-mode", "decode"])

    def planes(self):
        return ["--discovery-backend", "file", "--request-plane", "tcp", "--event-plane", "zmq"]

    def frontend(self, sink, nats_port=None, stderr=None):
        """Starts the frontend with its router; sink is where the trace goes."""
        self.port, = free_ports(1)
        env = dict(
            self.env, DYN_REQUEST_TRACE="1", DYN_REQUEST_TRACE_SINKS=sink, DYN_REQUEST_TRACE_FILE_FORMAT="jsonl",
            DYN_REQUEST_TRACE_FILE_PATH=self.path("trace"))
        if nats_port:
            env["NATS_SERVER"] = f"nats://127.0.0.1:{nats_port}"
        command = [sys.executable, "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(self.port),
                   "--router-mode", "kv", "--kv-cache-block-size", str(BLOCK), *self.planes()]
        return self.start("frontend", command, env=env, stderr=stderr)

    def router(self):
        """The router's own metrics."""
        return metrics.scrape(f"http://127.0.0.1:{self.port}/metrics")

    def ready(self, roles, count=2):
        """Waits until the router knows all workers of these roles."""
        registered = "dynamo_component_router_worker_registered"
        self.wait("the router", START, lambda: all(self.router().sum(registered, worker_type=role) == count for role in roles))
        self.wait("the model", START, lambda: metrics.fetch(f"http://127.0.0.1:{self.port}/v1/models").count('"id"'))

    def kvshadow(self, binary, policies, source, stdin=subprocess.DEVNULL):
        process = self.start("kvshadow", [
            binary, "serve", "--source", source, "--policies", policies, "--gpu-blocks", str(GPU_BLOCKS),
            "--web.listen-address", "127.0.0.1:0"], stdin=stdin)
        address = self.wait("kvshadow", START, lambda: re.search(r"address=(127\.0\.0\.1:\d+)", self.errors("kvshadow")))
        self.shadow_url = f"http://{address[1]}/metrics"
        return process

    def shadow(self):
        """kvshadow's metrics."""
        return metrics.scrape(self.shadow_url)


def copy(lines, *outputs):
    """Copies what one program writes to others, in the background, like tee."""
    def run():
        for line in lines:
            for out in outputs:
                try:
                    out.write(line)
                    out.flush()
                except (OSError, ValueError):
                    pass  # it has ended; the checks will tell
    threading.Thread(target=run, daemon=True).start()


def create_stream(port, config):
    """Asks a NATS server for a stream, in its text protocol."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s, s.makefile("rb") as answers:
        request = f'CONNECT {{"verbose":false}}\r\nSUB reply 1\r\nPUB $JS.API.STREAM.CREATE.{STREAM} reply {len(config)}\r\n{config}\r\n'
        s.sendall(request.encode())
        for line in answers:
            if line.startswith(b"MSG reply"):
                answer = json.loads(answers.readline())
                if "error" in answer:
                    raise Stuck(f"NATS stream: {answer['error']}")
                return True
    return False

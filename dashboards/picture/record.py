"""Records what the dashboards show: runs Dynamo's real frontend and router with
mock workers, the load of the end-to-end test, and kvshadow beside them, while
a Prometheus scrapes both. Writes OUT/NAME.json for each dashboard. usage, with
the Python of e2e/run.sh:

    python record.py KVSHADOW OUT DASHBOARD.json..."""

import asyncio
import json
import os
import sys
import tempfile
import time

import series

E2E = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e")
sys.path.insert(0, E2E)

import load
import make_model
import stack

ROUNDS, SECONDS = 5, 40
SCRAPE = """
global: {{scrape_interval: {interval}s}}
scrape_configs:
  - {{job_name: dynamo-frontend, static_configs: [{{targets: ["{frontend}"]}}]}}
  - {{job_name: kvshadow, static_configs: [{{targets: ["{kvshadow}"]}}]}}
"""


def prometheus(s):
    """Starts Prometheus on what runs already, and returns its address."""
    port, = stack.free_ports(1)
    config = s.path("prometheus.yml")
    with open(config, "w") as f:
        f.write(SCRAPE.format(interval=series.SCRAPE, frontend=f"127.0.0.1:{s.port}", kvshadow=s.shadow_url.split("/")[2]))
    address = f"127.0.0.1:{port}"
    s.start("prometheus", ["prometheus", "--config.file=" + config, "--storage.tsdb.path=" + s.path("tsdb"), "--web.listen-address=" + address])
    return "http://" + address


def record(s, kvshadow):
    s.workers(True)
    s.frontend("file")
    s.kvshadow(kvshadow, os.path.join(E2E, "policies.yaml"), "file:" + s.path("trace*"))
    s.ready(["prefill", "decode"])
    url, start = prometheus(s), int(time.time())
    for seed in range(1, ROUNDS + 1):
        result = asyncio.run(load.drive(s.port, stack.MODEL, load.Load(seed=seed, seconds=SECONDS)))
        print(f"round {seed}: {result.sent} requests, {len(result.failures)} failed", flush=True)
    return series.Prometheus(url, start, int(time.time()))


def main(kvshadow, out, dashboards):
    with tempfile.TemporaryDirectory() as folder:
        model, work = os.path.join(folder, "model"), os.path.join(folder, "work")
        make_model.write(model)
        os.makedirs(work)
        with stack.Stack(work, model) as s:
            recorded = record(s, kvshadow)
            for name in dashboards:
                with open(name) as f:
                    dashboard = json.load(f)
                data, empty = recorded.dashboard(dashboard)
                text = json.dumps({"dashboard": dashboard, "data": data, "start": recorded.start, "end": recorded.end, "step": series.SCRAPE})
                with open(os.path.join(out, os.path.basename(name)), "w") as f:
                    f.write(text.replace(work, "/var/log/dynamo"))
                print(f"{dashboard['title']}: panels without data: {', '.join(empty) or 'none'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])

#!/usr/bin/env python3
"""Prints the PromQL of every panel of the generated dashboards, one a line, with
all variables on All. For alerts/seen.sh.

usage: dashboards/queries.py WINDOW, such as 10s: what $__rate_interval and
$__range stand for
"""
import json
import pathlib
import re
import sys

window = sys.argv[1]
folder = pathlib.Path(__file__).parent / "generated/prometheus/json"
for path in sorted(folder.glob("*.json")):
    for panel in json.loads(path.read_text())["panels"]:
        for target in panel.get("targets", []):
            expr = re.sub(r"\$__(rate_interval|range)", window, target["expr"])
            print(re.sub(r"\$\w+", ".*", " ".join(expr.split())))

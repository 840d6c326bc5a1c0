"""Asks a Prometheus for what the panels of a dashboard show, as Grafana would."""

import json
import math
import re
import urllib.parse
import urllib.request

SCRAPE = 2  # seconds between scrapes


class Prometheus:
    def __init__(self, url, start, end):
        self.url, self.start, self.end = url.rstrip("/"), start, end

    def get(self, path, **params):
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(params)}", timeout=30) as r:
            return json.load(r)["data"]["result"]

    def target(self, target):
        """Returns [{name, labels, points}] of a query, all variables on All."""
        expr = target["expr"].replace("$__rate_interval", f"{4 * SCRAPE}s").replace("$__range", f"{self.end - self.start}s")
        expr = re.sub(r"\$\w+", ".*", expr)
        if target["instant"]:
            result = [{**r, "values": [r["value"]]} for r in self.get("query", query=expr, time=self.end)]
        else:
            result = self.get("query_range", query=expr, start=self.start, end=self.end, step=SCRAPE)
        return [series(r["metric"], r["values"], target["legendFormat"]) for r in result]

    def dashboard(self, dashboard):
        """Returns the series by panel id, and the panels that would be empty."""
        panels = [p for p in dashboard["panels"] if p["type"] != "row"]
        data = {p["id"]: [s for t in p["targets"] for s in self.target(t) if s["points"]] for p in panels}
        return data, [p["title"] for p in panels if not data[p["id"]]]


def series(labels, values, legend):
    name = re.sub(r"{{(\w+)}}", lambda m: labels.get(m[1], ""), legend)
    points = [(t, float(v)) for t, v in values]
    if any(math.isnan(v) for _, v in points):
        raise ValueError(f"NaN in {name}")
    return {"name": name, "labels": labels, "points": points}

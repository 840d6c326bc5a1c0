"""Reads Prometheus' text format, as far as the test needs it."""

import math
import re
import urllib.request

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Page:
    """One scrape."""

    def __init__(self, text):
        self.samples = []
        for line in text.splitlines():
            m = SAMPLE.match(line)
            if m:
                self.samples.append((m[1], dict(LABEL.findall(m[2] or "")), float(m[3])))

    def series(self, name, **labels):
        return [(l, v) for n, l, v in self.samples if n == name and labels.items() <= l.items()]

    def sum(self, name, **labels):
        """The sum over all series that match; 0 if there are none."""
        return sum(v for _, v in self.series(name, **labels))

    def highest_bucket(self, name, **labels):
        """The upper bound of a classic histogram's highest bucket with anything in
        it; 0 if it is empty."""
        total, bound = self.sum(name + "_count", **labels), 0.0
        if total == 0:
            return bound
        for l, v in self.series(name + "_bucket", **labels):
            le = math.inf if l["le"] == "+Inf" else float(l["le"])
            if v >= total:
                bound = min(bound or math.inf, le)
        return bound


def fetch(url):
    with urllib.request.urlopen(url, timeout=5) as response:
        return response.read().decode()


def scrape(url):
    return Page(fetch(url))

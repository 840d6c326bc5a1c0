"""The end-to-end test: runs Dynamo's frontend with its KV router and mock workers,
lets kvshadow read what they write, and compares the metrics of the two.

usage: e2e.py KVSHADOW WORK_DIR [CASE...]

Prints a line per check, and exits with 1 if one fails."""

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
import traceback

import load
import make_model
import stack

HERE = os.path.dirname(os.path.abspath(__file__))
# All cases together; run.sh kills us a little later.
BUDGET = 900
# How long kvshadow may need after the last request: it waits for traces of
# requests that began earlier.
SETTLE = 45
MIN_FIDELITY = 0.95

NON_MAX = "dynamo_component_router_non_max_overlap_selections_total"
LOST = "dynamo_component_router_overlap_blocks_lost"


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    sink: str  # where the router's request trace goes
    disaggregated: bool = False
    seed: int = 3

    @property
    def roles(self):
        return ["prefill", "decode"] if self.disaggregated else ["decode"]

    @property
    def verifiable(self):
        """The roles of which the input tells something to compare with: a trace has
        the hit rate of the first selection, the log has the winner's cost of each."""
        return self.roles if self.sink == "stderr" else self.roles[:1]


CASES = [
    Case("aggregated-file", "file"),
    Case("disaggregated-file", "file", disaggregated=True),
    Case("aggregated-nats", "nats"),
    Case("disaggregated-stdin", "stderr", disaggregated=True, seed=2),
]


class Checks:
    def __init__(self, case):
        self.case, self.failed = case, 0

    def __call__(self, passed, text):
        self.failed += not passed
        print(f"{'ok  ' if passed else 'FAIL'} {self.case}: {text}", flush=True)


class Background(threading.Thread):
    """Sends the load while the test goes on."""

    def __init__(self, port, seed):
        super().__init__(daemon=True)
        self.port, self.load, self.result = port, load.Load(seed=seed), None
        self.start()

    def run(self):
        self.result = asyncio.run(load.drive(self.port, stack.MODEL, self.load))


def run(case, kvshadow, folder, model_dir, checks):
    policies = os.path.join(HERE, "policies.yaml")
    with stack.Stack(folder, model_dir) as s:
        s.workers(case.disaggregated)
        if case.sink == "file":
            s.frontend("file")
            s.kvshadow(kvshadow, policies, "file:" + s.path("trace*"))
        elif case.sink == "nats":
            nats = s.nats()
            s.frontend("nats", nats_port=nats)
        else:  # the log, with the trace among it, goes through a pipe
            frontend = s.frontend("stderr", stderr=subprocess.PIPE)
            shadow = s.kvshadow(kvshadow, policies, "stdin:", stdin=subprocess.PIPE)
            stack.copy(frontend.stderr, shadow.stdin, open(s.path("frontend.err"), "wb"))
        s.ready(case.roles)
        sender = Background(s.port, case.seed)
        if case.sink == "nats":  # it comes late, and must not miss anything
            s.wait("requests", 60, lambda: s.router().sum("dynamo_component_router_requests_total") >= 20)
            s.kvshadow(kvshadow, policies, f"nats://127.0.0.1:{nats}/{stack.SUBJECT}")
        sent = await_load(s, sender, checks)
        if case.disaggregated and s.router().sum(NON_MAX) == 0:  # timing is never quite the same
            sent += await_load(s, Background(s.port, case.seed + 100), checks)
        check(case, s, sent, checks)


def await_load(s, sender, checks):
    s.wait("the load", 90, lambda: not sender.is_alive())
    if sender.result is None:
        raise stack.Stuck("the load was not sent")
    sent, failures = sender.result.sent, sender.result.failures
    checks(not failures and sent == sender.load.requests, f"{sent} requests sent, {len(failures)} failed{note(failures[:2])}")
    return sent


def check(case, s, sent, checks):
    try:
        s.wait("kvshadow", SETTLE, lambda: all(accounted(s.shadow(), role) >= sent for role in case.roles))
    except stack.Stuck as e:
        print(f"     {case.name}: {e}", flush=True)
    router, shadow = s.router(), s.shadow()
    for role in case.roles:
        check_role(role, sent, shadow, checks)
        check_fidelity(role, shadow, checks, needed=role in case.verifiable)
    idle = {"prefill", "decode"} - set(case.roles)
    for role in sorted(idle):
        n = shadow.sum("kvshadow_decisions_total", worker_type=role)
        checks(n == 0, f"{role}: {n:g} decisions, want none")
    dropped = shadow.sum("kvshadow_source_dropped_lines_total")
    checks(dropped == 0, f"{dropped:g} lines dropped")
    if case.disaggregated:
        check_prefill(router, shadow, checks)
    else:
        check_aggregated(router, shadow, checks)


def accounted(shadow, role):
    """The requests that kvshadow has evaluated, or has said why not. What it
    couldn't read, or not rebuild, has no role."""
    return (shadow.sum("kvshadow_decisions_total", worker_type=role)
            + shadow.sum("kvshadow_decisions_excluded_total", worker_type=role)
            + shadow.sum("kvshadow_source_undecodable_total")
            + shadow.sum("kvshadow_lifecycles_lost_total"))


def check_role(role, sent, shadow, checks):
    decisions = shadow.sum("kvshadow_decisions_total", worker_type=role)
    total = accounted(shadow, role)
    reasons = [(labels["reason"], v) for name in ("kvshadow_decisions_excluded_total", "kvshadow_source_undecodable_total", "kvshadow_lifecycles_lost_total")
               for labels, v in shadow.series(name) if v and labels.get("worker_type", role) == role]
    checks(total == sent, f"{role}: {decisions:g} decisions and {total - decisions:g} others{note(reasons)} of {sent} requests")
    checks(decisions >= 0.95 * sent, f"{role}: nearly all of them are decisions")


def check_fidelity(role, shadow, checks, needed):
    checked = shadow.sum("kvshadow_fidelity_checked_total", worker_type=role)
    bad = shadow.sum("kvshadow_fidelity_mismatches_total", worker_type=role)
    if checked == 0 and not needed:
        print(f"     {checks.case}: {role}: the trace alone has nothing to check the fidelity by", flush=True)
        return
    fidelity = 1 - bad / checked if checked else 0
    causes = [(labels["cause"], v) for labels, v in shadow.series("kvshadow_fidelity_mismatches_total", worker_type=role) if v]
    checks(fidelity >= MIN_FIDELITY, f"{role}: fidelity {fidelity:.3f} of {checked:g} checked{note(causes)}, want at least {MIN_FIDELITY}")


def check_prefill(router, shadow, checks):
    """Compares with the counters that the router itself has, for prefill only."""
    want = router.sum(NON_MAX, worker_type="prefill")
    got = live(shadow, "kvshadow_non_max_overlap_selections_total", "prefill")
    checks(want > 0, f"prefill: the router made {want:g} selections with less overlap, else this would be no test")
    checks(abs(got - want) <= 1, f"prefill: {got:g} such selections counted, the router's own {want:g} (may differ by 1)")
    want, bound = router.sum(LOST + "_sum", worker_type="prefill"), router.highest_bucket(LOST, worker_type="prefill")
    got = live(shadow, "kvshadow_overlap_lost_blocks_total", "prefill")
    checks(abs(got - want) <= bound, f"prefill: {got:g} overlap blocks lost, the router's own {want:g} (may differ by one selection, {bound:g})")


def check_aggregated(router, shadow, checks):
    """The router itself counts nothing for aggregated workers."""
    upstream = router.sum(NON_MAX)
    got = live(shadow, "kvshadow_non_max_overlap_selections_total", "decode")
    lost = live(shadow, "kvshadow_overlap_lost_blocks_total", "decode")
    checks(got > 0 and lost > 0, f"decode: {got:g} selections with less overlap counted, {lost:g} blocks lost")
    checks(upstream == 0, f"the router itself has counted {upstream:g}")


def note(details):
    return f" {details}" if details else ""


def live(shadow, name, role):
    return shadow.sum(name, policy="live", worker_type=role)


def main():
    kvshadow, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    unknown = set(names) - {case.name for case in CASES}
    if unknown:
        sys.exit(f"unknown cases {sorted(unknown)}; there are {[case.name for case in CASES]}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("e2e: terminated"))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"FAIL e2e: not done within {BUDGET} s"))
    signal.alarm(BUDGET)
    model_dir = os.path.join(folder, "model")
    make_model.write(model_dir)
    failed = 0
    for case in CASES:
        if names and case.name not in names:
            continue
        begun, checks = time.monotonic(), Checks(case.name)
        try:
            run(case, kvshadow, os.path.join(folder, case.name), model_dir, checks)
        except stack.Stuck as e:
            checks(False, str(e))
        except Exception:
            checks(False, traceback.format_exc())
        print(f"     {case.name}: {time.monotonic() - begun:.0f} s", flush=True)
        failed += checks.failed
    print(f"e2e: {f'{failed} checks FAILED' if failed else 'all checks passed'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

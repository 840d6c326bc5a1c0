"""The peer of the decoding benchmark: the script that one would write by hand.

Counts, per worker type, decisions, non-max-overlap selections and blocks lost
of a Dynamo 1.5 JSONL log. usage: peer.py LOG
"""
import collections
import json
import re
import sys

ROW = re.compile(r"Formula for worker_id=(\d+) dp_rank=(\d+) with ([\d.]+) effective cached blocks: ([\d.]+) = .* "
                 r"= ([\d.]+) \* ([\d.]+) \+ ([\d.]+) \+ ([\d.]+) \(raw_prefill_blocks: ([\d.]+), "
                 r"overlap_credit_blocks: ([\d.]+), overlap_credit_decay: ([\d.]+)\)")
sums, rows = collections.defaultdict(lambda: [0, 0, 0.0]), collections.defaultdict(dict)
for line in open(sys.argv[1]):
    try:
        record = json.loads(line)
    except ValueError:
        continue
    key, message = (record.get("request_id"), record.get("worker_type")), record.get("message", "")
    if match := ROW.match(message):
        rows[key][int(match[1]), int(match[2])] = float(match[3])
    elif message == "Selected worker" and key in rows:
        candidates = rows.pop(key)
        lost = max(candidates.values()) - candidates[record["worker_id"], int(record["dp_rank"])]
        total = sums[record["worker_type"]]
        total[0] += 1
        total[1] += lost > 0
        total[2] += lost
print(json.dumps(sums))

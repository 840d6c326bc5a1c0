#!/bin/sh
# Prints the published comparison of routing weights beside kvshadow's own.
# usage: testdata/simulation/published.sh [KVSHADOW] [SEEDS]
# KVSHADOW is the program, ./kvshadow by default; each workload is simulated
# SEEDS times, 20 by default, 2 at least. Needs awk and sh only.
set -eu
here=$(dirname "$0")
kvshadow=${1:-./kvshadow} seeds=${2:-20}
for n in 1 2 3 4 5; do
  "$kvshadow" simulate "$here/seed-$n.trace.jsonl.gz" --workers 2 --gpu-blocks 512 --block-size 64 --max-num-seqs 8 \
    --policies "$here/policies.yaml" --seeds "$seeds" -o json
done | awk -v seeds="$seeds" '
function value(object, key,  a) { # of a key of a flat JSON object
  return match(object, "\"" key "\":") ? substr(object, RSTART + RLENGTH) + 0 : 0
}
{
  n = split($0, objects, /\{"name":/)
  for (i = 2; i <= n; i++) {
    split(objects[i], quoted, "\""); name = quoted[2]
    if (!(name in runs)) order[++policies] = name
    runs[name]++
    for (k = split("moved_sessions non_max_overlap_selections recomputed_prefill_tokens resumed_ttft_p95_ms duration_ms", keys, " "); k; k--) {
      id = name SUBSEP k
      sum[id] += value(objects[i], keys[k])
      low = value(objects[i], keys[k] "_min"); high = value(objects[i], keys[k] "_max")
      if (runs[name] == 1 || low < least[id]) least[id] = low
      if (runs[name] == 1 || high > most[id]) most[id] = high
    }
  }
}
function range(name, k, scale, format) { return sprintf(format " (" format " to " format ")", sum[name, k] / runs[name] * scale, least[name, k] * scale, most[name, k] * scale) }
END {
  published["live"] = "41 to 52"; published["affinity-1"] = "23 to 33"; published["affinity-2"] = "9 to 16"
  published["affinity-4"] = "2 to 6"; published["scale-4"] = "4 to 12"
  print "Means of five workloads in " seeds " worlds each, and the range of the single worlds.\n"
  format = "%-11s %-10s %-16s %-16s %-18s %-17s %s\n"
  printf format, "policy", "published", "moved", "lower overlap", "recomputed k", "resumed p95", "total s"
  for (p = 1; p <= policies; p++) {
    name = order[p]
    printf format, name, published[name], range(name, 1, 1, "%.0f"), range(name, 2, 1, "%.0f"), range(name, 3, 0.001, "%.0f"), range(name, 4, 1, "%.0f"), range(name, 5, 0.001, "%.1f")
  }
  print "\naffinity-4 against live     published      here"
  printf "lower-overlap picks         37-47 -> 2-5   %s -> %s\n", range("live", 2, 1, "%.0f"), range("affinity-4", 2, 1, "%.0f")
  printf "recomputed tokens           -60 %%          %+.0f %%\n", 100 * (sum["affinity-4", 3] / sum["live", 3] - 1)
  first = 5 * 16 * 3096 # prompt tokens of the first turns, which always are computed
  printf "  with the first turns      -60 %%          %+.0f %%\n", 100 * ((sum["affinity-4", 3] + first) / (sum["live", 3] + first) - 1)
  printf "resumed-turn p95 TTFT       -30 %%          %+.0f %%\n", 100 * (sum["affinity-4", 4] / sum["live", 4] - 1)
  printf "whole replay, live          28.2-28.9 s    %s s\n", range("live", 5, 0.001, "%.1f")
  printf "whole replay, affinity-4    26.9-28.1 s    %s s\n", range("affinity-4", 5, 0.001, "%.1f")
}'

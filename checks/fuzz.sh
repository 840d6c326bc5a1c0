#!/usr/bin/env bash
# Runs every fuzz target of the module for a time each: checks/fuzz.sh 60s
set -euo pipefail
cd "$(dirname "$0")/.."
time=$1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Shrinking an input that only reaches new code may take Go a minute, in which
# nothing is tried: a second does.
fuzz() { go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 1s "$1" 2>&1 | tee "$log"; }

# Go before 1.27 now and then reports the end of the time as a failure
# (go.dev/issue/75804). Whatever a target finds comes with more than that line.
ended() {
  grep -A1 '^--- FAIL' "$log" | grep -qx '    context deadline exceeded' && ! grep -qE 'Failing input written|^    --- FAIL|panic:' "$log"
}

packages=$(go list ./...)
for package in $packages; do
  tests=$(go test -list '^Fuzz' "$package")
  for target in $(grep '^Fuzz' <<<"$tests" || true); do
    echo "$package $target"
    fuzz "$package" "$target" || ended || exit 1
  done
done

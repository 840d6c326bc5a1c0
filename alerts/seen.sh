#!/usr/bin/env bash
# Sees the generated rules and any queries work on real systems: a Prometheus,
# and where they install a VictoriaMetrics with its vmalert, scrape the demo
# exporter and captured router pages each second and evaluate the rules.
#
#   alerts/seen.sh [QUERIES [EMPTY]]
#
# QUERIES is a file with one PromQL query a line ("-" is standard input), EMPTY
# one with those that legitimately return nothing; lines with # are comments.
# Every recording rule and every query must return numbers, and no rule may
# fail. KVSHADOW is the binary, ./kvshadow by default; PORT the first of six
# free ports.
set -euo pipefail
cd "$(dirname "$0")/.."

KVSHADOW=${KVSHADOW:-./kvshadow}
RULES=$PWD/alerts/generated/kvshadow.rules.yaml
PORT=${PORT:-19871}
exporter=127.0.0.1:$PORT router=127.0.0.1:$((PORT + 1))
prometheus=127.0.0.1:$((PORT + 2)) victoria=127.0.0.1:$((PORT + 3)) vmalert=127.0.0.1:$((PORT + 4))
nobody=127.0.0.1:$((PORT + 5)) # where vmalert may send alerts to

tmp=$(mktemp -d)
pids=()
declare -A pid_of
finish() {
  if [ ${#pids[@]} -gt 0 ]; then
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
  fi
  rm -rf "$tmp"
}
trap finish EXIT

# start NAME COMMAND...: in the background, with a log.
start() {
  local name=$1
  shift
  "$@" >"$tmp/$name.log" 2>&1 &
  pids+=($!)
  pid_of[$name]=$!
}

# wait_for NAME URL: until it answers, 30 s at most. What answers must be ours,
# not another process on the port.
wait_for() {
  curl -sSf -o /dev/null --max-time 5 --retry 60 --retry-connrefused --retry-all-errors --retry-delay 0 --retry-max-time 30 "$2" 2>"$tmp/curl" && alive "$1" && return
  echo "$1 doesn't answer, or its port is taken:" >&2
  tail -n 5 "$tmp/curl" "$tmp/$1.log" >&2
  exit 1
}

# alive NAME: whether it still runs.
alive() { kill -0 "${pid_of[$1]}" 2>/dev/null; }

# count PATTERN: how often standard input has it.
count() { { grep -oE -- "$1" || true; } | wc -l; }

# install COMMAND PACKAGE: from Debian, if the command isn't there.
install() {
  command -v "$1" >/dev/null && return
  local root=()
  [ "$(id -u)" = 0 ] || root=(sudo -n)
  { "${root[@]}" apt-get install -y --no-install-recommends "$2" ||
    { "${root[@]}" apt-get update && "${root[@]}" apt-get install -y --no-install-recommends "$2"; }; } >"$tmp/apt.log" 2>&1 || true
  command -v "$1" >/dev/null
}

# scrapes: the scrape configuration of both systems.
scrapes() {
  cat <<END
scrape_configs:
  - job_name: kvshadow
    static_configs: [{targets: ["$exporter"]}]
  - job_name: frontend
    static_configs:
END
  for page in catalog/testdata/dynamo-*.metrics.txt; do
    name=$(basename "$page")
    echo "      - {targets: [\"$router\"], labels: {instance: \"${name%.metrics.txt}\", __metrics_path__: \"/$name\"}}"
  done
}

# read_queries FILE: its lines without comments.
read_queries() { grep -vE '^[[:space:]]*(#|$)' -- "$1" || true; }

# look SYSTEM URL: until every query has an answer or the time is over; prints a
# line for each, and adds up failures.
look() {
  local deadline=$((SECONDS + 40)) pending=("${queries[@]}") rest answer n
  while :; do
    rest=()
    for q in "${pending[@]}"; do
      answer=$(curl -sS --max-time 10 --data-urlencode "query=$q" "$2/api/v1/query" || true)
      n=$(count '"value":\[|"resultType":"scalar"' <<<"$answer")
      if [ "$n" -gt 0 ] && ! grep -qE '[0-9],"(NaN|[+-]?Inf)"\]' <<<"$answer"; then
        echo "$1: ok, $n series: $q"
      elif [ "$n" = 0 ] && grep -q '"status":"success"' <<<"$answer" && grep -qxF -- "$q" "$tmp/empty"; then
        echo "$1: ok, empty as listed: $q"
      elif [ $SECONDS -ge $deadline ]; then
        echo "$1: FAILED: $q: ${answer:0:300}"
        failures=$((failures + 1))
      else
        rest+=("$q")
      fi
    done
    [ ${#rest[@]} -gt 0 ] || break
    pending=("${rest[@]}")
    sleep 1
  done
}

# healthy SYSTEM URL: every rule was evaluated, and none fails.
healthy() {
  local deadline=$((SECONDS + 30)) answer good
  while :; do
    answer=$(curl -sS --max-time 10 "$2/api/v1/rules" || true)
    good=$(count '"health":"ok"' <<<"$answer")
    [ "$good" -lt "$rules" ] || break
    if [ $SECONDS -ge $deadline ]; then
      echo "$1: FAILED: $good of $rules rules are healthy: $({ grep -oE '"lastError":"[^"]+"' <<<"$answer" || true; } | sort -u | head -n 5)"
      failures=$((failures + 1))
      return
    fi
    sleep 1
  done
  echo "$1: ok, $rules rules evaluated without errors"
}

rules=$(grep -cE '^ *- (record|alert): ' "$RULES")
mapfile -t queries < <(sed -nE 's/^ *- record: //p' "$RULES")
if [ $# -gt 0 ]; then
  cat -- "$1" >"$tmp/queries"
  mapfile -t -O ${#queries[@]} queries < <(read_queries "$tmp/queries")
fi
if [ $# -gt 1 ]; then read_queries "$2" >"$tmp/empty"; else : >"$tmp/empty"; fi
failures=0

go build -o "$tmp/routerpage" ./alerts/internal/routerpage
start exporter "$KVSHADOW" serve --demo --web.listen-address "$exporter"
start router "$tmp/routerpage" "$router" catalog/testdata/dynamo-*.metrics.txt
wait_for exporter "http://$exporter/-/ready"
wait_for router "http://$router/$(cd catalog/testdata && ls dynamo-*.metrics.txt | head -n 1)"

install prometheus prometheus || { echo "prometheus can't be installed" >&2; tail -n 5 "$tmp/apt.log" >&2; exit 1; }
{ printf 'global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: ["%s"]\n' "$RULES"; scrapes; } >"$tmp/prometheus.yaml"
start prometheus prometheus --config.file="$tmp/prometheus.yaml" --storage.tsdb.path="$tmp/prometheus" --web.listen-address="$prometheus"

if install victoria-metrics victoria-metrics && command -v vmalert >/dev/null; then
  { printf 'global: {scrape_interval: 1s}\n'; scrapes; } >"$tmp/victoria.yaml"
  start victoria victoria-metrics -storageDataPath="$tmp/victoria" -httpListenAddr="$victoria" \
    -promscrape.config="$tmp/victoria.yaml" -search.latencyOffset=1s -search.disableCache
  wait_for victoria "http://$victoria/health"
  start vmalert vmalert -rule="$RULES" -datasource.url="http://$victoria" -remoteWrite.url="http://$victoria" \
    -notifier.url="http://$nobody" -evaluationInterval=1s -httpListenAddr="$vmalert"
else
  echo "victoriametrics: skipped, it can't be installed here"
  victoria=
fi

wait_for prometheus "http://$prometheus/-/ready"
healthy prometheus "http://$prometheus"
look prometheus "http://$prometheus"
if [ -n "$victoria" ]; then
  wait_for vmalert "http://$vmalert/health"
  healthy victoriametrics "http://$vmalert"
  look victoriametrics "http://$victoria"
fi
for name in "${!pid_of[@]}"; do
  alive "$name" || { echo "$name: FAILED: it ended: $(tail -n 3 "$tmp/$name.log")"; failures=$((failures + 1)); }
done
echo "seen: ${#queries[@]} queries, $rules rules, $failures failures"
[ "$failures" = 0 ]

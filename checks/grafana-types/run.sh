#!/usr/bin/env bash
# Type-checks the generated dashboards against Grafana's own types, and makes
# sure that the check can fail.
set -euo pipefail
cd "$(dirname "$0")"

npm install --package-lock=false --no-audit --no-fund --silent
node check.mjs ../../dashboards/generated/*/json/*.json

spoiled=$(mktemp -d)
trap 'rm -rf "$spoiled"' EXIT
original=../../dashboards/generated/prometheus/json/kvshadow-routing.json
expect_failure() { # NAME SED-PROGRAM
  sed -e "$2" "$original" > "$spoiled/$1.json"
  if cmp -s "$original" "$spoiled/$1.json"; then
    echo "nothing in $original to spoil as $1" >&2
    exit 1
  fi
  if node check.mjs "$spoiled/$1.json" > /dev/null; then
    echo "the check accepts a dashboard with $1" >&2
    exit 1
  fi
}
expect_failure a-panel-field-of-another-type 's/"w": 5/"w": "5"/'
expect_failure an-unknown-dashboard-field 's/"graphTooltip"/"tooltip"/'
expect_failure an-unknown-draw-style 's/"drawStyle": "line"/"drawStyle": "lines"/'
expect_failure an-unknown-legend-mode 's/"displayMode": "list"/"displayMode": "lst"/'
expect_failure an-unknown-colour-mode 's/"colorMode": "value"/"colorMode": "values"/'
expect_failure an-unknown-variable-type 's/"type": "textbox"/"type": "text"/'
echo "and it refuses spoiled ones"

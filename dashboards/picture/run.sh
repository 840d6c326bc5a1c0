#!/usr/bin/env bash
# Draws docs/images/dashboard-*.png anew: see README.md.
# usage: run.sh [RECORD]    RECORD is a folder for the recording; one that is there is drawn again
set -euo pipefail
cd "$(dirname "$0")"

record=${1:-$(mktemp -d)}
cache=${E2E_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kvshadow-e2e}
python=$(ls -d "$cache"/venv-*/bin/python | tail -n 1) || { echo "run e2e/run.sh first: it installs Dynamo" >&2; exit 1; }
boards=../generated/prometheus/json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$record"
if [ ! -e "$record/kvshadow-routing.json" ]; then
  go build -o "$work/kvshadow" ../../cmd/kvshadow
  "$python" record.py "$work/kvshadow" "$record" "$boards"/*.json
fi

# Outside of the module: some npm packages hold Go files.
modules=$cache/picture
mkdir -p "$modules"
cp package.json "$modules"
npm install --prefix "$modules" --package-lock=false --no-audit --no-fund --legacy-peer-deps --ignore-scripts --silent
NODE_PATH=$modules/node_modules "$modules"/node_modules/@esbuild/*/bin/esbuild page.jsx --bundle --minify --jsx=automatic --outfile="$work/page.js" --log-level=error \
  --loader:.svg=dataurl --loader:.woff=dataurl --loader:.woff2=dataurl --loader:.ttf=dataurl \
  '--define:process.env.NODE_ENV="production"' --define:process.env.NODE_DEBUG=false --define:global=window

for name in routing shadow self; do
  file=$record/kvshadow-$name.json
  lines=$(node -p 'Math.max(...JSON.parse(fs.readFileSync(process.argv[1])).dashboard.panels.map(p => p.gridPos.y + p.gridPos.h))' "$file")
  {
    echo '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="page.css"><body style="margin:0;background:#111217"><div id="root"></div>'
    echo '<script>window.RECORD ='
    sed 's|</|<\\/|g' "$file"
    echo '</script><script src="page.js"></script>'
  } > "$work/$name.html"
  timeout 120 chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files --hide-scrollbars --virtual-time-budget=10000 \
    --window-size="1560,$((lines * 38 + 76))" --screenshot="$work/$name.png" "file://$work/$name.html" 2> "$work/chromium.log" || { cat "$work/chromium.log" >&2; exit 1; }
  cp "$work/$name.png" "../../docs/images/dashboard-$name.png"
  echo "docs/images/dashboard-$name.png"
done

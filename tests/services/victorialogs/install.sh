#!/bin/sh
# usage: install.sh CACHE    VictoriaLogs, built by Go, as CACHE/bin/victoria-logs; prints that path
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
cache=${1:?usage: install.sh CACHE}
module=github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs@v1.52.1
target=$cache/bin/victoria-logs
if [ ! -x "$target" ]; then
    temporary=$(mktemp -d "$cache/.victorialogs-XXXXXX")
    trap 'rm -rf "$temporary"' EXIT
    GOBIN=$temporary CGO_ENABLED=0 go install "$module" >&2
    publish "$temporary/victoria-logs" "$target"
fi
printf '%s\n' "$target"

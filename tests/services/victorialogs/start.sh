#!/bin/sh
# usage: start.sh DIR VICTORIA_LOGS    starts VictoriaLogs on the port of DIR/ports
# No login. Keeps what is in DIR/data. Ends 0 once it answers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
dir=${1:?usage: start.sh DIR VICTORIA_LOGS} victoria_logs=${2:?usage: start.sh DIR VICTORIA_LOGS}
! alive "$dir" || exit 0
mkdir -p "$dir/data"
read -r port <"$dir/ports"
: >"$dir/server.log"
# By default it keeps 7 days, and drops older lines without an error: the corpus has fixed dates.
"$victoria_logs" -storageDataPath="$dir/data" -httpListenAddr="127.0.0.1:$port" \
    -retentionPeriod=100y </dev/null >>"$dir/server.log" 2>&1 &
echo $! >"$dir/pid"
wait_until_ready victorialogs "$dir" 300 curl -fsS "http://127.0.0.1:$port/health"

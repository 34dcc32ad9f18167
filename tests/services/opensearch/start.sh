#!/bin/sh
# usage: start.sh DIR LAUNCHER    starts OpenSearch on the two ports of DIR/ports: HTTP, transport
# No TLS, no login. Keeps what is in DIR/data. Ends 0 once it answers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
dir=${1:?usage: start.sh DIR LAUNCHER} launcher=${2:?usage: start.sh DIR LAUNCHER}
! alive "$dir" || exit 0
mkdir -p "$dir/data"
read -r port transport_port <"$dir/ports"
lib=$(dirname "$launcher")
: >"$dir/server.log"
java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms512m -Xmx512m -cp "$launcher:$lib/*" \
    SearchNode "$dir/data" "$port" "$transport_port" </dev/null >>"$dir/server.log" 2>&1 &
echo $! >"$dir/pid"
answers() {
    grep -q '^node started' "$dir/server.log" || return 1
    curl -fsS "http://127.0.0.1:$port/_cluster/health?wait_for_status=yellow&timeout=1s"
}
wait_until_ready opensearch "$dir" 1200 answers

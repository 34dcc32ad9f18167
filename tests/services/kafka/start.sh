#!/bin/sh
# usage: start.sh DIR LIB    starts Kafka on the ports of DIR/ports: PLAINTEXT, controller, the
# listener behind a test's proxy, the port that this one advertises and does not listen on, the
# listener with logins, and the one that asks for a certificate
# Formats DIR/data when it is new; a later start keeps what is there. Ends 0 once it serves.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
dir=${1:?usage: start.sh DIR LIB} lib=${2:?usage: start.sh DIR LIB}
! alive "$dir" || exit 0
mkdir -p "$dir/data"
[ -e "$dir/tls/token.json" ] || sh "$here/certificates.sh" "$dir/tls"
read -r port controller_port behind_port between_port login_port mutual_port <"$dir/ports"
sed -e "s|@DATA@|$dir/data|" -e "s|@PORT@|$port|" -e "s|@CONTROLLER_PORT@|$controller_port|" \
    -e "s|@BEHIND_PORT@|$behind_port|" -e "s|@BETWEEN_PORT@|$between_port|" \
    -e "s|@LOGIN_PORT@|$login_port|" -e "s|@MUTUAL_PORT@|$mutual_port|" -e "s|@TLS@|$dir/tls|" \
    "$here/server.properties.in" >"$dir/server.properties"

# The second compiler costs more than it gains in a broker that lives for minutes. Unquoted below
# on purpose: one word a flag. (No function: its process would be a shell with java as its child.)
flags="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Kafka opens no address of tokens that it was not told of here.
tokens="-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file://$dir/tls/token.json"
tokens="$tokens -Dorg.apache.kafka.sasl.oauthbearer.allowed.files=$dir/tls/token.json"
if [ ! -e "$dir/data/log/meta.properties" ]; then
    java $flags -Xmx128m -cp "$lib/*" kafka.tools.StorageTool format --standalone \
        --cluster-id riverhogtestAAAAAAAAAA --config "$dir/server.properties" \
        --add-scram 'SCRAM-SHA-256=[name=riverhog,password=riverhog-secret]' \
        --add-scram 'SCRAM-SHA-512=[name=riverhog,password=riverhog-secret]' \
        >"$dir/server.log" 2>&1 || { cat "$dir/server.log" >&2; exit 1; }
fi

: >"$dir/server.log"
java $flags $tokens -Xms512m -Xmx512m -Dlog4j2.configurationFile="$here/log4j2.properties" \
    -cp "$lib/*" kafka.Kafka "$dir/server.properties" </dev/null >>"$dir/server.log" 2>&1 &
echo $! >"$dir/pid"
wait_until_ready kafka "$dir" 1200 grep -q 'Kafka Server started' "$dir/server.log"

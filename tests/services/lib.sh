# Shared by the start, stop and install scripts of the test services; sourced, never run.
#
# Each service lives in a folder of its own, DIR, while it runs:
#   DIR/ports        the ports it listens on, in one line; a restart takes the same ones
#   DIR/pid          its process
#   DIR/server.log   what it says
#   DIR/data/        what it stores; kept over a stop and a start
#   DIR/start, DIR/stop   what a test calls to start or stop this very service

# say TEXT…: a line for the person who waits.
say() {
    printf '%s\n' "$*" >&2
}

# version_of NAME POM: the value of <NAME.version> in a pom.xml, so that it stands in one place.
version_of() {
    sed -n "s|.*<$1\.version>\(.*\)</$1\.version>.*|\1|p" "$2"
}

# alive DIR: is the process of DIR/pid still the service of DIR?
# A process number may have been given to somebody else since, hence the look at its command line,
# which names DIR for each of our services. (The command line of a zombie is empty: not alive.)
alive() {
    alive_pid=$(cat "$1/pid" 2>/dev/null) || return 1
    [ -n "$alive_pid" ] && grep -qaF -- "$1/" "/proc/$alive_pid/cmdline" 2>/dev/null
}

# wait_until_ready NAME DIR TENTHS COMMAND…: waits until COMMAND succeeds; fails early, with the
# end of the log, when the process has gone or the time is up.
wait_until_ready() {
    ready_name=$1 ready_dir=$2 ready_left=$3
    shift 3
    until "$@" >/dev/null 2>&1; do
        ready_left=$((ready_left - 1))
        if [ "$ready_left" -le 0 ] || ! kill -0 "$(cat "$ready_dir/pid")" 2>/dev/null; then
            say "$ready_name did not start; the end of $ready_dir/server.log:"
            tail -n 20 "$ready_dir/server.log" >&2
            kill -9 "$(cat "$ready_dir/pid")" 2>/dev/null || :
            return 1
        fi
        sleep 0.1
    done
}

# stop_service DIR [now]: ends the service of DIR and waits until it has gone. `now` is for data
# that nobody will read again; otherwise the service may close its files (30 s, then by force).
stop_service() {
    stop_tenths=300
    alive "$1" || return 0
    stop_pid=$alive_pid
    if [ "${2:-}" = now ]; then
        kill -9 "$stop_pid" 2>/dev/null || return 0
    else
        kill "$stop_pid" 2>/dev/null || return 0
    fi
    while alive "$1"; do
        stop_tenths=$((stop_tenths - 1))
        [ "$stop_tenths" -gt 0 ] || kill -9 "$stop_pid" 2>/dev/null || :
        sleep 0.1
    done
}

# write_handles SERVICE_FOLDER DIR PROGRAM: the start and stop scripts in DIR that tests call.
write_handles() {
    {
        printf '#!/bin/sh\n'
        printf "exec sh '%s/start.sh' '%s' '%s'\n" "$1" "$2" "$3"
    } >"$2/start"
    {
        printf '#!/bin/sh\n'
        printf "exec sh '%s/../stop.sh' '%s' \"\$@\"\n" "$1" "$2"
    } >"$2/stop"
    chmod +x "$2/start" "$2/stop"
}

# publish TEMPORARY TARGET: makes a finished install visible in one step. Who comes second has
# made the same thing and throws his away.
publish() {
    mkdir -p "$(dirname "$2")"
    mv -T "$1" "$2" 2>/dev/null || rm -rf "$1"
    [ -e "$2" ]
}

# port_in_use PORT: does any socket of this machine hold the port (loopback or not)?
port_in_use() {
    port_hex=$(printf '%04X' "$1")
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port=":$port_hex" '
        index($2, port) == length($2) - 4 { found = 1 }
        END { exit !found }'
}

# free_ports COUNT CLAIMS: prints COUNT free ports of 15000-29999, each claimed by a folder in
# CLAIMS (which the caller removes), so that two runs that start together take different ones.
# The range lies below the one that the kernel takes for outgoing connections: a service that is
# stopped for a while finds its port free again.
free_ports() {
    ports_left=$1 ports_tries=500 ports=
    mkdir -p "$2"
    while [ "$ports_left" -gt 0 ]; do
        ports_tries=$((ports_tries - 1))
        [ "$ports_tries" -gt 0 ] || { say "no free port between 15000 and 29999"; return 1; }
        random=$(od -An -N2 -tu2 /dev/urandom)
        port=$((15000 + random % 15000))
        ! port_in_use "$port" || continue
        claim_port "$2" "$port" || continue
        ports="$ports $port"
        ports_left=$((ports_left - 1))
    done
    printf '%s\n' "${ports# }"
}

# claim_port CLAIMS PORT: one of several runs gets it. A claim whose run has gone is taken over.
claim_port() {
    if ! mkdir "$1/$2" 2>/dev/null; then
        claim_owner=$(cat "$1/$2/owner" 2>/dev/null) || return 1
        ! kill -0 "$claim_owner" 2>/dev/null || return 1
        rm -rf "${1:?}/$2"
        mkdir "$1/$2" 2>/dev/null || return 1
    fi
    echo $$ >"$1/$2/owner"
}

# release_ports CLAIMS PORT…
release_ports() {
    release_from=$1
    shift
    for port in "$@"; do
        rm -rf "${release_from:?}/$port"
    done
}

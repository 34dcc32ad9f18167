#!/bin/sh
# usage: start.sh DIR VERSITYGW    starts an S3 server on the port of DIR/ports
# Region us-east-1, path-style, key riverhog, secret riverhog-secret. A bucket is a folder of
# DIR/data/buckets, an object a file in it. Ends 0 once it answers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
dir=${1:?usage: start.sh DIR VERSITYGW} versitygw=${2:?usage: start.sh DIR VERSITYGW}
! alive "$dir" || exit 0
mkdir -p "$dir/data/buckets" "$dir/data/iam"
read -r port <"$dir/ports"
# Without --iam-dir an unknown access key is answered 404 and not 403, unlike elsewhere. The path
# of the health check is this process's own: another server on the port cannot answer it.
health=/health-$$
: >"$dir/server.log"
ROOT_ACCESS_KEY=riverhog ROOT_SECRET_KEY=riverhog-secret "$versitygw" \
    --port "127.0.0.1:$port" --iam-dir "$dir/data/iam" --health "$health" \
    posix "$dir/data/buckets" </dev/null >>"$dir/server.log" 2>&1 &
echo $! >"$dir/pid"
wait_until_ready s3 "$dir" 300 curl -fsS "http://127.0.0.1:$port$health"

#!/bin/sh
# usage: install.sh CACHE    the S3 server versitygw, built by Go, as CACHE/bin/versitygw;
#                            prints that path
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
cache=${1:?usage: install.sh CACHE}
module=github.com/versity/versitygw/cmd/versitygw@v1.8.0
target=$cache/bin/versitygw
if [ ! -x "$target" ]; then
    temporary=$(mktemp -d "$cache/.s3-XXXXXX")
    trap 'rm -rf "$temporary"' EXIT
    GOBIN=$temporary CGO_ENABLED=0 go install "$module" >&2
    publish "$temporary/versitygw" "$target"
fi
printf '%s\n' "$target"

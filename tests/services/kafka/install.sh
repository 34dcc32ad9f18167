#!/bin/sh
# usage: install.sh CACHE    the broker's jars, by Maven, into CACHE/kafka-VERSION; prints that path
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
cache=${1:?usage: install.sh CACHE}
version=$(version_of kafka "$here/pom.xml")
target=$cache/kafka-$version
if [ ! -d "$target" ]; then
    temporary=$(mktemp -d "$cache/.kafka-XXXXXX")
    trap 'rm -rf "$temporary"' EXIT
    mvn -q -B -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$temporary" -DincludeScope=runtime >&2
    chmod 755 "$temporary"
    [ -e "$temporary/kafka_2.13-$version.jar" ] || { say "Maven brought no broker"; exit 1; }
    publish "$temporary" "$target"
fi
printf '%s\n' "$target"

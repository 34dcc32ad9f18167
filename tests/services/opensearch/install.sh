#!/bin/sh
# usage: install.sh CACHE    the node's jars, by Maven, into CACHE/opensearch-VERSION, and in there
#                            the compiled launcher, by a name that changes with it; prints that path
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
cache=${1:?usage: install.sh CACHE}
version=$(version_of opensearch "$here/pom.xml")
target=$cache/opensearch-$version
launcher=$target/launcher-$(cksum <"$here/SearchNode.java" | cut -d' ' -f1)
temporary=
trap 'rm -rf ${temporary:+"$temporary"}' EXIT
if [ ! -d "$target" ]; then
    temporary=$(mktemp -d "$cache/.opensearch-XXXXXX")
    mvn -q -B -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$temporary" -DincludeScope=runtime >&2
    chmod 755 "$temporary"
    [ -e "$temporary/opensearch-$version.jar" ] || { say "Maven brought no node"; exit 1; }
    publish "$temporary" "$target"
fi
if [ ! -d "$launcher" ]; then
    temporary=$(mktemp -d "$cache/.opensearch-XXXXXX")
    javac -d "$temporary" -cp "$target/*" "$here/SearchNode.java" >&2
    chmod 755 "$temporary"
    publish "$temporary" "$launcher"
fi
printf '%s\n' "$launcher"

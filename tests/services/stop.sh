#!/bin/sh
# usage: stop.sh DIR [now]    ends the service of DIR by its process id and waits until it has gone
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
stop_service "${1:?usage: stop.sh DIR [now]}" "${2:-}"

#!/bin/sh
# The health check of the image, for a node or a whole network; containers of other roles bring one of their own. A
# network in one container says at port 1632 whether all of it is usable; where nobody listens there, a node answers for
# itself. A shell, because it runs all the time and a Node.js of its own would take the processor from a node.
if [ -z "$BASH_VERSION" ]; then exec bash "$0"; fi
# As sh, a connection that is refused would end it at once.
set +o posix
exec 2>/dev/null
exec 3<>/dev/tcp/127.0.0.1/1632 || exec 3<>/dev/tcp/127.0.0.1/1633 || exit 1
printf 'GET /readiness HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3
read -r _ status _ <&3
[ "$status" = 200 ]

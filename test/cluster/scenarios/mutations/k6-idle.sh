#!/bin/sh
# Stands for a k6 that starts nothing.
if [ "$1" = version ]; then
  echo 'k6 v2.2.0'
  exit 0
fi
while [ $# -gt 0 ] && [ "$1" != --config ]; do shift; done
echo '{"metrics":{}}' > "${2%/*}/summary.json"

#!/bin/sh
# Stands for a k6 whose load was answered wrongly: an upload with another reference, a download with other bytes,
# iterations that could not start, one that an exception has ended, and a script that calls the load failed.
if [ "$1" = version ]; then
  echo 'k6 v2.2.0'
  exit 0
fi
while [ $# -gt 0 ] && [ "$1" != --config ]; do shift; done
folder="${2%/*}"
id=abababababababababababababababababababababababababababababababab
common='"node":"node-0","scenarioMs":1,"endMs":2,"iteration":0'
{
  echo "svcnet {\"operation\":\"upload\",$common,\"latencyMs\":1,\"bytes\":5,\"upload\":{\"kind\":\"bytes\",\"batch\":\"$id\",\"reference\":\"$id\",\"size\":5,\"index\":\"0\",\"requestedAtMs\":1}}"
  echo "svcnet {\"operation\":\"download\",$common,\"failure\":{\"class\":\"data.mismatch\",\"message\":\"other bytes\"}}"
} > "$folder/console.log"
cat > "$folder/summary.json" <<END
{"metrics":{"iterations{scenario:svcnet_load}":{"values":{"count":1}},"dropped_iterations{scenario:svcnet_load}":{"values":{"count":9}}}}
END
echo '{"level":"error","msg":"TypeError: no function","scenario":"svcnet_load","executor":"constant-arrival-rate"}'
exit 110

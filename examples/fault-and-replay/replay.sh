set -e
run="npx svcnet run ./power-cut.ts --driver simulated --network 50ms --seed 7"
# The upload is lost: the run fails, and so does each replay.
$run --report reports/first && exit 1
[ $? = 1 ]
npx svcnet replay reports/first --times 2 && exit 1
[ $? = 1 ]
$run --set mode=direct

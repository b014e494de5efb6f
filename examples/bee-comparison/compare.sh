if [ -z "$SVCNET_BEE_BINARY" ]; then
  echo 'skipped: SVCNET_BEE_BINARY names no program'
  exit 0
fi
npx svcnet compare --flavours svc,bee --scenario upload --nodes 3 --rounds 1 --seed 7

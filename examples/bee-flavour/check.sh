if [ -z "$SVCNET_BEEFILE_BINARY" ]; then
  echo 'skipped: SVCNET_BEEFILE_BINARY names no program'
  exit 0
fi
npx svcnet flavour check bee.flavour.yaml

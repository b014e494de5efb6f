import { expect, test } from 'vitest';
import { readSources } from './source-tree.ts';

/** A mark, a folder inside a marked one, a random name, or content that only svcnet writes. */
const PROOFS: Readonly<Record<string, string>> = {
  'chain/engine/anvil.ts': 'made by mkdtemp in the same function',
  'dashboards/write.ts': 'is in the folder of generated boards of this repository',
  'harness/base/machine/bundle.ts': 'has a random name, given in the same function',
  'harness/base/machine/compile.ts': 'is named by the hash of a bundled program',
  'harness/base/machine/port-claims.ts': 'is an entry of svcnet-ports, of this user alone',
  'harness/cluster/lifecycle/claim.ts': 'has a random name, given in the same function',
  'harness/cluster/lifecycle/leftovers.ts': 'is in the marked folder of all state',
  'harness/cluster/snapshots/copy.ts': 'is in a copy that is being written to the marked folder of all state',
  'harness/cluster/snapshots/save.ts': 'is in the marked folder of all state',
  'harness/cluster/snapshots/writing.ts': 'is in the marked folder of all state',
  'harness/cluster/state/compile-cache.ts': 'is in the marked folder of all state',
  'harness/cluster/state/failed.ts': 'is in the marked folder of all state',
  'harness/cluster/state/move.ts': 'as its callers in this table say',
  'harness/cluster/state/state.ts': 'is in the marked folder of all state',
  'harness/commands/run-seeds.ts': 'is in a folder that was new, empty or the report of an earlier run',
  'harness/export/compose-volumes.ts': 'is a volume of an exported network, in its container',
  'harness/flavours/tampered/settings.ts': "is in a node's data directory",
  'harness/metrics/dashboards/running.ts': "is in a cluster's folder",
  'harness/places/docker/image-packages.ts': 'is in the image being built',
  'harness/places/process.ts': "is in a node's data directory",
  'harness/report/folder.ts': 'is named like the part of a run and holds its report or recipe',
  'harness/run/replay/case-files.ts': 'is in a folder that was empty when minimising began',
  'harness/run/replay/minimise.ts': 'is in a folder that was empty when minimising began',
};

test('folders are removed by few files, each with a proof that svcnet has made them', () => {
  const removing = readSources()
    .filter(({ text }) => /\b(rm|rmSync)\([^;]*\brecursive: true|\bremoveFolder\(/.test(text))
    .map(({ path }) => path);
  expect(removing.toSorted()).toEqual(Object.keys(PROOFS));
});

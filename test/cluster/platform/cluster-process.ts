/**
 * Starts and stops embedded clusters as often as its second argument says, in the folder of its first. Run with
 * `--expose-gc`.
 */
import { Cluster } from '../../../harness/cluster/cluster.ts';

export interface Left {
  readonly resources: readonly string[];
  readonly listeners: readonly string[];
  readonly heapBytes: number;
}

const [stateDir = '', times = '1'] = process.argv.slice(2);

function look(): Left {
  globalThis.gc?.();
  return {
    resources: process.getActiveResourcesInfo(),
    listeners: process.eventNames().map(String),
    heapBytes: process.memoryUsage().heapUsed,
  };
}

if ([process.stdin, process.stdout, process.stderr].some(({ destroyed }) => destroyed))
  throw new Error('no streams');

const seen = [look()];
for (let i = 0; i < Number(times); i++) {
  const net = await Cluster.start({ driver: 'embedded', nodes: 2, seed: 5, stateDir });
  const { reference } = await net.node(0).bytes.upload(new Uint8Array(300_000).fill(i));
  await net.synced(reference);
  await net.node(1).bytes.download(reference);
  await net.stop();
  // What was closed is gone in the next turn.
  await new Promise(setImmediate);
  seen.push(look());
}
process.stdout.write(JSON.stringify(seen));

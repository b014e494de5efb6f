/**
 * Starts a cluster of containers: `node starter-process.ts NAME STATE WHAT`. WHAT is `detached`, `ephemeral`, or `exit`,
 * which ends without stopping its cluster. Prints `container` when the first one runs and `ready` when all do.
 */
import { Cluster } from '../../harness/cluster/cluster.ts';

const [name = '', stateDir = '', what] = process.argv.slice(2);
await Cluster.start({
  name,
  stateDir,
  nodes: 2,
  seed: 7,
  driver: 'docker',
  detached: what === 'detached',
  onProgress: ({ step, done }) => {
    if (step === 'chain' && done) process.stdout.write('container\n');
  },
});
process.stdout.write('ready\n');
if (what === 'exit') process.exit(0);
// A detached cluster does not keep the process alive.
setInterval(() => undefined, 1000);

/**
 * A process that ends without stopping its ephemeral clusters, because nobody told it to or because something threw,
 * takes them along: synchronously, as nothing else runs at that moment.
 */
import { signalGroup } from '../machine/processes.ts';
import { removeCluster, runRecords } from '../state/state.ts';

const clusters = new Set<string>();
let listening = false;

/** @returns takes the cluster off the list again */
export function removeAtExit(stateDir: string, name: string): () => void {
  const key = JSON.stringify([stateDir, name]);
  clusters.add(key);
  if (!listening) {
    listening = true;
    process.once('exit', removeAll);
  }
  return () => {
    clusters.delete(key);
  };
}

function removeAll(): void {
  for (const key of clusters) {
    const [stateDir, name] = JSON.parse(key) as [string, string];
    for (const run of runRecords(stateDir, name)) signalGroup(run.process, 'SIGKILL');
    removeCluster(stateDir, name);
  }
}

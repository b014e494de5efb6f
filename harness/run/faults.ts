/** What a scenario has done to nodes and the chain, as events of its run: each lasts until it is over. */
import type { ChainFault } from '../chain/faults.ts';
import type { ClusterNode, Deed } from '../nodes/cluster-node.ts';
import type { RunEvent } from '../report/result.ts';

const WORDS: Readonly<Partial<Record<Deed['state'], string>>> = {
  killed: 'was killed',
  paused: 'was paused',
  stopped: 'was stopped',
};

/** @param fromMs since the epoch: what was done before belongs to somebody else */
export function faultsOf(nodes: readonly Pick<ClusterNode, 'name' | 'deeds'>[], fromMs: number): RunEvent[] {
  return nodes.flatMap(({ name, deeds }) => {
    const events: RunEvent[] = [];
    for (const [i, { state, at }] of deeds.entries()) {
      const what = WORDS[state];
      if (what === undefined || at < fromMs) continue;
      const end = deeds[i + 1];
      events.push({
        kind: 'fault',
        at,
        ...(end === undefined ? {} : { endAt: end.at }),
        part: name,
        text: `${name} ${what}`,
      });
    }
    return events;
  });
}

/** @param fromMs as above */
export function chainFaultsOf(faults: readonly ChainFault[], fromMs: number): RunEvent[] {
  return faults.filter(({ at }) => at >= fromMs).map((fault) => ({ kind: 'fault', part: 'chain', ...fault }));
}

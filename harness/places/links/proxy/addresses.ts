/**
 * Nodes with addresses of their own, such as containers on one network: their names resolve to them. A node
 * that is stopped has none, and may have another one when it is started again.
 */
import { Resolver } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { DiallerLookup, DiallerQuestion } from './diallers.ts';

/**
 * The network answers for its nodes at once; names of stopped ones it passes on to servers that may be
 * silent. Unlike the system's own look-up, a late answer does not hold up others.
 */
const resolver = new Resolver({ timeout: 1000, tries: 1 });

/** For connections to hosts that are named; numeric addresses are not looked up. */
export const lookup: LookupFunction = (host, { all }, tell) => {
  resolver.resolve4(host, (error, found) => {
    if (error !== null) tell(error, '');
    else if (all === true) tell(null, withFamily(found));
    else tell(null, found[0] ?? '', 4);
  });
};

function withFamily(addresses: readonly string[]): { address: string; family: number }[] {
  return addresses.map((address) => ({ address, family: 4 }));
}

/** A node and the name that resolves to its address. */
interface NamedNode {
  readonly node: string;
  readonly host: string;
}

/** Finds the node that dials by the address it dials from. */
export class AddressDiallers implements DiallerLookup {
  readonly #nodes: readonly NamedNode[];
  /** Address → who had it last. */
  readonly #last = new Map<string, NamedNode>();

  constructor(nodes: readonly NamedNode[]) {
    this.#nodes = nodes;
  }

  async of({ address }: DiallerQuestion): Promise<readonly string[]> {
    const last = this.#last.get(address);
    if (last !== undefined && (await hasAddress(last.host, address))) return [last.node];
    return this.#search(address);
  }

  /** As soon as one of them has the address: the others may be stopped, which takes longer to find out. */
  #search(address: string): Promise<readonly string[]> {
    return new Promise((tell) => {
      const searches = this.#nodes.map(async (one) => {
        if (!(await hasAddress(one.host, address))) return;
        this.#last.set(address, one);
        tell([one.node]);
      });
      void Promise.all(searches).finally(() => tell([]));
    });
  }
}

/** False also for a name that does not resolve: its node does not run. */
function hasAddress(host: string, address: string): Promise<boolean> {
  return new Promise((tell) => {
    resolver.resolve4(host, (error, found) => tell(error === null && found.includes(address)));
  });
}

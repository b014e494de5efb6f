/** Names resolve to nodes with their own addresses, such as containers. A stopped node has none and may get another. */
import { Resolver } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { DiallerLookup, DiallerQuestion } from './diallers.ts';

/** Names of stopped nodes go to servers that may be silent; a late answer does not block others here. */
const resolver = new Resolver({ timeout: 1000, tries: 1 });

/** Numeric addresses are not looked up. */
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

interface NamedNode {
  readonly node: string;
  readonly host: string;
}

export class AddressDiallers implements DiallerLookup {
  readonly #nodes: ReadonlyMap<string, NamedNode>;
  /** Address → who had it last. */
  readonly #last = new Map<string, NamedNode>();

  constructor(nodes: ReadonlyMap<string, NamedNode>) {
    this.#nodes = nodes;
  }

  async of({ address }: DiallerQuestion): Promise<readonly string[]> {
    const last = this.#last.get(address);
    if (last !== undefined && (await hasAddress(last.host, address))) return [last.node];
    return this.#search(address);
  }

  /** Ends as soon as one node has the address: others may be stopped, which takes longer to find out. */
  #search(address: string): Promise<readonly string[]> {
    return new Promise((tell) => {
      const searches = Array.from(this.#nodes.values(), async (one) => {
        if (!(await hasAddress(one.host, address))) return;
        this.#last.set(address, one);
        tell([one.node]);
      });
      void Promise.all(searches).finally(() => tell([]));
    });
  }
}

function hasAddress(host: string, address: string): Promise<boolean> {
  return new Promise((tell) => {
    resolver.resolve4(host, (error, found) => tell(error === null && found.includes(address)));
  });
}

/**
 * A Bee learns where a peer listens and may dial past the proxy (libp2p's identify; it remembers for a quarter of an hour).
 * While a rule is in force, such a connection is ended through the dialler's API.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { requestDirectly } from '../../../base/direct.ts';
import type { ActiveRule, Rules } from '../rules.ts';
import type { SocketDiallers } from './diallers.ts';
import type { Route } from './routes.ts';

const SCAN_PAUSE_MS = 500;
const REQUEST_TIMEOUT_MS = 2000;

type Passer = Pick<Route, 'node' | 'overlay' | 'passerApi'>;

export interface BypassDeps {
  readonly rules: Rules;
  readonly diallers: SocketDiallers;
  readonly routes: ReadonlyMap<string, Passer>;
}

export class BypassConnections {
  readonly #deps: BypassDeps;
  #isScanning = false;

  constructor(deps: BypassDeps) {
    this.#deps = deps;
  }

  follow(): void {
    if (!this.#isScanning && this.#isNeeded()) void this.#keepScanning();
  }

  #isNeeded(): boolean {
    const { rules, routes } = this.#deps;
    return rules.active.length > 0 && routes.values().some(({ passerApi }) => passerApi !== undefined);
  }

  /** Requests to a node that does not answer must not pile up. */
  async #keepScanning(): Promise<void> {
    this.#isScanning = true;
    while (this.#isNeeded()) {
      await this.#scan();
      await sleep(SCAN_PAUSE_MS);
    }
    this.#isScanning = false;
  }

  async #scan(): Promise<void> {
    const { rules, diallers, routes } = this.#deps;
    // The API ends all connections of two nodes at once.
    const found = new Map<string, () => Promise<void>>();
    for (const { from, to } of diallers.direct()) {
      const passer = from.map((node) => routes.get(node)).find((one) => one?.passerApi !== undefined);
      const meeting = new Set([...rules.of(from, [to]), ...rules.of([to], from)]);
      if (passer === undefined || meeting.size === 0) continue;
      found.set(`${passer.node} ${to}`, () => this.#end(passer, to, meeting));
    }
    // A silent node does not hold up others.
    await Promise.all(Array.from(found.values(), (end) => end()));
  }

  async #end({ passerApi }: Passer, peer: string, rules: ReadonlySet<ActiveRule>): Promise<void> {
    const overlay = this.#deps.routes.get(peer)?.overlay;
    if (overlay === undefined || !(await hasEnded(`${passerApi}/peers/${overlay}`))) return;
    for (const { counts } of rules) counts['connections past the proxy ended']++;
  }
}

/** False also for a silent node: the next scan finds the connection. */
async function hasEnded(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const [outcome] = await Promise.allSettled([requestDirectly(url, { method: 'DELETE', signal })]);
  if (outcome.status === 'rejected') return false;
  await Promise.allSettled([outcome.value.body.dump()]);
  return outcome.value.statusCode === 200;
}

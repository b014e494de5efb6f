/**
 * Connections past the proxy. A Bee learns where a peer listens and may dial that address (libp2p's identify;
 * it remembers for a quarter of an hour). While a rule is in force, such a connection is ended through the
 * dialler's API once the system's tables show it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { requestDirectly } from '../../../base/direct.ts';
import type { ActiveRule, Rules } from '../rules.ts';
import type { SocketDiallers } from './diallers.ts';

const SCAN_PAUSE_MS = 500;
const REQUEST_TIMEOUT_MS = 2000;

/** A node that may bypass the proxy. */
export interface BypassingNode {
  readonly node: string;
  /** URL of its API. */
  readonly api: string;
}

export interface BypassDeps {
  readonly rules: Rules;
  readonly diallers: SocketDiallers;
  readonly bypassing: readonly BypassingNode[];
  /** Overlay of a node, hex. */
  readonly overlayOf: (node: string) => string | undefined;
}

export class BypassConnections {
  readonly #deps: BypassDeps;
  #isScanning = false;

  constructor(deps: BypassDeps) {
    this.#deps = deps;
  }

  /** Keeps scanning while there are rules. */
  follow(): void {
    if (!this.#isScanning && this.#isNeeded()) void this.#keepScanning();
  }

  #isNeeded(): boolean {
    const { rules, bypassing } = this.#deps;
    return bypassing.length > 0 && rules.active.length > 0;
  }

  /** One scan at a time: otherwise requests to a node that does not answer would pile up. */
  async #keepScanning(): Promise<void> {
    this.#isScanning = true;
    while (this.#isNeeded()) {
      await this.#scan();
      await sleep(SCAN_PAUSE_MS);
    }
    this.#isScanning = false;
  }

  async #scan(): Promise<void> {
    const { rules, diallers, bypassing } = this.#deps;
    // The API ends all connections of two nodes at once.
    const found = new Map<string, () => Promise<void>>();
    for (const { from, to } of diallers.direct()) {
      const bypasser = bypassing.find(({ node }) => from.includes(node));
      const meeting = new Set([...rules.of(from, [to]), ...rules.of([to], from)]);
      if (bypasser === undefined || meeting.size === 0) continue;
      found.set(`${bypasser.node} ${to}`, () => this.#end(bypasser, to, meeting));
    }
    // A silent node does not hold up others.
    await Promise.all(Array.from(found.values(), (end) => end()));
  }

  async #end({ api }: BypassingNode, peer: string, rules: ReadonlySet<ActiveRule>): Promise<void> {
    const overlay = this.#deps.overlayOf(peer);
    if (overlay === undefined || !(await hasEnded(`${api}/peers/${overlay}`))) return;
    for (const { counts } of rules) counts['connections past the proxy ended']++;
  }
}

/** @returns false also for a silent node: the next scan finds the connection */
async function hasEnded(url: string): Promise<boolean> {
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  const [outcome] = await Promise.allSettled([requestDirectly(url, { method: 'DELETE', signal })]);
  if (outcome.status === 'rejected') return false;
  await Promise.allSettled([outcome.value.body.dump()]);
  return outcome.value.statusCode === 200;
}

/** A network of whole nodes that exists in virtual time alone: clock, randomness, chain, links and API are in memory. */
import { type InjectOptions, inject, type Response } from 'light-my-request';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import type { Random } from '../../../formats/random.ts';
import type { SharedResults } from '../../../formats/shared-results.ts';
import type { Listener } from '../../../node/api/listen.ts';
import { type RunningNode, startNode } from '../../../node/compose.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import type { MemoryFrame } from '../../../node/p2p/memory-link.ts';
import { type MemoryPlatform, memoryPlatform } from '../../../node/platform/memory.ts';
import type { NodeKeys } from '../../../node/platform/platform.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import { MemoryChain } from './memory-chain.ts';
import { nodeOptions } from './node-options.ts';

const EPOCH_MS = 1_700_000_000_000;
/** Turns of the event loop without work after which everything rests: streams take a few of them for an end. */
const QUIET_TURNS = 4;

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

/**
 * Time and work of a simulation: a turn of work runs what the one before brought about, then comes the next timer.
 * Not a `ManualClock`: that waits a fixed number of turns for what a timer woke, while here the work of whole nodes runs
 * in one queue until nothing is left, in the same order each time.
 */
export class VirtualTime {
  #ms = 0;
  #timers: Timer[] = [];
  #work: (() => void)[] = [];

  get ms(): number {
    return this.#ms;
  }

  /** For platforms, which build the rest on timers. */
  readonly clock: Clock = {
    now: () => EPOCH_MS + this.#ms,
    monotonic: () => this.#ms,
    nowNs: unused,
    sleep: unused,
    deadline: unused,
    turn: () => new Promise((resolve) => this.defer(resolve)),
    timer: (ms, wake) => {
      const timer = { at: this.#ms + ms, wake };
      // Behind those that are due at the same time.
      const place = this.#timers.findIndex(({ at }) => at > timer.at);
      this.#timers.splice(place === -1 ? this.#timers.length : place, 0, timer);
      return {
        [Symbol.dispose]: () => void (this.#timers = this.#timers.filter((other) => other !== timer)),
      };
    },
  };

  readonly defer = (work: () => void): void => void this.#work.push(work);

  /** Lets time pass until the promise settles. */
  async until<T>(promise: Promise<T>, limitMs = 60_000): Promise<T> {
    const outcome = { settled: false };
    const done = () => {
      outcome.settled = true;
    };
    const watched = promise.finally(done);
    const end = this.#ms + limitMs;
    await this.#settle();
    while (!outcome.settled && this.#ms <= end && this.#timers.length > 0) await this.#step();
    if (!outcome.settled) throw new Error(`nothing happens until ${this.#ms} ms`);
    return watched;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#ms + ms;
    await this.#settle();
    while ((this.#timers[0]?.at ?? Number.POSITIVE_INFINITY) <= end) await this.#step();
    this.#ms = end;
  }

  async #step(): Promise<void> {
    const timer = this.#timers.shift();
    if (timer === undefined) return;
    this.#ms = Math.max(this.#ms, timer.at);
    timer.wake();
    await this.#settle();
  }

  async #settle(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
      await new Promise(setImmediate);
      if (this.#work.length === 0) continue;
      quiet = -1;
      for (const work of this.#work.splice(0)) work();
    }
  }
}

function unused(): never {
  throw new Error('a platform builds this on timers');
}

/** The same numbers for the same seed. */
export function seededRandom(seed: string): Random {
  let count = 0;
  const bytes = (length: number): Uint8Array => {
    const result = new Uint8Array(length);
    for (let at = 0; at < length; at += 32) {
      result.set(keccak256(Buffer.from(`${seed} ${count++}`)).subarray(0, length - at), at);
    }
    return result;
  };
  return { bytes, below: (bound) => Number(BigInt(`0x${toHex(bytes(8))}`) % BigInt(bound)) };
}

/** Keys of node `n` of a network with this seed. */
export function keysOf(seed: string, n: number): NodeKeys {
  const key = (name: string) => keccak256(Buffer.from(`${seed} ${n} ${name}`));
  return { swarm: key('swarm'), libp2p: key('libp2p'), pss: key('pss') };
}

export interface SimulatedNode {
  readonly platform: MemoryPlatform;
  readonly node: RunningNode;
  readonly disk: MemoryDisk;
  /** A request to the API, answered in virtual time. */
  ask(request: InjectOptions): Promise<Response>;
}

export class Simulation {
  readonly time = new VirtualTime();
  readonly chain = new MemoryChain();
  /** Every frame: when, from whom to whom, what. */
  readonly trace: string[] = [];
  readonly crashes: unknown[] = [];
  readonly nodes: SimulatedNode[] = [];
  readonly #seed: string;
  readonly #network = new MemoryNetwork({
    observe: (frame) => void this.trace.push(this.#line(frame)),
    defer: this.time.defer,
  });

  readonly #shared: SharedResults | undefined;

  /** @param shared by all nodes; default: each computes all by itself */
  constructor(seed: string, shared?: SharedResults) {
    this.#seed = seed;
    this.#shared = shared;
  }

  async start(
    n: number,
    options: Record<string, string> = {},
    disk = new MemoryDisk(),
  ): Promise<SimulatedNode> {
    const listeners: Listener[] = [];
    const platform = await memoryPlatform({
      keys: keysOf(this.#seed, n),
      host: this.#network,
      store: disk,
      shared: this.#shared,
      clock: this.time.clock,
      random: seededRandom(`${this.#seed} ${n}`),
      defer: this.time.defer,
      chain: () => this.chain.endpoint(),
      async listen(listener, address) {
        listeners.push(listener);
        return { address, close: async () => undefined };
      },
      onCrash: (error) => void this.crashes.push(error),
    });
    const given = nodeOptions({ 'p2p-addr': `127.0.0.1:${1634 + n}`, ...options });
    const starting = platform.run(() => startNode(given, platform, new AbortController().signal));
    const node = await this.time.until(starting);
    const ask = (request: InjectOptions) =>
      this.time.until(platform.run(() => inject((listeners[0] as Listener).handle, request)));
    const simulated = { platform, node, disk, ask };
    this.nodes.push(simulated);
    return simulated;
  }

  async end(): Promise<void> {
    for (const { platform } of this.nodes) await platform.cut();
  }

  #line({ kind, from, to, protocolId, bytes }: MemoryFrame): string {
    const ends = `${from.slice(-4)} ${to.slice(-4)}`;
    return `${this.time.ms} ${ends} ${kind} ${protocolId} ${Buffer.from(bytes).toString('base64')}`;
  }
}

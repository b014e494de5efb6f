/** A network of whole nodes in virtual time alone: clock, randomness, chain, links and API are in memory. */
import { type InjectOptions, inject, type Response } from 'light-my-request';
import { seededRandom } from '../../../formats/random.ts';
import type { SharedResults } from '../../../formats/shared-results.ts';
import { VirtualTime } from '../../../harness/places/simulated/virtual-time.ts';
import type { Listener } from '../../../node/api/listen.ts';
import { type RunningNode, startNode } from '../../../node/compose.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import type { MemoryFrame } from '../../../node/p2p/memory-link.ts';
import { type MemoryPlatform, memoryPlatform } from '../../../node/platform/memory.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import { type NodeChain, startNodeChain } from './node-chain.ts';
import { keysOf } from './node-keys.ts';
import { nodeOptions } from './node-options.ts';

export interface SimulatedNode {
  readonly platform: MemoryPlatform;
  readonly node: RunningNode;
  readonly disk: MemoryDisk;
  ask(request: InjectOptions): Promise<Response>;
}

/** Of the chain. */
const BLOCK_TIME_MS = 1000;

export class Simulation {
  readonly time = new VirtualTime();
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
  #chain: NodeChain | undefined;

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
    const chain = await this.#startedChain();
    const listeners: Listener[] = [];
    const platform = await memoryPlatform({
      keys: keysOf(this.#seed, n),
      host: this.#network,
      store: disk,
      shared: this.#shared,
      clock: this.time.clock,
      random: seededRandom(`${this.#seed} ${n}`),
      defer: this.time.defer,
      chain: () => chain.endpoint(),
      async listen(listener, address) {
        listeners.push(listener);
        return { address, close: async () => undefined };
      },
      onCrash: (error) => void this.crashes.push(error),
    });
    const given = nodeOptions(chain.contracts, { 'p2p-addr': `127.0.0.1:${1634 + n}`, ...options });
    const starting = platform.run(() => startNode(given, platform, new AbortController().signal));
    const node = await this.time.during(starting);
    const ask = (request: InjectOptions) =>
      this.time.during(platform.run(() => inject((listeners[0] as Listener).handle, request)));
    const simulated = { platform, node, disk, ask };
    this.nodes.push(simulated);
    return simulated;
  }

  async end(): Promise<void> {
    for (const { platform } of this.nodes) await platform.cut();
    await this.#chain?.[Symbol.asyncDispose]();
  }

  async #startedChain(): Promise<NodeChain> {
    const { time } = this;
    this.#chain ??= await time.during(
      startNodeChain({
        seed: this.#seed,
        blockTimeMs: BLOCK_TIME_MS,
        clock: time.clock,
        work: (ask) => time.real(ask),
      }),
    );
    return this.#chain;
  }

  #line({ kind, from, to, protocolId, bytes }: MemoryFrame): string {
    const ends = `${from.slice(-4)} ${to.slice(-4)}`;
    return `${this.time.ms} ${ends} ${kind} ${protocolId} ${Buffer.from(bytes).toString('base64')}`;
  }
}

/**
 * Dials the bootnodes in turn while no peer is connected. `p2p-protocols.md` 6.3. One that ends connections at once is
 * dialled no more often than one that is down.
 */
import type { Clock } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { MetricsOf } from '../env/metrics.ts';
import { peerIdOf, withoutPeerId } from '../p2p/address/underlay.ts';
import { type Host, HostError } from '../p2p/host.ts';
import type { KADEMLIA_METRICS } from './metrics.ts';
import { bootnodePauseMs, DIAL_TIMEOUT_MS, REDIAL_MS } from './rules.ts';

/** Dialled per pass; connected at which it stops. */
const ATTEMPTS_MAX = 6;
const CONNECTED_MAX = 3;
/** Between messages to the operator that no peer lasts; the first passes take seconds. */
const TOLD_AFTER_PASSES = 6;

export interface BootnodePassesDeps {
  readonly host: Pick<Host, 'connect'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<MetricsOf<typeof KADEMLIA_METRICS>, 'bootnodeAttempts'>;
}

export class BootnodePasses {
  readonly #addresses: readonly string[];
  readonly #deps: BootnodePassesDeps;
  #passes = 0;
  #answered = 0;
  /** When the row of passes began; monotonic, as are the others. */
  #since = 0;
  #dueAt = 0;
  #running: Promise<void> | undefined;
  #current: string | undefined;
  readonly #outcomes = new Map<string, string>();
  #peersSince: number | undefined;

  /** @param addresses multiaddresses */
  constructor(addresses: readonly string[], deps: BootnodePassesDeps) {
    this.#addresses = addresses;
    this.#deps = deps;
  }

  /** Called whenever peers may have come or gone. */
  isDue(hasPeers: boolean): boolean {
    const now = this.#deps.clock.monotonic();
    if (hasPeers) {
      this.#peersSince ??= now;
      return false;
    }
    if (this.#peersSince !== undefined && now - this.#peersSince >= REDIAL_MS) {
      this.#passes = 0;
      this.#answered = 0;
      this.#dueAt = now;
    }
    this.#peersSince = undefined;
    return this.#addresses.length > 0 && this.#running === undefined && this.#dueAt <= now;
  }

  /** A silent bootnode holds up no other dial. @param settled called at the end */
  dial(signal: AbortSignal, settled: () => void): void {
    this.#running = this.#dialAll(signal).finally(settled);
  }

  /** The node at these multiaddresses is the current bootnode. */
  isDialling(underlaysOf: () => readonly string[]): boolean {
    const bootnode = this.#current;
    if (bootnode === undefined) return false;
    const underlays = underlaysOf();
    const peerId = peerIdOf(bootnode);
    if (peerId === undefined) return underlays.some((underlay) => withoutPeerId(underlay) === bootnode);
    return underlays.some((underlay) => peerIdOf(underlay) === peerId);
  }

  pauseMs(maxMs: number): number {
    const left = this.#dueAt - this.#deps.clock.monotonic();
    return this.#running === undefined && left > 0 ? Math.min(maxMs, left) : maxMs;
  }

  async idle(): Promise<void> {
    await this.#running;
  }

  async #dialAll(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    if (this.#passes === 0) this.#since = clock.monotonic();
    let silent = false;
    try {
      silent = await this.#pass(signal);
    } finally {
      this.#running = undefined;
      const now = clock.monotonic();
      // At the end: peers that came and went meanwhile begin a new row.
      this.#passes++;
      if (!silent) this.#answered++;
      const row = { passes: this.#passes, answered: this.#answered, silent, waitedMs: now - this.#since };
      this.#dueAt = now + bootnodePauseMs(row);
    }
  }

  /** @returns whether no bootnode answered */
  async #pass(signal: AbortSignal): Promise<boolean> {
    const { clock, host, log, metrics } = this.#deps;
    if (this.#passes > 0 && this.#passes % TOLD_AFTER_PASSES === 0) {
      log.info(
        { bootnodes: Object.fromEntries(this.#outcomes) },
        'no bootnode keeps a connection to this node',
      );
    }
    let connected = 0;
    let silent = true;
    for (const bootnode of this.#addresses.slice(0, ATTEMPTS_MAX)) {
      if (connected >= CONNECTED_MAX || signal.aborted) break;
      using deadline = clock.deadline(DIAL_TIMEOUT_MS, signal);
      metrics.bootnodeAttempts.inc();
      this.#current = bootnode;
      try {
        await host.connect([bootnode], deadline.signal);
        connected++;
        silent = false;
        this.#outcomes.set(bootnode, 'connected, then ended by it: its log may say why');
      } catch (error) {
        const code = error instanceof HostError ? error.code : undefined;
        if (code === 'ALREADY_CONNECTED') connected++;
        if (code !== 'DIAL_FAILED') silent = false;
        this.#outcomes.set(bootnode, error instanceof Error ? error.message : String(error));
        log.debug({ err: error, bootnode }, 'bootnode not connected');
      } finally {
        this.#current = undefined;
      }
    }
    return silent;
  }
}

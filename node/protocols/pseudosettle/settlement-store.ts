/**
 * Last refresh and total per peer and direction. Written through, at most once per second and peer. A write lost in a crash
 * makes the next refresh look earlier, which both sides allow.
 */
import type { TimeSettlement } from '../../accounting/ports.ts';
import type { Logger } from '../../env/logger.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import type { LastRefresh } from './rules.ts';

/**
 * Per direction, some megabytes. Peers that never paid are forgotten first, because identities are free and a total above
 * zero takes a debt; then those whose last settlement is oldest. By then time has forgiven what was left.
 */
const PEERS_MAX = 10_000;

const SENT = 'sent/';
const RECEIVED = 'received/';

interface Received {
  /** Our stamp, unix seconds. */
  readonly timestamp: bigint;
  /** Monotonic; undefined when it was before the start. */
  readonly atMs?: number;
  /** Accounting units. */
  readonly total: bigint;
}

interface Sent extends LastRefresh {
  /** Wall time of the check in milliseconds. */
  readonly checkedAtMs: number;
  readonly total: bigint;
}

const NONE_RECEIVED: Received = { timestamp: 0n, total: 0n };
const NONE_SENT: Sent = { timestamp: 0n, checkedAt: 0n, checkedAtMs: 0, total: 0n };

export class SettlementStore {
  readonly #state: KeyValueStore;
  readonly #log: Logger;
  readonly #sent = new Map<string, Sent>();
  readonly #received = new Map<string, Received>();

  constructor({ state, log }: { state: KeyValueStore; log: Logger }) {
    this.#state = state;
    this.#log = log;
    for (const [key, value] of state.entries(SENT)) {
      const [timestamp = 0n, checkedAt = 0n, checkedAtMs = 0n, total = 0n] = decode(value);
      this.#sent.set(key.slice(SENT.length), {
        timestamp,
        checkedAt,
        checkedAtMs: Number(checkedAtMs),
        total,
      });
    }
    for (const [key, value] of state.entries(RECEIVED)) {
      const [timestamp = 0n, total = 0n] = decode(value);
      this.#received.set(key.slice(RECEIVED.length), { timestamp, total });
    }
  }

  sent(peer: string): Sent {
    return this.#sent.get(peer) ?? NONE_SENT;
  }

  received(peer: string): Received {
    return this.#received.get(peer) ?? NONE_RECEIVED;
  }

  noteSent(peer: string, refresh: Sent): void {
    this.#note(this.#sent, SENT, peer, refresh);
    const { timestamp, checkedAt, checkedAtMs, total } = refresh;
    this.#write(SENT + peer, [timestamp, checkedAt, BigInt(checkedAtMs), total]);
  }

  noteReceived(peer: string, refresh: Received): void {
    this.#note(this.#received, RECEIVED, peer, refresh);
    this.#write(RECEIVED + peer, [refresh.timestamp, refresh.total]);
  }

  /** The oldest refresh comes first. */
  #note<R extends { total: bigint }>(
    refreshes: Map<string, R>,
    prefix: string,
    peer: string,
    refresh: R,
  ): void {
    if (!refreshes.delete(peer) && refreshes.size >= PEERS_MAX) {
      const forgotten = leastOf(refreshes);
      refreshes.delete(forgotten);
      this.#state
        .remove(prefix + forgotten)
        .catch((err: unknown) => this.#log.warn({ err }, 'settlement could not be removed'));
    }
    refreshes.set(peer, refresh);
  }

  total(peer: string): TimeSettlement | undefined {
    if (!this.#sent.has(peer) && !this.#received.has(peer)) return undefined;
    return { peer, received: this.received(peer).total, sent: this.sent(peer).total };
  }

  totals(): TimeSettlement[] {
    const peers = new Set([...this.#sent.keys(), ...this.#received.keys()]);
    return Array.from(peers, (peer) => ({
      peer,
      received: this.received(peer).total,
      sent: this.sent(peer).total,
    }));
  }

  #write(key: string, fields: readonly bigint[]): void {
    const value = new TextEncoder().encode(fields.join(';'));
    this.#state
      .put(key, value)
      .catch((err: unknown) => this.#log.warn({ err }, 'settlement could not be written'));
  }
}

/** @param refreshes not empty, the oldest first */
function leastOf(refreshes: ReadonlyMap<string, { total: bigint }>): string {
  const [oldest = ''] = refreshes.keys();
  for (const [peer, { total }] of refreshes) if (total === 0n) return peer;
  return oldest;
}

function decode(value: Uint8Array): bigint[] {
  return new TextDecoder().decode(value).split(';').map(BigInt);
}

import { toHex } from '../../../../formats/crypto/hex.ts';
import type { MessageControl } from './faults/rule.ts';

/** Decoded; `noise` are connections as a whole. */
export const PROTOCOL_NAMES = [
  'noise',
  'handshake',
  'identify',
  'identify-push',
  'ping',
  'hive',
  'pingpong',
  'pricing',
  'pseudosettle',
  'swap',
  'pullsync',
  'cursors',
  'pushsync',
  'retrieval',
  'status',
] as const;
export type ProtocolName = (typeof PROTOCOL_NAMES)[number];

/** A field of a message: addresses in hex, amounts with their unit. */
export type TapValue =
  | string
  | number
  | boolean
  | readonly TapValue[]
  | { readonly [field: string]: TapValue };

export const FAULT_SEPARATOR = ', ';

/**
 * Something that one node has said to another. A stream is one conversation: it is opened, both ends may send headers, then
 * messages, and it ends. The stream of a whole connection has the protocol `noise`.
 */
export interface TapEvent {
  /** Unix milliseconds. */
  readonly at: number;
  /** Names of nodes; a peer that is none has its libp2p identity here. */
  readonly from: string;
  readonly to: string;
  /** The same for all events of a conversation. */
  readonly stream: string;
  /** Short name, such as `pushsync`; of an unknown protocol its whole id. */
  readonly protocol: string;
  /** As the nodes have agreed on it, such as `/swarm/pushsync/1.3.1/pushsync`. */
  readonly id: string;
  readonly kind: 'opened' | 'headers' | 'message' | 'end';
  /** Of the message; `bytes` of one that no table knows, `undecodable` of one that is broken. Of an end: `closed`, `reset`, `refused`, `lost` with its connection, or `failed`. */
  readonly name: string;
  /** `invalid`: what it carries is not the chunk that it is said to be. */
  readonly fields: { readonly [field: string]: TapValue };
  /** On the stream; of an end: all of the conversation. */
  readonly bytes: number;
  /** What was said, in hex, as it was sent: since it has been asked for, of the latest 16 MiB, and 128 KiB of it at most. */
  readonly raw?: string;
}

/** @returns what faults have done to a message, such as `delayed` and `dropped`; none when they have spared it */
export function faultsOf({ fields }: Pick<TapEvent, 'fields'>): readonly string[] {
  const { fault } = fields;
  return typeof fault === 'string' ? fault.split(FAULT_SEPARATOR) : [];
}

export interface TapBatch {
  readonly events: readonly TapEvent[];
  readonly next: number;
  /** Earlier events that are not kept any more. */
  readonly missed: number;
}

export interface TapControl extends MessageControl {
  /**
   * @param after `next` of the batch before; 0: all that is kept
   * @param raw with what was said, which is kept from now on, for as long as it is asked for again
   */
  tapped(after: number, raw?: boolean): Promise<TapBatch>;
}

const KEPT_MAX = 20_000;
const BATCH_MAX = 1000;
/** Bytes: kept altogether, of one message, and in a batch. */
const RAW_MAX = 16 * 2 ** 20;
const RAW_MESSAGE_MAX = 128 * 2 ** 10;
const RAW_BATCH_MAX = 2 ** 20;

export class TapRing {
  readonly #kept: TapEvent[] = [];
  readonly #raws = new Map<number, Uint8Array>();
  #rawBytes = 0;
  #count = 0;
  /** What was said is kept up to this event: a reader that has not come back by then has left, or misses events. */
  #rawUntil = 0;

  /** @param raw what was said: copied while somebody asks for it */
  add(event: TapEvent, raw?: Uint8Array): void {
    this.#kept[this.#count % KEPT_MAX] = event;
    if (this.#count >= this.#rawUntil) this.#dropRaws();
    else if (raw !== undefined) this.#keep(Uint8Array.from(raw.subarray(0, RAW_MESSAGE_MAX)));
    this.#count++;
  }

  tapped(after: number, raw = false): Promise<TapBatch> {
    if (raw) this.#rawUntil = this.#count + KEPT_MAX;
    const from = Math.max(Math.min(after, this.#count), this.#count - KEPT_MAX, 0);
    const last = Math.min(this.#count, from + BATCH_MAX);
    const events: TapEvent[] = [];
    let next = from;
    for (let bytes = 0; next < last && bytes < RAW_BATCH_MAX; next++) {
      const event = this.#kept[next % KEPT_MAX] as TapEvent;
      const said = raw ? this.#raws.get(next) : undefined;
      events.push(said === undefined ? event : { ...event, raw: toHex(said) });
      bytes += said?.length ?? 0;
    }
    return Promise.resolve({ events, next, missed: Math.max(0, from - after) });
  }

  #dropRaws(): void {
    this.#raws.clear();
    this.#rawBytes = 0;
  }

  #keep(raw: Uint8Array): void {
    this.#raws.set(this.#count, raw);
    this.#rawBytes += raw.length;
    for (const [number, { length }] of this.#raws) {
      if (this.#rawBytes <= RAW_MAX && number > this.#count - KEPT_MAX) break;
      this.#raws.delete(number);
      this.#rawBytes -= length;
    }
  }
}

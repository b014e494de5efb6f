import type { Clock } from '../../../formats/clock.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import type { Signer } from '../../../formats/crypto/signer.ts';
import type { Logger } from '../../env/logger.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import { decodeMessage, encodeMessage } from '../codec/codec.ts';
import type { AddressRecord, Generation } from '../host.ts';
import { BzzAddress, FUTURE_SECONDS_MAX, mintRecord, NO_CHEQUEBOOK, NO_TIME } from './record.ts';
import { encodeUnderlays, fittingUnderlays } from './underlay.ts';

const KEY = 'own-record';

/**
 * The records this node introduces itself with, one for each generation. Minted once per set of underlays, even across
 * restarts: every peer would rewrite and gossip a fresh one. The one without timestamp is not stored, because signatures are
 * deterministic.
 */
export class OwnRecord {
  readonly #identity: { readonly signer: Signer; readonly networkId: bigint; readonly nonce: Uint8Array };
  readonly #state: KeyValueStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #chequebook: () => Uint8Array | undefined;
  #last: AddressRecord | undefined;
  #proved: AddressRecord | undefined;
  /** The last one, until it is on disk. */
  #unsaved: AddressRecord | undefined;
  #timeless: AddressRecord | undefined;
  /** Used while the last is in the future; not kept. */
  #provisional: AddressRecord | undefined;
  #encoded: { readonly underlays: string; readonly bytes: Uint8Array } | undefined;

  constructor(
    identity: { signer: Signer; networkId: bigint; nonce: Uint8Array },
    deps: {
      state: KeyValueStore;
      clock: Clock;
      log: Logger;
      /** 20 bytes; undefined: none. Constant from the first record on. */
      chequebook?: (() => Uint8Array | undefined) | undefined;
      given?: AddressRecord | undefined;
    },
  ) {
    this.#identity = identity;
    this.#state = deps.state;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#chequebook = deps.chequebook ?? (() => undefined);
    const stored = deps.state.get(KEY);
    if (stored !== undefined) this.#last = decodeMessage(BzzAddress, stored);
    const { given } = deps;
    if (given !== undefined && given.timestamp > (this.#last?.timestamp ?? NO_TIME)) {
      this.#last = given;
      this.#unsaved = given;
    }
  }

  /**
   * The record for these underlays. Resolves when a new one is on disk, so that its timestamp is never used twice; if the
   * disk takes no writes, it is written when it is next shown.
   */
  async current(underlays: readonly string[], generation: Generation = '15.0.0'): Promise<AddressRecord> {
    const underlay = this.#encode([...new Set(underlays)].sort());
    return generation === '15.0.0' ? this.#timed(underlay) : this.#untimed(underlay);
  }

  #encode(underlays: readonly string[]): Uint8Array {
    const text = underlays.join();
    if (this.#encoded?.underlays !== text) {
      this.#encoded = { underlays: text, bytes: encodeUnderlays(fittingUnderlays(underlays)) };
    }
    return this.#encoded.bytes;
  }

  #untimed(underlay: Uint8Array): AddressRecord {
    if (this.#timeless !== undefined && equalBytes(this.#timeless.underlay, underlay)) return this.#timeless;
    const { nonce } = this.#identity;
    const statement = { underlay, nonce, timestamp: NO_TIME, chequebook: NO_CHEQUEBOOK };
    this.#timeless = mintRecord(statement, this.#identity);
    return this.#timeless;
  }

  async #timed(underlay: Uint8Array): Promise<AddressRecord> {
    const last = this.#last;
    const { nonce } = this.#identity;
    const statement = { underlay, nonce, chequebook: this.#chequebook() ?? NO_CHEQUEBOOK };
    const now = BigInt(Math.floor(this.#clock.now() / 1000));
    if (last !== undefined && last.timestamp > now + FUTURE_SECONDS_MAX)
      return this.#untilThen({ ...statement, timestamp: now });
    if (last !== undefined && says(last, statement) && this.#isOwn(last)) return this.#saved(last);
    const next = (last?.timestamp ?? 0n) + 1n;
    const record = mintRecord({ ...statement, timestamp: now > next ? now : next }, this.#identity);
    this.#last = record;
    this.#proved = record;
    this.#unsaved = record;
    return this.#saved(record);
  }

  /** This node's clock was ahead when it signed the last record, or is behind now. So both records are kept. */
  #untilThen(statement: Statement & { readonly timestamp: bigint }): AddressRecord {
    const known = this.#provisional;
    const fits =
      known !== undefined &&
      says(known, statement) &&
      known.timestamp <= statement.timestamp + FUTURE_SECONDS_MAX;
    if (!fits) this.#provisional = mintRecord(statement, this.#identity);
    return this.#provisional as AddressRecord;
  }

  async #saved(record: AddressRecord): Promise<AddressRecord> {
    if (record !== this.#unsaved) return record;
    this.#unsaved = undefined;
    try {
      await this.#state.put(KEY, encodeMessage(BzzAddress, record));
    } catch (error) {
      if (record === this.#last) this.#unsaved = record;
      this.#log.warn({ err: error }, 'the record of this node could not be written');
    }
    return record;
  }

  /** False for a record of an earlier identity of this data directory. */
  #isOwn(record: AddressRecord): boolean {
    if (record === this.#proved) return true;
    const { underlay, nonce, timestamp, chequebook } = record;
    const again = mintRecord({ underlay, nonce, timestamp, chequebook }, this.#identity);
    const isOwn = equalBytes(again.signature, record.signature) && equalBytes(nonce, this.#identity.nonce);
    if (isOwn) this.#proved = record;
    return isOwn;
  }
}

type Statement = Pick<AddressRecord, 'underlay' | 'nonce' | 'chequebook'>;

function says(record: AddressRecord, { underlay, chequebook }: Statement): boolean {
  return equalBytes(record.underlay, underlay) && equalBytes(record.chequebook, chequebook);
}

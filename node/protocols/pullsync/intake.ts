import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { ChunkError } from '../../../formats/chunk/errors.ts';
import { decodeStamp, type Stamp } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import { type Postage, PostageError } from '../../postage/ports.ts';
import { type Reserve, ReserveOverwriteError } from '../../store/ports.ts';
import type { PullsyncObserver } from './observer.ts';
import type { Claim } from './requested-chunks.ts';
import { PullsyncError } from './rules.ts';
import type { OfferedEntry, Version } from './versions.ts';
import type { Delivery } from './wire.ts';

export interface IntakeDeps {
  readonly host: Pick<Host, 'misbehaved'>;
  readonly reserve: Pick<Reserve, 'put'>;
  readonly postage: Pick<Postage, 'validate'>;
  /** Sees every valid delivery, even if the reserve refuses it. Must not throw. */
  readonly onDelivered: (chunk: Chunk) => void;
}

export class Intake {
  readonly errors: Error[] = [];
  count = 0;
  valid = 0;
  failure: unknown;
  readonly #claims: Map<string, Claim>;
  readonly #from: Peer;
  readonly #version: Version;
  readonly #deps: IntakeDeps;
  readonly #observer: PullsyncObserver;
  readonly #puts: Promise<void>[] = [];

  constructor(
    { from, version, claims }: { from: Peer; version: Version; claims: ReadonlyMap<string, Claim> },
    deps: IntakeDeps,
    observer: PullsyncObserver,
  ) {
    this.#from = from;
    this.#version = version;
    this.#claims = new Map(claims);
    this.#deps = deps;
    this.#observer = observer;
  }

  take(delivery: MessageOf<typeof Delivery>): void {
    if (delivery.address.length === 0) {
      this.#observer.gone();
      return;
    }
    try {
      const { chunk, stamp, claim } = this.#verified(delivery);
      this.valid++;
      this.#deps.onDelivered(chunk);
      this.#puts.push(this.#put(chunk, stamp, claim));
    } catch (error) {
      const ofThePeer =
        error instanceof PullsyncError || error instanceof ChunkError || error instanceof PostageError;
      if (!ofThePeer) throw error;
      this.errors.push(error);
      this.#blame(error);
    }
  }

  #blame(error: PullsyncError | ChunkError | PostageError): void {
    const honest = error instanceof PostageError && (error.code !== 'STAMP_INVALID' || error.passing);
    if (!honest) this.#deps.host.misbehaved(this.#from, error.message);
  }

  #verified({ address, data, stamp: bytes }: MessageOf<typeof Delivery>) {
    const stamp = decodeStamp(bytes);
    const chunk = this.#chunk(address, data);
    const key = keyOf({ address, id: this.#version.idOfDelivery(chunk, stamp) });
    const claim = this.#claims.get(key);
    if (claim === undefined) throw new PullsyncError('CHUNK_UNSOLICITED', 'peer sent unsolicited chunk');
    this.#claims.delete(key);
    let verified = false;
    try {
      this.#deps.postage.validate(chunk, stamp);
      verified = true;
      return { chunk, stamp, claim };
    } finally {
      if (!verified) claim.end(false);
    }
  }

  #chunk(address: Uint8Array, data: Uint8Array): Chunk {
    try {
      return chunkFrom(address, data);
    } catch (error) {
      this.#observer.invalid();
      throw error;
    }
  }

  async #put(chunk: Chunk, stamp: Stamp, claim: Claim): Promise<void> {
    let done = false;
    try {
      await this.#deps.reserve.put(chunk, stamp);
      this.count++;
      this.#observer.pulled(this.#from, chunk.address);
      done = true;
    } catch (error) {
      // A newer stamp has the index: this one is no longer needed.
      done = error instanceof ReserveOverwriteError;
      if (error instanceof ReserveOverwriteError) this.errors.push(error);
      else this.failure ??= error;
    } finally {
      claim.end(done);
    }
  }

  /** What was not delivered may then be requested by others. */
  async stored(): Promise<void> {
    for (const claim of this.#claims.values()) claim.end(false);
    await Promise.all(this.#puts);
  }
}

export function keyOf({ address, id }: OfferedEntry): string {
  return Buffer.concat([address, ...id]).toString('latin1');
}

import { Bee, Bytes, Reference, type UploadResult } from '@ethersphere/bee-js';
import fc from 'fast-check';
import { openFile } from '../../../node/files/joiner.ts';
import { split } from '../../../node/files/splitter.ts';
import { type ChunkMap, collect, inParts } from '../files/chunk-map.ts';

/** Nothing is ever sent there. */
export const UNREACHABLE = 'http://localhost:1';

/** The client takes a zero reference for none. */
export const ids = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .filter((bytes) => bytes.some((byte) => byte !== 0));

/** Below the order of the curve. */
export const privateKeys = ids.filter((bytes) => bytes[0] !== 0xff);

/** A map of chunks stands for the node. */
export class ClientOnMap extends Bee {
  readonly #store: ChunkMap;

  constructor(store: ChunkMap) {
    super(UNREACHABLE);
    this.#store = store;
  }

  override async uploadData(_batch: unknown, data: string | Uint8Array): Promise<UploadResult> {
    const { reference } = await split(inParts(Buffer.from(data), 4096), this.#store);
    return { reference: new Reference(reference) } as UploadResult;
  }

  override async downloadData(reference: Reference | string | Uint8Array): Promise<Bytes> {
    const file = await openFile(new Reference(reference).toUint8Array(), this.#store);
    return new Bytes(await collect(file.read(0n, file.length)));
  }
}

class Captured extends Error {
  readonly url: URL;

  constructor(url: string) {
    super(url);
    this.url = new URL(url);
  }
}

/** The request is stopped before it leaves. */
export async function requestedPath(ask: (client: Bee) => Promise<unknown>): Promise<string> {
  const onRequest = ({ url }: { url: string }) => {
    throw new Captured(url);
  };
  try {
    await ask(new Bee(UNREACHABLE, { onRequest }));
  } catch (error) {
    if (error instanceof Captured) return error.url.pathname;
    throw error;
  }
  throw new Error('the client has asked for nothing');
}

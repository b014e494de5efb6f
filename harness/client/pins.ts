/** Pinned content, and whether content is on the network. */
import { DIGITS, expectHex } from '../base/arguments.ts';
import type { Dialect } from './dialect.ts';
import { type HttpClient, settled } from './http.ts';
import type { PinCheck } from './types.ts';

/** Fetches or pushes a tree, or asks for all its chunks. */
const CONTENT_TIMEOUT_MS = 300_000;

/** Content pinned on the node. @throws ClientError from every method */
export class PinsClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** Fetches what is missing. @returns whether it was not pinned before */
  async add(reference: string, signal?: AbortSignal): Promise<boolean> {
    expectHex('pins.add: reference', reference, DIGITS.reference);
    const path = `/pins/${reference}`;
    const answer = await this.#http.request({ method: 'POST', path, timeoutMs: CONTENT_TIMEOUT_MS, signal });
    await answer.bytes();
    return answer.status === 201;
  }

  async delete(reference: string, signal?: AbortSignal): Promise<void> {
    expectHex('pins.delete: reference', reference, DIGITS.reference);
    await settled(this.#http.request({ method: 'DELETE', path: `/pins/${reference}`, signal }));
  }

  async list(signal?: AbortSignal): Promise<readonly string[]> {
    return (await this.#http.get<{ references: string[] | null }>('/pins', signal)).references ?? [];
  }

  /** Reads and hashes every chunk of one root; all zero when it is not pinned. */
  async check(reference: string, signal?: AbortSignal): Promise<PinCheck> {
    expectHex('pins.check: reference', reference, DIGITS.reference);
    const path = `/pins/check?ref=${reference}`;
    const answer = await this.#http.request({ method: 'GET', path, timeoutMs: CONTENT_TIMEOUT_MS, signal });
    // A list in one dialect, a record per line in the other.
    const body = (await answer.json()) as PinCheck | readonly [PinCheck];
    return 'reference' in body ? body : body[0];
  }
}

/** Content on the network. @throws ClientError from every method */
export class StewardshipClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;

  constructor(http: HttpClient, dialect: Dialect) {
    this.#http = http;
    this.#dialect = dialect;
  }

  /** Whether the network has every chunk, whatever the node itself has. */
  async isRetrievable(reference: string, signal?: AbortSignal): Promise<boolean> {
    expectHex('stewardship.isRetrievable: reference', reference, DIGITS.reference);
    const path = `/stewardship/${reference}`;
    const request = { method: 'GET', path, timeoutMs: CONTENT_TIMEOUT_MS, signal } as const;
    return (await this.#http.json<{ isRetrievable: boolean }>(request)).isRetrievable;
  }

  /**
   * Stamps every chunk again and pushes it. @param options.batch default: that of the last upload, in the
   * dialect that knows it
   */
  async reupload(reference: string, options: { batch?: string; signal?: AbortSignal } = {}): Promise<void> {
    const { batch, signal } = options;
    expectHex('stewardship.reupload: reference', reference, DIGITS.reference);
    if (batch !== undefined) expectHex('stewardship.reupload: batch', batch, DIGITS.hash);
    const headers = batch === undefined ? {} : { [`${this.#dialect.headerPrefix}postage-batch-id`]: batch };
    const path = `/stewardship/${reference}`;
    await settled(
      this.#http.request({ method: 'PUT', path, headers, timeoutMs: CONTENT_TIMEOUT_MS, signal }),
    );
  }
}

/** Lists of the readers of access-controlled content, kept by its publisher's node. */
import { argumentError, DIGITS, expectHex } from '../base/arguments.ts';
import type { HttpClient } from './http.ts';
import type { Uploads } from './transfers.ts';
import type { UploadOptions } from './types.ts';

/** A new list is stored under a new reference, in a new version of its history. */
export interface GranteeList {
  /** 128 hex digits. */
  readonly reference: string;
  /** 64 hex digits: what uploads and downloads refer to from now on. */
  readonly history: string;
}

interface ListChange {
  readonly where: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly change: unknown;
}

/** `/grantee`. Public keys are hex, compressed or not. @throws ClientError from every method */
export class GranteesClient {
  readonly #http: HttpClient;
  readonly #uploads: Uploads;

  constructor(http: HttpClient, uploads: Uploads) {
    this.#http = http;
    this.#uploads = uploads;
  }

  /** @param options.actHistory of the content that they may read; a new one when absent */
  async create(grantees: readonly string[], options: UploadOptions = {}): Promise<GranteeList> {
    const where = 'grantees.create';
    expectKeys(where, grantees);
    return this.#change({ where, method: 'POST', path: '/grantee', change: { grantees } }, options);
  }

  /**
   * A revoked grantee can still read what was uploaded before. @throws ClientError `http.400` when there is
   * no one to revoke
   */
  async patch(
    { reference, history }: GranteeList,
    change: { readonly add?: readonly string[]; readonly revoke?: readonly string[] },
    options: UploadOptions = {},
  ): Promise<GranteeList> {
    const where = 'grantees.patch';
    expectHex(`${where}: reference`, reference, [128]);
    expectKeys(`${where}: add`, change.add ?? []);
    expectKeys(`${where}: revoke`, change.revoke ?? []);
    const request = { where, method: 'PATCH', path: `/grantee/${reference}`, change } as const;
    return this.#change(request, { ...options, actHistory: history });
  }

  /** @returns compressed @throws ClientError `http.404` for another publisher's list */
  async list(reference: string, signal?: AbortSignal): Promise<readonly string[]> {
    expectHex('grantees.list: reference', reference, [128]);
    return this.#http.get<string[]>(`/grantee/${reference}`, signal);
  }

  async #change({ where, method, path, change }: ListChange, options: UploadOptions): Promise<GranteeList> {
    const headers = { ...this.#uploads.headers(where, options), 'content-type': 'application/json' };
    const { timeoutMs, signal } = options;
    const limits = timeoutMs === undefined ? { signal } : { signal, timeoutMs };
    const { ref, historyref } = await this.#http.json<{ ref: string; historyref: string }>({
      method,
      path,
      headers,
      body: JSON.stringify(change),
      ...limits,
    });
    return { reference: ref, history: historyref };
  }
}

function expectKeys(where: string, keys: unknown): void {
  if (!Array.isArray(keys)) throw argumentError(where, keys, 'an array of public keys');
  for (const key of keys) expectHex(where, key, DIGITS.publicKey);
}

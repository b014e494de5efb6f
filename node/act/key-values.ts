/**
 * The store under an access list: a JSON manifest with hex keys and values. `data-formats.md` 5.6 and 7.2. Vectors:
 * test/vectors/act.json.
 */
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { ActError } from './errors.ts';

interface SimpleManifest {
  readonly entries?: Readonly<Record<string, { readonly reference: string }>>;
}

export class KeyValues {
  readonly #entries: Map<string, string>;

  constructor(entries: Iterable<readonly [string, string]> = []) {
    this.#entries = new Map(entries);
  }

  /** @throws ActError `ACT_MALFORMED` */
  static decode(bytes: Uint8Array): KeyValues {
    return new KeyValues(entriesOf(parse(bytes)));
  }

  /** Ascending, no spaces. */
  encode(): Uint8Array {
    const sorted = [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1));
    const entries = Object.fromEntries(sorted.map(([key, reference]) => [key, { reference }]));
    const manifest: SimpleManifest = sorted.length === 0 ? {} : { entries };
    return Buffer.from(JSON.stringify(manifest));
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.#entries.get(toHex(key));
    return value === undefined ? undefined : fromHex(value);
  }

  set(key: Uint8Array, value: Uint8Array): void {
    this.#entries.set(toHex(key), toHex(value));
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch (cause) {
    throw new ActError('ACT_MALFORMED', 'the access list is not JSON', { cause });
  }
}

function entriesOf(manifest: unknown): [string, string][] {
  if (!isObject(manifest)) throw new ActError('ACT_MALFORMED', 'the access list is no object');
  const { entries = {} } = manifest;
  if (!isObject(entries)) throw new ActError('ACT_MALFORMED', 'the entries of the access list are no object');
  return Object.entries(entries).map(([key, entry]) => {
    const reference = isObject(entry) ? entry['reference'] : undefined;
    if (typeof reference !== 'string' || !/^([0-9a-fA-F]{2})*$/.test(reference))
      throw new ActError('ACT_MALFORMED', `entry ${key} of the access list has no value in hex`);
    return [key, reference];
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * What a network has answered, in a form in which two networks of one seed can be compared. What time, ports or chance
 * decide becomes a placeholder, such as `{uid}`. Keys, and what follows from them, stay: the same seed gives the same.
 */
import { createHash } from 'node:crypto';
import { parseJson } from '../../client/json.ts';

/** One thing that was seen of a network. */
export interface Fact {
  /** `shape`: fields and types of an answer whose values move by themselves. */
  readonly kind: 'http' | 'shape' | 'placement' | 'money';
  /** Unique within a network. */
  readonly what: string;
  readonly seen: string;
}

/** Values that no seed decides, wherever a field of JSON has this name. */
const MOVING = new Set(
  'uid startedAt timestamp nonce batchTTL blockNumber version apiVersion duration transactionHash txHash underlay'.split(
    ' ',
  ),
);

/** Of a list whose order says nothing: the field of its elements that sorts them; empty: their text. */
const UNORDERED: Readonly<Record<string, string>> = {
  references: '',
  peers: 'address',
  stamps: 'batchID',
  tags: 'address',
  pendingTransactions: 'transactionHash',
};

/** Paths that tell a state of this moment. */
const MOMENTARY =
  /^\/(?:accounting|addresses|balances|batches|blocklist|chainstate|chequebook|consumed|health|metrics|node|peers|pingpong|readiness|redistributionstate|reservestate|settlements|status|timesettlements|topology|transactions|wallet)(?:[/?]|$)/;

/** Headers of an answer that are part of it; those of the dialect are, too. */
const HEADERS = new Set(
  'accept-ranges content-disposition content-encoding content-length content-range content-type etag location'.split(
    ' ',
  ),
);
const OF_DIALECT = /^(?:swarm|svc)-/;
/** Its value is a number that the node draws. */
const TAG_HEADER = /^(?:swarm|svc)-tag(?:-uid)?$/;
/** Headers of requests that say little of what is asked for: a node's own batch is that of nearly all uploads. */
const UNSAID = new Set(['authorization', 'connection', 'content-length', 'content-type']);
const BATCH_HEADER = /^(?:swarm|svc)-postage-batch-id$/;
const HASH_DIGITS = 8;

/** Names for what a network draws: the same thing has the same name in each network. */
export class Names {
  readonly #names = new Map<string, string>();

  add(value: string, name: string): void {
    if (!this.#names.has(value)) this.#names.set(value, name);
  }

  /** A text with the name of each batch in it, and of a tag where a path has one. */
  in(text: string): string {
    return text.replace(/[0-9a-f]{64}|(?<=^\/tags\/)\d+/gi, (word) => this.of(word.toLowerCase()));
  }

  /** The name of this very value; without one, the value. */
  of(value: string): string {
    return this.#names.get(value) ?? value;
  }
}

/** The batch that a node got when its cluster started. */
export function batchName(node: string): string {
  return `{batch of ${node}}`;
}

export function bytesText(content: Uint8Array | string): string {
  const bytes = Buffer.from(content as string);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, HASH_DIGITS);
  return bytes.length === 0 ? 'nothing' : `${bytes.length} bytes ${hash}`;
}

export interface AskedFor {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A request of a node as people read it. Content that comes as a stream is not in it. */
export function requestText(
  node: string,
  { method, path, headers = {}, body }: AskedFor,
  names: Names,
): string {
  const said = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !UNSAID.has(name))
    .map(([name, value]) => [name, TAG_HEADER.test(name) ? names.of(value) : names.in(value)] as const)
    .filter(([name, value]) => !BATCH_HEADER.test(name) || value !== batchName(node))
    .map((header) => header.join(': '));
  const sent = typeof body === 'string' || body instanceof Uint8Array ? [bytesText(body)] : [];
  return [`${node} ${method} ${names.in(path)}`, ...said.toSorted(), ...sent].join(', ');
}

/** Whether what is asked for moves by itself, so that of the answer the shape alone counts. */
export function isMomentary({ method, path }: Pick<AskedFor, 'method' | 'path'>): boolean {
  return method === 'GET' && MOMENTARY.test(path);
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As far as it was read. */
  readonly body: Uint8Array | string | undefined;
}

/** Gives names to what an answer tells for the first time: tags and batches. @param asked its request as text */
export function learn({ headers, body }: Answered, asked: string, names: Names): void {
  for (const [name, value] of Object.entries(headers))
    if (TAG_HEADER.test(name)) names.add(value, `{tag of ${asked}}`);
  if (body === undefined || !isJson(headers)) return;
  const { uid, batchID } = (orText(textOf(body)) ?? {}) as { uid?: unknown; batchID?: unknown };
  if (typeof uid === 'number') names.add(String(uid), `{tag of ${asked}}`);
  if (typeof batchID === 'string') names.add(batchID, `{batch of ${asked}}`);
}

/** The parts of an answer, each with its place in it. */
export function answerParts(
  { status, headers, body }: Answered,
  { names, momentary }: { readonly names: Names; readonly momentary: boolean },
): [place: string, seen: string][] {
  if (momentary) {
    const shape = body !== undefined && isJson(headers) ? shapeOf(orText(textOf(body))) : '';
    return [['status', String(status)], ...(shape === '' ? [] : [['body', shape] as [string, string]])];
  }
  const told = Object.entries(headers)
    .filter(([name]) => HEADERS.has(name) || OF_DIALECT.test(name))
    // The length of what has placeholders in it says nothing.
    .filter(([name]) => name !== 'content-length' || !isJson(headers))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]): [string, string] => [name, TAG_HEADER.test(name) ? '{uid}' : names.in(value)]);
  return [['status', String(status)], ...told, ...bodyParts(headers, body, names)];
}

function bodyParts(
  headers: Answered['headers'],
  body: Answered['body'],
  names: Names,
): [place: string, seen: string][] {
  if (body === undefined) return [];
  if (!isJson(headers)) return [['body', bytesText(body)]];
  return leaves('body', orText(textOf(body)), names);
}

function leaves(place: string, value: unknown, names: Names): [string, string][] {
  const field = place.split('.').at(-1) ?? '';
  if (MOVING.has(field)) return [[place, `{${field}}`]];
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    if (list.length === 0) return [[place, '[]']];
    return inOrder(list, UNORDERED[field]).flatMap((one, index) => leaves(`${place}[${index}]`, one, names));
  }
  if (typeof value !== 'object' || value === null)
    return [[place, typeof value === 'string' ? names.in(value) : String(value)]];
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (fields.length === 0) return [[place, '{}']];
  return fields.flatMap(([name, one]) => leaves(`${place}.${name}`, one as unknown, names));
}

function inOrder(list: readonly unknown[], by: string | undefined): readonly unknown[] {
  if (by === undefined) return list;
  const key = (one: unknown) =>
    by === '' ? String(one) : String((one as Readonly<Record<string, unknown>> | null)?.[by]);
  return list.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Fields and their types; a list may be empty at one moment and have elements at another. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return '[…]';
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value === 'bigint' ? 'number' : typeof value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{ ${fields.map(([name, one]) => `${name}: ${shapeOf(one as unknown)}`).join(', ')} }`;
}

function isJson(headers: Answered['headers']): boolean {
  return /[/+]json\b/.test(headers['content-type'] ?? '');
}

function textOf(body: Uint8Array | string): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString();
}

/** What JSON says, or the text itself where it is none. */
function orText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/**
 * A network's answers with a placeholder, such as `{uid}`, for what time, ports or chance decide, so that two networks of
 * one seed can be compared. Keys stay, since the seed gives them.
 */
import { createHash } from 'node:crypto';
import { parseJson } from '../../client/json.ts';

export interface Fact {
  /** `shape`: types of a changing answer's fields; `result`: a scenario's end. */
  readonly kind: 'http' | 'shape' | 'placement' | 'money' | 'result';
  readonly what: string;
  readonly seen: string;
  readonly detail?: string;
  /** Depends on the moment: its absence elsewhere says nothing. */
  readonly ifBoth?: true;
}

const MOVING = new Set(
  'uid startedAt timestamp nonce batchTTL blockNumber version apiVersion duration transactionHash txHash underlay'.split(
    ' ',
  ),
);

/** The same for a shared batch: addresses of messages and of encrypted chunks are random. */
const MOVING_IF_SHARED = new Set(['utilization', 'utilizationRatio']);

/** Deliveries of chunks. Their number depends on how soon a peer answers; whether there are any does not. */
const REPEATED = new Set(['sent']);

/** Lists without order: the field that sorts them; empty: their text. */
const UNORDERED: Readonly<Record<string, string>> = {
  references: '',
  peers: 'address',
  stamps: 'batchID',
  tags: 'address',
  pendingTransactions: 'transactionHash',
};

const MOMENTARY =
  /^\/(?:accounting|addresses|balances|batches|blocklist|chainstate|chequebook|consumed|health|metrics|node|peers|pingpong|readiness|redistributionstate|reservestate|settlements|status|timesettlements|topology|transactions|wallet)(?:[/?]|$)/;

/** Headers compared, besides those of the dialect. */
const HEADERS = new Set(
  'accept-ranges content-disposition content-encoding content-length content-range content-type etag location'.split(
    ' ',
  ),
);
const OF_DIALECT = /^(?:swarm|svc)-/;
/** The node draws this number. */
const TAG_HEADER = /^(?:swarm|svc)-tag(?:-uid)?$/;
/** Nearly all uploads use a node's own batch. */
const UNSAID = new Set(['authorization', 'connection', 'content-length', 'content-type']);
const BATCH_HEADER = /^(?:swarm|svc)-postage-batch-id$/;
const HASH_DIGITS = 8;
const NOTHING = 'nothing';
const ADDRESS = /^(?:0x)?[0-9a-f]{40,64}$/i;

const CONTENT = /^\/(?:bytes|bzz|chunks|feeds|soc)\//;

/** Their references differ with each random key; grantee lists and histories are encrypted too. */
const DRAWING = /^\S+ (?:(?:POST|PATCH) \/grantee\b|POST .*, (?:swarm|svc)-(?:act|encrypt): true\b)/;
const HISTORY_HEADER = /^(?:swarm|svc)-act-history-address$/;
const DRAWN_FIELDS = { reference: 'reference', ref: 'list', historyref: 'history' } as const;
const ADDRESSES = /[0-9a-f]{128}|[0-9a-f]{64}/gi;

export class Names {
  /** Batches, and references that nobody can compute. */
  readonly #drawn = new Map<string, string>();
  /** By node and tag. */
  readonly #tags = new Map<string, string>();

  add(drawn: string, name: string): void {
    if (!this.#drawn.has(drawn)) this.#drawn.set(drawn, name);
  }

  has(drawn: string): boolean {
    return this.#drawn.has(drawn);
  }

  addTag(node: string, tag: string, name: string): void {
    const key = `${node} ${tag}`;
    if (!this.#tags.has(key)) this.#tags.set(key, name);
  }

  in(text: string): string {
    return text.replace(ADDRESSES, (word) => this.#drawn.get(word.toLowerCase()) ?? word);
  }

  inPath(node: string, path: string): string {
    return this.in(path).replace(/(?<=^\/tags\/)\d+/, (tag) => this.ofTag(node, tag));
  }

  ofTag(node: string, tag: string): string {
    return this.#tags.get(`${node} ${tag}`) ?? tag;
  }
}

export function batchName(node: string): string {
  return `{batch of ${node}}`;
}

function isBatchOfStart(name: string): boolean {
  return /^\{batch of \S+\}$/.test(name);
}

export class ContentText {
  readonly #hash = createHash('sha256');
  #length = 0;

  add(content: Uint8Array | string): this {
    const bytes = Buffer.from(content as string);
    this.#hash.update(bytes);
    this.#length += bytes.length;
    return this;
  }

  toString(): string {
    const hash = this.#hash.copy().digest('hex').slice(0, HASH_DIGITS);
    return this.#length === 0 ? NOTHING : `${this.#length} bytes ${hash}`;
  }
}

export interface AskedFor {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** Content that comes as a stream is left out. */
export function requestText(
  node: string,
  { method, path, headers = {}, body }: AskedFor,
  names: Names,
): string {
  const said = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !UNSAID.has(name))
    .map(
      ([name, value]) => [name, TAG_HEADER.test(name) ? names.ofTag(node, value) : names.in(value)] as const,
    )
    .filter(([name, value]) => !BATCH_HEADER.test(name) || value !== batchName(node))
    .map((header) => header.join(': '));
  const sent =
    typeof body === 'string' || body instanceof Uint8Array ? [String(new ContentText().add(body))] : [];
  return [`${node} ${method} ${names.inPath(node, path)}`, ...said.toSorted(), ...sent].join(', ');
}

export function isMomentary({ method, path }: Pick<AskedFor, 'method' | 'path'>): boolean {
  return method === 'GET' && MOMENTARY.test(path);
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As far as read; undefined: nothing. */
  readonly body: { readonly json: string } | { readonly content: string } | undefined;
}

export function isDocument(
  { method, path }: Pick<AskedFor, 'method' | 'path'>,
  { status, headers }: Pick<Answered, 'status' | 'headers'>,
): boolean {
  const isContent = method === 'GET' && status < 300 && CONTENT.test(path);
  return /[/+]json\b/.test(headers['content-type'] ?? '') && !isContent;
}

/**
 * Names tags, batches and references with random keys in an answer.
 * @param asked its request as text
 */
export function learn({ headers, body }: Answered, node: string, asked: string, names: Names): void {
  for (const [name, value] of Object.entries(headers))
    if (TAG_HEADER.test(name)) names.addTag(node, value, `{tag of ${asked}}`);
  const told = (body !== undefined && 'json' in body ? orText(body.json) : undefined) ?? {};
  const { uid, batchID, ...rest } = told as Readonly<Record<string, unknown>>;
  if (typeof uid === 'number') names.addTag(node, String(uid), `{tag of ${asked}}`);
  if (typeof batchID === 'string') names.add(batchID, `{batch of ${asked}}`);
  if (!DRAWING.test(asked)) return;
  for (const [name, value] of Object.entries(headers))
    if (HISTORY_HEADER.test(name)) names.add(value, `{history of ${asked}}`);
  for (const [field, name] of Object.entries(DRAWN_FIELDS)) {
    const value = rest[field];
    if (typeof value === 'string') names.add(value, `{${name} of ${asked}}`);
  }
}

/** Place of an answer's status and of its transfer's end. */
export const STATUS = 'status';
const IN_ANSWER = ' → ';

export function placeOf(what: string, place: string): string {
  return `${what}${IN_ANSWER}${place}`;
}

export function exchangeOf({
  kind,
  what,
}: Fact): { readonly exchange: string; readonly place: string } | undefined {
  const at = what.lastIndexOf(IN_ANSWER);
  if ((kind !== 'http' && kind !== 'shape') || at < 0) return undefined;
  return { exchange: what.slice(0, at), place: what.slice(at + IN_ANSWER.length) };
}

export function answerParts(
  { status, headers, body }: Answered,
  { names, momentary }: { readonly names: Names; readonly momentary: boolean },
): [place: string, seen: string][] {
  if (momentary) {
    const shape: [string, string][] =
      body !== undefined && 'json' in body ? [['body', shapeOf(orText(body.json))]] : [];
    return [[STATUS, String(status)], ...shape];
  }
  const told = Object.entries(headers)
    .filter(([name]) => HEADERS.has(name) || OF_DIALECT.test(name))
    // Placeholders make the length meaningless.
    .filter(([name]) => name !== 'content-length' || body === undefined || 'content' in body)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]): [string, string] => [name, TAG_HEADER.test(name) ? '{uid}' : names.in(value)]);
  return [[STATUS, String(status)], ...told, ...bodyParts(body, names)];
}

function bodyParts(body: Answered['body'], names: Names): [place: string, seen: string][] {
  if (body === undefined) return [];
  if ('content' in body) return [['body', body.content]];
  return body.json === '' ? [['body', NOTHING]] : leaves('body', orText(body.json), names);
}

function leaves(place: string, value: unknown, names: Names, moving = MOVING): [string, string][] {
  const field = place.split('.').at(-1) ?? '';
  if (moving.has(field) || (REPEATED.has(field) && value !== 0))
    return [[place, `{${field}}: ${shapeOf(value)}`]];
  if (Array.isArray(value)) {
    const list = value as readonly unknown[];
    if (list.length === 0) return [[place, '[]']];
    return inOrder(list, UNORDERED[field]).flatMap((one, index) => leaves(`${place}[${index}]`, one, names));
  }
  if (typeof value !== 'object' || value === null)
    return [[place, typeof value === 'string' ? JSON.stringify(names.in(value)) : String(value)]];
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (fields.length === 0) return [[place, '{}']];
  const { batchID } = value as Readonly<Record<string, unknown>>;
  const isShared = typeof batchID === 'string' && isBatchOfStart(names.in(batchID));
  const ofFields = isShared ? MOVING.union(MOVING_IF_SHARED) : MOVING;
  return fields.flatMap(([name, one]) => leaves(`${place}.${name}`, one as unknown, names, ofFields));
}

function inOrder(list: readonly unknown[], by: string | undefined): readonly unknown[] {
  if (by === undefined) return list;
  const key = (one: unknown) =>
    by === '' ? String(one) : String((one as Readonly<Record<string, unknown>> | null)?.[by]);
  return list.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** Fields and types. Lists and maps by address may be empty at one moment. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value) || value === null) return '[…]';
  if (typeof value !== 'object') return typeof value === 'bigint' ? 'number' : typeof value;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (fields.every(([name]) => ADDRESS.test(name))) return '[…]';
  return `{ ${fields.map(([name, one]) => `${name}: ${shapeOf(one as unknown)}`).join(', ')} }`;
}

function orText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

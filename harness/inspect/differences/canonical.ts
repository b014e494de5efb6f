/**
 * A network's answers in a form that two networks of one seed can share. What time, ports or chance decide becomes a
 * placeholder, such as `{uid}`; keys stay, since the seed gives them.
 */
import { createHash } from 'node:crypto';
import { parseJson } from '../../client/json.ts';

/** One thing that was seen of a network. */
export interface Fact {
  /** `shape`: fields and types of a changing answer; `result`: how a scenario ended. */
  readonly kind: 'http' | 'shape' | 'placement' | 'money' | 'result';
  /** Unique within a network. */
  readonly what: string;
  readonly seen: string;
  /** Shown with a difference, and not compared: figures of the moment. */
  readonly detail?: string;
  /** Its occurrence depends on the moment: absence elsewhere says nothing. */
  readonly ifBoth?: true;
}

/** Values that no seed decides, wherever a field of JSON has this name. */
const MOVING = new Set(
  'uid startedAt timestamp nonce batchTTL blockNumber version apiVersion duration transactionHash txHash underlay'.split(
    ' ',
  ),
);

/** The same for a shared batch: addresses of messages and encrypted chunks are random. */
const MOVING_IF_SHARED = new Set(['utilization', 'utilizationRatio']);

/**
 * Deliveries of chunks: how many there are depends on how soon a peer answers, since others are tried meanwhile; whether
 * there are any does not.
 */
const REPEATED = new Set(['sent']);

/** Lists without order: the field that sorts them; empty: their text. */
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
/** Request headers that say little: nearly all uploads use a node's own batch. */
const UNSAID = new Set(['authorization', 'connection', 'content-length', 'content-type']);
const BATCH_HEADER = /^(?:swarm|svc)-postage-batch-id$/;
const HASH_DIGITS = 8;
/** Of a body, whatever its type. */
const NOTHING = 'nothing';
const ADDRESS = /^(?:0x)?[0-9a-f]{40,64}$/i;

/** User content, compared byte by byte. */
const CONTENT = /^\/(?:bytes|bzz|chunks|feeds|soc)\//;

/** Requests with new random keys and so new references; grantee lists and histories are encrypted too. */
const DRAWING = /^\S+ (?:(?:POST|PATCH) \/grantee\b|POST .*, (?:swarm|svc)-(?:act|encrypt): true\b)/;
const HISTORY_HEADER = /^(?:swarm|svc)-act-history-address$/;
/** Names what fields of such an answer stand for. */
const DRAWN_FIELDS = { reference: 'reference', ref: 'list', historyref: 'history' } as const;
/** Addresses of 32 bytes, and references that hold a key as well. */
const ADDRESSES = /[0-9a-f]{128}|[0-9a-f]{64}/gi;

/** Names for random values: the same thing has the same name in each network. */
export class Names {
  /** Of batches, and of references that nobody can compute. */
  readonly #drawn = new Map<string, string>();
  /** By node and tag: each node counts its own. */
  readonly #tags = new Map<string, string>();

  /** @param drawn batch id or reference, hex; an existing name stays */
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

  /** A text with the names of what is drawn. */
  in(text: string): string {
    return text.replace(ADDRESSES, (word) => this.#drawn.get(word.toLowerCase()) ?? word);
  }

  /** A path of a node, with these names and that of its tag. */
  inPath(node: string, path: string): string {
    return this.in(path).replace(/(?<=^\/tags\/)\d+/, (tag) => this.ofTag(node, tag));
  }

  /** Without a name, the value. */
  ofTag(node: string, tag: string): string {
    return this.#tags.get(`${node} ${tag}`) ?? tag;
  }
}

/** Name of the batch that a node got when its cluster started. */
export function batchName(node: string): string {
  return `{batch of ${node}}`;
}

/** Whether a name is one of those. */
function isBatchOfStart(name: string): boolean {
  return /^\{batch of \S+\}$/.test(name);
}

/** Length and hash of content that comes in pieces. */
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

/** A request of a node as people read it. Content that comes as a stream is not in it. */
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

/** Whether the answer changes by itself, so that only its shape counts. */
export function isMomentary({ method, path }: Pick<AskedFor, 'method' | 'path'>): boolean {
  return method === 'GET' && MOMENTARY.test(path);
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** As far as read: a document, or length and hash; undefined: nothing. */
  readonly body: { readonly json: string } | { readonly content: string } | undefined;
}

/** Whether an answer is a document, rather than content that somebody has stored. */
export function isDocument(
  { method, path }: Pick<AskedFor, 'method' | 'path'>,
  { status, headers }: Pick<Answered, 'status' | 'headers'>,
): boolean {
  const isContent = method === 'GET' && status < 300 && CONTENT.test(path);
  return /[/+]json\b/.test(headers['content-type'] ?? '') && !isContent;
}

/**
 * Names what an answer tells first: tags, batches, references with random keys.
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

/** Place of an answer's status, and of what became of its transfer. */
export const STATUS = 'status';
const IN_ANSWER = ' → ';

/** @param what an exchange @returns name of a fact about this place */
export function placeOf(what: string, place: string): string {
  return `${what}${IN_ANSWER}${place}`;
}

/** @returns the exchange and place of a fact; undefined: another kind of fact */
export function exchangeOf({
  kind,
  what,
}: Fact): { readonly exchange: string; readonly place: string } | undefined {
  const at = what.lastIndexOf(IN_ANSWER);
  if ((kind !== 'http' && kind !== 'shape') || at < 0) return undefined;
  return { exchange: what.slice(0, at), place: what.slice(at + IN_ANSWER.length) };
}

/** An answer's parts with their places. */
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

/** The JSON value, or else the text. */
function orText(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

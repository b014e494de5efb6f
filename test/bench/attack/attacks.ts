/**
 * Attacks on a node, each in a process of its own. An attack resolves when it is under way; it goes on until the process
 * ends, and takes up again whatever the node refuses or cuts off.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { pack } from 'tar-stream';
import { encodeNode } from '../../../node/manifest/codec.ts';

export interface Target {
  /** `http://host:port` */
  readonly api: string;
  /** Multiaddress. */
  readonly p2p: string;
  readonly batch: string;
}

type Attack = (target: Target) => Promise<void>;

const MIB = 2 ** 20;
const LARGE_FILE = 16 * MIB;
/** Milliseconds before a connection that ended is opened again. */
const AGAIN_MS = 100;

export const ATTACKS = {
  'idle connections': idleConnections,
  'stalled downloads': (target) => stalledDownloads(target, 200),
  'stalled downloads with a long look-ahead': (target) =>
    stalledDownloads(target, 600, { 'svc-lookahead-buffer-size': '99999999999' }),
  'slow uploads': slowUploads,
  expressions,
  'pins of a manifest graph': manifestGraph,
  'archive of 40,000 files': archive,
} as const satisfies Record<string, Attack>;

export type AttackName = keyof typeof ATTACKS;

async function idleConnections({ api }: Target): Promise<void> {
  await connections(1000, api, (socket) => socket.resume());
}

async function stalledDownloads(
  target: Target,
  count: number,
  headers: Record<string, string> = {},
): Promise<void> {
  const reference = await stored(
    target,
    Buffer.alloc(LARGE_FILE).map((_, i) => (i >> 12) ^ i),
  );
  await connections(count, target.api, (socket) => {
    socket.pause();
    socket.write(head('GET', `/bytes/${reference}`, headers));
  });
}

async function slowUploads({ api, batch }: Target): Promise<void> {
  await connections(200, api, (socket) => {
    const headers = { 'svc-postage-batch-id': batch, 'content-length': String(LARGE_FILE) };
    socket.resume();
    socket.write(head('POST', '/bytes', headers));
    const drip = setInterval(() => socket.write('x'), 1000);
    socket.once('close', () => clearInterval(drip));
  });
}

async function expressions({ api }: Target): Promise<void> {
  const texts = ['((.|.)*)*#', '(a+)+$', String.raw`(n|o|d|e)*\1\1\1#`, String.raw`\pL{20}.*(\w+\s?)*$`];
  // Without padding it would be refused before anything is matched.
  const encoded = (text: string) =>
    Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
  const urls = texts.map((text) => `${api}/loggers/${encoded(text)}`);
  for (let i = 0; i < 20; i++) void repeated(() => fetch(urls[i % urls.length] as string));
}

/** Seven nodes of 255 forks each to the same child. */
async function manifestGraph(target: Target): Promise<void> {
  const zeros = new Uint8Array(32);
  let reference = await stored(target, Buffer.from('at the end of all paths'));
  for (let level = 0; level < 7; level++) {
    const child = Buffer.from(reference, 'hex');
    const forks = Array.from({ length: 255 }, (_, at) => ({
      prefix: String.fromCharCode(at + 1),
      flags: 6,
      reference: child,
      metadata: undefined,
    }));
    const node = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks });
    reference = await stored(target, node);
  }
  const url = `${target.api}/pins/${reference}`;
  for (let i = 0; i < 20; i++)
    void repeated(async () => {
      await fetch(url, { method: 'POST' });
      return fetch(url, { method: 'DELETE' });
    });
}

async function archive({ api, batch }: Target): Promise<void> {
  const tar = pack();
  for (let i = 0; i < 40_000; i++) tar.entry({ name: `folder-${i % 200}/file-${i}.txt` }, `file ${i}`);
  tar.finalize();
  const body = Buffer.concat(await Array.fromAsync(tar as AsyncIterable<Uint8Array>));
  const headers = {
    'svc-postage-batch-id': batch,
    'content-type': 'application/x-tar',
    'svc-collection': 'true',
  };
  void repeated(() => fetch(`${api}/svc`, { method: 'POST', headers, body }));
}

/** Resolves when the node is done with the content. */
async function stored({ api, batch }: Target, body: Uint8Array): Promise<string> {
  const headers = { 'svc-postage-batch-id': batch };
  const answer = await fetch(`${api}/bytes`, { method: 'POST', headers, body: Buffer.from(body) });
  const { reference } = (await answer.json()) as { reference: string };
  for (;;) {
    const tag = await fetch(`${api}/tags/${answer.headers.get('svc-tag')}`);
    const { split, synced } = (await tag.json()) as { split: number; synced: number };
    if (synced >= split) return reference;
    await pause(AGAIN_MS);
  }
}

async function connections(count: number, api: string, begin: (socket: Socket) => void): Promise<void> {
  const { hostname: host, port } = new URL(api);
  const open = () => {
    const socket = connect({ host, port: Number(port) });
    // Attackers are refused and cut off.
    socket.on('error', () => undefined);
    socket.once('connect', () => begin(socket));
    socket.once('close', () => setTimeout(open, AGAIN_MS));
  };
  for (let i = 0; i < count; i++) {
    open();
    if (i % 50 === 49) await pause(10);
  }
}

/** For ever; also when the node does not answer. */
async function repeated(ask: () => Promise<Response>): Promise<void> {
  for (;;) {
    const answer = await ask().catch(() => undefined);
    await answer?.arrayBuffer().catch(() => undefined);
    if (answer === undefined) await pause(AGAIN_MS);
  }
}

function head(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

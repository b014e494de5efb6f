import { makeCac } from '../../../formats/chunk/cac.ts';
import { signSoc, socParts } from '../../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { updateId } from '../../../node/feeds/feed.ts';
import { type TreeFile, tarOf } from '../../base/tree.ts';
import { NotApplicable } from '../row.ts';
import type { Ask, Fresh, Prerequisites, RowSession } from './subject.ts';

interface ListedBatch {
  readonly batchID: string;
  readonly depth: number;
  readonly usable: boolean;
}

/** Pays for an upload. */
export const BATCH = { 'svc-postage-batch-id': '{batch}' } as const;
/** Changed by no other row; its reference is `{content}`. */
export const CONTENT: Fresh = { fresh: 'content', length: 10_000 };

export const PREREQUISITES: Prerequisites = {
  origin: ({ subject }) => Promise.resolve(subject.origin),
  batch: batchOf,
  content: uploadedContent,
  file: textFile,
  site: uploadedSite,
  tag: newTag,
  chunk: storedChunk,
  soc: async (session) => (await storedSoc(session)).path,
  'soc-signature': async (session) => (await storedSoc(session)).signature,
  feed: async (session) => (await storedFeed(session)).path,
  'feed-signature': async (session) => (await storedFeed(session)).updates.at(-1)?.signature ?? '',
  peer: peerOf,
  'trading-peer': tradingPeer,
  address: (session, name) => Promise.resolve(addressOf(session, chunkOf(name))),
  /** Of so many bytes; nobody has it. */
  hex20: (session, name) => Promise.resolve(session.hex(name, 20)),
  hex32: (session, name) => Promise.resolve(session.hex(name, 32)),
  hex64: (session, name) => Promise.resolve(session.hex(name, 64)),
};

async function batchOf(session: RowSession): Promise<string> {
  const id = await session.once('batch', async (setup) => {
    if (setup.subject.batch !== undefined) return setup.subject.batch;
    const { status, member } = await setup.ask({ path: '/stamps' }, { status: [200, 403] });
    const listed = status === 200 ? (member('stamps') as readonly ListedBatch[]) : [];
    const usable = listed.filter((batch) => batch.usable).toSorted((a, b) => b.depth - a.depth);
    return usable[0]?.batchID ?? '';
  });
  if (id === '')
    throw new NotApplicable('needs a usable batch on the main node: buy one, or name it with --batch');
  return id;
}

export type Upload = Pick<Ask, 'path' | 'headers' | 'body'>;

export async function upload(session: RowSession, { headers, ...content }: Upload): Promise<string> {
  const answer = await session.ask(
    { method: 'POST', ...content, headers: { ...BATCH, ...headers } },
    { status: 201, json: '{reference:ref}' },
  );
  return answer.text('reference');
}

function uploadedContent(session: RowSession): Promise<string> {
  // Without parities.
  const headers = { 'svc-redundancy-level': '0' };
  return session.once('content', (setup) => upload(setup, { path: '/bytes', headers, body: CONTENT }));
}

function textFile(session: RowSession): Promise<string> {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  return session.once('file', (setup) =>
    upload(setup, { path: '/svc?name=a%20b.txt', headers, body: 'hello' }),
  );
}

export const TAR = { 'content-type': 'application/x-tar', 'svc-collection': 'true' } as const;
const SITE: readonly TreeFile[] = [
  { path: 'index.html', data: Buffer.from('<h1>index</h1>') },
  { path: 'error.html', data: Buffer.from('<h1>error</h1>') },
  { path: 'docs/a.json', data: Buffer.from('{"a":1}') },
  { path: 'docs/index.html', data: Buffer.from('<h1>docs</h1>') },
];

function uploadedSite(session: RowSession): Promise<string> {
  const headers = { ...TAR, 'svc-index-document': 'index.html', 'svc-error-document': 'error.html' };
  return session.once('site', async (setup) =>
    upload(setup, { path: '/svc', headers, body: await tarOf(SITE) }),
  );
}

async function newTag(session: RowSession): Promise<string> {
  const { text } = await session.ask({ method: 'POST', path: '/tags' }, { status: 201 });
  session.forgetTag(text('uid'));
  return text('uid');
}

export function chunkOf(name: string): Fresh {
  return { fresh: name, length: 1000, span: true };
}

function addressOf(session: RowSession, { fresh, length }: Fresh): string {
  return toHex(makeCac(BigInt(length), session.content(fresh, length)).address);
}

/** It has a tag, so that it waits for no other node. */
function storedChunk(session: RowSession): Promise<string> {
  return session.once('chunk', (setup) =>
    upload(setup, { path: '/chunks', headers: { 'svc-tag': '{tag}' }, body: chunkOf('chunk') }),
  );
}

/** One with an account: content went there. */
function tradingPeer(session: RowSession): Promise<string> {
  return session.once('trading peer', async (setup) => {
    const headers = { ...BATCH, 'svc-deferred-upload': 'false' };
    const body = { fresh: 'trade', length: 20_000 };
    await setup.ask({ method: 'POST', path: '/bytes', headers, body }, { status: 201 });
    const { text } = await setup.ask(
      { path: '/balances' },
      { status: 200, json: '{balances:{peer:hex32}[]}' },
    );
    return text('balances.0.peer');
  });
}

async function peerOf(session: RowSession): Promise<string> {
  const peer = await session.once('peer', async (setup) => {
    const { member } = await setup.ask({ path: '/peers' }, { status: 200 });
    const peer = member('peers.0.address');
    return typeof peer === 'string' ? peer : '';
  });
  if (peer === '') throw new NotApplicable('needs a connected peer');
  return peer;
}

export function signerOf(session: RowSession, name: string): Signer {
  const key = session.content(`key ${name}`, 32);
  // Below the curve's order, and not zero.
  key[0] = 1;
  return createSigner(key);
}

export interface SignedChunk {
  readonly path: string;
  readonly address: string;
  readonly signature: string;
  readonly body: Uint8Array;
}

/** @param id 64 hex digits */
export function signedChunk(owner: Signer, id: string, payload: Uint8Array): SignedChunk {
  const wrapped = makeCac(BigInt(payload.length), payload).data;
  const { address, data } = signSoc(fromHex(id), wrapped, owner);
  return {
    path: `/soc/${toHex(owner.address)}/${id}`,
    address: toHex(address),
    signature: toHex(socParts(data).signature),
    body: wrapped,
  };
}

export function signedByOwner(session: RowSession, name: string): SignedChunk {
  return signedChunk(
    signerOf(session, 'owner'),
    session.hex(`id ${name}`),
    session.content(`soc ${name}`, 500),
  );
}

export function storedSoc(session: RowSession): Promise<SignedChunk> {
  return session.once('soc', async (setup) => {
    setup.needs('second');
    const soc = signedByOwner(setup, 'stored');
    await store(setup, soc);
    return soc;
  });
}

/** Of a run's feed. */
export const UPDATES = 2;

export function storedFeed(session: RowSession): Promise<{ path: string; updates: readonly SignedChunk[] }> {
  return session.once('feed', async (setup) => {
    setup.needs('second');
    const owner = signerOf(setup, 'feed');
    const topic = setup.hex('topic');
    const updates: SignedChunk[] = [];
    for (let i = 0; i < UPDATES; i++) {
      const id = toHex(updateId(fromHex(topic), BigInt(i)));
      const soc = signedChunk(owner, id, setup.content(`update ${i}`, 300));
      await store(setup, soc);
      updates.push(soc);
    }
    return { path: `/feeds/${toHex(owner.address)}/${topic}`, updates };
  });
}

async function store(session: RowSession, { path, signature, body }: SignedChunk): Promise<void> {
  await session.ask(
    { method: 'POST', path: `${path}?sig=${signature}`, headers: BATCH, body },
    { status: 201 },
  );
}

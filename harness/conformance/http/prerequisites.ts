/** What rows need on the node before they can check something: a batch, content, peers, signed chunks. */
import { makeCac } from '../../../formats/chunk/cac.ts';
import { signSoc, socParts } from '../../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { updateId } from '../../../node/feeds/feed.ts';
import { NotApplicable } from '../row.ts';
import type { HttpRequest, Place } from './messages.ts';
import type { RowSession } from './subject.ts';

interface ListedBatch {
  readonly batchID: string;
  readonly depth: number;
  readonly usable: boolean;
}

/** The header with a usable batch of the node. @throws NotApplicable when it has none */
export async function batchHeader(
  session: RowSession,
  place: Place = 'main',
): Promise<Record<string, string>> {
  const id = await session.once(`batch ${place}`, async (setup) => {
    if (place === 'main' && setup.subject.batch !== undefined) return setup.subject.batch;
    const { status, member } = await setup.ask({ place, path: '/stamps' }, { status: [200, 403] });
    const listed = status === 200 ? (member('stamps') as readonly ListedBatch[]) : [];
    const usable = listed.filter((batch) => batch.usable).toSorted((a, b) => b.depth - a.depth);
    return usable[0]?.batchID ?? '';
  });
  if (id === '')
    throw new NotApplicable(`needs a usable batch on the ${place} node: buy one, or name it with --batch`);
  return { 'svc-postage-batch-id': id };
}

export interface Uploaded {
  readonly reference: string;
  readonly data: Uint8Array;
}

/** Bytes on the node that no other row changes. */
export function uploadedBytes(session: RowSession, name: string, length: number): Promise<Uploaded> {
  return session.once(`bytes ${name}`, async (setup) => {
    const data = setup.content(name, length);
    // Without parities, in either dialect.
    const headers = { 'svc-redundancy-level': '0' };
    const reference = await upload(setup, { path: '/bytes', headers, body: data });
    return { reference, data };
  });
}

/** Uploads any content, and has the session's tag removed at the end. @returns its reference */
export async function upload(
  session: RowSession,
  { path, headers, body }: Required<Pick<HttpRequest, 'path' | 'headers' | 'body'>>,
): Promise<string> {
  const stamped = { ...(await batchHeader(session)), ...headers };
  const answer = await session.ask(
    { method: 'POST', path, headers: stamped, body },
    { status: 201, json: '{reference:ref}' },
  );
  forgetTag(session, answer.headers[session.names.header('svc-tag')]);
  return answer.text('reference');
}

export function forgetTag(session: RowSession, uid: string | undefined): void {
  if (uid !== undefined) session.later(`tag ${uid}`, { method: 'DELETE', path: `/tags/${uid}` });
}

/** Overlay of a connected peer. @throws NotApplicable when there is none */
export async function peerOf(session: RowSession): Promise<string> {
  const peer = await session.once('peer', async (setup) => {
    const { member } = await setup.ask({ path: '/peers' }, { status: 200 });
    const peer = member('peers.0.address');
    return typeof peer === 'string' ? peer : '';
  });
  if (peer === '') throw new NotApplicable('needs a connected peer');
  return peer;
}

/** Within one run, the same key for the same name. */
export function signerOf(session: RowSession, name: string): Signer {
  const key = session.content(`key ${name}`, 32);
  // Below the order of the curve, and not zero.
  key[0] = 1;
  return createSigner(key);
}

export interface SignedChunk {
  readonly path: string;
  readonly address: string;
  readonly signature: string;
  /** Span and payload. */
  readonly body: Uint8Array;
}

/** A single-owner chunk and the request that stores it. @param id 64 hex digits */
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

/** A chunk of one owner in this run. */
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

/** Number of updates that a feed of this run has. */
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

/** Sends it to the network at once. */
async function store(session: RowSession, { path, signature, body }: SignedChunk): Promise<void> {
  const headers = await batchHeader(session);
  await session.ask({ method: 'POST', path: `${path}?sig=${signature}`, headers, body }, { status: 201 });
}

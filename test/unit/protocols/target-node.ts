import { getEventListeners } from 'node:events';
import { expect } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import type { Logger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { encodeFrame } from '../../../node/p2p/codec/codec.ts';
import type { Generation, Peer } from '../../../node/p2p/host.ts';
import { createPeerHost } from '../../../node/p2p/peer-host.ts';
import { HeadersMessage } from '../../../node/p2p/stream/headers.ts';
import { PRICING } from '../../../node/protocols/pricing/wire.ts';
import type { StatusSnapshot } from '../../../node/protocols/status/status.ts';
import { memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from '../p2p/memory-nodes.ts';
import { type HostileLink, HostileTransport, introduce } from './hostile-peer.ts';
import { ManualClock } from './manual-clock.ts';
import { protocolSet } from './protocol-set.ts';

/** In milliseconds: longer than anything that a peer can set in motion. */
export const ALL_OVER_MS = 130_000;
const NODE_KEY = 1;

export const NO_HEADERS = encodeFrame(HeadersMessage, {});

/** Errors that the node noted, none of which reached an operator. */
interface Noted {
  readonly message: string;
  readonly error: unknown;
}

export type Target = Awaited<ReturnType<typeof targetNode>>;

export async function targetNode(
  options: { radius?: number; clock?: ManualClock; snapshot?: StatusSnapshot } = {},
) {
  const { clock = new ManualClock(), radius = 0, snapshot = SNAPSHOT } = options;
  const noted: Noted[] = [];
  const log = notingLogger(noted);
  const metrics = createMetrics({ prefix: 'svc' });
  const transport = new HostileTransport();
  const addressBook = createAddressBook(memoryRecords());
  const signer = createSigner(testKey(NODE_KEY));
  const shared = { transport, signer, addressBook, clock, log, metrics };
  const host = createPeerHost(
    { networkId: NETWORK_ID, nonce: ZERO_NONCE, fullNode: true, allowPrivateCidrs: true, welcomeMessage: '' },
    { ...shared, state: memoryRecords() },
  );
  const protocols = await protocolSet(
    { networkId: NETWORK_ID, radius, snapshot: () => snapshot },
    { ...shared, host },
  );
  await host.start();
  const losses: string[] = [];
  host.onDisconnected((_peer, reason) => void losses.push(reason));
  return { ...protocols, clock, noted, host, transport, addressBook, losses };
}

export const SNAPSHOT: StatusSnapshot = {
  reserveSize: 5n,
  pullsyncRate: 0.5,
  storageRadius: 3,
  connectedPeers: 1n,
  neighborhoodSize: 2n,
  beeMode: 'full',
  batchCommitment: 1n << 22n,
  isReachable: true,
  reserveSizeWithinRadius: 4n,
  lastSyncedBlock: 77n,
  committedDepth: 3,
  metrics: new Map(),
};

export interface Intruder {
  readonly link: HostileLink;
  readonly peer: Peer;
}

export function overlayOf(n: number): Uint8Array {
  return overlayAddress(createSigner(testKey(n)).address, NETWORK_ID, ZERO_NONCE);
}

/** Peer `n`, 2 or more, connected and introduced. */
export async function intrude(target: Target, n = 2, generation: Generation = '15.0.0'): Promise<Intruder> {
  const link = target.transport.connect(n);
  link.behaviours.set(PRICING.id, (stream) => {
    stream.send(NO_HEADERS);
    stream.end();
  });
  introduce(link, n, target.clock, generation);
  await target.clock.settle();
  const overlay = toHex(overlayOf(n));
  const peer = target.host.peer(overlay);
  if (peer === undefined)
    throw new Error('the intruder was not let in', { cause: target.noted.at(-1)?.error });
  link.streams.length = 0;
  return { link, peer };
}

function notingLogger(noted: Noted[]): Logger {
  const method = (fields: object | string, message = '') => {
    if (typeof fields === 'object' && 'err' in fields) noted.push({ message, error: fields.err });
  };
  const log: Logger = {
    error: method,
    warn: method,
    info: method,
    debug: method,
    isLevelEnabled: () => true,
    child: () => log,
  };
  return log;
}

export function expectNothingLeft(target: Target, { link, peer }: Intruder): void {
  expect(link.left.map(({ protocolId, state }) => `${protocolId} ${state}`)).toEqual([]);
  expect(target.clock.running).toBe(0);
  expect(getEventListeners(peer.closed, 'abort')).toHaveLength(0);
  const account = target.accounting.balance(peer.overlayHex);
  expect([account?.reservedBalance, account?.shadowReservedBalance, account?.ghostBalance]).toEqual([
    0n,
    0n,
    0n,
  ]);
  expectOwnErrors(target);
  link.streams.length = 0;
}

export function expectOwnErrors(target: Target): void {
  for (const { error } of target.noted) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^(?!ERR_)[A-Z_]+$/) });
  }
  target.noted.length = 0;
}

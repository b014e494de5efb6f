import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { FAILURES_MAX } from '../../../node/p2p/peers/dial-breaker.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { never, pair } from './memory-host-kit.ts';
import { memoryNode } from './memory-nodes.ts';

test('a light node that dials becomes a peer, and is not written to the address book', async () => {
  const network = new MemoryNetwork();
  const full = memoryNode({ network, n: 1 });
  const light = memoryNode({ network, n: 2, fullNode: false });
  await full.host.start();
  await light.host.start();
  await light.host.connect([full.underlay()], never);
  expect(full.host.peers().map(({ fullNode }) => fullNode)).toEqual([false]);
  expect(full.addressBook.overlays()).toEqual([]);
});

test('a full bin refuses a node that dials', async () => {
  const { a, b } = await pair();
  b.host.setPicker(() => false);
  // The dialler is done before the other side has judged it.
  const left = new Promise<string>((resolve) => a.host.onDisconnected((_peer, reason) => resolve(reason)));
  await a.host.connect([b.underlay()], never).catch((error: unknown) => error);
  await Promise.race([left, Promise.resolve()]);
  expect(b.host.peers()).toEqual([]);
  expect(a.host.peers()).toEqual([]);
});

test('two nodes that dial each other at the same time keep one session each', async () => {
  const { a, b } = await pair();
  const connected: string[] = [];
  a.host.onConnected((peer) => connected.push(`a: ${peer.overlayHex}`));
  b.host.onConnected((peer) => connected.push(`b: ${peer.overlayHex}`));
  await Promise.allSettled([a.host.connect([b.underlay()], never), b.host.connect([a.underlay()], never)]);
  expect(connected.sort()).toEqual([`a: ${toHex(b.host.overlay)}`, `b: ${toHex(a.host.overlay)}`]);
  expect([...a.host.peers(), ...b.host.peers()].some(({ closed }) => closed.aborted)).toBe(false);
});

test('the next underlay is tried when one fails', async () => {
  const { a, b } = await pair();
  await expect(a.host.connect(['/ip4/10.0.0.99/tcp/1634'], never)).rejects.toMatchObject({
    code: 'DIAL_FAILED',
  });
  const nowhere = b.underlay().replace('10.0.0.2', '10.0.0.99');
  expect((await a.host.connect([nowhere, b.underlay()], never)).overlay).toEqual(b.host.overlay);
  for (const unsupported of [[], ['/ip4/10.0.0.2/udp/1634'], [`${b.underlay()}/p2p-circuit`], ['nonsense']]) {
    await expect(a.host.connect(unsupported, never)).rejects.toMatchObject({ code: 'UNDERLAY_INVALID' });
  }
  await expect(a.host.connect([a.underlay()], never)).rejects.toMatchObject({ code: 'SELF_DIAL' });
});

test('a probe reports whether a node listens, without becoming a peer', async () => {
  const { a, b } = await pair();
  const nowhere = b.underlay().replace('10.0.0.2', '10.0.0.99');
  expect(await a.host.probe([nowhere, b.underlay()], never)).toBe(0);
  expect([...a.host.peers(), ...b.host.peers()]).toEqual([]);
  await expect(a.host.probe([nowhere], never)).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  await expect(a.host.probe([], never)).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  const ended = AbortSignal.abort(new Error('not now'));
  await expect(a.host.probe([nowhere], ended)).rejects.toThrow('not now');
});

test('our own addresses and those that we cannot dial are skipped', async () => {
  const { a, b } = await pair();
  const webSocket = b.underlay().replace('/p2p/', '/ws/p2p/');
  const peer = await a.host.connect([webSocket, a.underlay(), b.underlay()], never);
  expect(peer.overlay).toEqual(b.host.overlay);
});

test('private addresses are dialled only where they are allowed', async () => {
  const { a, b } = await pair({ allowPrivateCidrs: false });
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({
    code: 'UNDERLAY_INVALID',
    message: expect.stringContaining(`no supported addresses: ${b.underlay()}`) as string,
  });
});

test('after a hundred failed dials in a row dialling pauses, and then resumes', async () => {
  const clock = new ManualClock();
  const { a, b } = await pair({ clock });
  const nowhere = b.underlay().replace('10.0.0.2', '10.0.0.99');
  const fail = (count: number) =>
    Promise.allSettled(Array.from({ length: count }, () => a.host.connect([nowhere], never)));
  await fail(FAILURES_MAX - 1);
  const peer = await a.host.connect([b.underlay()], never);
  await a.host.disconnect(peer.overlayHex, 'again');
  await fail(FAILURES_MAX);
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({
    code: 'DIAL_PAUSED',
    retryAfterMs: 120_000,
  });
  await clock.advance(120_000);
  expect((await a.host.connect([b.underlay()], never)).overlayHex).toBe(peer.overlayHex);
});

const UNREACHED = '/ip4/10.0.0.99/tcp/1634';

test.each([
  ['nodes that are known from the start', { listensAt: () => [UNREACHED] }],
  ['addresses that the operator named', { configured: [UNREACHED] }],
])('dialling does not pause for %s: they may still be starting', async (_name, options) => {
  const { a, b } = await pair(options);
  const nowhere = 'configured' in options ? UNREACHED : b.underlay().replace('10.0.0.2', '10.0.0.99');
  for (let failed = 0; failed < FAILURES_MAX; failed++)
    await expect(a.host.connect([nowhere], never)).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  expect((await a.host.connect([b.underlay()], never)).overlay).toEqual(b.host.overlay);
});

test('no peer is blocklisted before a network has been seen', async () => {
  const { a, b } = await pair();
  expect(a.host.networkStatus()).toBe('Unknown');
  await expect(a.host.blocklist(toHex(b.host.overlay), 1_000, 'too early')).rejects.toMatchObject({
    code: 'NETWORK_UNAVAILABLE',
  });
  expect(a.host.blocklisted()).toEqual([]);
  const arrived = new Promise<Peer>((resolve) => b.host.onConnected(resolve));
  const { overlayHex } = await a.host.connect([b.underlay()], never);
  await arrived;
  expect([a.host.networkStatus(), b.host.networkStatus()]).toEqual(['Available', 'Available']);
  await a.host.blocklist(overlayHex, 1_000, 'it did not pay');
  expect(a.host.blocklisted()).toHaveLength(1);
});

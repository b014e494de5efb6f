import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { HostError } from '../../../node/p2p/host.ts';
import { OVERLAY, peer } from './fake-peers.ts';
import { BATCH_ID } from './fake-postage.ts';
import { type Knobs, NOW_MS, startKit } from './kit.ts';
import { ask, PEER } from './node-kit.ts';

const VERSIONS = { version: '0.1.0', apiVersion: '7.3.0' };

const SWARM_VERSIONS = { version: '2.8.1-svcnet', apiVersion: '8.1.0' };

describe('state of the node', () => {
  test.each([
    ['starting', 'ok', 400, 'notReady'],
    ['ready', 'ok', 200, 'ready'],
    ['failed', 'nok', 400, 'notReady'],
  ] as const)('%s: health %s, readiness %i %s', async (state, health, code, status) => {
    const turn = (knobs: Knobs) => void (knobs.state = state);
    expect(await ask('GET', '/health', turn)).toEqual({
      code: 200,
      body: { status: health, ...VERSIONS, debugApiVersion: '4.0.0' },
    });
    expect(await ask('GET', '/readiness', turn)).toEqual({ code, body: { status, ...VERSIONS } });
  });

  test('swarm: the versions are those of the node that it behaves like', async () => {
    const asked = (url: string) => ask('GET', url, () => undefined, 'swarm');
    expect((await asked('/health')).body).toEqual({ status: 'ok', ...SWARM_VERSIONS });
    expect((await asked('/readiness')).body).toEqual({ status: 'ready', ...SWARM_VERSIONS });
  });

  test('addresses', async () => {
    expect((await ask('GET', '/addresses')).body).toEqual({
      overlay: toHex(OVERLAY),
      underlay: ['/ip4/127.0.0.1/tcp/1634/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF'],
      ethereum: 'ab'.repeat(20),
      chain_address: 'ab'.repeat(20),
      publicKey: '02'.repeat(33),
      pssPublicKey: '03'.repeat(33),
    });
  });

  test('chain state', async () => {
    expect((await ask('GET', '/chainstate')).body).toEqual({
      chainTip: 123,
      block: 120,
      totalAmount: '77',
      currentPrice: '24000',
    });
    expect(await ask('GET', '/chainstate', (knobs) => void (knobs.chainError = new Error('down')))).toEqual({
      code: 500,
      body: { code: 500, message: 'block number unavailable' },
    });
  });

  test('reserve state', async () => {
    expect((await ask('GET', '/reservestate')).body).toEqual({
      radius: 1,
      storageRadius: 3,
      commitment: 2_097_152,
      reserveCapacityDoubling: 0,
    });
    expect((await ask('GET', '/reservestate', (knobs) => void knobs.failing.add('commitment'))).body).toEqual(
      {
        code: 500,
        message: 'unable to calculate commitment',
      },
    );
  });

  test('reserve state of a doubled reserve', async () => {
    const { body } = await ask('GET', '/reservestate', (knobs) => void (knobs.capacityDoubling = 1));
    expect(body).toMatchObject({ storageRadius: 3, reserveCapacityDoubling: 1 });
  });

  test('counters of the local store', async () => {
    const { api, services } = await startKit();
    const { reserve, cache, tags, uploads } = services.store;
    const chunkNo = (first: number): Chunk => {
      const address = new Uint8Array(32).fill(first);
      return { address, data: new Uint8Array(8), kind: 'cac', identity: address };
    };
    const stampNo = (index: number) => ({
      batchId: BATCH_ID,
      index: new Uint8Array(8).fill(index),
      timestamp: new Uint8Array(8),
      signature: new Uint8Array(65),
    });
    const { uid } = await tags.create();
    const session = uploads.openSession(uid);
    await session.put(chunkNo(0x12), stampNo(1));
    await session.put(chunkNo(0x90), stampNo(2));
    await session.done();
    await uploads.report(uploads.pending(0, 1)[0]!, 'synced');
    await reserve.put(chunkNo(0x90), stampNo(3));
    await reserve.put(chunkNo(0x91), stampNo(4));
    await reserve.put(chunkNo(0x13), stampNo(5));
    await reserve.setRadius(4);
    cache.put(chunkNo(0x90));
    await tags.create();
    const { statusCode, body } = await api.debug.get('/debugstore');
    expect(statusCode).toBe(200);
    expect(JSON.parse(body)).toEqual({
      Upload: { TotalUploaded: 2, TotalSynced: 1, PendingUpload: 1 },
      Pinning: { TotalCollections: 0, TotalChunks: 0 },
      Cache: { Size: 1, Capacity: 1000 },
      Reserve: {
        SizeWithinRadius: 1,
        TotalSize: 3,
        Capacity: 1000,
        LastBinIDs: Array.from({ length: 32 }, (_, bin) => ({ 0: 2, 6: 1 })[bin] ?? 0),
        Epoch: Math.floor(NOW_MS / 1000),
      },
      ChunkStore: { TotalChunks: 3, SharedSlots: 1, ReferenceCount: 5 },
    });
  });

  test('a node without a backlog says how full its reserve is', async () => {
    const { api } = await startKit();
    const { statusCode, body } = await api.debug.get('/status/backlog');
    expect(statusCode).toBe(200);
    expect(JSON.parse(body)).toEqual({
      reserve: { capacity: 1000, size: 0, sizeWithinRadius: 0, storageRadius: 3, full: false, leftovers: [] },
      disk: { full: false },
      uploads: [],
    });
    expect((await api.main.get('/status/backlog')).statusCode).toBe(404);
  });

  test('chunks that cannot be placed are reported by neighbourhood', async () => {
    const { api, knobs } = await startKit();
    const held = { chunks: 85, reason: "no room in neighbourhood '01'", since: 1_700_000_000_000 };
    knobs.backlog = {
      congestion: {
        full: true,
        missing: '011',
        leftovers: [{ neighbourhood: '1', chunks: 12 }],
        refusal: 'could not push chunk',
      },
      uploads: [{ neighbourhood: '01', ...held }],
    };
    expect((await api.debug.get('/status/backlog')).json()).toMatchObject({
      reserve: {
        full: true,
        missing: '011',
        leftovers: [{ neighborhood: '1', chunks: 12 }],
        refusal: 'could not push chunk',
      },
      uploads: [{ neighborhood: '01', ...held }],
    });
  });

  test('counters of a store that cannot be read', async () => {
    const turn = (knobs: Knobs) => void knobs.failing.add('store');
    expect(await ask('GET', '/debugstore', turn)).toEqual({
      code: 500,
      body: { code: 500, message: 'debug storage info not available' },
    });
  });

  test('swarm: the chain state has the number of blocks that a new batch must last', async () => {
    const state = { chainTip: 123, block: 120, totalAmount: '77', currentPrice: '24000' };
    const asked = (turn?: (knobs: Knobs) => void) => ask('GET', '/chainstate', turn, 'swarm');
    expect((await asked()).body).toEqual({ ...state, minimumValidityBlocks: 17_280 });
    const silent = (knobs: Knobs) => void (knobs.failing = new Set(['minimumValidityBlocks']));
    expect(await asked(silent)).toEqual({
      code: 500,
      body: { code: 500, message: 'minimum validity blocks unavailable' },
    });
    expect((await ask('GET', '/chainstate', silent)).body).toEqual(state);
  });

  test('robots are kept away', async () => {
    const { body } = await (await startKit()).api.main.get('/robots.txt');
    expect(body).toBe('User-agent: *\nDisallow: /\n');
  });
});

describe('the welcome message', () => {
  test('can be set and is returned', async () => {
    const { api } = await startKit();
    const payload = { welcomeMessage: 'good day' };
    const set = await api.main.post('/welcome-message', payload);
    expect(set.json()).toEqual({
      status: 'ok',
      ...VERSIONS,
      debugApiVersion: '4.0.0',
      code: 200,
      message: 'OK',
    });
    expect((await api.main.get('/welcome-message')).json()).toEqual(payload);
  });

  test('may be 140 bytes long', async () => {
    const { api } = await startKit();
    const set = (welcomeMessage: string) => api.main.post('/welcome-message', { welcomeMessage });
    expect((await set('é'.repeat(70))).statusCode).toBe(200);
    expect((await set(`${'é'.repeat(70)}x`)).json()).toEqual({
      code: 400,
      message: 'handshake welcome message longer than maximum of 140 characters',
    });
  });

  test.each(['', '{', '"text"', '{"welcomeMessage":5}'])('body %j is refused', async (payload) => {
    const { api } = await startKit();
    const { statusCode, body } = await api.main.post('/welcome-message', payload);
    expect([statusCode, JSON.parse(body).code]).toEqual([400, 400]);
    expect(JSON.parse(body).message).not.toBe('');
  });
});

describe('peers', () => {
  test('are listed and disconnected', async () => {
    const { api, knobs } = await startKit();
    knobs.peers = [peer(7)];
    expect((await api.main.get('/peers')).json()).toEqual({
      peers: [{ address: PEER, fullNode: true }],
    });
    const gone = await api.main.delete(`/peers/${PEER}`);
    expect(gone.json()).toEqual({ code: 200, message: 'OK' });
    expect(knobs.peers).toEqual([]);
    const again = await api.main.delete(`/peers/${PEER}`);
    expect(again.json()).toEqual({ code: 404, message: 'peer not found' });
  });

  test('the blocklist reports whole seconds', async () => {
    const entry = { overlay: PEER, fullNode: true, reason: 'invalid receipt', since: 0 };
    const turn = (knobs: Knobs) =>
      void (knobs.blocklist = [
        { ...entry, durationMs: 1500 },
        { ...entry, durationMs: 0 },
      ]);
    const shown = { address: PEER, fullNode: true, reason: 'invalid receipt' };
    expect((await ask('GET', '/blocklist', turn)).body).toEqual({
      peers: [
        { ...shown, duration: 2 },
        { ...shown, duration: 0 },
      ],
    });
    expect((await ask('GET', '/blocklist', (knobs) => void knobs.failing.add('blocklist'))).body).toEqual({
      code: 500,
      message: 'get blocklisted peers failed',
    });
  });

  const SOMEBODY = '/connect/ip4/127.0.0.1/tcp/1/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF';

  test('connecting needs a peer, not only its address', async () => {
    const { code, body } = await ask('POST', '/connect/ip4/127.0.0.1/tcp/1');
    expect([code, body.reasons]).toEqual([400, ['multi-address: want a peer: /p2p/ID at the end']]);
  });

  test('connecting returns the overlay', async () => {
    const { api, knobs } = await startKit();
    const underlay = 'ip4/127.0.0.1/tcp/1634/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF';
    const answer = await api.main.post(`/connect/${underlay}`);
    expect(answer.json()).toEqual({ address: PEER });
    expect(knobs.connected).toEqual([`/${underlay}`]);
  });

  test.each([
    [new HostError('ALREADY_CONNECTED', PEER), 400, 'already connected'],
    [new HostError('SELF_DIAL', 'own'), 400, 'cannot connect to self'],
    [new HostError('PEER_NOT_ALLOWED', 'takes no other peers'), 400, 'takes no other peers'],
    [new HostError('UNDERLAY_INVALID', 'of 169.254.1.1'), 400, 'no supported addresses'],
    [new HostError('PEER_BLOCKLISTED', ''), 500, 'peer blocklisted'],
  ])('connecting fails with %s', async (error, code, message) => {
    const turn = (knobs: Knobs) => void (knobs.connectError = error);
    const said = code === 500 ? {} : { reasons: [`multi-address: ${error.message}`] };
    expect((await ask('POST', SOMEBODY, turn)).body).toEqual({
      code,
      message,
      ...said,
    });
  });

  test('connecting to a closed port, another service, an unknown name or a light node fails alike', async () => {
    const errors = [
      new HostError('DIAL_FAILED', 'connection error 10.0.0.1:22: ECONNREFUSED'),
      new HostError('DIAL_FAILED', 'getaddrinfo ENOTFOUND db.internal'),
      new HostError('DIAL_PAUSED', 'too many failures'),
      new HostError('HANDSHAKE_FAILED', 'other network'),
      new HostError('PEER_IS_LIGHT', 'target peer is a light node'),
      new Error('protocol negotiation: unexpected bytes SSH-2.0'),
      new DOMException('The operation timed out', 'TimeoutError'),
    ];
    const answers = await Promise.all(
      errors.map((error) => ask('POST', SOMEBODY, (knobs) => void (knobs.connectError = error))),
    );
    const message = 'libp2p connect: the peer cannot be connected to';
    expect(new Set(answers.map(({ body }) => JSON.stringify(body)))).toEqual(
      new Set([JSON.stringify({ code: 500, message })]),
    );
  });

  test('an invalid multi-address is refused', async () => {
    const { body } = await ask('POST', '/connect/nonsense');
    expect(body).toMatchObject({ code: 400, message: 'invalid path params' });
    expect(body.reasons[0]).toMatch(/^multi-address: failed to parse multiaddr "\/nonsense": /);
  });

  test.each([
    [5.0018, '5.0018ms'],
    [0.0032, '3.2µs'],
    [0.000412, '412ns'],
    [1500, '1.5s'],
    [123_000, '2m3s'],
    [3_600_500, '1h0m0.5s'],
    [0, '0s'],
  ])('a round trip of %d ms is written %s', async (pingMs, rtt) => {
    const turn = (knobs: Knobs) => {
      knobs.peers = [peer(7)];
      knobs.pingMs = pingMs;
    };
    expect((await ask('POST', `/pingpong/${PEER}`, turn)).body).toEqual({ rtt });
  });

  test('a ping that fails', async () => {
    expect((await ask('POST', `/pingpong/${PEER}`)).body).toEqual({ code: 404, message: 'peer not found' });
    const turn = (knobs: Knobs) => {
      knobs.peers = [peer(7)];
      knobs.pingError = new Error('reset');
    };
    expect((await ask('POST', `/pingpong/${PEER}`, turn)).body).toEqual({
      code: 500,
      message: 'pingpong: ping failed',
    });
    expect((await ask('POST', '/pingpong/x')).body.reasons).toEqual([
      "address: invalid hex byte: U+0078 'x'",
    ]);
  });

  test('the routing table has exactly 32 bins and the light nodes', async () => {
    const { body } = await ask('GET', '/topology');
    expect(Object.keys(body.bins)).toEqual(Array.from({ length: 32 }, (_, i) => `bin_${i}`));
    expect(body).toMatchObject({ baseAddr: toHex(OVERLAY), depth: 3, timestamp: '2026-01-02T03:04:05.678Z' });
    expect(body.lightNodes).toEqual({
      population: 0,
      connected: 0,
      disconnectedPeers: [],
      connectedPeers: [],
    });
  });
});

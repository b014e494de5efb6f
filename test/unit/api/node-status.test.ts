import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { OVERLAY, peer, SOME_ACCOUNT } from './fake-peers.ts';
import { type Knobs, startKit } from './kit.ts';
import { ask, PEER } from './node-kit.ts';

describe('status', () => {
  test('of the node itself', async () => {
    expect((await ask('GET', '/status')).body).toEqual({
      overlay: toHex(OVERLAY),
      peer: toHex(OVERLAY),
      proximity: 256,
      svcMode: 'full',
      reserveSize: 100,
      reserveSizeWithinRadius: 60,
      pullsyncRate: 0.5,
      storageRadius: 3,
      connectedPeers: 4,
      neighborhoodSize: 2,
      batchCommitment: 4_194_304,
      BatchCommitment: 4_194_304,
      isReachable: true,
      lastSyncedBlock: 120,
      committedDepth: 3,
      isWarmingUp: false,
      requestFailed: false,
    });
    expect((await ask('GET', '/status', (knobs) => void knobs.failing.add('status'))).body).toEqual({
      code: 500,
      message: 'status is broken',
    });
  });

  test('of the peers, by proximity; a silent one is marked as such', async () => {
    const turn = (knobs: Knobs) => {
      knobs.peers = [peer(0x10), peer(0x91), peer(0x51)];
      knobs.silentPeers.add('91'.repeat(32));
    };
    const { body } = await ask('GET', '/status/peers', turn);
    expect(body.stamps).toEqual(body.snapshots);
    const shown = body.stamps.map(({ proximity, requestFailed, reserveSize }: Record<string, unknown>) => [
      proximity,
      requestFailed,
      reserveSize,
    ]);
    expect(shown).toEqual([
      [0, true, 0],
      [1, false, 100],
      [7, false, 100],
    ]);
    const swarm = (await ask('GET', '/status/peers', turn, 'swarm')).body.snapshots;
    expect(swarm.map((one: Record<string, unknown>) => one['requestFailed'])).toEqual([
      true,
      undefined,
      undefined,
    ]);
  });

  test('of the peers, one request at a time', async () => {
    const { api, knobs, services } = await startKit();
    knobs.peers = [peer(7)];
    const held = Promise.withResolvers<void>();
    const { request } = services.status;
    services.status.request = async (...args) => {
      await held.promise;
      return request(...args);
    };
    const first = api.main.get('/status/peers');
    await new Promise(setImmediate);
    expect((await api.debug.get('/status/peers')).json()).toEqual({
      code: 429,
      message: 'simultaneous operations not supported',
    });
    held.resolve();
    expect((await first).statusCode).toBe(200);
  });
});

describe('status of the neighbourhoods', () => {
  test('is that of the own neighbourhood', async () => {
    expect((await ask('GET', '/status/neighborhoods')).body).toEqual({
      neighborhoods: [{ neighborhood: '000', reserveSizeWithinRadius: 0, proximity: 3 }],
    });
  });

  test('is that of both that a doubled reserve keeps', async () => {
    const { body } = await ask('GET', '/status/neighborhoods', (knobs) => void (knobs.capacityDoubling = 1));
    expect(body).toEqual({
      neighborhoods: [
        { neighborhood: '0000', reserveSizeWithinRadius: 0, proximity: 3 },
        { neighborhood: '0001', reserveSizeWithinRadius: 0, proximity: 4 },
      ],
    });
  });

  test('of a reserve that cannot be read', async () => {
    const turn = (knobs: Knobs) => void knobs.failing.add('reserve');
    expect(await ask('GET', '/status/neighborhoods', turn)).toEqual({
      code: 500,
      body: { code: 500, message: 'unable to get neighborhoods status' },
    });
  });
});

describe('accounting', () => {
  const withAccount = (knobs: Knobs) => void (knobs.accounts = [SOME_ACCOUNT]);
  const record = Object.fromEntries(
    Object.entries(SOME_ACCOUNT)
      .filter(([name]) => name !== 'peer')
      .map(([name, value]) => [name, String(value)]),
  );

  test.each([
    ['/balances', '-5'],
    ['/consumed', '12'],
  ])('%s shows %s', async (url, balance) => {
    const one = { peer: PEER, balance };
    expect((await ask('GET', url, withAccount)).body).toEqual({
      peerData: { [PEER]: { ...record, balance } },
      balances: [one],
    });
    expect((await ask('GET', `${url}/${PEER}`, withAccount)).body).toEqual(one);
    const swarm = await ask('GET', `${url}/${PEER}`, withAccount, 'swarm');
    expect(swarm.body).toEqual({ ...one, thresholdreceived: null, thresholdgiven: null });
    expect((await ask('GET', `${url}/${'08'.repeat(32)}`, withAccount)).body).toEqual({
      code: 404,
      message: 'No balance for peer',
    });
    expect((await ask('GET', `${url}/x`)).body.reasons).toEqual(["peer: invalid hex byte: U+0078 'x'"]);
    expect((await ask('GET', url, (knobs) => void knobs.failing.add('balances'))).body).toEqual({
      code: 500,
      message: 'Cannot get balances',
    });
    expect((await ask('GET', `${url}/${PEER}`, (knobs) => void knobs.failing.add('balance'))).body).toEqual({
      code: 500,
      message: 'Cannot get balance',
    });
  });

  test('/accounting', async () => {
    expect((await ask('GET', '/accounting', withAccount)).body).toEqual({ peerData: { [PEER]: record } });
    expect((await ask('GET', '/accounting', (knobs) => void knobs.failing.add('balances'))).body).toEqual({
      code: 500,
      message: 'Cannot get accounting info',
    });
  });

  test('/timesettlements', async () => {
    const turn = (knobs: Knobs) =>
      void (knobs.timeSettlements = [
        { peer: PEER, received: 3n, sent: 4n },
        { peer: '08'.repeat(32), received: 10n, sent: 20n },
      ]);
    expect((await ask('GET', '/timesettlements', turn)).body).toEqual({
      totalReceived: 13,
      totalSent: 24,
      settlements: [
        { peer: PEER, received: 3, sent: 4 },
        { peer: '08'.repeat(32), received: 10, sent: 20 },
      ],
    });
    expect(
      (await ask('GET', '/timesettlements', (knobs) => void knobs.failing.add('timesettlements'))).body,
    ).toEqual({
      code: 500,
      message: 'can not get settlements',
    });
  });

  test('/wallet', async () => {
    expect((await ask('GET', '/wallet')).body).toEqual({
      svcBalance: '1000000000000000000',
      nativeTokenBalance: '2000000000000000000',
      chainID: 31_337,
      chequebookContractAddress: '00'.repeat(20),
      walletAddress: 'ab'.repeat(20),
    });
    expect((await ask('GET', '/wallet', (knobs) => void knobs.failing.add('native'))).body.message).toBe(
      'unable to acquire balance from the chain backend',
    );
    expect((await ask('GET', '/wallet', (knobs) => void knobs.failing.add('token'))).body.message).toBe(
      'unable to acquire erc20 balance',
    );
  });
});

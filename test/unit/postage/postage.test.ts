import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import type { FakeChain } from './fake-chain.ts';
import { id32, OTHER } from './fake-chain.ts';
import { chunk, forever, type Node, node, pricedChain, request, running, signer, upToDate } from './kit.ts';

describe('own batches', () => {
  test('a new batch is neither usable nor gone until its creation is read', async () => {
    const own = node({ usableBlocks: 0 });
    await running(own, async () => {
      await upToDate(own);
      own.chain.onBlockNumber = () => {
        throw new ChainError('RPC_UNREACHABLE', 'the node reads no more');
      };
      const { batchId } = await own.postage.buy(request, forever);
      const issuer = own.postage.issuer(batchId);
      if (issuer === undefined) throw new Error('no issuer after the purchase');
      expect(own.postage.issuers()).toEqual([issuer]);
      expect([own.postage.usable(issuer), own.postage.gone(issuer)]).toEqual([false, false]);
      own.chain.onBlockNumber = () => undefined;
      await upToDate(own);
      expect([own.postage.usable(issuer), own.postage.gone(issuer)]).toEqual([true, false]);
    });
  });

  test('can be relabelled permanently', async () => {
    const own = node();
    const { batchId } = await own.postage.buy(request, forever);
    await own.postage.relabel(batchId, 'yours');
    expect(own.postage.issuer(batchId)).toMatchObject({ label: 'yours', amount: request.amount });
    expect(node({}, own.chain, own.state.disk).postage.issuer(batchId)?.label).toBe('yours');
    await expect(own.postage.relabel(id32(9), 'x')).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' });
  });

  test('keeps its label when the new one cannot be written', async () => {
    const own = node();
    const { batchId } = await own.postage.buy(request, forever);
    const batch = own.state.batch.bind(own.state);
    own.state.batch = () => Promise.reject(Object.assign(new Error('nothing is written'), { code: 'EROFS' }));
    await expect(own.postage.relabel(batchId, 'yours')).rejects.toMatchObject({ code: 'EROFS' });
    expect(own.postage.issuer(batchId)?.label).toBe(request.label);
    const both = [own.postage.relabel(batchId, 'yours'), own.postage.relabel(batchId, 'theirs')];
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    own.state.batch = batch;
    expect(own.postage.issuer(batchId)?.label).toBe(request.label);
  });

  test('a batch that another account bought for this node is adopted', async () => {
    const own = node();
    const id = own.chain.createBatch(signer.address, id32(1), {
      amount: 10_000_000n,
      depth: 20,
      immutable: true,
    });
    await running(own, async () => {
      expect(own.postage.issuer(id)).toMatchObject({
        label: 'recovered',
        amount: 10_000_000n,
        depth: 20,
        blockNumber: 13,
        immutable: true,
      });
    });
  });

  test('the label of a purchase wins, whichever comes first', async () => {
    const own = node();
    await running(own, async () => {
      const buying = own.postage.buy(request, forever);
      await buying;
      await upToDate(own);
      expect(own.postage.issuers().map(({ label }) => label)).toEqual(['mine']);
    });
    const late = node({}, own.chain);
    await running(late, async () => {
      expect(late.postage.issuers().map(({ label }) => label)).toEqual(['recovered']);
    });
  });

  test('batches of others are known but not used for stamping', async () => {
    const own = node();
    const id = own.chain.createBatch(OTHER, id32(1), { amount: 10_000_000n, depth: 17, immutable: true });
    await running(own, async () => {
      expect(own.postage.batches.get(id)?.owner).toEqual(OTHER);
      expect(own.postage.issuers({ all: true })).toEqual([]);
      expect(() => own.postage.stamper(id)).toThrow(expect.objectContaining({ code: 'BATCH_NOT_FOUND' }));
    });
  });

  test('a top-up raises the amount per chunk, a dilution the depth', async () => {
    const own = node();
    await running(own, async () => {
      const { batchId } = await own.postage.buy(request, forever);
      own.chain.topUp(batchId, 5_000_000n);
      own.chain.increaseDepth(batchId, 18);
      await upToDate(own);
      expect(own.postage.issuer(batchId)).toMatchObject({ amount: 15_000_000n, depth: 18 });
    });
  });

  test('a stamp is superseded once its batch has stamped the chunk again', async () => {
    const own = node({ usableBlocks: 0 });
    await running(own, async () => {
      const { postage } = own;
      const [first, second] = [await postage.buy(request, forever), await postage.buy(request, forever)];
      await upToDate(own);
      const stamp = postage.stamper(first.batchId).stamp(chunk(1));
      postage.stamper(second.batchId).stamp(chunk(1));
      expect(postage.renewed(chunk(1), stamp)).toBeUndefined();
      const later = postage.stamper(first.batchId).stamp(chunk(1));
      expect(postage.renewed(chunk(1), later)).toBeUndefined();
      const renewed = postage.renewed(chunk(1), stamp);
      expect(renewed?.index).toEqual(stamp.index);
      expect(Buffer.compare(renewed?.timestamp ?? stamp.timestamp, stamp.timestamp)).toBe(1);
      expect(postage.renewed(chunk(2), stamp)).toBeUndefined();
    });
  });

  test('the batch that stamped a chunk last is known', async () => {
    const own = node({ usableBlocks: 0 });
    await running(own, async () => {
      const { postage } = own;
      const [first, second] = [await postage.buy(request, forever), await postage.buy(request, forever)];
      await upToDate(own);
      expect(postage.lastBatch(chunk(1).identity)).toBeUndefined();
      for (const { batchId } of [first, second, first]) {
        postage.stamper(batchId).stamp(chunk(1));
        expect(postage.lastBatch(chunk(1).identity)).toEqual(batchId);
      }
      expect(postage.lastBatch(chunk(2).identity)).toBeUndefined();
    });
  });

  test('an expired batch is listed only when all are requested, and no longer stamps', async () => {
    const own = node();
    await running(own, async () => {
      const { batchId } = await own.postage.buy({ ...request, amount: 240_000n }, forever);
      own.chain.mine(2);
      await upToDate(own);
      own.postage.stamper(batchId).stamp(chunk(1));
      own.chain.mine(8);
      await upToDate(own);
      expect(own.postage.issuers()).toEqual([]);
      expect(own.postage.issuers({ all: true }).map((issuer) => toHex(issuer.batchId))).toEqual([
        toHex(batchId),
      ]);
      expect(() => own.postage.stamper(batchId)).toThrow(expect.objectContaining({ code: 'BATCH_EXPIRED' }));
      expect([...own.state.disk.keys()].filter((key) => key.startsWith('item/'))).toEqual([]);
    });
  });

  test('a batch with more buckets than a node can count is not adopted', async () => {
    const own = node();
    own.chain.mine();
    own.chain.emit('BatchCreated', [id32(1)], [1n << 60n, 1n << 40n, signer.address, 41, 40, true]);
    await running(own, async () => {
      expect(own.postage.batches.get(id32(1))?.bucketDepth).toBe(40);
      expect(own.postage.issuers({ all: true })).toEqual([]);
    });
  });
});

describe('validation', () => {
  test('a stamp of a batch that is not on the chain is not found', () => {
    const { postage } = node();
    const stamp = {
      batchId: id32(9),
      index: new Uint8Array(8),
      timestamp: new Uint8Array(8),
      signature: new Uint8Array(65),
    };
    expect(() => postage.validate(chunk(1), stamp)).toThrow(
      expect.objectContaining({ code: 'BATCH_NOT_FOUND' }),
    );
  });
});

describe('lifetime', () => {
  test('is the remaining balance over the price; -1 for a batch that is unknown', async () => {
    const own = node({ blockTimeMs: 5000 });
    const id = own.chain.createBatch(OTHER, id32(1), { amount: 2_400_000n, depth: 17, immutable: true });
    await running(own, async () => {
      const batch = own.postage.batches.get(id);
      if (batch === undefined) throw new Error('the batch is missing');
      expect(own.postage.batchTtl(batch)).toBe(500);
      expect(own.postage.batchTtl({ ...batch, id: id32(7) })).toBe(-1);
    });
  });
});

describe('synchronisation', () => {
  test('is in progress until the first catch-up, then synced', async () => {
    const own = node();
    expect(own.postage.syncState()).toBe('running');
    await running(own, async () => expect(own.postage.syncState()).toBe('synced'));
    expect(own.fatal).toEqual([]);
  });

  test('an inconsistency makes it fail, once, with its reason', async () => {
    const own = node();
    own.chain.mine();
    own.chain.emit('BatchTopUp', [id32(5)], [1n, 1n << 60n]);
    await expect(own.postage.start()).rejects.toMatchObject({ code: 'EVENTS_INCONSISTENT' });
    expect(own.postage.syncState()).toBe('failed');
    expect(own.fatal).toEqual([expect.objectContaining({ code: 'EVENTS_INCONSISTENT' })]);
  });

  /** As far as the node is awake. */
  const pass = async ({ clock, fatal }: Node, ms: number): Promise<void> => {
    const until = clock.now() + ms;
    while (clock.now() < until && fatal.length === 0) await new Promise(setImmediate);
  };

  test('a minute without the endpoint is tolerated, and what happened meanwhile is read', async () => {
    const own = node();
    await running(own, async () => {
      own.chain.failure = new ChainError('RPC_UNREACHABLE', 'connection refused');
      await pass(own, 60_000);
      const id = own.chain.createBatch(OTHER, id32(1), { amount: 10n ** 7n, depth: 17, immutable: true });
      expect([own.postage.syncState(), own.postage.batches.get(id)]).toEqual(['synced', undefined]);
      own.chain.failure = undefined;
      await upToDate(own);
      expect(own.postage.batches.get(id)).toBeDefined();
    });
    expect(own.fatal).toEqual([]);
  });

  test('a chain that stands still is tolerated for nine minutes, and after eleven the node stops', async () => {
    const own = node();
    await running(own, async () => {
      await upToDate(own);
      await pass(own, 9 * 60_000);
      expect([own.postage.syncState(), own.fatal]).toEqual(['synced', []]);
      own.chain.mine();
      await upToDate(own);
      await pass(own, 9 * 60_000);
      expect(own.fatal).toEqual([]);
      await pass(own, 2 * 60_000);
      expect(own.postage.syncState()).toBe('failed');
      expect(own.fatal).toEqual([expect.objectContaining({ code: 'SYNC_STALLED' })]);
    });
  });

  test('a block every two minutes is slow, not stalled', async () => {
    const own = node();
    await running(own, async () => {
      for (let block = 0; block < 10; block++) {
        await pass(own, 120_000);
        own.chain.mine();
        await upToDate(own);
      }
    });
    expect(own.fatal).toEqual([]);
  });

  test('a stop before the first catch-up is no failure of the node', async () => {
    const own = node();
    own.chain.head = 0;
    const starting = own.postage.start();
    const stopped = expect(starting).rejects.toThrow('stopping');
    await own.postage.stop();
    await stopped;
    expect(own.fatal).toEqual([]);
  });

  test('counts what it saw', async () => {
    const own = node();
    own.chain.createBatch(OTHER, id32(1), { amount: 10_000_000n, depth: 18, immutable: true });
    await running(own, async () => undefined);
    const text = await own.metrics.expose();
    for (const line of [
      'svc_postage_listener_created_events 1',
      'svc_postage_listener_price_events 1',
      'svc_postage_listener_events_processed 2',
      'svc_batchstore_commitment 262144',
      'svc_batchstore_radius 1',
      'svc_postage_listener_pages_taken_back 0',
      'svc_postage_listener_rebuilds 0',
    ]) {
      expect(text).toContain(line);
    }
    for (const timed of ['page_duration', 'event_duration']) {
      expect(text).toMatch(new RegExp(`^svc_postage_listener_${timed} [1-9]`, 'm'));
    }
  });
});

describe('a crash', () => {
  const known = ({ postage }: Node): string => {
    const batches = postage.batches.all().map((batch) => ({ ...batch, id: toHex(batch.id), owner: '' }));
    batches.sort((a, b) => (a.id < b.id ? -1 : 1));
    const issuers = postage.issuers({ all: true }).map(({ batchId, label, amount, depth, blockNumber }) => ({
      batchId: toHex(batchId),
      label,
      amount,
      depth,
      blockNumber,
    }));
    issuers.sort((a, b) => (a.batchId < b.batchId ? -1 : 1));
    return JSON.stringify({ chain: postage.batches.chainState(), batches, issuers }, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : value,
    );
  };

  /** Two batches are made, one is topped up and diluted, one expires. */
  function history(): { chain: FakeChain; ends: number[] } {
    const chain = pricedChain();
    const ends: number[] = [];
    const id = chain.createBatch(signer.address, id32(1), {
      amount: 10_000_000n,
      depth: 17,
      immutable: true,
    });
    chain.createBatch(signer.address, id32(2), { amount: 60_000n, depth: 18, immutable: true });
    ends.push(chain.head);
    chain.topUp(id, 5_000_000n);
    chain.increaseDepth(id, 18);
    ends.push(chain.head);
    chain.setPrice(48_000n);
    chain.mine(3);
    ends.push(chain.head);
    return { chain, ends };
  }

  /** The disk dies after some writes. */
  async function follow(chain: FakeChain, ends: readonly number[], own: Node): Promise<string[]> {
    const states = [known(own)];
    const remaining = [...ends];
    chain.head = remaining.shift() ?? 0;
    chain.onBlockNumber = () => {
      if (own.postage.batches.chainState().block < chain.head) return;
      states.push(known(own));
      const next = remaining.shift();
      if (next === undefined) void own.postage.stop();
      else chain.head = next;
    };
    await own.postage.start().then(
      () => undefined,
      (error: unknown) => expect(error).toBeInstanceOf(Error),
    );
    while (own.fatal.length === 0 && states.length <= ends.length) await new Promise(setImmediate);
    await own.postage.stop();
    return states;
  }

  test('after any write leaves a state between two pages, and catching up repairs the rest', async () => {
    const whole = node({}, history().chain);
    const states = await follow(whole.chain, history().ends, whole);
    expect(new Set(states).size).toBe(4);
    const writes = whole.state.writes;
    expect(writes).toBeGreaterThanOrEqual(3);
    for (let writesLeft = 0; writesLeft <= writes; writesLeft++) {
      const { chain, ends } = history();
      const dying = node({}, chain);
      dying.state.writesLeft = writesLeft;
      await follow(chain, ends, dying);
      chain.onBlockNumber = () => undefined;
      const restarted = node({}, chain, dying.state.disk);
      expect(states).toContain(known(restarted));
      chain.head = ends.at(-1) ?? 0;
      await running(restarted, () => upToDate(restarted));
      expect(known(restarted)).toBe(states.at(-1));
    }
  });
});

describe('a disk that refuses writes', () => {
  test.each(['STORE_FULL', 'EROFS', 'EIO'])(
    'for %s does not stop a node: it knows what the chain says, and writes it once it can',
    async (code) => {
      const own = node();
      const { chain, state, postage, fatal } = own;
      const batch = state.batch.bind(state);
      await running(own, async () => {
        state.batch = () => Promise.reject(Object.assign(new Error('nothing is written'), { code }));
        const id = chain.createBatch(OTHER, id32(7), { amount: 10_000_000n, depth: 17, immutable: false });
        const known = (one: Node) => one.postage.batches.get(id);
        chain.mine();
        await upToDate(own);
        expect(known(own)).toMatchObject({ depth: 17 });
        // The disk has nothing of it, and a purchase, which must not be forgotten, is refused.
        expect(known(node({}, chain, new Map(state.disk)))).toBeUndefined();
        await expect(postage.buy(request, forever)).rejects.toThrow('nothing is written');
        state.batch = batch;
        chain.mine();
        await upToDate(own);
        await expect.poll(() => known(node({}, chain, new Map(state.disk)))).toMatchObject({ depth: 17 });
      });
      expect(fatal).toEqual([]);
    },
  );
});

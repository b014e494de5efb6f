import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import { selectorOf } from '../../../../formats/ethereum/abi.ts';
import { type AccountingService, createAccounting } from '../../../../node/accounting/accounting.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { Lock } from '../../../../node/env/turns/lock.ts';
import { PAYMENT_TIMEOUT_MS } from '../../../../node/protocols/swap/swap.ts';
import { EmitCheque, SWAP } from '../../../../node/protocols/swap/wire.ts';
import { type Cheque, encodeCheque, type SignedCheque, signCheque } from '../../../../node/swap/cheque.ts';
import { SWAP_FUNCTIONS } from '../../../../node/swap/contracts.ts';
import { CHAIN_ID } from '../../onchain/addresses.ts';
import { memoryNode, memoryRecords, testKey } from '../../p2p/memory-nodes.ts';
import { never, PRODUCTION, stranger } from '../exchange-nodes.ts';
import { pair, sums } from './pair.ts';
import { counted, DEDUCTION, FUNDS, meet, outcome, RATE, swapNode, world } from './swap-nodes.ts';

test('a cheque in doubt is not written off while the creditor cannot look at the chain', async () => {
  const { a, b, peer, clock } = await pair();
  b.chain.isDown = true;
  const first = expect(a.protocol.pay(peer, 500n)).rejects.toMatchObject({ code: 'TIMEOUT' });
  await clock.advance(PAYMENT_TIMEOUT_MS);
  await first;
  expect(a.protocol.inDoubt(peer)).toBe(500n);
  await a.host.disconnect(b.id, 'cut');
  await clock.settle();
  const again = await meet(a, b, clock);
  await clock.advance(PAYMENT_TIMEOUT_MS);
  expect(a.protocol.inDoubt(again)).toBe(500n);
  b.chain.isDown = false;
  expect(await outcome(a.protocol.pay(again, 2_000n), clock)).toBe('done');
  expect(sums(b)).toEqual([500n, 1_500n]);
  expect(a.protocol.inDoubt(again)).toBe(0n);
});

describe('the creditor', () => {
  async function debtor() {
    const parts = world();
    const b = await swapNode(2, parts);
    const key = testKey(9);
    const book = parts.chain.deploy(key, FUNDS);
    const mallory = await stranger(9, {
      ...parts,
      protocol: { id: '/swarm/other/1.0.0/other', inboundStreamsMax: 1 },
      handler: async () => undefined,
    });
    const peer = await meet(mallory, b, parts.clock);
    const good: Cheque = {
      chequebook: book,
      beneficiary: b.signer.address,
      cumulativePayout: 50n * RATE + DEDUCTION,
    };
    const signed = (change: Partial<Cheque> = {}, by = key, chainId = CHAIN_ID): SignedCheque =>
      signCheque({ ...good, ...change }, createSigner(by), chainId);
    /** @returns whether the creditor ended the stream in order */
    const send = async (cheque: SignedCheque | Uint8Array): Promise<'taken' | 'refused'> => {
      const stream = await mallory.host.open(peer, SWAP.id, { signal: peer.closed });
      await stream.write(EmitCheque, {
        cheque: cheque instanceof Uint8Array ? cheque : encodeCheque(cheque),
      });
      const end = outcome(stream.close(), parts.clock);
      await parts.clock.settle();
      return (await end) === 'done' ? 'taken' : 'refused';
    };
    return { ...parts, b, book, key, mallory, peer, good, signed, send };
  }

  type Debtor = Awaited<ReturnType<typeof debtor>>;

  test.each<[string, (d: Debtor) => SignedCheque | Uint8Array]>([
    ['for somebody else', ({ signed }) => signed({ beneficiary: new Uint8Array(20).fill(5) })],
    ['signed by another key', ({ signed }) => signed({}, testKey(7))],
    ['signed for another chain', ({ signed }) => signed({}, testKey(9), 100n)],
    ['changed after it was signed', ({ signed }) => ({ ...signed(), cumulativePayout: 60n * RATE })],
    [
      'worth less than one unit after the deduction',
      ({ signed }) => signed({ cumulativePayout: RATE + DEDUCTION - 1n }),
    ],
    ['worth nothing', ({ signed }) => signed({ cumulativePayout: 0n })],
    ['above the balance', ({ signed }) => signed({ cumulativePayout: FUNDS + 1n })],
    ['of the largest number there is', ({ signed }) => signed({ cumulativePayout: 2n ** 256n - 1n })],
    [
      'from a contract that the factory does not know',
      (d) => {
        d.chain.strangers.add(toHex(d.book));
        return d.signed();
      },
    ],
    [
      'from an address without a contract',
      ({ signed }) => signed({ chequebook: new Uint8Array(20).fill(3) }),
    ],
    [
      'on tokens that are set aside for another',
      (d) => {
        d.chain.book(d.book).hardDeposits = FUNDS;
        return d.signed();
      },
    ],
    [
      'with a signature that the contract would refuse',
      ({ signed }) => {
        const cheque = signed();
        const signature = cheque.signature.slice();
        signature[64] = signature[64]! + 4;
        return { ...cheque, signature };
      },
    ],
    ['with a short signature', ({ signed }) => ({ ...signed(), signature: new Uint8Array(64).fill(1) })],
    ['without a signature', ({ signed }) => ({ ...signed(), signature: new Uint8Array(65) })],
  ])('refuses a cheque %s, and then takes an honest one', async (_, make) => {
    const d = await debtor();
    expect(await d.send(make(d))).toBe('refused');
    expect(d.b.credited).toEqual([]);
    expect(d.b.services.settlements()).toEqual([]);
    expect(await counted(d.b, 'swap_cheques_rejected')).toBe(1);
    d.chain.strangers.clear();
    d.chain.book(d.book).hardDeposits = 0n;
    expect(await d.send(d.signed())).toBe('taken');
    expect(sums(d.b)).toEqual([50n]);
    expect(d.b.services.settlement(d.mallory.id)?.received).toBe(d.good.cumulativePayout);
  });

  test.each([
    ['that is no JSON', Uint8Array.of(1, 2, 3)],
    ['that is empty', new Uint8Array(0)],
    ['that is larger than any cheque', new Uint8Array(100_000).fill(0x20)],
    ['without its members', new TextEncoder().encode('{}')],
  ])('refuses a cheque %s, and its sender for a while', async (_, cheque) => {
    const { b, mallory, peer, send } = await debtor();
    expect(await send(cheque)).toBe('refused');
    expect(b.credited).toEqual([]);
    expect(await counted(b, 'swap_cheques_rejected')).toBe(1);
    expect(peer.closed.aborted).toBe(true);
    expect(b.host.blocklisted()).toMatchObject([
      {
        overlay: mallory.id,
        durationMs: 600_000,
        reason: expect.stringContaining('malformed cheque') as string,
      },
    ]);
  });

  test('looks at a few forged cheques, and then refuses their sender for a while', async () => {
    const { b, clock, mallory, peer, send, signed } = await debtor();
    let sent = 0;
    for (; !peer.closed.aborted && sent < 100; sent++) {
      expect(await send(signed({ beneficiary: new Uint8Array(20).fill(5) }))).toBe('refused');
      await clock.advance(2_000);
    }
    expect(sent).toBeLessThan(25);
    expect(b.host.blocklisted()).toMatchObject([{ overlay: mallory.id }]);
  });

  test('never credits a replayed or decreasing cheque, and credits an increasing one by its increase', async () => {
    const { b, send, signed, good } = await debtor();
    expect(await send(signed())).toBe('taken');
    expect(await send(signed())).toBe('refused');
    expect(await send(signed({ cumulativePayout: good.cumulativePayout - 1n }))).toBe('refused');
    expect(await send(signed({ cumulativePayout: good.cumulativePayout + RATE - 1n }))).toBe('refused');
    expect(await send(signed({ cumulativePayout: good.cumulativePayout + 3n * RATE - 1n }))).toBe('taken');
    expect(sums(b)).toEqual([50n, 2n]);
    expect(await counted(b, 'swap_cheques_rejected')).toBe(3);
  });

  test('keeps its deduction from only one of two cheques when it was asked for both at once', async () => {
    const { b, mallory, peer, signed, good, clock } = await debtor();
    const open = () => mallory.host.open(peer, SWAP.id, { signal: never });
    const streams = [await open(), await open()];
    for (const [n, stream] of streams.entries()) {
      const cumulativePayout = good.cumulativePayout + BigInt(n) * 10n * RATE;
      await stream.write(EmitCheque, { cheque: encodeCheque(signed({ cumulativePayout })) });
      expect(await outcome(stream.close(), clock)).toBe('done');
    }
    expect(sums(b)).toEqual([50n, 10n]);
  });

  test('accepts cheques of only one chequebook per peer, and from only one peer per chequebook', async () => {
    const d = await debtor();
    expect(await d.send(d.signed())).toBe('taken');
    const second = d.chain.deploy(d.key, FUNDS);
    expect(await d.send(d.signed({ chequebook: second }))).toBe('refused');
    const { host } = memoryNode({ network: d.network, n: 10, clock: d.clock });
    await host.start();
    const peer = await meet({ host }, d.b, d.clock);
    const stream = await host.open(peer, SWAP.id, { signal: never });
    await stream.write(EmitCheque, { cheque: encodeCheque(d.signed({ cumulativePayout: 100n * RATE })) });
    expect(await outcome(stream.close(), d.clock)).not.toBe('done');
    expect(sums(d.b)).toEqual([50n]);
  });

  test('counts what was already paid out towards the balance', async () => {
    const { send, signed, chain, book, b } = await debtor();
    expect(await send(signed({ cumulativePayout: FUNDS }))).toBe('taken');
    chain.book(book).balance = 1_000n * RATE;
    chain.book(book).paidOut.set(toHex(b.signer.address), FUNDS);
    expect(await send(signed({ cumulativePayout: FUNDS + 1_000n * RATE + 1n }))).toBe('refused');
    expect(await send(signed({ cumulativePayout: FUNDS + 1_000n * RATE }))).toBe('taken');
  });

  function cashAfterLook(nth: number, { b, chain, book }: Debtor, cashed: bigint): void {
    const answer = b.chain.call.bind(b.chain);
    const looks = [SWAP_FUNCTIONS.paidOut, SWAP_FUNCTIONS.liquidBalanceFor].map((name) => selectorOf(name));
    let seen = 0;
    const turns = new Lock();
    b.chain.call = (request, signal) =>
      turns.run(async () => {
        const answered = await answer(request, signal);
        if (looks.includes(request.data.slice(0, 10)) && ++seen === nth) {
          chain.book(book).balance -= cashed;
          chain.book(book).paidOut.set(toHex(b.signer.address), cashed);
        }
        return answered;
      });
  }

  test.each([1, 2, 3])(
    'refuses a cheque above the balance and accepts a covered one that is cashed while the chain is asked: after look %i',
    async (nth) => {
      for (const [above, expected] of [
        [1n, 'refused'],
        [0n, 'taken'],
      ] as const) {
        const d = await debtor();
        expect(await d.send(d.signed())).toBe('taken');
        cashAfterLook(nth, d, d.good.cumulativePayout);
        expect(await d.send(d.signed({ cumulativePayout: FUNDS + above }))).toBe(expected);
      }
    },
  );

  test.each(['isDown', 'isSilent'] as const)(
    'answers nothing while the chain %s, so that the cheque stays in doubt, and accepts it later',
    async (state) => {
      const { send, signed, b, clock, peer, mallory } = await debtor();
      b.chain[state] = true;
      const stream = await mallory.host.open(peer, SWAP.id, { signal: never });
      await stream.write(EmitCheque, { cheque: encodeCheque(signed()) });
      let end = 'pending';
      stream.close().then(
        () => (end = 'taken'),
        () => (end = 'reset'),
      );
      await clock.advance(PAYMENT_TIMEOUT_MS - 1);
      expect(end).toBe('pending');
      await clock.advance(1);
      expect(end).toBe('reset');
      b.chain[state] = false;
      expect(b.credited).toEqual([]);
      expect(await send(signed())).toBe('taken');
      expect(sums(b)).toEqual([50n]);
    },
  );

  test('announces no rates and accepts nothing while it has none', async () => {
    const parts = world();
    parts.chain.rates = { exchangeRate: 0n, deduction: 0n };
    const b = await swapNode(2, parts);
    const a = await swapNode(1, parts);
    const peer = await meet(a, b, parts.clock);
    const stream = await a.host.open(peer, SWAP.id, { signal: never });
    expect([...stream.headers]).toEqual([]);
    await stream.write(EmitCheque, { cheque: new Uint8Array(3) });
    expect(await outcome(stream.close(), parts.clock)).not.toBe('done');
    expect(await counted(b, 'swap_cheques_rejected')).toBe(1);
  });

  test('gives up a stream on which nothing or only half a message arrives', async () => {
    const { mallory, peer, clock, b, send, signed } = await debtor();
    const streams = [
      await mallory.host.open(peer, SWAP.id, { signal: never }),
      await mallory.host.open(peer, SWAP.id, { signal: never }),
    ];
    const ends = streams.map((stream) => outcome(stream.read(EmitCheque), clock));
    await clock.advance(PAYMENT_TIMEOUT_MS);
    for (const end of ends) expect(await end).toMatch(/.+/);
    expect(await send(signed())).toBe('taken');
    expect(sums(b)).toEqual([50n]);
  });

  test('serves a flood two at a time and credits each increase once', async () => {
    const { mallory, peer, clock, b, signed, good } = await debtor();
    const work = Array.from({ length: 50 }, async (_, n) => {
      const stream = await mallory.host.open(peer, SWAP.id, { signal: never });
      const cumulativePayout = good.cumulativePayout + BigInt(n % 5) * RATE;
      await stream.write(EmitCheque, { cheque: encodeCheque(signed({ cumulativePayout })) });
      await stream.close();
    });
    const ended = Promise.allSettled(work);
    await clock.advance(60_000);
    const taken = (await ended).filter(({ status }) => status === 'fulfilled');
    const last = b.services.settlement(mallory.id)!.received;
    expect(sums(b).reduce((sum, amount) => sum + amount, 0n)).toBe((last - DEDUCTION) / RATE);
    expect(taken.length).toBe(b.credited.length);
    expect(b.chain.calls).toBeLessThan(200);
  });
});

describe('a debt', () => {
  test('remains when its cheque is refused, and ends the connection when it grows; an honest cheque pays it', async () => {
    const parts = world();
    const { clock } = parts;
    let accounting: AccountingService | undefined;
    const b = await swapNode(2, parts, {
      accounting(host) {
        const deps = { host, clock, state: memoryRecords(), log: silentLogger(), announce: () => undefined };
        const refresh = () => Promise.reject(new Error('no refreshes here'));
        accounting = createAccounting(PRODUCTION, {
          ...deps,
          refresh,
          metrics: createMetrics({ prefix: 'svc' }),
        });
        return accounting;
      },
    });
    const mallory = memoryNode({ network: parts.network, n: 9, clock });
    await mallory.host.start();
    const peer = await meet(mallory, b, clock);
    const debtor = b.host.peer(toHex(mallory.host.overlay))!;
    const serve = () => accounting!.prepareDebit(debtor, 300_000n).apply();
    const balance = () => accounting!.balance(debtor.overlayHex)?.consumedBalance;
    const pay = async (cumulativePayout: bigint, key: Uint8Array) => {
      const cheque = { chequebook: book, beneficiary: b.signer.address, cumulativePayout };
      const stream = await mallory.host.open(peer, SWAP.id, { signal: never });
      await stream.write(EmitCheque, {
        cheque: encodeCheque(signCheque(cheque, createSigner(key), CHAIN_ID)),
      });
      return outcome(stream.close(), clock);
    };
    const book = parts.chain.deploy(testKey(9), FUNDS);
    for (let n = 0; n < 30; n++) serve();
    expect(await pay(9_000_000n * RATE + DEDUCTION, testKey(9))).toBe('done');
    expect(balance()).toBe(0n);
    for (let n = 0; n < 30; n++) serve();
    expect(await pay(20_000_000n * RATE, testKey(8))).not.toBe('done');
    expect(balance()).toBe(9_000_000n);
    for (let n = 0; n < 100 && !debtor.closed.aborted; n++) {
      serve();
      await clock.settle();
    }
    expect(debtor.closed.aborted).toBe(true);
    expect(b.host.blocklisted()).toMatchObject([
      { overlay: debtor.overlayHex, reason: 'disconnect threshold exceeded' },
    ]);
  });
});

describe('a peer that moved to another overlay', () => {
  test('keeps its cheques and its chequebook; a second deduction is possible', async () => {
    const parts = world();
    const a = await swapNode(1, parts);
    const party = { overlayHex: 'aa'.repeat(32), ethereum: createSigner(testKey(2)).address };
    const book = parts.chain.deploy(testKey(2), FUNDS);
    const cheque = signCheque(
      { chequebook: book, beneficiary: a.signer.address, cumulativePayout: 77n },
      createSigner(testKey(2)),
      CHAIN_ID,
    );
    await a.services.cheques.recordReceived(party, cheque, { deducted: true });
    const b = await swapNode(2, parts, { chequebook: book });
    await meet(a, b, parts.clock);
    expect(a.services.settlements()).toEqual([{ peer: b.id, received: 77n, sent: 0n }]);
    expect(a.services.cheques.hasDeductedFor(party.overlayHex)).toBe(true);
    expect(a.services.cheques.hasDeductedFor(b.id)).toBe(false);
    expect(a.services.cheques.mayPayFrom(b.id, book)).toBe(true);
    expect(a.services.cheques.mayPayFrom('cc'.repeat(32), book)).toBe(false);
  });
});

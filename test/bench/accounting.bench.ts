/**
 * What accounting adds to every chunk, on the asking and on the serving side; and what a cheque costs on either side: its
 * signature, its look at a chain in memory, its record.
 */

import { systemClock } from '../../formats/clock.ts';
import { createSigner } from '../../formats/crypto/signer.ts';
import { type AccountingService, createAccounting } from '../../node/accounting/accounting.ts';
import { silentLogger } from '../../node/env/logger.ts';
import { createMetrics } from '../../node/env/metrics.ts';
import type { Headers, MessageStream, Peer, ProtocolHandler } from '../../node/p2p/host.ts';
import { createSwap } from '../../node/protocols/swap/swap.ts';
import { encodeCheque, type SignedCheque } from '../../node/swap/cheque.ts';
import { ChequeStore } from '../../node/swap/cheque-store.ts';
import { Chequebook } from '../../node/swap/chequebook.ts';
import { CHAIN_ID, FACTORY, TOKEN } from '../unit/onchain/addresses.ts';
import { memoryRecords, testKey } from '../unit/p2p/memory-nodes.ts';
import { SwapChain } from '../unit/swap/swap-chain.ts';
import type { BenchResult } from './result.ts';

export const name = 'accounting';

const ROUNDS = 200_000;
const CHEQUES = 2_000;
const ADDRESS = new Uint8Array(32).fill(0x55);

export async function run(): Promise<BenchResult[]> {
  // Limits beyond reach: refusals are not measured.
  const accounting = createAccounting(
    {
      paymentThreshold: 13_500_000_000n * 1_000_000n,
      tolerancePercent: 25,
      earlyPercent: 50,
      refreshRate: 4_500_000_000n,
      fullNode: true,
      pricePerProximity: 10_000n,
      refreshIntervalMs: 1_020,
      lightFactor: 10n,
      growthStepSeconds: 100n,
      growthLinearSeconds: 1_800n,
      minimumPayment: 900_000_000n,
      paymentRetryMs: 10_000,
    },
    {
      host: { blocklist: async () => undefined, disconnect: async () => undefined },
      clock: systemClock(),
      state: {
        get: () => undefined,
        put: async () => undefined,
        remove: async () => undefined,
        batch: async () => undefined,
        entries: () => [],
      },
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'bench' }),
      refresh: async (_peer, accepted) => ({ accepted, allegedSeconds: 1n }),
      announce: () => undefined,
    },
  );
  const peers = Array.from({ length: 8 }, (_, n) => peer(n));
  for (const one of peers) accounting.connected(one);
  const results = [
    measured('credit: price, prepare, apply, release', accounting, peers, (one) => {
      const credit = accounting.prepareCredit(one, accounting.price(one.overlay, ADDRESS), true);
      credit.apply();
      credit.release();
    }),
    measured('debit: price, prepare, apply, release', accounting, peers, (one) => {
      const debit = accounting.prepareDebit(one, accounting.price(one.overlay, ADDRESS));
      debit.apply();
      debit.release();
    }),
  ];
  await accounting.stop();
  return [...results, ...(await cheques())];
}

async function cheques(): Promise<BenchResult[]> {
  const chain = new SwapChain();
  chain.rates = { exchangeRate: 100_000n, deduction: 0n };
  const [payer, payee] = [createSigner(testKey(1)), createSigner(testKey(2))];
  const never = new AbortController().signal;
  const address = chain.deploy(testKey(1), 10n ** 30n);
  const issuing = new ChequeStore(memoryRecords());
  const transactions = { send: () => Promise.reject(new Error('nothing is sent')), pending: () => [] };
  const book = new Chequebook(
    { address, token: TOKEN, chainId: CHAIN_ID },
    { chain, transactions, cheques: issuing, signer: payer },
  );
  let serve: ProtocolHandler | undefined;
  let answer: ((peer: Peer, received: Headers) => Headers) | undefined;
  createSwap(
    { factory: FACTORY, beneficiary: payee.address },
    {
      host: {
        handle(_spec, handler, headers) {
          serve = handler;
          answer = headers;
        },
        open: () => Promise.reject(new Error('nothing is paid back')),
        onConnect: () => undefined,
        onConnected: () => undefined,
        blocklist: () => Promise.reject(new Error('nobody misbehaves here')),
        misbehaved: () => undefined,
      },
      accounting: { paymentReceived: () => undefined, paidAhead: () => undefined },
      swap: {
        cheques: new ChequeStore(memoryRecords()),
        oracle: { rates: () => chain.rates, start: async () => undefined, stop: async () => undefined },
        chequebook: undefined,
        chainId: CHAIN_ID,
      },
      chain,
      clock: systemClock(),
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'bench' }),
    },
  );
  const to = { ...peer(2), ethereum: payee.address };
  const from = { ...peer(1), ethereum: payer.address };
  const issued: SignedCheque[] = [];
  const issueUs = await eachUs(CHEQUES, async () => {
    const { issued: next } = await book.issue(to, { price: 1_000_000n, deduction: 0n }, never);
    issued.push(next.cheque);
  });
  answer?.(from, new Map());
  const acceptUs = await eachUs(CHEQUES, async (n) => {
    const cheque = encodeCheque(issued[n]!);
    const stream = { peer: from, read: async () => ({ cheque }) } as unknown as MessageStream;
    await serve?.(stream, never);
  });
  return [
    { name: 'cheque issued: funds, signature, record', value: issueUs, unit: 'µs' },
    { name: 'cheque accepted: signer, chain, record', value: acceptUs, unit: 'µs' },
  ];
}

/** The first fifth of the steps warms up. */
async function eachUs(times: number, step: (n: number) => Promise<void>): Promise<number> {
  const warm = Math.floor(times / 5);
  let startedAt = 0;
  for (let n = 0; n < times; n++) {
    if (n === warm) startedAt = performance.now();
    await step(n);
  }
  return ((performance.now() - startedAt) / (times - warm)) * 1000;
}

function measured(
  what: string,
  accounting: AccountingService,
  peers: readonly Peer[],
  step: (peer: Peer) => void,
): BenchResult {
  let best = Number.POSITIVE_INFINITY;
  // The first pass warms up.
  for (let pass = 0; pass < 4; pass++) {
    const startedAt = performance.now();
    for (let n = 0; n < ROUNDS; n++) step(peers[n % peers.length]!);
    if (pass > 0) best = Math.min(best, (performance.now() - startedAt) / ROUNDS);
    // Every pass starts from the same balances.
    for (const one of peers) accounting.refreshmentReceived(one, accounting.payableDebt(one));
  }
  return { name: what, value: best * 1000, unit: 'µs' };
}

function peer(n: number): Peer {
  return {
    overlayHex: n.toString(16).padStart(64, '0'),
    overlay: new Uint8Array(32).fill(n),
    ethereum: new Uint8Array(20),
    fullNode: true,
    direction: 'outbound',
    generation: '15.0.0',
    underlays: [],
    welcomeMessage: '',
    remoteAddress: '/ip4/127.0.0.1/tcp/1634',
    connectedAt: 0,
    closed: new AbortController().signal,
  };
}

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type LocalChain, startLocalChain } from '../../../chain/local-chain.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { selectorOf } from '../../../formats/ethereum/abi.ts';
import { quantity } from '../../../formats/ethereum/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { encodeCreateBatch, toAddress, tokenBalance } from '../../../node/onchain/contracts.ts';
import { httpEndpoint } from '../../../node/onchain/http-endpoint.ts';
import { createRpc } from '../../../node/onchain/rpc.ts';
import { createTransactions } from '../../../node/onchain/transactions/transactions.ts';
import type { PurchaseRequest } from '../../../node/postage/ports.ts';
import { createPostage, type PostageOptions } from '../../../node/postage/postage.ts';
import { createMemoryStore } from '../../../node/store/memory-store.ts';

const signerOf = (name: string): Signer => createSigner(keccak256(Buffer.from(name)));
const buyer = signerOf('buyer');
const observer = signerOf('observer');
const poor = signerOf('poor');
const request: PurchaseRequest = { amount: 2_073_600_000n, depth: 17, immutable: true, label: 'test' };
const COIN = 10n ** 18n;
const TOKENS = 10n ** 19n;
const PATIENCE = AbortSignal.timeout(120_000);

let chain: LocalChain;

beforeAll(async () => {
  chain = await startLocalChain({
    networkId: 4020n,
    blockTimeMs: 100,
    accounts: [
      { address: toAddress(buyer.address), native: COIN, tokens: TOKENS },
      { address: toAddress(observer.address), native: COIN, tokens: 1n },
      { address: toAddress(poor.address), native: 1n, tokens: TOKENS },
    ],
    batches: [
      {
        owner: toAddress(buyer.address),
        amount: request.amount,
        depth: 20,
        immutable: false,
        nonce: `0x${'01'.repeat(32)}`,
      },
    ],
  });
});

afterAll(() => chain.stop());

async function startNode(
  signer: Signer,
  { endpoint = chain.rpc, ...more }: Partial<PostageOptions & { endpoint: string }> = {},
) {
  const clock = systemClock();
  const log = silentLogger();
  const metrics = createMetrics({ prefix: 'svc' });
  const overlay = keccak256(signer.address);
  const store = await createMemoryStore(
    { cacheCapacity: 0, reserveCapacity: 1000, radius: 0 },
    { clock, log, overlay },
  );
  const rpc = createRpc(httpEndpoint(endpoint), { clock, log, metrics });
  const state = (subsystem: string) => store.state(subsystem);
  const transactions = createTransactions(
    { pollIntervalMs: 20, minimumTip: 0n, gasLimitFallback: 500_000n },
    { rpc, signer, clock, log, state: state('transactions') },
  );
  const fatal: unknown[] = [];
  const postage = createPostage(
    {
      contract: chain.contracts.postageStamp.toLowerCase(),
      token: chain.contracts.token.toLowerCase(),
      startBlock: chain.startBlock,
      foundLabel: 'recovered',
      usableBlocks: 3,
      tailBlocks: 1,
      batchFactor: 2,
      pollIntervalMs: 20,
      blockTimeMs: 1000,
      reserveCapacity: 4_194_304,
      ...more,
    },
    { chain: rpc, transactions, state, signer, clock, log, metrics, onFatal: (error) => fatal.push(error) },
  );
  onTestFinished(async () => {
    await postage.stop();
    await transactions.stop();
    rpc.close();
    await store.close();
  });
  return { postage, transactions, rpc, fatal };
}

const chunk = (text: string): Chunk => {
  const address = keccak256(Buffer.from(text));
  return { address, data: new Uint8Array(8), kind: 'cac', identity: address };
};

const soon = { timeout: 120_000, interval: 20 };

describe('a node on a real chain', () => {
  test('buys a batch that others see, and stamps with it once it is old enough', async () => {
    const own = await startNode(buyer);
    const other = await startNode(observer);
    await Promise.all([own.postage.start(), other.postage.start()]);
    const token = chain.contracts.token.toLowerCase();
    const before = await tokenBalance(own.rpc, token, buyer.address);
    const { batchId } = await own.postage.buy(request, PATIENCE);
    expect(before - (await tokenBalance(own.rpc, token, buyer.address))).toBe(request.amount << 17n);
    const issuer = own.postage.issuer(batchId);
    if (issuer === undefined) throw new Error('no issuer after the purchase');
    expect(issuer).toMatchObject({ label: 'test', depth: 17, immutable: true, amount: request.amount });
    await expect.poll(() => own.postage.usable(issuer), soon).toBe(true);
    expect(own.postage.batches.chainState().block - issuer.blockNumber).toBeGreaterThanOrEqual(3);
    await expect.poll(() => other.postage.batches.get(batchId)?.start, soon).toBe(issuer.blockNumber);
    const stamp = own.postage.stamper(batchId).stamp(chunk('foo'));
    expect(() => other.postage.validate(chunk('foo'), stamp)).not.toThrow();
    expect(() => other.postage.validate(chunk('bar'), stamp)).toThrow();
    const batch = other.postage.batches.get(batchId);
    // A price of 24,000 per block of a second: a day, less the blocks since.
    expect(batch === undefined ? 0 : other.postage.batchTtl(batch)).toBeGreaterThan(86_000);
  });

  test('adopts the batch made for it at the start of the chain', async () => {
    const { postage } = await startNode(buyer);
    await postage.start();
    const id = fromHex(chain.batches[0]?.id ?? '');
    const issuer = postage.issuer(id);
    expect(issuer).toMatchObject({ label: 'recovered', depth: 20, amount: request.amount, immutable: false });
    expect(postage.stamper(id).batchId).toEqual(id);
    expect(postage.batches.chainState().currentPrice).toBe(24_000n);
  });

  test('agrees with the contract about the sum paid per chunk', async () => {
    const { postage, rpc } = await startNode(observer, { tailBlocks: 0, batchFactor: 1 });
    await postage.start();
    const { block, totalAmount } = postage.batches.chainState();
    const call = { to: chain.contracts.postageStamp, data: selectorOf('currentTotalOutPayment()') };
    const onChain = await rpc.send('eth_call', [call, quantity(block)]);
    expect(BigInt(String(onChain))).toBe(totalAmount);
  });

  test.each([
    ['has too few tokens', observer, request, 'OUT_OF_FUNDS'],
    ['pays for too short a time', buyer, { ...request, amount: 48_000n }, 'INSUFFICIENT_VALIDITY'],
    ['asks for depth 16', buyer, { ...request, depth: 16 }, 'DEPTH_INVALID'],
    ['has no native coin', poor, request, 'INSUFFICIENT_NATIVE'],
    ['offers less than the base fee', buyer, { ...request, gasPrice: 1n }, 'GAS_PRICE_TOO_LOW'],
  ])('does not buy when it %s', async (_, signer, terms, code) => {
    const { postage, rpc } = await startNode(signer);
    const nonce = await rpc.transactionCount(toAddress(signer.address));
    await expect(postage.buy(terms, PATIENCE)).rejects.toMatchObject({ code });
    expect(await rpc.transactionCount(toAddress(signer.address))).toBe(nonce);
  });

  test('reports why a transaction was reverted', async () => {
    const { transactions } = await startNode(buyer);
    const terms = { amountPerChunk: request.amount, depth: 16, bucketDepth: 16, immutable: true };
    const data = encodeCreateBatch({ ...terms, owner: buyer.address, nonce: new Uint8Array(32) });
    const call = { to: chain.contracts.postageStamp.toLowerCase(), data, description: 'wrong depth' };
    await expect(transactions.execute(call, PATIENCE)).rejects.toMatchObject({
      code: 'REVERTED',
      message: 'transaction reverted: InvalidDepth()',
      revert: { data: '0xa0b2c350' },
    });
  });

  test('sends many transactions at once, each with its own nonce', async () => {
    const { transactions } = await startNode(buyer);
    const transfer = { to: toAddress(observer.address), data: '0x', value: 1n, description: 'transfer' };
    const receipts = await Promise.all(
      Array.from({ length: 10 }, () => transactions.execute(transfer, PATIENCE)),
    );
    expect(new Set(receipts.map(({ transactionHash }) => transactionHash)).size).toBe(10);
    expect(receipts.every(({ status }) => status === 'success')).toBe(true);
  });
});

describe('a chain that goes away', () => {
  test('for a moment stops neither a node that follows it nor one that waits for its purchase', async () => {
    const relay = await startRelay(new URL(chain.rpc));
    onTestFinished(() => relay.cut());
    const own = await startNode(buyer, { endpoint: relay.url });
    await own.postage.start();
    const buying = own.postage.buy({ ...request, label: 'through the gap' }, PATIENCE);
    // The approval and the purchase: a question between them would fail it.
    await expect.poll(() => relay.carried.split('eth_sendRawTransaction').length - 1, soon).toBe(2);
    await relay.cut();
    await expect(own.rpc.blockNumber()).rejects.toMatchObject({ code: 'RPC_UNREACHABLE' });
    const lastSeen = own.postage.batches.chainState().block;
    await chain.mine(3);
    await relay.mend();
    const { batchId } = await buying;
    await expect.poll(() => own.postage.batches.get(batchId), soon).toBeDefined();
    expect(own.postage.batches.chainState().block).toBeGreaterThan(lastSeen);
    expect([own.postage.syncState(), own.fatal]).toEqual(['synced', []]);
    expect(toHex(own.postage.issuer(batchId)?.batchId ?? new Uint8Array(0))).toBe(toHex(batchId));
  });
});

interface Relay {
  readonly url: string;
  /** One text per packet. */
  readonly carried: string;
  cut(): Promise<void>;
  mend(): Promise<void>;
}

/** Always at the same port. */
async function startRelay(target: URL): Promise<Relay> {
  const sockets = new Set<Socket>();
  let carried = '';
  let server: Server | undefined;
  const listen = async (port: number): Promise<number> => {
    const listening = createServer((inbound) => {
      const outbound = connect(Number(target.port), target.hostname);
      for (const socket of [inbound, outbound]) {
        sockets.add(socket);
        socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
      }
      inbound.on('data', (data: Buffer) => (carried += data.toString('latin1')));
      inbound.pipe(outbound).pipe(inbound);
    });
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve));
    server = listening;
    return (listening.address() as AddressInfo).port;
  };
  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    get carried() {
      return carried;
    },
    async cut() {
      const closing = server;
      server = undefined;
      for (const socket of sockets) socket.destroy();
      if (closing !== undefined) await new Promise((resolve) => closing.close(resolve));
    },
    async mend() {
      await listen(port);
    },
  };
}

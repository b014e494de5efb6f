import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type LocalChain, startLocalChain } from '../../../chain/local-chain.ts';
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { topicOf } from '../../../formats/ethereum/abi.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { toAddress, tokenBalance } from '../../../node/onchain/contracts.ts';
import { httpEndpoint } from '../../../node/onchain/http-endpoint.ts';
import { createRpc, type Rpc } from '../../../node/onchain/rpc.ts';
import { issuerOf, SWAP_EVENTS } from '../../../node/swap/contracts.ts';
import type { FirstStart } from './first-start-process.ts';

/** More writes than a first start makes. */
const WRITES_MAX = 10;
const TOKENS = 10n ** 19n;
const DEPOSIT = 10n ** 16n;
const never = new AbortController().signal;

const keyOf = (writes: number) => keccak256(Buffer.from(`first start ${writes}`));
const accountOf = (writes: number) => createSigner(keyOf(writes)).address;

let chain: LocalChain;
let rpc: Rpc;
beforeAll(async () => {
  chain = await startLocalChain({
    networkId: 4020n,
    blockTimeMs: 50,
    accounts: Array.from({ length: WRITES_MAX + 1 }, (_, writes) => ({
      address: toAddress(accountOf(writes)),
      native: 10n ** 18n,
      tokens: TOKENS,
    })),
  });
  rpc = createRpc(httpEndpoint(chain.rpc), {
    clock: systemClock(),
    log: silentLogger(),
    metrics: createMetrics({ prefix: 'svc' }),
  });
});
afterAll(async () => {
  rpc.close();
  await chain.stop();
});

function startOf(path: string, writes: number): FirstStart {
  return {
    path,
    rpc: chain.rpc,
    factory: chain.contracts.chequebookFactory.toLowerCase(),
    token: chain.contracts.token.toLowerCase(),
    key: toHex(keyOf(writes)),
    deposit: String(DEPOSIT),
  };
}

function run(start: FirstStart): Promise<{ address: string; ended: boolean }> {
  const script = join(import.meta.dirname, 'first-start-process.ts');
  return new Promise((resolve) => {
    execFile(process.execPath, [script, JSON.stringify(start)], (error, stdout) => {
      resolve({ address: stdout.trim(), ended: error === null });
    });
  });
}

async function deployedFor(issuer: Uint8Array): Promise<number> {
  const logs = await rpc.logs({
    address: chain.contracts.chequebookFactory.toLowerCase(),
    topics: [[topicOf(SWAP_EVENTS.SimpleSwapDeployed)]],
    fromBlock: 0,
    toBlock: await rpc.blockNumber(),
  });
  const issuers = await Promise.all(logs.map(({ data }) => issuerOf(rpc, fromHex(data).slice(12), never)));
  return issuers.filter((found) => toHex(found) === toHex(issuer)).length;
}

function tokensOf(owner: Uint8Array): Promise<bigint> {
  return tokenBalance(rpc, chain.contracts.token.toLowerCase(), owner);
}

test.each(Array.from({ length: WRITES_MAX + 1 }, (_, writes) => writes))(
  'a node killed after %i writes has one chequebook with one deposit at its next start',
  async (writes) => {
    const path = await mkdtemp(join(tmpdir(), 'svc-first-start-'));
    onTestFinished(() => rm(path, { recursive: true }));
    const start = startOf(path, writes);
    if (writes > 0) await run({ ...start, diesAfter: writes });
    const { address, ended } = await run(start);
    expect(ended).toBe(true);
    expect(await run(start)).toEqual({ address, ended: true });
    expect(await deployedFor(accountOf(writes))).toBe(1);
    expect(await tokensOf(fromHex(address))).toBe(DEPOSIT);
    expect(await tokensOf(accountOf(writes))).toBe(TOKENS - DEPOSIT);
  },
);

test('there are fewer steps than points at which it was killed', async () => {
  const path = await mkdtemp(join(tmpdir(), 'svc-first-start-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const start = { ...startOf(path, 0), diesAfter: WRITES_MAX };
  expect((await run(start)).ended).toBe(true);
});

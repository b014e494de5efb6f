import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type LocalChain, startLocalChain } from '../../../chain/local-chain.ts';
import { createRpcClient } from '../../../chain/rpc.ts';
import { openSending, payee, SENDER } from './sending.ts';

/** Of one payment: five reads, a note, the record, the sending, a round of the monitor; each before and after. */
const STEPS_MIN = 20;

let chain: LocalChain;
beforeAll(async () => {
  const accounts = [{ address: SENDER, native: 10n ** 18n, tokens: 0n }];
  chain = await startLocalChain({ networkId: 4020n, blockTimeMs: 100, accounts });
});
afterAll(() => chain.stop());

/** @returns whether the process ended before the step */
async function payOrDie(path: string, n: number): Promise<boolean> {
  const script = join(import.meta.dirname, 'sending-process.ts');
  const child = spawn(process.execPath, [script, path, chain.rpc, `${n}`, `${n}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended: unknown = await once(child, 'exit');
  if (JSON.stringify(ended) === '[0,null]') return true;
  expect(ended).toEqual([null, 'SIGKILL']);
  return false;
}

test('a payment is made once, at whichever step its process is killed', async () => {
  const path = await mkdtemp(join(tmpdir(), 'svc-sending-'));
  onTestFinished(() => rm(path, { recursive: true }));
  const rpc = createRpcClient(chain.rpc);
  let n = 0;
  for (let finished = false; !finished; ) {
    finished = await payOrDie(path, ++n);
    await using sending = await openSending(path, chain.rpc);
    sending.transactions.start();
    await expect.poll(() => sending.transactions.pending()).toEqual([]);
    await sending.pay(n, AbortSignal.timeout(120_000));
    expect([n, await rpc.call('eth_getBalance', payee(n), 'latest')]).toEqual([n, '0x1']);
    // No nonce was lost or used for anything else.
    expect(Number(await rpc.call('eth_getTransactionCount', SENDER, 'latest'))).toBe(n);
  }
  expect(n).toBeGreaterThan(STEPS_MIN);
});

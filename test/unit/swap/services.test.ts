import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { SwapServices } from '../../../node/swap/services.ts';
import { CHAIN_ID, FACTORY, ORACLE, TOKEN } from '../onchain/addresses.ts';
import { memoryRecords, testKey } from '../p2p/memory-nodes.ts';
import { never } from '../protocols/exchange-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { SwapChain } from './swap-chain.ts';

function services() {
  const chain = new SwapChain();
  const clock = new ManualClock();
  const book = chain.deploy(testKey(1), 1_000n);
  const unused = () => Promise.reject(new Error('nothing is sent here'));
  const swap = new SwapServices(
    {
      factory: FACTORY,
      oracle: ORACLE,
      oracleIntervalMs: 300_000,
      token: TOKEN,
      chequebook: { address: `0x${toHex(book)}`, initialDeposit: 0n },
    },
    {
      chain,
      clock,
      transactions: {
        send: unused,
        wait: unused,
        execute: unused,
        resend: unused,
        cancel: unused,
        find: () => undefined,
        pending: () => [],
      },
      state: memoryRecords(),
      signer: createSigner(testKey(1)),
      random: systemRandom(),
      log: silentLogger(),
    },
  );
  return { chain, clock, swap, book };
}

describe('a start without an answer of the chain', () => {
  test('waits for an endpoint that starts together with the node', async () => {
    const { chain, clock, swap, book } = services();
    chain.isDown = true;
    const started = swap.start(never);
    await clock.advance(9_000);
    chain.isDown = false;
    await clock.advance(1_000);
    await started;
    expect([swap.chainId, swap.chequebook?.address]).toEqual([CHAIN_ID, book]);
    await swap.stop();
    expect(clock.running).toBe(0);
  });

  test('fails after ten seconds', async () => {
    const { chain, clock, swap } = services();
    chain.isDown = true;
    const started = swap.start(never).catch((error: unknown) => error);
    await clock.advance(11_000);
    expect(await started).toMatchObject({ code: 'RPC_UNREACHABLE' });
    expect(clock.running).toBe(0);
  });

  test('ends when the node is told to stop', async () => {
    const { chain, clock, swap } = services();
    chain.isDown = true;
    const stopping = new AbortController();
    const started = swap.start(stopping.signal).catch((error: unknown) => error);
    await clock.advance(1_000);
    stopping.abort(new Error('enough'));
    expect(await started).toMatchObject({ message: 'enough' });
    await swap.stop();
    expect(clock.running).toBe(0);
  });
});

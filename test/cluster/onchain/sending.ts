import { systemClock } from '../../../formats/clock.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { toAddress } from '../../../node/onchain/contracts.ts';
import { httpEndpoint } from '../../../node/onchain/http-endpoint.ts';
import type { Receipt } from '../../../node/onchain/ports.ts';
import { createRpc } from '../../../node/onchain/rpc.ts';
import {
  createTransactions,
  type TransactionService,
} from '../../../node/onchain/transactions/transactions.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';

const signer = createSigner(keccak256(Buffer.from('sending')));
export const SENDER = toAddress(signer.address);

interface Sending extends AsyncDisposable {
  readonly transactions: TransactionService;
  /** Once, however often it is asked to. */
  readonly pay: (n: number, signal: AbortSignal) => Promise<Receipt>;
  readonly stop: () => Promise<void>;
}

export async function openSending(path: string, endpoint: string, step = () => {}): Promise<Sending> {
  const clock = systemClock();
  const log = silentLogger();
  const settings = { path, cacheCapacity: 0, reserveCapacity: 1000, radius: 0 };
  const store = await openLmdbStore(settings, { clock, log, overlay: new Uint8Array(32) });
  const rpc = createRpc(httpEndpoint(endpoint), { clock, log });
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    step();
    const result = await work();
    step();
    return result;
  };
  const stepping = (state: KeyValueStore): KeyValueStore => ({
    get: (key) => state.get(key),
    entries: (prefix) => state.entries(prefix),
    put: (key, value) => around(() => state.put(key, value)),
    remove: (key) => around(() => state.remove(key)),
    batch: (changes) => around(() => state.batch(changes)),
  });
  const calls = Object.entries(rpc)
    .filter(([name]) => name !== 'close' && name !== 'send')
    .map(([name, call]) => [
      name,
      (...args: never[]) => around(() => (call as (...given: never[]) => Promise<unknown>)(...args)),
    ]);
  const transactions = createTransactions(
    { pollIntervalMs: 50, minimumTip: 0n, gasLimitFallback: 500_000n },
    {
      rpc: { ...rpc, ...(Object.fromEntries(calls) as object) },
      signer,
      clock,
      state: stepping(store.state('transactions')),
      log,
    },
  );
  const notes = stepping(store.state('notes'));
  const stop = async () => {
    await transactions.stop();
    rpc.close();
    await store.close();
  };
  return {
    transactions,
    async pay(n, signal) {
      const noted = notes.get(String(n));
      const known = noted === undefined ? undefined : Buffer.from(noted).toString();
      if (known !== undefined && transactions.find(known) !== undefined) {
        return transactions.wait(known, signal);
      }
      const beforeSend = (hash: string) => notes.put(String(n), Buffer.from(hash));
      const request = { to: payee(n), data: '0x', value: 1n, description: `payment ${n}`, beforeSend };
      return transactions.wait(await transactions.send(request, signal), signal);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** `0x` and 40 hex. */
export function payee(n: number): string {
  return toAddress(keccak256(Buffer.from(`payee ${n}`)).subarray(12));
}

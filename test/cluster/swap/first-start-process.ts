/**
 * The first start of a node, up to its chequebook. The process kills itself right after a given write to its state, and
 * prints the address if it gets to the end.
 */
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { httpEndpoint } from '../../../node/onchain/http-endpoint.ts';
import { createRpc } from '../../../node/onchain/rpc.ts';
import { createTransactions } from '../../../node/onchain/transactions/transactions.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { KeyValueStore } from '../../../node/store/ports.ts';
import { obtainChequebook } from '../../../node/swap/deployment.ts';

export interface FirstStart {
  readonly path: string;
  readonly rpc: string;
  readonly factory: string;
  readonly token: string;
  /** Private key, 64 hex. */
  readonly key: string;
  /** Base units, decimal. */
  readonly deposit: string;
  /** Absent: it survives. */
  readonly diesAfter?: number;
}

const start = JSON.parse(process.argv[2] ?? '{}') as FirstStart;
let left = start.diesAfter ?? Number.POSITIVE_INFINITY;

function mortal(records: KeyValueStore): KeyValueStore {
  const write = async (work: Promise<void>): Promise<void> => {
    await work;
    if (--left === 0) process.kill(process.pid, 'SIGKILL');
  };
  return {
    get: (key) => records.get(key),
    entries: (prefix) => records.entries(prefix),
    put: (key, value) => write(records.put(key, value)),
    remove: (key) => write(records.remove(key)),
    batch: (changes) => write(records.batch(changes)),
  };
}

const clock = systemClock();
const log = silentLogger();
const signer = createSigner(fromHex(start.key));
const store = await openLmdbStore(
  { path: start.path, cacheCapacity: 0, reserveCapacity: 0, radius: 0 },
  { clock, log, overlay: new Uint8Array(32) },
);
const rpc = createRpc(httpEndpoint(start.rpc), { clock, log, metrics: createMetrics({ prefix: 'svc' }) });
const transactions = createTransactions(
  { pollIntervalMs: 20, minimumTip: 0n, gasLimitFallback: 500_000n },
  { rpc, signer, clock, log, state: mortal(store.state('transactions')) },
);
transactions.start();
const address = await obtainChequebook(
  { factory: start.factory, token: start.token, chequebook: '', initialDeposit: BigInt(start.deposit) },
  {
    chain: rpc,
    transactions,
    state: mortal(store.state('swap')),
    signer,
    clock,
    random: systemRandom(),
    log,
  },
  AbortSignal.timeout(60_000),
);
process.stdout.write(`${toHex(address)}\n`);
await transactions.stop();
rpc.close();
await store.close();

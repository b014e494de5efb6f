/** Nodes pay each other by cheques; their accounting only counts. */
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../../formats/random.ts';
import type { PaymentLedger } from '../../../../node/accounting/ports.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics, type Metrics } from '../../../../node/env/metrics.ts';
import type { Host, Peer } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { createSwap, type SwapProtocol } from '../../../../node/protocols/swap/swap.ts';
import type { KeyValueStore } from '../../../../node/store/ports.ts';
import { SwapServices } from '../../../../node/swap/services.ts';
import { FACTORY, ORACLE, TOKEN } from '../../onchain/addresses.ts';
import { memoryNode, memoryRecords, testKey } from '../../p2p/memory-nodes.ts';
import { SwapChain } from '../../swap/swap-chain.ts';
import { never } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

export const RATE = 100_000n;
export const DEDUCTION = 100n;
/** In base units. */
export const FUNDS = 10n ** 15n;

export interface SwapNode {
  readonly host: Host;
  readonly signer: Signer;
  readonly id: string;
  readonly underlay: () => string;
  readonly services: SwapServices;
  readonly protocol: SwapProtocol;
  /** Accounting units of accepted cheques, by peer. */
  readonly credited: { readonly peer: string; readonly amount: bigint }[];
  /** In accounting units: paid before they were owed. */
  readonly ahead: ReadonlyMap<string, bigint>;
  readonly metrics: Metrics;
  readonly chain: SwapChain;
}

export interface World {
  readonly clock: ManualClock;
  readonly chain: SwapChain;
  readonly network: MemoryNetwork;
}

export function world(): World {
  return { clock: new ManualClock(), chain: new SwapChain(), network: new MemoryNetwork() };
}

interface NodeOptions {
  readonly state?: KeyValueStore;
  /** Default: one deployed with `FUNDS`; false: it sends no cheques. */
  readonly chequebook?: Uint8Array | false;
  /** By default none can be sent. */
  readonly send?: () => Promise<string>;
  readonly accounting?: (host: Host) => PaymentLedger;
}

/** Node `n`, started. */
export async function swapNode(
  n: number,
  { clock, chain: shared, network }: World,
  options: NodeOptions = {},
): Promise<SwapNode> {
  const chain = shared.endpoint();
  const { host, underlay } = memoryNode({ network, n, clock });
  const signer = createSigner(testKey(n));
  const metrics = createMetrics({ prefix: 'svc' });
  const log = silentLogger();
  const book = options.chequebook ?? chain.deploy(testKey(n), FUNDS);
  const services = new SwapServices(
    {
      factory: FACTORY,
      oracle: ORACLE,
      oracleIntervalMs: 300_000,
      token: TOKEN,
      chequebook: book === false ? undefined : { address: `0x${toHex(book)}`, initialDeposit: 0n },
    },
    {
      chain,
      transactions: { ...NO_TRANSACTIONS, send: options.send ?? NO_TRANSACTIONS.send },
      state: options.state ?? memoryRecords(),
      signer,
      clock,
      random: systemRandom(),
      log,
    },
  );
  const ahead = new Map<string, bigint>();
  const credited: { peer: string; amount: bigint }[] = [];
  const ledger = options.accounting?.(host);
  const protocol = createSwap(
    { factory: FACTORY, beneficiary: signer.address },
    {
      host,
      accounting: {
        paymentReceived(peer, amount) {
          credited.push({ peer: peer.overlayHex, amount });
          ledger?.paymentReceived(peer, amount);
        },
        paidAhead(peer, amount) {
          ahead.set(peer.overlayHex, amount);
          ledger?.paidAhead(peer, amount);
        },
      },
      swap: services,
      chain,
      clock,
      log,
      metrics,
    },
  );
  await services.start(never);
  await host.start();
  return {
    host,
    signer,
    id: toHex(host.overlay),
    underlay,
    services,
    protocol,
    credited,
    ahead,
    metrics,
    chain,
  };
}

const NO_TRANSACTIONS = {
  send: () => Promise.reject(new Error('nothing is sent here')),
  wait: () => Promise.reject(new Error('nothing is sent here')),
  execute: () => Promise.reject(new Error('nothing is sent here')),
  resend: () => Promise.reject(new Error('nothing is sent here')),
  cancel: () => Promise.reject(new Error('nothing is sent here')),
  find: () => undefined,
  pending: () => [],
};

export async function meet(
  from: { host: Host },
  to: { underlay: () => string },
  clock: ManualClock,
): Promise<Peer> {
  const peer = await from.host.connect([to.underlay()], never);
  await clock.settle();
  return peer;
}

/** Once everything that needs no time has happened. */
export async function outcome(work: Promise<unknown>, clock: ManualClock): Promise<string> {
  let seen = 'pending';
  void work
    .then(() => 'done')
    .catch((error: unknown) => (error as Error).message)
    .then((text) => {
      seen = text;
      return text;
    });
  await clock.settle();
  return seen;
}

export async function counted(node: SwapNode, name: string): Promise<number> {
  const line = new RegExp(`^svc_${name} (\\S+)$`, 'm').exec(await node.metrics.expose());
  return Number(line?.[1]);
}

export const bookOf = (node: SwapNode): Uint8Array => {
  const { chequebook } = node.services;
  if (chequebook === undefined) throw new Error('the node has no chequebook');
  return chequebook.address;
};

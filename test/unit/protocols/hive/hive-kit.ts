import { createSigner } from '../../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import type { AddressRecord, Generation } from '../../../../node/p2p/host.ts';
import { createHive } from '../../../../node/protocols/hive/hive.ts';
import vectors from '../../../vectors/p2p.json' with { type: 'json' };
import { type MemoryNode, NETWORK_ID, startedNodes, testKey, ZERO_NONCE } from '../../p2p/memory-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

export const never = new AbortController().signal;

export const peerId = vectors.underlays[0]?.underlays[0]?.split('/p2p/')[1];

export const clock = new ManualClock();

export const nowSeconds = BigInt(Math.floor(clock.now() / 1000));

export function recordOf(n: number, change: { timestamp?: bigint; address?: string } = {}): AddressRecord {
  const { timestamp = nowSeconds, address = `/ip4/10.9.0.${n}/tcp/1634` } = change;
  const underlay = encodeUnderlays([`${address}/p2p/${peerId}`]);
  const statement = { underlay, nonce: ZERO_NONCE, timestamp, chequebook: NO_CHEQUEBOOK };
  return mintRecord(statement, { signer: createSigner(testKey(n)), networkId: NETWORK_ID });
}

/** @param generations default: all, on both nodes */
export async function gossips(
  options: { allowPrivateCidrs?: boolean; bootnodeMode?: boolean; gossipedPeers?: number } = {},
  nodes: { generations?: readonly Generation[] } = {},
) {
  const clock = new ManualClock();
  const [a, b] = (await startedNodes(2, { clock, ...nodes })) as [MemoryNode, MemoryNode];
  const hives = [a, b].map((node) =>
    createHive(
      { networkId: NETWORK_ID, allowPrivateCidrs: true, bootnodeMode: false, ...options },
      { ...node, clock, log: silentLogger(), metrics: createMetrics({ prefix: 'svc' }) },
    ),
  );
  const learned: string[][] = [];
  hives[1]?.onLearned((overlays) => learned.push([...overlays]));
  const peer = await a.host.connect([b.underlay()], never);
  const announce = (overlays: string[]) => hives[0]?.announce(peer, overlays, never) ?? Promise.resolve();
  return { a, b, clock, peer, learned, announce };
}

export const { underlay, signature, overlay, nonce } = recordOf(2);

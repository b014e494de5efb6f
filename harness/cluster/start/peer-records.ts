/**
 * Nodes of a fresh cluster start with each other's signed address records, as a restarted node has them in its address book.
 * Left out are nodes of other flavours, light nodes, and those whose advertised address is not known yet.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../node/p2p/address/record.ts';
import { formatRecords, parseRecords } from '../../../node/p2p/address/record-file.ts';
import { encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { flavourOf } from '../../flavours/table.ts';
import { DRIVER_FACTS, type DriverName } from '../../places/facts.ts';
import type { PlacedNode } from '../plan/plan.ts';
import type { PlannedNode } from '../plan/planned-node.ts';
import type { Definition } from '../plan/schema.ts';
import { OVERLAY_NONCE } from '../plan/seed.ts';
import { inTurn, type RecordContext } from '../state/change.ts';

export function sharesRecords(
  { coldGossip, topology, nodes, underlays }: Definition,
  driver: DriverName,
): boolean {
  const introduces = nodes.some(({ mode }) => mode === 'boot');
  const { owned, images } = DRIVER_FACTS[driver];
  // Of several addresses of a node only one is known before it starts.
  return !coldGossip && underlays.length === 1 && topology === 'mesh' && !introduces && owned && !images;
}

/** Both lists in the same order. */
interface Told {
  readonly planned: readonly PlannedNode[];
  readonly placed: readonly PlacedNode[];
}

/** @param nowMs when records become valid */
export function writePeerRecords(file: string, told: Told, nowMs: number): void {
  writeFileSync(file, formatRecords(recordsOf(told, unixSeconds(nowMs))));
}

/**
 * Nodes tell by the time whose record another had: those who join later have later records, also within a second, and of two
 * who join at once, those whose records are appended later.
 */
export function addPeerRecords(file: string, told: Told, context: RecordContext): Promise<void> {
  return inTurn(context, () => {
    const known = existsSync(file) ? parseRecords(readFileSync(file, 'utf8'), networkOf(told)) : [];
    const timestamp = known.reduce(
      (time, record) => (record.timestamp < time ? time : record.timestamp + 1n),
      unixSeconds(context.clock.now()),
    );
    // Some programs forget a peer that has two records.
    const places = known.map(placeOf);
    const added = recordsOf(told, timestamp).filter((record) => !places.includes(placeOf(record)));
    appendFileSync(file, formatRecords(added));
  });
}

function recordsOf({ planned, placed }: Told, timestamp: bigint): AddressRecord[] {
  const networkId = networkOf({ placed });
  return placed
    .filter(
      ({ plan, underlay }, index) =>
        flavourOf(planned[index] ?? { flavour: 'svc' }).takesRecords &&
        plan.mode === 'full' &&
        underlay.startsWith(`/ip4/${plan.listen}/`),
    )
    .map(({ plan, underlay }) =>
      mintRecord(
        {
          underlay: encodeUnderlays([underlay]),
          nonce: OVERLAY_NONCE,
          timestamp,
          chequebook:
            plan.chequebook === undefined ? NO_CHEQUEBOOK : fromHex(plan.chequebook.replace(/^0x/, '')),
        },
        { signer: createSigner(plan.identity.keys.swarm), networkId },
      ),
    );
}

function networkOf({ placed }: Pick<Told, 'placed'>): bigint {
  return BigInt(placed[0]?.plan.network.networkId ?? 0);
}

function unixSeconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}

type AddressRecord = ReturnType<typeof mintRecord>;

function placeOf({ overlay, underlay }: AddressRecord): string {
  return `${toHex(overlay)} ${toHex(underlay)}`;
}

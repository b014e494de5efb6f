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

export function sharesRecords(
  { coldGossip, topology, nodes, underlays }: Definition,
  driver: DriverName,
): boolean {
  const introduces = nodes.some(({ mode }) => mode === 'boot');
  const { owned, images } = DRIVER_FACTS[driver];
  // Of several addresses of a node only one is known before it starts.
  return !coldGossip && underlays.length === 1 && topology === 'mesh' && !introduces && owned && !images;
}

/**
 * @param nodes both lists in the same order; `join`: they join those whose records the file has
 * @param nowMs when records become valid
 */
export function writePeerRecords(
  file: string,
  nodes: {
    readonly planned: readonly PlannedNode[];
    readonly placed: readonly PlacedNode[];
    readonly join?: boolean;
  },
  nowMs: number,
): void {
  const networkId = BigInt(nodes.placed[0]?.plan.network.networkId ?? 0);
  const isThere = nodes.join === true && existsSync(file);
  const known = isThere ? parseRecords(readFileSync(file, 'utf8'), networkId) : [];
  // Nodes tell by the time whose record another had: later ones are later, even within a second.
  const timestamp = known.reduce(
    (time, record) => (record.timestamp < time ? time : record.timestamp + 1n),
    BigInt(Math.floor(nowMs / 1000)),
  );
  const told = nodes.placed.filter(
    ({ plan, underlay }, index) =>
      flavourOf(nodes.planned[index] ?? { flavour: 'svc' }).takesRecords &&
      plan.mode === 'full' &&
      underlay.startsWith(`/ip4/${plan.listen}/`),
  );
  const records = told.map(({ plan, underlay }) =>
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
  if (nodes.join !== true) {
    writeFileSync(file, formatRecords(records));
    return;
  }
  // Some programs forget a peer that has two records. Appended, as others may join now.
  const places = known.map(placeOf);
  appendFileSync(file, formatRecords(records.filter((record) => !places.includes(placeOf(record)))));
}

function placeOf({ overlay, underlay }: ReturnType<typeof parseRecords>[number]): string {
  return `${toHex(overlay)} ${toHex(underlay)}`;
}

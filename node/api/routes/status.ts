/** Status records of the node and peers: `http-api-completion.md` 5.13. */
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { neighbourhoods } from '../../neighbourhood/rules.ts';
import type { Peer } from '../../p2p/host.ts';
import type { StatusSnapshot } from '../../protocols/status/status.ts';
import { type Dialect, emit } from '../dialect.ts';
import { route } from '../route/route.ts';
import type { NodeServices } from '../services.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/** Proximity of a node to itself. */
const OWN_PROXIMITY = 256;

const SILENT: StatusSnapshot = {
  beeMode: '',
  reserveSize: 0n,
  reserveSizeWithinRadius: 0n,
  pullsyncRate: 0,
  storageRadius: 0,
  connectedPeers: 0n,
  neighborhoodSize: 0n,
  batchCommitment: 0n,
  isReachable: false,
  lastSyncedBlock: 0n,
  committedDepth: 0,
  metrics: new Map(),
};

export const STATUS_ROUTES = [
  route({
    method: 'GET',
    path: '/status',
    port: 'both',
    summary: 'status record of the node',
    gates: ['started'],
    success: [200],
    response: 'Status',
    failure: 'STATUS_FAILED',
    handle: ({ services: { status, host }, dialect }) => ({
      status: 200,
      json: recordBody(status.local(), dialect, {
        overlay: toHex(host.overlay),
        proximity: OWN_PROXIMITY,
        isWarmingUp: status.isWarmingUp(),
        failed: false,
      }),
    }),
  }),
  route({
    method: 'GET',
    path: '/status/peers',
    port: 'both',
    effect: 'costs',
    summary: 'status records of the connected peers, by proximity',
    gates: ['started', 'statusSlot'],
    success: [200],
    response: 'StatusList',
    failure: 'STATUS_FAILED',
    async handle({ services, dialect, signal }) {
      const asked = services.host.peers().map(async (peer) => {
        const proximity = proximityOrder(services.host.overlay, peer.overlay);
        const { snapshot, failed } = await ask(peer, services, signal);
        const about = { overlay: peer.overlayHex, proximity, isWarmingUp: false, failed };
        return { proximity, record: recordBody(snapshot, dialect, about) };
      });
      const records = (await Promise.all(asked)).sort((a, b) => a.proximity - b.proximity);
      return {
        status: 200,
        json: emit(
          dialect.fields.statusList,
          records.map(({ record }) => record),
        ),
      };
    },
  }),
  route({
    method: 'GET',
    path: '/status/neighborhoods',
    port: 'both',
    effect: 'costs',
    summary: 'size of the reserve per neighbourhood that it keeps',
    gates: ['started', 'statusSlot'],
    success: [200],
    response: 'Neighborhoods',
    failure: 'NEIGHBORHOODS_FAILED',
    handle({ services: { host, node, store, topology } }) {
      const kept = neighbourhoods(host.overlay, {
        radius: topology.storageRadius(),
        capacityDoubling: node.capacityDoubling,
        sizeFrom: (firstBin) => store.reserve.sizeFrom(firstBin),
      });
      return {
        status: 200,
        json: {
          neighborhoods: kept.map(({ prefix, size, proximity }) => ({
            neighborhood: prefix,
            reserveSizeWithinRadius: size,
            proximity,
          })),
        },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/status/backlog',
    port: 'debug',
    summary: 'what the node cannot place, by neighbourhood, and why',
    gates: ['started'],
    success: [200],
    response: 'Backlog',
    handle({ services: { backlog, store, topology } }) {
      const { reserve } = store;
      const { congestion, uploads } = backlog();
      const { full, missing, leftovers, refusal } = congestion;
      return {
        status: 200,
        json: {
          reserve: {
            capacity: reserve.capacity(),
            size: reserve.size(),
            sizeWithinRadius: reserve.sizeWithinRadius(),
            storageRadius: topology.storageRadius(),
            full,
            missing,
            leftovers: leftovers.map(({ neighbourhood, chunks }) => ({
              neighborhood: neighbourhood,
              chunks,
            })),
            refusal,
          },
          disk: { full: store.disk.isFull() },
          uploads: uploads.map(({ neighbourhood, ...held }) => ({ neighborhood: neighbourhood, ...held })),
        },
      };
    },
  }),
];

async function ask(
  peer: Peer,
  { status, clock, log }: NodeServices,
  signal: AbortSignal,
): Promise<{ snapshot: StatusSnapshot; failed: boolean }> {
  using deadline = clock.deadline(REQUEST_TIMEOUT_MS, signal);
  try {
    return { snapshot: await status.request(peer, deadline.signal), failed: false };
  } catch (err) {
    log.debug({ err, peer: peer.overlayHex }, 'peer gave no status');
    return { snapshot: SILENT, failed: true };
  }
}

/** What only the asking node knows. */
interface RecordOwner {
  readonly overlay: string;
  readonly proximity: number;
  readonly isWarmingUp: boolean;
  readonly failed: boolean;
}

function recordBody(
  snapshot: StatusSnapshot,
  { fields, saysNotFailed }: Dialect,
  { overlay, proximity, isWarmingUp, failed }: RecordOwner,
): Record<string, unknown> {
  return {
    ...emit(fields.statusOverlay, overlay),
    proximity,
    ...emit(fields.mode, snapshot.beeMode),
    reserveSize: snapshot.reserveSize,
    reserveSizeWithinRadius: snapshot.reserveSizeWithinRadius,
    pullsyncRate: snapshot.pullsyncRate,
    storageRadius: snapshot.storageRadius,
    connectedPeers: snapshot.connectedPeers,
    neighborhoodSize: snapshot.neighborhoodSize,
    ...emit(fields.statusCommitment, snapshot.batchCommitment),
    isReachable: snapshot.isReachable,
    lastSyncedBlock: snapshot.lastSyncedBlock,
    committedDepth: snapshot.committedDepth,
    isWarmingUp,
    ...(failed || saysNotFailed ? { requestFailed: failed } : {}),
  };
}

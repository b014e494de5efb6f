import { toHex } from '../../../formats/crypto/hex.ts';
import type { NodeServices } from '../../../node/api/services.ts';
import { type BlocklistEntry, HostError, type Peer } from '../../../node/p2p/host.ts';
import type { StatusSnapshot } from '../../../node/protocols/status/status.ts';
import type { TopologySnapshot } from '../../../node/topology/topology.ts';
import { fakePeer } from '../topology/fake-peer.ts';
import { type Failing, failIf } from './failing.ts';

export const OVERLAY = new Uint8Array(32).fill(0x11);

export const SOME_ACCOUNT = {
  peer: '07'.repeat(32),
  balance: -5n,
  consumedBalance: 12n,
  thresholdReceived: 1n,
  thresholdGiven: 2n,
  currentThresholdReceived: 3n,
  currentThresholdGiven: 4n,
  surplusBalance: 17n,
  reservedBalance: 6n,
  shadowReservedBalance: 7n,
  ghostBalance: 8n,
};

export interface PeerKnobs extends Failing {
  peers: Peer[];
  blocklist: BlocklistEntry[];
  connectError: Error | undefined;
  connected: string[];
  accounts: ReturnType<NodeServices['accounting']['balances']>;
  timeSettlements: { peer: string; received: bigint; sent: bigint }[];
  pingMs: number;
  pingError: Error | undefined;
  silentPeers: Set<string>;
  backlog: ReturnType<NodeServices['backlog']>;
}

export function peerKnobs(): Omit<PeerKnobs, 'failing'> {
  return {
    peers: [],
    blocklist: [],
    connectError: undefined,
    connected: [],
    accounts: [],
    timeSettlements: [],
    pingMs: 5.0018,
    pingError: undefined,
    silentPeers: new Set(),
    backlog: {
      congestion: { full: false, missing: undefined, leftovers: [], refusal: undefined },
      uploads: [],
    },
  };
}

type PeerServices = Pick<
  NodeServices,
  'host' | 'topology' | 'accounting' | 'timeSettlements' | 'pingpong' | 'status' | 'backlog'
>;

export function fakePeers(turn: PeerKnobs): PeerServices {
  return {
    host: fakeHost(turn),
    topology: {
      storageRadius: () => 3,
      snapshot: () => topologySnapshot(),
    },
    accounting: {
      balances() {
        failIf(turn, 'balances');
        return turn.accounts;
      },
      balance(overlayHex) {
        failIf(turn, 'balance');
        return turn.accounts.find(({ peer }) => peer === overlayHex);
      },
    },
    timeSettlements: {
      settlements() {
        failIf(turn, 'timesettlements');
        return turn.timeSettlements;
      },
    },
    pingpong: {
      async ping() {
        if (turn.pingError !== undefined) throw turn.pingError;
        return turn.pingMs;
      },
    },
    status: {
      local() {
        failIf(turn, 'status');
        return STATUS;
      },
      async request(asked) {
        if (turn.silentPeers.has(asked.overlayHex)) throw new Error('no answer');
        return STATUS;
      },
      isWarmingUp: () => false,
    },
    backlog: () => turn.backlog,
  };
}

function fakeHost(turn: PeerKnobs): NodeServices['host'] {
  let welcome = 'hello';
  return {
    overlay: OVERLAY,
    underlays: () => ['/ip4/127.0.0.1/tcp/1634/p2p/12D3KooWGRUVh4uXSbTaqgHPAn1PqCRzD7JTyRsnkcHnfQgzb8ZF'],
    async connect(underlays) {
      if (turn.connectError !== undefined) throw turn.connectError;
      turn.connected.push(...underlays);
      return peer(7);
    },
    async disconnect(overlayHex) {
      const at = turn.peers.findIndex((peer) => peer.overlayHex === overlayHex);
      if (at === -1) throw new HostError('PEER_NOT_FOUND', 'no such peer');
      turn.peers.splice(at, 1);
    },
    blocklisted() {
      failIf(turn, 'blocklist');
      return turn.blocklist;
    },
    peer: (overlayHex) => turn.peers.find((peer) => peer.overlayHex === overlayHex),
    peers: () => turn.peers,
    welcomeMessage: () => welcome,
    setWelcomeMessage(text) {
      welcome = text;
    },
  };
}

export function peer(fill: number, direction: 'inbound' | 'outbound' = 'outbound'): Peer {
  return fakePeer(new Uint8Array(32).fill(fill), { ethereum: new Uint8Array(20).fill(fill), direction });
}

const STATUS: StatusSnapshot = {
  beeMode: 'full',
  metrics: new Map(),
  reserveSize: 100n,
  reserveSizeWithinRadius: 60n,
  pullsyncRate: 0.5,
  storageRadius: 3,
  connectedPeers: 4n,
  neighborhoodSize: 2n,
  batchCommitment: 4_194_304n,
  isReachable: true,
  lastSyncedBlock: 120n,
  committedDepth: 3,
};

function topologySnapshot(): TopologySnapshot {
  const empty = { population: 0, connected: 0, disconnectedPeers: [], connectedPeers: [] };
  return {
    baseAddr: toHex(OVERLAY),
    population: 1,
    connected: 1,
    nnLowWatermark: 3,
    depth: 3,
    reachability: 'Public',
    networkAvailability: 'Available',
    bins: Array.from({ length: 32 }, () => empty),
    lightNodes: empty,
  };
}

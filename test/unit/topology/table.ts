import { onTestFinished } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { type BlocklistEntry, type Host, HostError, type Peer } from '../../../node/p2p/host.ts';
import { createKademlia, type KademliaDeps, type KademliaOptions } from '../../../node/topology/kademlia.ts';
import vectors from '../../vectors/p2p.json' with { type: 'json' };
import { FULL_NODE, memoryRecords } from '../p2p/memory-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { fakePeer } from './fake-peer.ts';

export const peerId = vectors.underlays[0]?.underlays[0]?.split('/p2p/')[1];
export const id = (prefix: string) => prefix.padEnd(64, '0');
/** Of another node. */
export const otherPeerId = '12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp';
/** They say the same, so that a dial shows who is meant. */
export const underlayOf = (overlayHex: string, ip = '8.8') =>
  `/ip4/${ip}.${parseInt(overlayHex.slice(0, 2), 16)}.${parseInt(overlayHex.slice(2, 4), 16)}/tcp/1634/p2p/${peerId}`;

interface Announced {
  readonly to: string;
  readonly about: readonly string[];
}

/** Stopped when the test has finished; its overlay is all zero. */
export function table(
  options: Partial<KademliaOptions> = {},
  state = memoryRecords(),
  deps: Partial<Pick<KademliaDeps, 'addressBook' | 'isCommon' | 'knows' | 'log'>> = {},
) {
  const clock = new ManualClock();
  const {
    addressBook = createAddressBook(memoryRecords()),
    isCommon = () => false,
    knows = () => false,
    log = silentLogger(),
  } = deps;
  const peers = new Map<string, { peer: Peer; controller: AbortController }>();
  const listeners: { connected: (peer: Peer) => void; disconnected: (peer: Peer, reason: string) => void } = {
    connected: () => undefined,
    disconnected: () => undefined,
  };
  const dials: string[] = [];
  const drops: string[] = [];
  const probes: string[] = [];
  const announced: Announced[] = [];
  const blocked: BlocklistEntry[] = [];
  let picker = (_overlay: Uint8Array, _full: boolean): boolean => true;
  /** By default no node answers. */
  const net = {
    dial: (_underlay: string): string | Promise<string> => {
      throw new HostError('DIAL_FAILED', 'nobody there');
    },
    announce: (_to: string): void | Promise<void> => undefined,
    /** By default every peer can be reached. */
    probe: async (_underlay: string, _signal: AbortSignal): Promise<void> => undefined,
  };
  const connect = (
    overlayHex: string,
    direction: Peer['direction'] = 'inbound',
    fullNode = true,
    underlays = [underlayOf(overlayHex)],
  ): Peer => {
    const controller = new AbortController();
    const peer = fakePeer(fromHex(overlayHex), {
      fullNode,
      direction,
      underlays,
      connectedAt: clock.monotonic(),
      closed: controller.signal,
    });
    peers.set(overlayHex, { peer, controller });
    listeners.connected(peer);
    return peer;
  };
  const disconnect = (overlayHex: string, reason = 'gone'): void => {
    const entry = peers.get(overlayHex);
    if (entry === undefined) throw new HostError('PEER_NOT_FOUND', 'not connected');
    peers.delete(overlayHex);
    entry.controller.abort();
    drops.push(`${overlayHex.slice(0, 2)} ${reason}`);
    listeners.disconnected(entry.peer, reason);
  };
  const host = {
    overlay: new Uint8Array(32),
    setPicker: (pick: typeof picker) => {
      picker = pick;
    },
    onConnected: (listener: (peer: Peer) => void) => {
      listeners.connected = listener;
    },
    onDisconnected: (listener: (peer: Peer, reason: string) => void) => {
      listeners.disconnected = listener;
    },
    networkStatus: () => 'Available',
    peers: () => Array.from(peers.values(), ({ peer }) => peer),
    blocklisted: () => blocked,
    probe: async ([underlay = '']: readonly string[], signal: AbortSignal) => {
      probes.push(underlay);
      await net.probe(underlay, signal);
      return 1;
    },
    disconnect: async (overlayHex: string, reason: string) => disconnect(overlayHex, reason),
    connect: async (underlays: readonly string[]) => {
      const [underlay = ''] = underlays;
      dials.push(underlay);
      const overlayHex = await net.dial(underlay);
      return peers.get(overlayHex)?.peer ?? connect(overlayHex, 'outbound');
    },
  } as unknown as Host;
  let learned: (overlays: readonly string[]) => void = () => undefined;
  const hive = {
    announce: async (peer: Peer, about: readonly string[]) => {
      await net.announce(peer.overlayHex);
      announced.push({ to: peer.overlayHex, about });
    },
    onLearned: (listener: typeof learned) => {
      learned = listener;
    },
  };
  const kademlia = createKademlia(
    { ...FULL_NODE, ...options },
    {
      host,
      hive,
      addressBook,
      clock,
      random: { bytes: (length) => new Uint8Array(length), below: () => 0 },
      log,
      metrics: createMetrics({ prefix: 'svc' }),
      state,
      isCommon,
      knows,
    },
  );
  onTestFinished(() => kademlia.stop());
  /** @param claimed address of all of them; absent: each has its own */
  const know = async (overlays: readonly string[], ip?: string, claimed?: string): Promise<void> => {
    for (const overlayHex of overlays) {
      const record = {
        overlay: fromHex(overlayHex),
        underlay: encodeUnderlays([claimed ?? underlayOf(overlayHex, ip)]),
        signature: new Uint8Array(65),
        nonce: new Uint8Array(32),
        timestamp: 1n,
        chequebook: new Uint8Array(20),
      };
      await addressBook.put(record);
    }
    learned(overlays);
    await clock.settle();
  };
  const dialled = () => dials.splice(0).map((underlay) => underlay);
  const picks = (overlayHex: string) => picker(fromHex(overlayHex), true);
  return {
    kademlia,
    clock,
    addressBook,
    net,
    dialled,
    drops,
    probes,
    peers,
    announced,
    blocked,
    connect,
    disconnect,
    know,
    picks,
  };
}

export function everybodyHome(net: { dial: (underlay: string) => string | Promise<string> }): void {
  net.dial = (underlay) => {
    const [, , , , a, b] = /ip4\/(\d+)\.(\d+)\.((\d+)\.(\d+))/.exec(underlay)?.slice(0) ?? [];
    return id([a, b].map((part) => Number(part).toString(16).padStart(2, '0')).join(''));
  };
}

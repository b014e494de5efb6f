/** Peers and the routing table: `http-api-completion.md` 5.10, 5.13. */
import { toHex } from '../../../formats/crypto/hex.ts';
import type { BinSnapshot } from '../../topology/topology.ts';
import { ApiError } from '../errors.ts';
import { ACKNOWLEDGEMENT, route } from '../route/route.ts';
import { formatDuration } from '../values/duration.ts';
import { dateTime } from '../values/http-date.ts';
import { hex, multiAddress } from '../values/kinds.ts';
import { type Check, ONE_HASH, required, strictly } from '../values/params.ts';

const PATH = { address: required(hex, ONE_HASH) } as const;

/** Otherwise any node that listens there would do. */
const namesPeer: Check<string> = (address) =>
  /\/p2p\/[^/]+$/.test(address) ? undefined : 'want a peer: /p2p/ID at the end';

export const PEER_ROUTES = [
  route({
    method: 'GET',
    path: '/peers',
    port: 'both',
    summary: 'connected peers',
    gates: ['started'],
    success: [200],
    response: 'Peers',
    handle: ({ services: { host } }) => ({
      status: 200,
      json: { peers: host.peers().map(({ overlayHex, fullNode }) => ({ address: overlayHex, fullNode })) },
    }),
  }),
  route({
    method: 'DELETE',
    path: '/peers/{address}',
    port: 'both',
    summary: 'disconnect a peer',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['PEER_NOT_FOUND'],
    response: 'Acknowledgement',
    failure: 'PEER_CALL_FAILED',
    async handle({ params, services: { host } }) {
      await host.disconnect(toHex(params.address), 'disconnected over the API');
      return ACKNOWLEDGEMENT;
    },
  }),
  route({
    method: 'GET',
    path: '/blocklist',
    port: 'both',
    summary: 'refused peers',
    gates: ['started'],
    success: [200],
    response: 'BlockedPeers',
    failure: 'BLOCKLIST_FAILED',
    handle: ({ services: { host } }) => ({
      status: 200,
      json: {
        peers: host.blocklisted().map(({ overlay, fullNode, reason, durationMs }) => ({
          address: overlay,
          fullNode,
          reason,
          duration: Math.ceil(durationMs / 1000),
        })),
      },
    }),
  }),
  route({
    method: 'POST',
    path: '/connect/{multiAddress}',
    port: 'both',
    summary: 'connect to a peer',
    gates: ['started'],
    params: {
      multiAddress: required(multiAddress, { field: 'multi-address', checks: [strictly(namesPeer)] }),
    },
    success: [200],
    refusals: ['ALREADY_CONNECTED', 'SELF_DIAL', 'PEER_BLOCKLISTED'],
    response: 'OverlayAddress',
    // One answer for failed dials, so that nobody can scan a network through the node; the log has the reason. Its own
    // decisions reveal nothing about the other node.
    failure: 'DIAL_FAILED',
    errors: { UNDERLAY_INVALID: 'DIAL_REFUSED', PEER_NOT_ALLOWED: 'PEER_CALL_FAILED' },
    async handle({ params, services: { host }, signal }) {
      const peer = await host.connect([params.multiAddress], signal);
      return { status: 200, json: { address: peer.overlayHex } };
    },
  }),
  route({
    method: 'POST',
    path: '/pingpong/{address}',
    port: 'both',
    summary: 'round-trip time to a peer',
    gates: ['started'],
    params: PATH,
    success: [200],
    refusals: ['PEER_NOT_FOUND'],
    response: 'RoundTripTime',
    failure: 'PING_FAILED',
    async handle({ params, services: { host, pingpong }, signal }) {
      const peer = host.peer(toHex(params.address));
      if (peer === undefined) throw new ApiError('PEER_NOT_FOUND');
      return { status: 200, json: { rtt: formatDuration(await pingpong.ping(peer, signal)) } };
    },
  }),
  route({
    method: 'GET',
    path: '/topology',
    port: 'both',
    summary: 'known and connected peers by proximity order',
    gates: ['started'],
    success: [200],
    response: 'Topology',
    handle({ services: { topology, clock } }) {
      const { bins, lightNodes, ...totals } = topology.snapshot();
      return {
        status: 200,
        json: {
          ...totals,
          timestamp: dateTime(clock.now()),
          bins: Object.fromEntries(bins.map((bin, i) => [`bin_${i}`, bin])),
          lightNodes: withoutMetrics(lightNodes),
        },
      };
    },
  }),
];

function withoutMetrics(bin: BinSnapshot): BinSnapshot {
  const addresses = (peers: BinSnapshot['connectedPeers']) => peers.map(({ address }) => ({ address }));
  return {
    ...bin,
    disconnectedPeers: addresses(bin.disconnectedPeers),
    connectedPeers: addresses(bin.connectedPeers),
  };
}

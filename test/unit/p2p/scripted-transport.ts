/** The test is the other end of this transport, and sends what it likes. */
import type { Clock } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { HostError, StreamError } from '../../../node/p2p/host.ts';
import type { PeerHostDeps, PeerHostOptions } from '../../../node/p2p/host-options.ts';
import { createPeerHost } from '../../../node/p2p/peer-host.ts';
import { Inbox } from '../../../node/p2p/stream/inbox.ts';
import type { Link, LinkEvents, RawStream, Transport } from '../../../node/p2p/transport.ts';
import { memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from './memory-nodes.ts';

const OWN_ADDRESS = '/ip4/10.1.0.1/tcp/1634';
export const OWN_ID = '12D3KooWBXu3uGPMkjjxViK6autSnFH5QaKJgTwW8CaSxYSD6yYL';
export const THEIR_ADDRESS = '/ip4/10.1.0.2/tcp/1634';
export const THEIR_ID = '12D3KooWGTSzhShkoYo5Sc1wpKjanGDC7f9q7Bgy8mtqbVjSgzfw';

export interface ScriptedStream {
  readonly raw: RawStream;
  readonly written: Uint8Array[];
  readonly inbox: Inbox;
  over(): boolean;
}

export function scriptedStream(): ScriptedStream {
  const inbox = new Inbox(() => undefined);
  const written: Uint8Array[] = [];
  let over = false;
  const raw: RawStream = {
    write: (bytes) => void written.push(bytes),
    drained: () => undefined,
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => {
      over = true;
    },
    reset: (reason) => {
      over = true;
      inbox.fail(reason);
    },
  };
  return { raw, written, inbox, over: () => over };
}

export interface ScriptedLink extends Link {
  /** Why we closed it, if we have. */
  ended(): Error | undefined;
}

export interface ScriptedNode {
  readonly host: ReturnType<typeof createPeerHost>;
  /** The host knows of it. @param stream taken for whatever the host opens on it */
  link(end?: {
    remoteId?: string;
    remoteAddress?: string;
    direction?: Link['direction'];
    stream?: RawStream;
  }): ScriptedLink;
  supports(protocolId: string): boolean;
  accept(link: Link, protocolId: string, stream: RawStream): void;
  /** What the next dials get: `failure` when absent. */
  dialled: Link | undefined;
  failure: Error;
}

export async function scriptedNode(
  clock: Clock,
  options: Pick<PeerHostOptions, 'listensAt'> = {},
  deps: Partial<Pick<PeerHostDeps, 'addressBook' | 'state' | 'log'>> = {},
): Promise<ScriptedNode> {
  let events: LinkEvents | undefined;
  const open = new Set<Link>();
  const transport: Transport = {
    localId: OWN_ID,
    addresses: () => (events === undefined ? [] : [OWN_ADDRESS]),
    async start(given) {
      events = given;
    },
    async dial() {
      if (node.dialled === undefined) throw node.failure;
      return node.dialled;
    },
    probe: () => Promise.reject(new HostError('DIAL_FAILED', 'nobody answers')),
    async stop() {
      for (const link of open) link.close(new StreamError('STREAM_RESET', 'the host is closed'));
    },
  };
  const host = createPeerHost(
    {
      networkId: NETWORK_ID,
      nonce: ZERO_NONCE,
      fullNode: true,
      allowPrivateCidrs: true,
      welcomeMessage: '',
      ...options,
    },
    {
      transport,
      signer: createSigner(testKey(1)),
      addressBook: createAddressBook(memoryRecords()),
      state: memoryRecords(),
      clock,
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
      ...deps,
    },
  );
  await host.start();
  const node: ScriptedNode = {
    host,
    dialled: undefined,
    failure: new HostError('DIAL_FAILED', 'nobody answers'),
    link({ remoteId = THEIR_ID, remoteAddress = THEIR_ADDRESS, direction = 'inbound', stream } = {}) {
      let ended: Error | undefined;
      const link: ScriptedLink = {
        remoteId,
        remoteAddress,
        direction,
        listenAddresses: async () => [`${remoteAddress}/p2p/${remoteId}`],
        open: () => stream ?? scriptedStream().raw,
        negotiate: async ([first = '']) => ({ protocolId: first, stream: stream ?? scriptedStream().raw }),
        close(reason) {
          if (!open.delete(link)) return;
          ended = reason;
          events?.closed(link);
        },
        ended: () => ended,
      };
      open.add(link);
      events?.opened(link);
      return link;
    },
    supports: (protocolId) => events?.supports(protocolId) ?? false,
    accept: (link, protocolId, stream) => events?.accepted(link, protocolId, stream),
  };
  return node;
}

/**
 * One chunk's way across nodes as one trace, by a context in stream headers (`p2p-protocols.md` 2.2). Span names are those
 * of the public network's nodes where they exist.
 */
import { toHex } from '../../formats/crypto/hex.ts';
import { contextOfStream, streamHeaders } from '../env/tracing/span-context.ts';
import type { Tracing } from '../env/tracing/tracing.ts';
import type { Host } from '../p2p/host.ts';
import type { Pushsync } from './pushsync/pushsync.ts';
import { PUSHSYNC } from './pushsync/wire.ts';
import type { Retrieval } from './retrieval/retrieval.ts';
import { RETRIEVAL } from './retrieval/wire.ts';

export const SERVED_AS = { [PUSHSYNC.id]: 'pushsync-handler', [RETRIEVAL.id]: 'handle-retrieve-chunk' };

/** Protocol id → span of serving its streams; absent: none. */
type ServedAs = Readonly<Record<string, string>>;

type StreamHost = Pick<Host, 'overlay' | 'open' | 'handle' | 'misbehaved' | 'isSuspect'>;

/** Its streams carry the context of the work that opens them. */
export function tracedHost(host: StreamHost, tracing: Tracing, servedAs: ServedAs): StreamHost {
  return {
    overlay: host.overlay,
    misbehaved: (...fault) => host.misbehaved(...fault),
    isSuspect: (peer) => host.isSuspect(peer),
    open(peer, protocolId, options) {
      const current = tracing.current();
      if (current === undefined) return host.open(peer, protocolId, options);
      const headers = new Map([...(options.headers ?? []), ...streamHeaders(current.context)]);
      return host.open(peer, protocolId, { ...options, headers });
    },
    handle(protocol, handler, answer) {
      const name = servedAs[protocol.id];
      if (name === undefined) return host.handle(protocol, handler, answer);
      host.handle(
        protocol,
        (stream, signal) => {
          const { headers, peer } = stream;
          const parent = contextOfStream(headers) ?? 'none';
          const attributes = { 'peer.overlay': peer.overlayHex };
          return tracing.span(name, { kind: 'server', parent, attributes }, () => handler(stream, signal));
        },
        answer,
      );
    },
  };
}

/** Kept for chunks pushed after the upload. */
export function uploadKey(tagUid: number): string {
  return `tag ${tagUid}`;
}

/** A deferred chunk's push is part of its upload, unless this node has restarted since. */
export function tracedPushsync(pushsync: Pushsync, tracing: Tracing): Pushsync {
  return {
    push(chunk, stamp, options) {
      const kept = options.tagUid === undefined ? undefined : tracing.kept(uploadKey(options.tagUid));
      const settings = {
        parent: tracing.current()?.context ?? kept,
        attributes: { 'chunk.address': toHex(chunk.address), 'tag.uid': options.tagUid },
      };
      return tracing.span('push-chunk', settings, async (span) => {
        const result = await pushsync.push(chunk, stamp, options);
        const storerPO = result.outcome === 'synced' ? result.storerPO : undefined;
        span.annotate({ outcome: result.outcome, 'storer.proximity_order': storerPO });
        return result;
      });
    },
  };
}

export function tracedRetrieval(retrieval: Retrieval, tracing: Tracing): Retrieval {
  return {
    retrieve: (address, options) =>
      tracing.span('get-chunk', { attributes: { 'chunk.address': toHex(address) } }, () =>
        retrieval.retrieve(address, options),
      ),
  };
}

/**
 * Two nodes introduce themselves, on a separate stream without headers:
 *
 *   dialler → acceptor   Syn     where the dialler sees the acceptor
 *   dialler ← acceptor   SynAck  where the acceptor sees the dialler, and the acceptor's signed record
 *   dialler → acceptor   Ack     the dialler's signed record
 *   both close
 *
 * The side that finds an error resets the stream and closes the connection. The host registers the peer before the close,
 * because the peer may open streams at once.
 */
import type { Clock } from '../../../formats/clock.ts';
import type { Counter } from '../../env/metric-series.ts';
import type { MetricsOf } from '../../env/metrics.ts';
import { encodeUnderlays, fittingUnderlays, withPeerId } from '../address/underlay.ts';
import type { AddressRecord, Generation } from '../host.ts';
import type { HANDSHAKE_METRICS } from '../metrics.ts';
import type { FramedStream } from '../stream/framed-stream.ts';
import {
  type AckContext,
  ackMessage,
  checkAck,
  checkObserved,
  type Introduction,
  parseObserved,
  partsOf,
} from './rules.ts';
import { Ack, Syn, SynAck } from './wire.ts';

/** Limit of the whole exchange, on each side. */
export const HANDSHAKE_TIMEOUT_MS = 15_000;

export interface HandshakeOptions {
  readonly networkId: bigint;
  readonly fullNode: boolean;
  readonly localId: string;
}

export interface HandshakeDeps {
  readonly clock: Clock;
  readonly ownRecord: (generation: Generation) => Promise<AddressRecord>;
  readonly welcomeMessage: () => string;
  readonly stored: (overlay: Uint8Array) => AddressRecord | undefined;
  readonly picks: (overlay: Uint8Array, fullNode: boolean) => boolean;
  readonly metrics: MetricsOf<typeof HANDSHAKE_METRICS>;
}

export interface RemoteEndpoint {
  readonly remoteId: string;
  /** With or without its id; at least one. */
  readonly addresses: readonly string[];
}

/** Refuses a valid introduction by throwing, or registers the peer at once. */
export type Admit<T> = (introduction: Introduction) => T;

export interface Handshake {
  /** Dialling side: admits the other first. @throws HandshakeError, StreamError, what `admit` throws */
  introduce<T>(
    stream: FramedStream,
    generation: Generation,
    seen: RemoteEndpoint,
    admit: Admit<T>,
  ): Promise<T>;
  /** @throws HandshakeError, StreamError, what `admit` throws */
  answer<T>(
    stream: FramedStream,
    generation: Generation,
    seen: () => Promise<RemoteEndpoint>,
    admit: Admit<T>,
  ): Promise<T>;
}

export function createHandshake(options: HandshakeOptions, deps: HandshakeDeps): Handshake {
  const { networkId, fullNode, localId } = options;
  const ownAck = async (generation: Generation) => {
    const record = await deps.ownRecord(generation);
    return ackMessage({ record, networkId, fullNode, welcomeMessage: deps.welcomeMessage() });
  };
  const context = (generation: Generation, { remoteId }: RemoteEndpoint): AckContext => ({
    generation,
    networkId,
    remoteId,
    nowSeconds: BigInt(Math.floor(deps.clock.now() / 1000)),
    stored: deps.stored,
  });
  return {
    async introduce(stream, generation, seen, admit) {
      await stream.write(Syn, synFor(seen));
      const { syn, ack } = partsOf(await stream.read(SynAck));
      checkObserved(syn.observedUnderlay, localId);
      const admitted = admit(checkAck(ack, context(generation, seen)));
      await stream.write(Ack, await ownAck(generation));
      return admitted;
    },
    async answer(stream, generation, seen, admit) {
      const { metrics } = deps;
      const other = await counted(metrics.synReceived, metrics.synFailed, async () => {
        const [syn, other] = await Promise.all([stream.read(Syn), seen()]);
        parseObserved(syn.observedUnderlay);
        return other;
      });
      await counted(metrics.synAckSent, metrics.synAckFailed, async () =>
        stream.write(SynAck, { syn: synFor(other), ack: await ownAck(generation) }),
      );
      return counted(metrics.ackReceived, metrics.ackFailed, async () =>
        admit(checkAck(await stream.read(Ack), { ...context(generation, other), picks: deps.picks })),
      );
    },
  };
}

async function counted<T>(done: Counter, failed: Counter, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    done.inc();
    return result;
  } catch (error) {
    failed.inc();
    throw error;
  }
}

function synFor(seen: RemoteEndpoint): { observedUnderlay: Uint8Array } {
  const underlays = seen.addresses.map((address) => withPeerId(address, seen.remoteId));
  return { observedUnderlay: encodeUnderlays(fittingUnderlays(underlays)) };
}

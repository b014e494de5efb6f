/**
 * Round trip to a peer, any number of rounds on a stream. `p2p-protocols.md` 4.4.
 *
 *   Ping{greeting}      ──►
 *                       ◄──        Pong{"{" greeting "}"}
 */
import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { Metrics } from '../../env/metrics.ts';
import { RateLimits } from '../../env/turns/rate-limit.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import { type Host, type MessageStream, type Peer, StreamError } from '../../p2p/host.ts';
import { converse } from '../conversation.ts';
import { PINGPONG_METRICS } from './metrics.ts';
import { PINGPONG, Ping, Pong } from './wire.ts';

const GREETING = 'ping';
const ROUND_TIMEOUT_MS = 60_000;
/** Per peer, over all its streams; answers beyond this rate wait. A node pings a peer every few seconds at most. */
const PINGS = { perSecond: 500, burst: 50 } as const;

export interface PingpongDeps {
  readonly host: Pick<Host, 'handle' | 'open'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface Pingpong {
  /** @returns ms, opening the stream included @throws StreamError; the signal's reason */
  ping(peer: Peer, signal: AbortSignal): Promise<number>;
}

export function createPingpong(deps: PingpongDeps): Pingpong {
  const { host, clock } = deps;
  const metrics = deps.metrics.register(PINGPONG_METRICS);
  const limits = new RateLimits(PINGS, clock);
  host.handle(PINGPONG, async (stream, signal) => {
    const limit = limits.of(stream.peer.overlayHex);
    for (;;) {
      const ping = await nextPing(stream, deps.clock, signal);
      if (ping === undefined) return;
      await limit.take(1, signal);
      metrics.pingReceived.inc();
      await stream.write(Pong, { response: `{${ping.greeting}}` });
      metrics.pongSent.inc();
    }
  });
  return {
    async ping(peer, signal) {
      using deadline = clock.deadline(ROUND_TIMEOUT_MS, signal);
      const start = clock.monotonic();
      return await converse(
        { peer, protocol: PINGPONG.id, signal: deadline.signal },
        deps,
        async (stream) => {
          await stream.write(Ping, { greeting: GREETING });
          metrics.pingSent.inc();
          await stream.read(Pong);
          metrics.pongReceived.inc();
          return clock.monotonic() - start;
        },
      );
    },
  };
}

/** Undefined once the other side has closed. */
async function nextPing(
  stream: MessageStream,
  clock: Clock,
  signal: AbortSignal,
): Promise<MessageOf<typeof Ping> | undefined> {
  using deadline = clock.deadline(ROUND_TIMEOUT_MS, signal);
  try {
    return await stream.read(Ping, deadline.signal);
  } catch (error) {
    if (error instanceof StreamError && error.code === 'STREAM_ENDED') return undefined;
    throw error;
  }
}

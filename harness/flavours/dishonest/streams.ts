/** Streams that are slow, endless or come in thousands, all bounded. */
import { PINGPONG, Ping, Pong } from '../../../node/protocols/pingpong/wire.ts';
import { PULLSYNC } from '../../../node/protocols/pullsync/wire.ts';
import { PUSHSYNC } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import { STATUS } from '../../../node/protocols/status/wire.ts';
import type { Behaviour, Stage } from './behaviour.ts';
import { pause, succeeds, withPeers, withStream } from './steps.ts';

/** Longer than an honest node waits before it asks another peer. */
const SLOW_MS = 8_000;
const SLOW = new Set<string>([PUSHSYNC.id, RETRIEVAL.id, PULLSYNC.id, STATUS.id]);
const OPENED_EVERY_MS = 20;
const ENDLESS = [PINGPONG.id, STATUS.id, RETRIEVAL.id, PUSHSYNC.id, PULLSYNC.id] as const;
const ENDLESS_MAX = 1_000;
const FLOOD_EVERY_MS = 50;
const PINGS_AT_ONCE = 50;
const STREAMS_AT_ONCE = 20;

export const SLOW_STREAMS: Behaviour = {
  about: 'answers like an honest node, each message some seconds late',
  alters: ({ clock, count, signal }) => {
    return async ({ protocol, message }) => {
      if (!SLOW.has(protocol)) return message;
      count('messages delayed');
      await pause(clock, SLOW_MS, signal);
      return message;
    };
  },
};

export const ENDLESS_STREAMS: Behaviour = {
  about: 'opens streams on which it says nothing, and ends none of them',
  acts: (stage) => {
    const open = new WeakMap<object, number>();
    return withPeers(stage, OPENED_EVERY_MS, (peer) =>
      succeeds(async () => {
        const before = open.get(peer) ?? 0;
        if (before >= ENDLESS_MAX) return;
        const protocol = ENDLESS[before % ENDLESS.length] ?? PINGPONG.id;
        await stage.host.open(peer, protocol, { signal: stage.signal });
        open.set(peer, before + 1);
        stage.count('streams left open');
      }),
    );
  },
};

export const FLOOD: Behaviour = {
  about: 'sends pings, asks for chunks that do not exist and opens streams that it resets, by the hundred',
  acts: (stage) => withPeers(stage, FLOOD_EVERY_MS, (peer) => flood(stage, peer)),
};

async function flood(stage: Stage, peer: Parameters<typeof withStream>[1]): Promise<void> {
  const { random, count } = stage;
  const pings = withStream(stage, peer, PINGPONG.id, async (stream) => {
    for (let n = 0; n < PINGS_AT_ONCE; n++) {
      await stream.write(Ping, { greeting: 'ping' });
      count('pings sent');
    }
    await stream.read(Pong);
  });
  const requests = Array.from({ length: STREAMS_AT_ONCE }, () =>
    withStream(stage, peer, RETRIEVAL.id, async (stream) => {
      await stream.write(Request, { addr: random.bytes(32) });
      count('chunks asked for that do not exist');
      await stream.read(Delivery);
    }),
  );
  const resets = Array.from({ length: STREAMS_AT_ONCE }, () =>
    withStream(stage, peer, STATUS.id, () => {
      count('streams reset');
      return Promise.resolve();
    }),
  );
  await Promise.all([pings, ...requests, ...resets]);
}

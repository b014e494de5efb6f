/** What is heard of nodes that never stop talking. */
import { expect, test } from 'vitest';
import { tapped } from '../../../../harness/cluster/heard.ts';
import { type TapEvent, TapRing } from '../../../../harness/places/links/tap/events.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const event = (stream: string): TapEvent => ({
  at: 0,
  from: 'node-0',
  to: 'node-1',
  stream,
  protocol: 'pingpong',
  id: '/pingpong',
  kind: 'message',
  name: 'ping',
  fields: {},
  bytes: 1,
});

/** Of a cluster whose nodes say something whenever they are asked for. */
function heard(ring: TapRing, kept: boolean) {
  const tap = {
    tapped: async (after: number) => {
      const batch = await ring.tapped(after);
      ring.add(event('later'));
      return batch;
    },
  };
  const cluster = {
    clock: new ManualClock(),
    stateDir: '/nowhere',
    record: { name: 'net' },
    driver: { name: 'process', can: { tap: { tap: () => tap } } },
  };
  return tapped(cluster as unknown as Parameters<typeof tapped>[0], { kept });
}

test('what is kept ends, though they go on', async () => {
  const ring = new TapRing();
  for (let n = 0; n < 2500; n++) ring.add(event(`s${n}`));
  const streams: string[] = [];
  for await (const { stream } of heard(ring, true)) {
    streams.push(stream);
    if (streams.length > 5000) break;
  }
  expect(streams.slice(0, 2500)).toEqual(Array.from({ length: 2500 }, (_, n) => `s${n}`));
  expect(streams.length).toBeLessThan(2600);
});

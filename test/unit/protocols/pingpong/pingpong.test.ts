import { expect, test } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { createPingpong } from '../../../../node/protocols/pingpong/pingpong.ts';
import { PINGPONG, Ping, Pong } from '../../../../node/protocols/pingpong/wire.ts';
import { type MemoryNode, startedNodes } from '../../p2p/memory-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const never = new AbortController().signal;

async function players() {
  const clock = new ManualClock();
  const [a, b] = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
  const [ours] = [a, b].map(({ host }) =>
    createPingpong({ host, clock, log: silentLogger(), metrics: createMetrics({ prefix: 'svc' }) }),
  );
  const peer = await a.host.connect([b.underlay()], never);
  return { a, b, clock, ours, peer };
}

test('a ping measures the time until its answer', async () => {
  const { ours, peer } = await players();
  expect(await ours?.ping(peer, never)).toBe(0);
});

test('any number of rounds runs on one stream, each greeting is returned in braces', async () => {
  const { a, peer } = await players();
  const stream = await a.host.open(peer, PINGPONG.id, { signal: never });
  for (const greeting of ['hey', '', 'there', 'äöü']) {
    await stream.write(Ping, { greeting });
    expect(await stream.read(Pong)).toEqual({ response: `{${greeting}}` });
  }
  await stream.close();
});

test('a stream that is silent for a minute is reset', async () => {
  const { a, clock, peer } = await players();
  const stream = await a.host.open(peer, PINGPONG.id, { signal: never });
  const reading = expect(stream.read(Pong)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await clock.advance(60_000);
  await reading;
});

test('a ping ends when its caller aborts', async () => {
  const { ours, peer } = await players();
  const controller = new AbortController();
  controller.abort(new Error('never mind'));
  await expect(ours?.ping(peer, controller.signal)).rejects.toThrow('never mind');
});

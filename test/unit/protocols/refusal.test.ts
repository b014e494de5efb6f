import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { CURSORS, PULLSYNC } from '../../../node/protocols/pullsync/wire.ts';
import { PUSHSYNC } from '../../../node/protocols/pushsync/wire.ts';
import { refusingHost } from '../../../node/protocols/refusal.ts';
import { RETRIEVAL } from '../../../node/protocols/retrieval/wire.ts';
import { type MemoryNode, startedNodes } from '../p2p/memory-nodes.ts';
import { ManualClock } from './manual-clock.ts';

const never = new AbortController().signal;

test.each([RETRIEVAL, PUSHSYNC, PULLSYNC, CURSORS])(
  'a peer that opens $id to a node that does not serve it is refused for a minute',
  async (protocol) => {
    const clock = new ManualClock();
    const [asking, other] = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
    refusingHost(other.host).handle(protocol, async () => undefined);
    const peer = await asking.host.connect([other.underlay()], never);
    await clock.settle();
    const stream = await asking.host.open(peer, protocol.id, { signal: never });
    await clock.settle();
    expect(peer.closed.aborted).toBe(true);
    await expect(stream.read({})).rejects.toThrow();
    expect(other.host.blocklisted()).toMatchObject([
      {
        overlay: toHex(asking.host.overlay),
        durationMs: 60_000,
        reason: 'unexpected request while in light mode',
      },
    ]);
    await expect(asking.host.connect([other.underlay()], never)).rejects.toThrow();
    await clock.advance(60_000);
    expect((await asking.host.connect([other.underlay()], never)).overlayHex).toBe(peer.overlayHex);
  },
);

test('it can open them itself', async () => {
  const clock = new ManualClock();
  const [light, full] = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
  let served = 0;
  full.host.handle(RETRIEVAL, async () => void served++);
  const peer = await light.host.connect([full.underlay()], never);
  const stream = await refusingHost(light.host).open(peer, RETRIEVAL.id, { signal: never });
  await stream.close();
  expect(served).toBe(1);
});

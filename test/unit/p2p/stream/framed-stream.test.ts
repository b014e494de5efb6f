import { expect, test } from 'vitest';
import { FramedStream, type StreamMeter } from '../../../../node/p2p/stream/framed-stream.ts';
import { HeadersMessage, headersMessage, NO_HEADERS } from '../../../../node/p2p/stream/headers.ts';
import type { RawStream } from '../../../../node/p2p/transport.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const meterOf = (): StreamMeter => ({
  sent: { value: 0 },
  received: { value: 0 },
  closed: { value: 0 },
  reset: { value: 0 },
});

function rawStream(pieces: Uint8Array[]): RawStream & { readonly written: Uint8Array[] } {
  const written: Uint8Array[] = [];
  return {
    written,
    write: (bytes: Uint8Array) => void written.push(bytes),
    drained: () => undefined,
    read: () => Promise.resolve(pieces.shift()),
    take: () => undefined,
    closeWrite: () => undefined,
    reset: () => undefined,
  };
}

test('bytes are counted with their length prefixes, and a stream ends once', async () => {
  const meter = meterOf();
  const raw = rawStream([Uint8Array.of(0), Uint8Array.of(0)]);
  const stream = new FramedStream(raw, { clock: new ManualClock(), meter });
  await stream.write(HeadersMessage, headersMessage(NO_HEADERS));
  await stream.read(HeadersMessage);
  await stream.read(HeadersMessage);
  await stream.close();
  stream.reset(new Error('too late to count'));
  expect(meter.sent.value).toBe(raw.written.reduce((sum, bytes) => sum + bytes.length, 0));
  expect(meter.sent.value).toBeGreaterThan(0);
  expect(meter).toMatchObject({ received: { value: 2 }, closed: { value: 1 }, reset: { value: 0 } });
});

test('a stream that breaks off counts as reset', async () => {
  const meter = meterOf();
  const stream = new FramedStream(rawStream([Uint8Array.of(0)]), { clock: new ManualClock(), meter });
  await expect(stream.close()).rejects.toThrow('bytes instead of the end of the stream');
  expect(meter).toMatchObject({ closed: { value: 0 }, reset: { value: 1 } });
});

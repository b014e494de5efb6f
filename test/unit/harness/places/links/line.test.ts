import { describe, expect, it, test } from 'vitest';
import {
  FREE,
  LINK_PROFILES,
  type LinkConditions,
  type Shape,
  shapeOf,
} from '../../../../../harness/places/links/conditions.ts';
import { Line, pieceBytes } from '../../../../../harness/places/links/line.ts';

function shaped(conditions: LinkConditions, oneWay = false): Shape {
  return shapeOf([{ conditions, oneWay }]);
}

describe('a line', () => {
  it('delays by half a round trip, however much is in flight', () => {
    const line = new Line('1');
    const shape = shaped({ latencyMs: 200 });
    const dues = Array.from({ length: 1000 }, (_, ms) => line.send(ms, 65_536, shape).dueAt);
    expect(dues).toEqual(Array.from({ length: 1000 }, (_, ms) => ms + 100));
  });

  it('delays by a whole round trip when only one direction is meant', () => {
    expect(new Line('1').send(0, 1, shaped({ latencyMs: 200 }, true)).dueAt).toBe(200);
  });

  it('passes a limited number of bytes a second, and holds back what was sent later', () => {
    const line = new Line('1');
    const shape = shaped({ bytesPerSecond: 1_000_000 });
    expect([line.send(0, 500_000, shape).dueAt, line.send(0, 500_000, shape).dueAt]).toEqual([500, 1000]);
    // Idle in between, it has nothing saved up.
    expect(line.send(5000, 1000, shape).dueAt).toBe(5001);
  });

  it('keeps the order despite jitter, and draws the same for the same seed', () => {
    const draw = (seed: string) => {
      const line = new Line(seed);
      const shape = shaped({ latencyMs: 100, jitterMs: 80 });
      return Array.from({ length: 500 }, (_, i) => line.send(i * 10, 100, shape).dueAt);
    };
    const dues = draw('7');
    expect(dues).toEqual(dues.toSorted((a, b) => a - b));
    expect(Math.min(...dues.map((due, i) => due - i * 10))).toBeGreaterThanOrEqual(10);
    expect(new Set(dues.map((due, i) => due - i * 10)).size).toBeGreaterThan(100);
    expect(draw('7')).toEqual(dues);
    expect(draw('8')).not.toEqual(dues);
  });

  it('holds what is behind a lost packet until the packet is sent again', () => {
    const line = new Line('1');
    expect(line.send(0, 1448, shaped({ loss: 1 })).dueAt).toBe(200);
    expect(line.send(10, 1448, FREE).dueAt).toBe(200);
    expect(new Line('1').send(0, 1448, shaped({ loss: 1, latencyMs: 600 })).dueAt).toBe(900);
    const lost = Array.from(
      { length: 2000 },
      (_, i) => new Line(`${i}`).send(0, 1448, shaped({ loss: 0.05 })).dueAt,
    );
    const share = lost.filter((due) => due > 0).length / lost.length;
    expect(share).toBeGreaterThan(0.03);
    expect(share).toBeLessThan(0.07);
  });

  it('is not taken up a second time, when it changes, by what has left it', () => {
    const line = new Line('1');
    const shape = shaped({ latencyMs: 2000, bytesPerSecond: 1_000_000 });
    const sent = Array.from({ length: 20 }, () => line.send(0, 50_000, shape));
    line.become(1000, shape, sent);
    expect(sent.at(-1)?.dueAt).toBe(2000);
    expect(line.send(1000, 10_000, shape).dueAt).toBe(2010);
  });

  it('is taken up for as long as a change leaves by what has not left it', () => {
    const line = new Line('1');
    const sent = [1, 2, 3].map(() => line.send(0, 1000, shaped({ latencyMs: 20, bytesPerSecond: 1000 })));
    const faster = shaped({ latencyMs: 20, bytesPerSecond: 10_000 });
    line.become(1500, faster, sent.slice(1));
    expect([...sent, line.send(1500, 1000, faster)].map(({ dueAt }) => dueAt)).toEqual([
      1010, 1610, 1710, 1810,
    ]);
  });

  it('draws nothing anew when it changes', () => {
    const line = new Line('1');
    const shape = shaped({ latencyMs: 1000, jitterMs: 500, loss: 0.5 });
    const sent = Array.from({ length: 20 }, (_, ms) => line.send(ms, 1448, shape));
    const dues = sent.map(({ dueAt }) => dueAt);
    for (let ms = 20; ms < 100; ms++) line.become(ms, shape, sent);
    expect(sent.map(({ dueAt }) => dueAt)).toEqual(dues);
  });
});

test('conditions of several faults combine: latencies are summed, the lowest bandwidth applies', () => {
  const slow = { conditions: { latencyMs: 100, bytesPerSecond: 5000 }, oneWay: false };
  const slower = { conditions: { latencyMs: 50, bytesPerSecond: 2000, stall: true }, oneWay: true } as const;
  expect(shapeOf([slow, slower])).toMatchObject({ delayMs: 100, bytesPerSecond: 2000, stalls: true });
});

test('a slow line takes small pieces, a line without a limit whatever comes', () => {
  expect(pieceBytes(shaped({ bytesPerSecond: 1_000_000 }))).toBe(20_000);
  expect(pieceBytes(shaped({ bytesPerSecond: 10 }))).toBe(1448);
  expect(pieceBytes(FREE)).toBe(Number.POSITIVE_INFINITY);
});

test('every profile states its round-trip time', () => {
  for (const profile of Object.values(LINK_PROFILES)) expect(profile.latencyMs).toBeGreaterThan(0);
});

import { describe, expect, it, test } from 'vitest';
import {
  FREE,
  LINK_PROFILES,
  type LinkConditions,
  type Shape,
  shapeOf,
} from '../../../../harness/links/conditions.ts';
import { Line, pieceBytes } from '../../../../harness/links/line.ts';

function shaped(conditions: LinkConditions, oneWay = false): Shape {
  return shapeOf([{ conditions, oneWay }]);
}

describe('a line', () => {
  it('delays by half a round trip, however much is in flight', () => {
    const line = new Line('1');
    const shape = shaped({ latencyMs: 200 });
    const dues = Array.from({ length: 1000 }, (_, ms) => line.due(ms, 65_536, shape));
    expect(dues).toEqual(Array.from({ length: 1000 }, (_, ms) => ms + 100));
  });

  it('delays by a whole round trip when only one direction is meant', () => {
    expect(new Line('1').due(0, 1, shaped({ latencyMs: 200 }, true))).toBe(200);
  });

  it('passes a limited number of bytes a second, and holds back what was sent later', () => {
    const line = new Line('1');
    const shape = shaped({ bytesPerSecond: 1_000_000 });
    expect([line.due(0, 500_000, shape), line.due(0, 500_000, shape)]).toEqual([500, 1000]);
    // Idle in between, it has nothing saved up.
    expect(line.due(5000, 1000, shape)).toBe(5001);
  });

  it('keeps the order despite jitter, and draws the same for the same seed', () => {
    const draw = (seed: string) => {
      const line = new Line(seed);
      const shape = shaped({ latencyMs: 100, jitterMs: 80 });
      return Array.from({ length: 500 }, (_, i) => line.due(i * 10, 100, shape));
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
    expect(line.due(0, 1448, shaped({ loss: 1 }))).toBe(200);
    expect(line.due(10, 1448, FREE)).toBe(200);
    expect(new Line('1').due(0, 1448, shaped({ loss: 1, latencyMs: 600 }))).toBe(900);
    const lost = Array.from({ length: 2000 }, (_, i) =>
      new Line(`${i}`).due(0, 1448, shaped({ loss: 0.05 })),
    );
    const share = lost.filter((due) => due > 0).length / lost.length;
    expect(share).toBeGreaterThan(0.03);
    expect(share).toBeLessThan(0.07);
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

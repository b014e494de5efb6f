/**
 * Chunks in transit: dots that move along a link for as long as the eye needs, which is longer than the chunk
 * takes. With reduced motion nothing moves: the link is highlighted for that time.
 */

import { themeColour } from '../base/dom.ts';
import type { Point } from '../network/layout.ts';
import type { ChunkMove } from '../picture/live.ts';

const FLIGHT_MS = 900;
/**
 * Moves arrive in batches; each batch is spread over the expected time until the next, which is about the
 * time since the last.
 */
const SPREAD_MS = { min: 300, max: 2500 } as const;
/** More dots than this are a cloud; the figures cover the rest. */
const FLIGHTS_MAX = 400;
const TAIL = 0.09;
const COLOURS = { push: '--series-1', retrieval: '--series-2', pull: '--series-3' } as const;

export interface Flight {
  readonly kind: ChunkMove['kind'];
  readonly from: Point;
  readonly bend: Point;
  readonly to: Point;
}

export class Flights {
  readonly #canvas: HTMLCanvasElement;
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)');
  #flying: { readonly flight: Flight; readonly startsAt: number }[] = [];
  #addedAt = 0;
  #drawing = false;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  add(flights: readonly Flight[]): void {
    const now = performance.now();
    const spreadMs = Math.max(SPREAD_MS.min, Math.min(SPREAD_MS.max, now - this.#addedAt));
    this.#addedAt = now;
    const begun = flights.map((flight, i) => ({ flight, startsAt: now + (i / flights.length) * spreadMs }));
    this.#flying = [...this.#flying, ...begun].slice(-FLIGHTS_MAX);
    if (this.#flying.length === 0 || this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame((at) => this.#draw(at));
  }

  #draw(now: number): void {
    const context = this.#canvas.getContext('2d') as CanvasRenderingContext2D;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    this.#flying = this.#flying.filter(({ startsAt }) => now - startsAt < FLIGHT_MS);
    context.lineCap = 'round';
    for (const kind of ['pull', 'push', 'retrieval'] as const) {
      context.strokeStyle = themeColour(this.#canvas, COLOURS[kind]);
      context.lineWidth = this.#still.matches ? 1.5 : 4;
      context.beginPath();
      for (const { flight, startsAt } of this.#flying) {
        const share = (now - startsAt) / FLIGHT_MS;
        if (flight.kind === kind && share >= 0) this.#trace(context, flight, share);
      }
      context.stroke();
    }
    this.#drawing = this.#flying.length > 0;
    if (this.#drawing) requestAnimationFrame((at) => this.#draw(at));
  }

  #trace(context: CanvasRenderingContext2D, { from, bend, to }: Flight, share: number): void {
    if (this.#still.matches) {
      context.moveTo(from.x, from.y);
      context.quadraticCurveTo(bend.x, bend.y, to.x, to.y);
      return;
    }
    const [tail, head] = [Math.max(0, share - TAIL), share].map((at) => pointAt(at, { from, bend, to })) as [
      Point,
      Point,
    ];
    context.moveTo(tail.x, tail.y);
    context.lineTo(head.x, head.y);
  }
}

function pointAt(share: number, { from, bend, to }: Pick<Flight, 'from' | 'bend' | 'to'>): Point {
  const rest = 1 - share;
  const mix = (a: number, b: number, c: number) => rest * rest * a + 2 * rest * share * b + share * share * c;
  return { x: mix(from.x, bend.x, to.x), y: mix(from.y, bend.y, to.y) };
}

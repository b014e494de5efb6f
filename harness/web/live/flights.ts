/**
 * Chunks in transit: dashes on a link, for as long as the eye needs. With reduced motion the link is highlighted instead.
 * Their own canvas between links and nodes keeps five thousand links from being redrawn.
 */

import { element, themeColour } from '../base/dom.ts';
import type { Curve } from '../network/drawing.ts';
import type { Point } from '../network/layout.ts';
import type { Ring } from '../network/ring.ts';
import type { ChunkMove } from '../picture/live.ts';

const FLIGHT_MS = 900;
/** A batch of moves is spread over the expected time to the next. */
const SPREAD_MS = { min: 300, max: 2500 } as const;
const FLIGHTS_MAX = 400;
const TAIL = 0.09;
/** Without motion, lines only appear and vanish. */
const STILL_MS = 250;

export const CHUNK_KINDS = {
  push: { text: 'chunk pushed', colour: '--series-1' },
  retrieval: { text: 'chunk retrieved', colour: '--series-2' },
  pull: { text: 'chunk synced', colour: '--series-3' },
} as const satisfies Record<ChunkMove['kind'], { text: string; colour: string }>;

interface Flight extends Curve {
  readonly kind: ChunkMove['kind'];
  /** As `performance.now()`. */
  readonly startsAt: number;
}

export class Flights {
  readonly #ring: Ring;
  readonly #canvas = element('canvas', { 'aria-hidden': 'true' });
  readonly #still = matchMedia('(prefers-reduced-motion: reduce)');
  #flying: readonly Flight[] = [];
  #addedAt = 0;
  #drawing = false;

  constructor(ring: Ring) {
    this.#ring = ring;
    ring.root.append(this.#canvas);
  }

  add(moves: readonly ChunkMove[]): void {
    const now = performance.now();
    const spreadMs = Math.max(SPREAD_MS.min, Math.min(SPREAD_MS.max, now - this.#addedAt));
    this.#addedAt = now;
    const begun = moves.flatMap(({ kind, from, to }, i): Flight[] => {
      const curve = this.#ring.curve(from, to);
      return curve === undefined ? [] : [{ kind, ...curve, startsAt: now + (i / moves.length) * spreadMs }];
    });
    this.#flying = [...this.#flying, ...begun].slice(-FLIGHTS_MAX);
    if (this.#flying.length === 0 || this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame((at) => this.#draw(at));
  }

  #draw(now: number): void {
    const canvas = this.#canvas;
    const context = canvas.getContext('2d') as CanvasRenderingContext2D;
    const size = Math.round(canvas.clientWidth * devicePixelRatio);
    if (canvas.width !== size) canvas.width = canvas.height = size;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, size, size);
    this.#flying = this.#flying.filter(({ startsAt }) => now - startsAt < FLIGHT_MS);
    context.lineCap = 'round';
    context.lineWidth = this.#still.matches ? 1.5 : 4;
    for (const [kind, { colour }] of Object.entries(CHUNK_KINDS)) {
      context.strokeStyle = themeColour(canvas, colour);
      context.beginPath();
      for (const flight of this.#flying) {
        const share = (now - flight.startsAt) / FLIGHT_MS;
        if (flight.kind === kind && share >= 0) this.#trace(context, flight, share);
      }
      context.stroke();
    }
    this.#drawing = this.#flying.length > 0;
    if (!this.#drawing) return;
    const next = () => requestAnimationFrame((at) => this.#draw(at));
    if (this.#still.matches) setTimeout(next, STILL_MS);
    else next();
  }

  #trace(context: CanvasRenderingContext2D, curve: Curve, share: number): void {
    const { from, bend, to } = curve;
    if (this.#still.matches) {
      context.moveTo(from.x, from.y);
      context.quadraticCurveTo(bend.x, bend.y, to.x, to.y);
      return;
    }
    const [tail, head] = [pointAt(Math.max(0, share - TAIL), curve), pointAt(share, curve)];
    context.moveTo(tail.x, tail.y);
    context.lineTo(head.x, head.y);
  }
}

function pointAt(share: number, { from, bend, to }: Curve): Point {
  const rest = 1 - share;
  const mix = (a: number, b: number, c: number) => rest * rest * a + 2 * rest * share * b + share * share * c;
  return { x: mix(from.x, bend.x, to.x), y: mix(from.y, bend.y, to.y) };
}

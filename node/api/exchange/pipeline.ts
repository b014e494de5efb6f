/**
 * Requests of one connection in order: a client may send the next before it has an answer. Each is handled
 * when the one before is answered, and in a later turn, so that other connections are served in between. RFC
 * 9112, 9.3.2, asks for answers in this order.
 */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../formats/clock.ts';

/** Requests that wait on one connection while it is still read. One read of the system may bring many more. */
const WAITING_MAX = 16;

interface Line {
  readonly waiting: (() => void)[];
  isPaused: boolean;
}

export class Pipeline {
  readonly #clock: Pick<Clock, 'turn'>;
  /** Connections with an unanswered request. */
  readonly #lines = new WeakMap<Duplex, Line>();

  constructor(clock: Pick<Clock, 'turn'>) {
    this.#clock = clock;
  }

  /** Whether all requests of the connection are answered. */
  isIdle(socket: Duplex): boolean {
    return !this.#lines.has(socket);
  }

  /** Calls `handle` at once when the connection is idle. */
  enter(response: ServerResponse, handle: () => void): void {
    const { socket } = response.req;
    const line = this.#lines.get(socket);
    if (line === undefined) {
      const opened = { waiting: [], isPaused: false };
      this.#lines.set(socket, opened);
      this.#begin(response, { line: opened, handle });
      return;
    }
    line.waiting.push(() => this.#begin(response, { line, handle }));
    if (line.waiting.length <= WAITING_MAX || line.isPaused) return;
    line.isPaused = true;
    // The server reads on after each message, in a tick of this turn. This comes after all of these.
    queueMicrotask(() => {
      if (line.isPaused) socket.pause();
    });
  }

  #begin(response: ServerResponse, { line, handle }: { line: Line; handle: () => void }): void {
    const { socket } = response.req;
    response.once('close', () => void this.#answered(socket, line));
    handle();
  }

  async #answered(socket: Duplex, line: Line): Promise<void> {
    const next = line.waiting.shift();
    if (next !== undefined) await this.#clock.turn();
    if (next === undefined || socket.destroyed) {
      this.#lines.delete(socket);
      return;
    }
    if (line.isPaused && line.waiting.length <= WAITING_MAX) {
      line.isPaused = false;
      socket.resume();
    }
    next();
  }
}

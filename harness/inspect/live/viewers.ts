/** Event streams. A slow reader gets nothing until it has caught up, then the whole state. */
import type { Writable } from 'node:stream';
import type { Clock } from '../../../formats/clock.ts';
import { every, orLate } from '../../base/wait.ts';

/** Proxies and browsers drop silent connections. */
const HEARTBEAT_MS = 5000;
/** A reader that takes nothing for this long is gone; an open page reconnects. */
const STUCK_MS = 60_000;
const END_MS = 1000;

interface Viewer {
  readonly stream: Writable;
  /** When it stopped reading, ms since the epoch. */
  blockedSince: number | undefined;
  behind: boolean;
}

export interface ViewersDeps {
  readonly clock: Pick<Clock, 'now' | 'timer'>;
  /** As JSON; undefined: none yet, one will be told. */
  readonly snapshot: () => string | undefined;
  /** Called at the first viewer and after the last. */
  readonly onWatched: (watched: boolean) => void;
}

export class Viewers {
  readonly #viewers = new Set<Viewer>();
  readonly #deps: ViewersDeps;
  #timer: Disposable | undefined;

  constructor(deps: ViewersDeps) {
    this.#deps = deps;
  }

  get count(): number {
    return this.#viewers.size;
  }

  add(stream: Writable): void {
    const viewer: Viewer = { stream, blockedSince: undefined, behind: false };
    this.#viewers.add(viewer);
    stream.once('close', () => this.#remove(viewer));
    // The stream closes after an error.
    stream.on('error', () => this.#remove(viewer));
    stream.on('drain', () => {
      viewer.blockedSince = undefined;
      if (!viewer.behind) return;
      viewer.behind = false;
      this.#show(viewer);
    });
    this.#show(viewer);
    if (this.#viewers.size > 1) return;
    this.#timer = every(this.#deps.clock, HEARTBEAT_MS, () => this.#beat());
    this.#deps.onWatched(true);
  }

  tell(delta: string): void {
    this.#sendAll(message('delta', delta));
  }

  /** Sends the whole state after a change that no delta tells. */
  renew(): void {
    const snapshot = this.#deps.snapshot();
    if (snapshot !== undefined) this.#sendAll(message('snapshot', snapshot));
  }

  #sendAll(text: string): void {
    for (const viewer of this.#viewers) {
      if (viewer.blockedSince === undefined) this.#send(viewer, text);
      else viewer.behind = true;
    }
  }

  #beat(): void {
    for (const viewer of this.#viewers) {
      if (viewer.blockedSince === undefined)
        this.#send(viewer, message('beat', String(this.#deps.clock.now())));
      else if (this.#deps.clock.now() - viewer.blockedSince > STUCK_MS) viewer.stream.destroy();
    }
  }

  /** Ends every stream; a reading viewer gets all it was told. */
  async close(): Promise<void> {
    const reading = [...this.#viewers].filter(({ blockedSince }) => blockedSince === undefined);
    const ended = reading.map(({ stream }) => new Promise<void>((resolve) => stream.end(resolve)));
    await orLate(Promise.all(ended), { clock: this.#deps.clock, ms: END_MS, late: undefined });
    for (const { stream } of this.#viewers) stream.destroy();
  }

  #show(viewer: Viewer): void {
    const snapshot = this.#deps.snapshot();
    if (snapshot !== undefined) this.#send(viewer, message('snapshot', snapshot));
  }

  #send(viewer: Viewer, text: string): void {
    if (!viewer.stream.write(text)) viewer.blockedSince = this.#deps.clock.now();
  }

  #remove(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
    this.#timer?.[Symbol.dispose]();
    this.#deps.onWatched(false);
  }
}

/** @param data one line */
function message(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** The page of a run's record: it plays what the files hold, and asks no node. */
import type { Clock } from '../../../../formats/clock.ts';
import { every } from '../../../base/wait.ts';
import { hasFailed } from '../../../report/result.ts';
import type { LogAnswer, Snapshot } from '../../../web/picture/live.ts';
import { paceIn, type Told, type Watcher } from '../watcher.ts';
import type { RecordedPart } from './parts.ts';
import { Playhead } from './playhead.ts';
import { RecordedLogs } from './recorded-logs.ts';
import { type Recording, recordingOf } from './recording.ts';
import { Reel } from './reel.ts';

const LOOK_MS = 100;
const SECOND_MS = 1000;

export interface RecordedViewDeps extends Told {
  /** The machine's. */
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
}

interface Played {
  readonly recording: Recording;
  readonly reel: Reel;
  readonly head: Playhead;
  readonly logs: RecordedLogs;
}

export class RecordedView implements Watcher {
  readonly #parts: readonly RecordedPart[];
  readonly #deps: RecordedViewDeps;
  #played: Played;
  #looking: Disposable | undefined;

  /** @param parts at least one */
  constructor(parts: readonly RecordedPart[], deps: RecordedViewDeps) {
    this.#parts = parts;
    this.#deps = deps;
    const failed = parts.findIndex(({ scenarios }) => scenarios.some(hasFailed));
    this.#played = this.#begin(Math.max(0, failed));
  }

  get snapshot(): Snapshot {
    return this.#played.reel.snapshot;
  }

  watch(isWatched: boolean): void {
    this.#looking?.[Symbol.dispose]();
    this.#looking = isWatched ? every(this.#deps.clock, LOOK_MS, () => this.#look()) : undefined;
    if (isWatched) this.#look();
    else this.#played.head.pause();
  }

  async log(part: string, after: string | undefined): Promise<LogAnswer> {
    const { logs, head } = this.#played;
    return logs.answer(part, after, head.nowMs);
  }

  readonly control = (action: string): boolean => {
    const { head, reel, recording } = this.#played;
    const { failedMs, toMs } = recording.cluster.played;
    const pace = paceIn(action);
    const [, what, digits] = /^(seek|part)-(\d{1,16})$/.exec(action) ?? [];
    if (pace?.rate !== undefined) head.set(pace.rate);
    else if (action === 'pause') head.pause();
    else if (action === 'continue') this.#continue();
    else if (action === 'second') this.#stepTo(head.nowMs + SECOND_MS);
    else if (action === 'event') this.#stepTo(reel.nextEventMs ?? toMs);
    else if (action === 'failure' && failedMs !== null) this.#stepTo(failedMs);
    else if (what === 'seek') this.#seek(Number(digits));
    else if (what === 'part' && Number(digits) < this.#parts.length) this.#change(Number(digits));
    else return false;
    this.#look();
    return true;
  };

  async close(): Promise<void> {
    this.#looking?.[Symbol.dispose]();
  }

  #begin(place: number): Played {
    const recording = recordingOf(this.#parts, place);
    return {
      recording,
      reel: new Reel(recording),
      head: new Playhead(this.#deps.clock, recording.cluster.played),
      logs: new RecordedLogs(recording.folder),
    };
  }

  #change(place: number): void {
    this.#played = this.#begin(place);
    this.#renew();
  }

  #continue(): void {
    const { head } = this.#played;
    const before = head.nowMs;
    head.continue();
    if (head.nowMs < before) this.#renew();
  }

  #stepTo(ms: number): void {
    this.#look();
    this.#played.head.pause();
    this.#seek(ms);
  }

  #seek(ms: number): void {
    this.#played.head.seek(ms);
    this.#renew();
  }

  #renew(): void {
    const { reel, head } = this.#played;
    reel.seek(head.nowMs);
    reel.tell(this.#time());
    this.#deps.renewed();
  }

  #time() {
    const { head } = this.#played;
    return { nowMs: head.nowMs, isPaused: head.isPaused, rate: head.rate };
  }

  #look(): void {
    const { reel, head } = this.#played;
    const deltas = reel.advance(head.nowMs);
    const time = reel.tell(this.#time());
    if (deltas === undefined) this.#deps.renewed();
    else for (const delta of time === undefined ? deltas : [...deltas, time]) this.#deps.tell(delta);
  }
}

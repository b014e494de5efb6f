import { CLEAR_LINE, inLine } from '../base/foreign-text.ts';
import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { clip } from '../base/terminal/table.ts';
import { every } from '../base/wait.ts';
import { type ConsoleStyle, paint } from './console.ts';
import { assertionsText, type ScenarioOutcome, type ScenarioResult } from './result.ts';

const FRAME_MS = 250;
/** Often enough to name a scenario that hangs, seldom enough for a short log. */
const TELL_MS = 15_000;
const NAME_WIDTH = 22;
const TIME_WIDTH = 11;
const MARKS: Readonly<Record<ScenarioOutcome, readonly ['green' | 'red' | 'dim', string]>> = {
  passed: ['green', '✔'],
  failed: ['red', '✖'],
  error: ['red', '✖'],
  skipped: ['dim', '-'],
};

export class ScenarioDisplay implements Disposable {
  readonly #style: ConsoleStyle;
  readonly #write: (text: string) => void;
  readonly #total: number;
  /** By beginning: a suite may have a scenario with several parameters. */
  readonly #running: { readonly name: string; readonly startedMs: number }[] = [];
  readonly #timer: Disposable;
  #ended = 0;

  constructor(total: number, style: ConsoleStyle, write: (text: string) => void) {
    this.#total = total;
    this.#style = style;
    this.#write = write;
    this.#timer = every(MACHINE_CLOCK, style.live ? FRAME_MS : TELL_MS, () => this.#tell());
  }

  update({ name: given, ended }: { readonly name: string; readonly ended?: ScenarioResult }): void {
    const name = inLine(given);
    if (ended === undefined) {
      this.#running.push({ name, startedMs: MACHINE_CLOCK.monotonic() });
      return;
    }
    const index = this.#running.findIndex((row) => row.name === name);
    if (index >= 0) this.#running.splice(index, 1);
    this.#ended++;
    const { result, durationMs, skipReason } = ended;
    const [colour, mark] = MARKS[result];
    const what = skipReason ?? assertionsText(ended);
    const room = Math.max(this.#style.width - NAME_WIDTH - TIME_WIDTH - 6, 1);
    const text = `${name.padEnd(NAME_WIDTH)} ${clip(what, room).padEnd(room)} ${formatMs(durationMs).padStart(TIME_WIDTH)}`;
    this.#write(`${this.#style.live ? CLEAR_LINE : ''}  ${paint(this.#style, colour, mark)} ${text}\n`);
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    if (this.#style.live) this.#write(CLEAR_LINE);
  }

  #tell(): void {
    if (this.#running.length === 0) return;
    const nowMs = MACHINE_CLOCK.monotonic();
    const running = this.#running.map(({ name, startedMs }) => `${name} ${formatMs(nowMs - startedMs)}`);
    const text = `  … ${this.#ended} of ${this.#total} scenarios ended · ${running.join(' · ')}`;
    const { live, width } = this.#style;
    this.#write(live ? `${CLEAR_LINE}${clip(text, width - 1)}` : `${text}\n`);
  }
}

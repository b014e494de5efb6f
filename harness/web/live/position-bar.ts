/** Where a record stands in its time, with its faults and failures; also sets it. */
import { element } from '../base/dom.ts';
import { clock } from '../base/format.ts';
import type { PlayedRecord } from '../picture/live.ts';

/** The server follows a slider that is dragged, not each pixel. */
const ASKED_EVERY_MS = 100;
/** As a share of the whole, for marks of no length. */
const WIDTH_MIN = 0.003;

export class PositionBar {
  readonly root: HTMLElement;
  readonly #slider = element('input', { type: 'range', min: 0, step: 'any', 'aria-label': 'Position' });
  readonly #marks = element('div', { class: 'marks', 'aria-hidden': true });
  readonly #end = element('span', { class: 'time-end' });
  #played: PlayedRecord | undefined;
  #startedAt = 0;
  readonly #onSeek: (ms: number) => Promise<void>;
  #isAsking = false;

  /** @param onSeek with ms since the epoch, until the record stands there */
  constructor(onSeek: (ms: number) => Promise<void>) {
    this.#onSeek = onSeek;
    this.root = element(
      'div',
      { class: 'position', hidden: true },
      element('div', { class: 'track' }, this.#slider, this.#marks),
      this.#end,
    );
    this.#slider.addEventListener('input', () => {
      this.#describe();
      if (!this.#isAsking) void this.#askUntilThere();
    });
  }

  update(nowMs: number, startedAt: number, played: PlayedRecord | undefined): void {
    this.root.hidden = played === undefined;
    if (played === undefined) return;
    this.#startedAt = startedAt;
    if (played !== this.#played) this.#draw(played);
    // A person holds it.
    if (this.#isAsking) return;
    this.#slider.value = String(nowMs - played.fromMs);
    this.#describe();
  }

  async #askUntilThere(): Promise<void> {
    this.#isAsking = true;
    for (let asked: number | undefined; asked !== this.#atMs(); ) {
      await new Promise((resolve) => setTimeout(resolve, ASKED_EVERY_MS));
      asked = this.#atMs();
      await this.#onSeek(asked);
    }
    this.#isAsking = false;
  }

  #draw(played: PlayedRecord): void {
    this.#played = played;
    const { fromMs, toMs, marks } = played;
    this.#slider.max = String(toMs - fromMs);
    this.#end.textContent = `of ${clock(toMs - this.#startedAt)}`;
    this.#marks.replaceChildren(
      ...marks.map(({ kind, fromMs: at, toMs: endAt = kind === 'failure' ? at : toMs, text }) => {
        const mark = element('span', { class: kind, title: text });
        const share = (ms: number) => Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs)));
        mark.style.left = `${share(at) * 100}%`;
        mark.style.width = `${Math.max(WIDTH_MIN, share(endAt) - share(at)) * 100}%`;
        return mark;
      }),
    );
  }

  #atMs(): number {
    return Math.round((this.#played?.fromMs ?? 0) + Number(this.#slider.value));
  }

  #describe(): void {
    const text = clock(this.#atMs() - this.#startedAt);
    if (this.#slider.getAttribute('aria-valuetext') !== text)
      this.#slider.setAttribute('aria-valuetext', text);
  }
}

/** The controls of time: of a simulation that runs, or of a record that is played again. */

import { element } from '../base/dom.ts';
import { clock } from '../base/format.ts';
import { type ClusterView, PACE_RATES, type TimeView } from '../picture/live.ts';

const FAST = 'fast';
/** Where keys mean something else: a space also presses what has the focus. */
const TYPED_IN = 'input, select, textarea';
const PRESSED = 'button, a, summary, [role="button"]';

export class TimeBar {
  readonly root: HTMLElement;
  readonly #clock = element('output', { class: 'time-now', 'aria-label': 'Time since the cluster began' });
  readonly #play = button('Pause', 'Space');
  readonly #message = button('Next message', '.');
  readonly #second = button('One second');
  readonly #pace: HTMLSelectElement;
  readonly #slider = element('input', { type: 'range', step: 1, 'aria-label': 'Time of the record' });
  readonly #trouble = element('span', { class: 'trouble', role: 'status' });
  #time: TimeView | undefined;

  constructor() {
    const option = (value: string, text: string) => element('option', { value }, text);
    this.#pace = element(
      'select',
      { 'aria-label': 'Pace' },
      ...PACE_RATES.map((rate) => option(String(rate), rate === 1 ? '1×, real time' : `${rate}×`)),
      option(FAST, 'as fast as possible'),
    );
    this.root = element(
      'section',
      { class: 'time', 'aria-label': 'Time', hidden: true },
      this.#clock,
      this.#play,
      this.#message,
      this.#second,
      this.#pace,
      this.#slider,
      this.#trouble,
    );
    this.#play.addEventListener('click', () => this.#toggle());
    this.#message.addEventListener('click', () => this.#ask('message'));
    this.#second.addEventListener('click', () => this.#ask('second'));
    this.#pace.addEventListener('change', () => this.#ask(`pace-${this.#pace.value}`));
    this.#slider.addEventListener('input', () => this.#ask(`seek-${this.#slider.value}`));
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  update(time: TimeView | undefined, { startedAt, phase }: ClusterView): void {
    this.root.hidden = time === undefined || phase !== 'here';
    if (time === undefined) return;
    this.#time = time;
    const { nowMs, isPaused, rate, span } = time;
    setText(this.#clock, clock(nowMs - startedAt));
    setText(this.#play, isPaused ? 'Continue' : 'Pause');
    const pace = rate === null ? FAST : String(rate);
    if (document.activeElement !== this.#pace) this.#pace.value = pace;
    this.#slider.hidden = span === null;
    // A record is not computed: there is no pace beyond that of the eye.
    for (const choice of this.#pace.options) if (choice.value === FAST) choice.hidden = span !== null;
    if (span === null) return;
    this.#slider.max = String(span.toMs - span.fromMs);
    if (document.activeElement !== this.#slider || !isPaused)
      this.#slider.value = String(nowMs - span.fromMs);
    this.#slider.setAttribute('aria-valuetext', clock(nowMs - startedAt));
  }

  #toggle(): void {
    this.#ask(this.#time?.isPaused === true ? 'continue' : 'pause');
  }

  #key(event: KeyboardEvent): void {
    const { target, key, altKey, ctrlKey, metaKey } = event;
    if (this.root.hidden || altKey || ctrlKey || metaKey) return;
    const isIn = (what: string) => target instanceof Element && target.closest(what) !== null;
    if (isIn(TYPED_IN) || (key === ' ' && isIn(PRESSED))) return;
    if (key === ' ') this.#toggle();
    else if (key === '.') this.#ask('message');
    else return;
    event.preventDefault();
  }

  #ask(action: string): void {
    fetch(`control/${action}`, { method: 'POST' }).then(
      ({ ok, status }) => setText(this.#trouble, ok ? '' : `refused: ${status}`),
      () => setText(this.#trouble, 'not heard'),
    );
  }
}

function button(text: string, key?: string): HTMLButtonElement {
  return element('button', { type: 'button', title: key && `Key: ${key}` }, text);
}

function setText(at: HTMLElement, text: string): void {
  if (at.textContent !== text) at.textContent = text;
}

import { element } from '../base/dom.ts';
import { clock } from '../base/format.ts';
import { type ClusterView, PACE_RATES, type TimeView } from '../picture/live.ts';

const FAST = 'fast';
/** Keys mean something else there: a space also presses what has the focus. */
const TYPED_IN = 'input, select, textarea';
const PRESSED = 'button, a, summary, [role="button"]';

export class TimeBar {
  readonly root: HTMLElement;
  readonly #clock = element('output', { class: 'time-now', 'aria-label': 'Time since the cluster began' });
  readonly #play = button('Pause', 'Space');
  readonly #message = button('Next message', '.');
  readonly #second = button('One second');
  readonly #pace: HTMLSelectElement;
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
      this.#trouble,
    );
    this.#play.addEventListener('click', () => this.#toggle());
    this.#message.addEventListener('click', () => this.#ask('message'));
    this.#second.addEventListener('click', () => this.#ask('second'));
    this.#pace.addEventListener('change', () => this.#ask(`pace-${this.#pace.value}`));
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  update(time: TimeView | undefined, { startedAt, phase }: ClusterView): void {
    this.root.hidden = time === undefined || phase !== 'here';
    if (time === undefined) return;
    this.#time = time;
    const { nowMs, isPaused, rate } = time;
    setText(this.#clock, clock(nowMs - startedAt));
    setText(this.#play, isPaused ? 'Continue' : 'Pause');
    const pace = rate === null ? FAST : String(rate);
    if (document.activeElement !== this.#pace) this.#pace.value = pace;
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
      () => setText(this.#trouble, 'no answer'),
    );
  }
}

function button(text: string, key?: string): HTMLButtonElement {
  return element('button', { type: 'button', title: key && `Key: ${key}` }, text);
}

function setText(at: HTMLElement, text: string): void {
  if (at.textContent !== text) at.textContent = text;
}

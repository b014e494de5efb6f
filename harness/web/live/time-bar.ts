import { element } from '../base/dom.ts';
import { clock } from '../base/format.ts';
import { type ClusterView, PACE_RATES, type TimeView } from '../picture/live.ts';
import { PositionBar } from './position-bar.ts';

const FAST = 'fast';
/** Keys mean something else there: a space also presses what has the focus. */
const TYPED_IN = 'input:not([type="range"]), select, textarea';
const PRESSED = 'button, a, summary, [role="button"]';

export class TimeBar {
  readonly root: HTMLElement;
  readonly #clock = element('output', { class: 'time-now', 'aria-label': 'Time since the cluster began' });
  readonly #play = button('Pause', 'Space');
  readonly #message = button('Next message', '.');
  readonly #event = button('Next event', '.');
  readonly #second = button('One second');
  readonly #failure = button('First failure', 'F');
  readonly #pace: HTMLSelectElement;
  readonly #fast = option(FAST, 'as fast as possible');
  readonly #parts = element('select', { 'aria-label': 'Cluster' });
  readonly #position = new PositionBar((ms) => this.#ask(`seek-${ms}`));
  readonly #doing = element('p', { class: 'doing' });
  readonly #trouble = element('span', { class: 'trouble', role: 'status' });
  #time: TimeView | undefined;
  #played: ClusterView['played'];

  constructor() {
    this.#offer(undefined);
    this.#pace = element(
      'select',
      { 'aria-label': 'Pace' },
      ...PACE_RATES.map((rate) => option(String(rate), rate === 1 ? '1×, real time' : `${rate}×`)),
      this.#fast,
    );
    this.root = element(
      'section',
      { class: 'time', 'aria-label': 'Time', hidden: true },
      this.#clock,
      this.#play,
      this.#message,
      this.#event,
      this.#second,
      this.#failure,
      this.#pace,
      this.#parts,
      this.#trouble,
      this.#position.root,
      this.#doing,
    );
    this.#play.addEventListener('click', () => this.#toggle());
    this.#message.addEventListener('click', () => void this.#ask('message'));
    this.#event.addEventListener('click', () => void this.#ask('event'));
    this.#failure.addEventListener('click', () => void this.#ask('failure'));
    this.#parts.addEventListener('change', () => void this.#ask(`part-${this.#parts.value}`));
    this.#second.addEventListener('click', () => void this.#ask('second'));
    this.#pace.addEventListener('change', () => void this.#ask(`pace-${this.#pace.value}`));
    document.addEventListener('keydown', (event) => this.#key(event));
  }

  update(time: TimeView | undefined, { startedAt, phase, played }: ClusterView): void {
    this.root.hidden = time === undefined || phase !== 'here';
    if (time === undefined) return;
    this.#time = time;
    const { nowMs, isPaused, rate, doing = '' } = time;
    if (played !== this.#played) this.#offer(played);
    this.#position.update(nowMs, startedAt, played);
    setText(this.#clock, clock(nowMs - startedAt));
    setText(this.#play, isPaused ? (played === undefined ? 'Continue' : 'Play') : 'Pause');
    setText(this.#doing, doing);
    const pace = rate === null ? FAST : String(rate);
    if (document.activeElement !== this.#pace) this.#pace.value = pace;
  }

  /** What a record has, or a simulation. */
  #offer(played: ClusterView['played']): void {
    this.#played = played;
    const isPlayed = played !== undefined;
    this.#message.hidden = isPlayed;
    this.#event.hidden = !isPlayed;
    this.#failure.hidden = !isPlayed || played.failedMs === null;
    this.#parts.hidden = !isPlayed || played.parts.length < 2;
    if (isPlayed) this.#fast.remove();
    this.#parts.replaceChildren(...(played?.parts ?? []).map((text, place) => option(String(place), text)));
    this.#parts.value = String(played?.part ?? 0);
  }

  #toggle(): void {
    void this.#ask(this.#time?.isPaused === true ? 'continue' : 'pause');
  }

  #key(event: KeyboardEvent): void {
    const { target, key, altKey, ctrlKey, metaKey } = event;
    if (this.root.hidden || altKey || ctrlKey || metaKey) return;
    const isIn = (what: string) => target instanceof Element && target.closest(what) !== null;
    if (isIn(TYPED_IN) || (key === ' ' && isIn(PRESSED))) return;
    if (key === ' ') this.#toggle();
    else if (key === '.') void this.#ask(this.#played === undefined ? 'message' : 'event');
    else if (key === 'f' && !this.#failure.hidden) void this.#ask('failure');
    else return;
    event.preventDefault();
  }

  #ask(action: string): Promise<void> {
    return fetch(`control/${action}`, { method: 'POST' }).then(
      ({ ok, status }) => setText(this.#trouble, ok ? '' : `refused: ${status}`),
      () => setText(this.#trouble, 'no answer'),
    );
  }
}

function option(value: string, text: string): HTMLOptionElement {
  return element('option', { value }, text);
}

function button(text: string, key?: string): HTMLButtonElement {
  return element('button', { type: 'button', title: key && `Key: ${key}` }, text);
}

function setText(at: HTMLElement, text: string): void {
  if (at.textContent !== text) at.textContent = text;
}

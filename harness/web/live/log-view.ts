/** Follows a node's log. */

import { element } from '../base/dom.ts';
import type { LogAnswer, LogLine } from '../picture/live.ts';

const PAUSE_MS = 1000;
const LINES_MAX = 500;
const AT_END_PX = 24;

export class LogView {
  readonly root: HTMLElement;
  readonly #lines: HTMLElement;
  readonly #nothing = lineOf({ level: '', text: 'Nothing logged yet.' });
  readonly #where = element('p', { class: 'quiet' });
  readonly #ended = new AbortController();

  constructor(part: string) {
    this.#lines = element('div', {
      class: 'log',
      role: 'log',
      'aria-live': 'off',
      'aria-label': `Log of ${part}`,
      tabindex: 0,
    });
    this.root = element('div', {}, this.#where, this.#lines);
    void this.#follow(part);
  }

  close(): void {
    this.#ended.abort();
  }

  async #follow(part: string): Promise<void> {
    const { signal } = this.#ended;
    let position: string | undefined;
    while (!signal.aborted) {
      try {
        const after = position === undefined ? '' : `?after=${encodeURIComponent(position)}`;
        const answer = await fetch(`log/${encodeURIComponent(part)}${after}`, { signal });
        const body = (await answer.json()) as LogAnswer | { readonly error: string };
        if ('error' in body) {
          this.#where.textContent = body.error;
          // A missing node stays away; a busy engine answers next time.
          if (answer.status === 404) return;
        } else {
          position = body.position;
          this.#where.textContent = body.where;
          this.#add(body);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#where.textContent = `The log cannot be read now: ${error instanceof Error ? error.message : String(error)}`;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  #add({ lines, leftOut, renewed }: LogAnswer): void {
    const box = this.#lines;
    if (renewed === true) box.replaceChildren();
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < AT_END_PX;
    if (lines.length > 0) this.#nothing.remove();
    if (leftOut > 0) box.append(lineOf({ level: '', text: `… ${leftOut} lines left out` }));
    box.append(...lines.map(lineOf));
    while (box.childElementCount > LINES_MAX) box.firstElementChild?.remove();
    if (box.childElementCount === 0) box.append(this.#nothing);
    if (atEnd) box.scrollTop = box.scrollHeight;
  }
}

function lineOf({ level, text }: LogLine): HTMLElement {
  const known = ['error', 'warn'].includes(level) ? ` ${level}` : '';
  return element('div', { class: `log-line${known}` }, text);
}

/** A picture on the alternate screen, restored however the process ends. */
import { forTerminal } from '../foreign-text.ts';

export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

export interface Picture {
  readonly width: number;
  readonly rows: number;
}

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export class Screen implements Disposable {
  readonly #terminal: Terminal;
  readonly #leave = () => void this.#terminal.write(LEAVE);
  #paint: ((size: Picture) => readonly string[]) | undefined;
  readonly #redraw = () => {
    if (this.#paint !== undefined) this.draw(this.#paint);
  };

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    terminal.write(ENTER);
    terminal.on('resize', this.#redraw);
    process.once('exit', this.#leave);
  }

  /** @param paint returns fitting lines; called at each new size */
  draw(paint: (size: Picture) => readonly string[]): void {
    this.#paint = paint;
    const { columns: width, rows } = this.#terminal;
    const lines = paint({ width, rows }).map((line) => `${forTerminal(line)}${CLEAR_LINE}`);
    // A final line end would scroll a full-height picture.
    this.#terminal.write(`${HOME}${lines.join('\r\n')}${CLEAR_BELOW}`);
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#leave);
    this.#terminal.off('resize', this.#redraw);
    this.#leave();
  }
}

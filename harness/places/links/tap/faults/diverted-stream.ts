/** A stream that ends here and goes on as its rules will have it: what either end says, message by message. */
import type { Clock } from '../../../../../formats/clock.ts';
import { REPLAYED_MAX } from './replays.ts';
import type { MessageRules, Passing } from './rules.ts';
import { type Outlet, Way } from './way.ts';

interface StreamDeps {
  /** Names of the ends. */
  readonly opener: string;
  readonly acceptor: string;
  readonly rules: MessageRules;
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** Where what the opener says goes on, or the acceptor. */
  readonly outletOf: (isOpener: boolean) => Outlet;
  /** Says this as the opener of a new stream, later, and calls back then. */
  readonly replay: (said: Buffer, afterMs: number, onSaid: () => void) => void;
  /** Both ends have ended. */
  readonly onOver: () => void;
}

export class DivertedStream {
  readonly #deps: StreamDeps;
  readonly #opener: Way;
  readonly #acceptor: Way;
  #isDoomed = false;
  /** What the opener has said; undefined: nobody asks for it, or it is too much. */
  #said: Buffer | undefined;

  constructor(deps: StreamDeps) {
    this.#deps = deps;
    if (deps.rules.replay) this.#said = Buffer.alloc(0);
    this.#opener = this.#way(true);
    this.#acceptor = this.#way(false);
  }

  /** Whether a rule will have it reset now. */
  get isDoomed(): boolean {
    return this.#isDoomed;
  }

  /** @param bytes that are no message */
  raw(isOpener: boolean, bytes: Uint8Array): void {
    this.#record(isOpener, Buffer.from(bytes));
    this.#wayOf(isOpener).raw(Buffer.from(bytes));
  }

  /** @param bytes of a message, without its length @returns what is done to it */
  message(
    isOpener: boolean,
    bytes: Uint8Array,
    about: Omit<Passing, 'from' | 'to' | 'byOpener' | 'bytes'>,
  ): readonly string[] {
    const way = this.#wayOf(isOpener);
    if (way.isMute) return [];
    const { opener, acceptor, rules, replay } = this.#deps;
    const [from, to] = isOpener ? [opener, acceptor] : [acceptor, opener];
    const verdict = rules.judged({ from, to, byOpener: isOpener, bytes, ...about });
    this.#record(isOpener, withLength(bytes));
    const said = this.#said;
    if (said !== undefined) {
      for (const { afterMs, rule } of verdict?.replays ?? []) {
        replay(said, afterMs, () => void rule.counts['messages replayed']++);
      }
    }
    this.#isDoomed ||= verdict?.drop === 'reset';
    way.message(withLength(verdict?.bytes ?? bytes), verdict);
    return verdict?.done ?? [];
  }

  /** @param bytes of a message that nothing is done to, without its length */
  untouched(isOpener: boolean, bytes: Uint8Array): void {
    this.#record(isOpener, withLength(bytes));
    this.#wayOf(isOpener).message(withLength(bytes));
  }

  /** The other end takes more of what this one says. @returns how much of it is this one's */
  credit(isOpener: boolean, bytes: number): number {
    return this.#wayOf(isOpener).credit(bytes);
  }

  /** That end says nothing more. */
  ended(isOpener: boolean): void {
    this.#wayOf(isOpener).end();
  }

  /** Nothing of what waits arrives. */
  discard(): void {
    this.#isDoomed = false;
    this.#opener.discard();
    this.#acceptor.discard();
  }

  #record(isOpener: boolean, bytes: Buffer): void {
    if (!isOpener || this.#said === undefined) return;
    const said = Buffer.concat([this.#said, bytes]);
    this.#said = said.length > REPLAYED_MAX ? undefined : said;
  }

  #way(isOpener: boolean): Way {
    const { clock, outletOf, onOver } = this.#deps;
    return new Way({
      clock,
      outlet: outletOf(isOpener),
      onOver: () => this.#opener.isOver && this.#acceptor.isOver && onOver(),
    });
  }

  #wayOf(isOpener: boolean): Way {
    return isOpener ? this.#opener : this.#acceptor;
  }
}

/** As a frame on a stream. */
function withLength(bytes: Uint8Array): Buffer {
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Uint8Array.from([...length, rest]), bytes]);
}

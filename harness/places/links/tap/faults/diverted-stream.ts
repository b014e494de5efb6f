import type { Clock } from '../../../../../formats/clock.ts';
import { type Replays, Said } from './replays.ts';
import type { MessageRules, Passing, Verdict } from './rules.ts';
import { type Outlet, Way } from './way.ts';

interface StreamDeps {
  readonly opener: string;
  readonly acceptor: string;
  readonly rules: MessageRules;
  readonly clock: Pick<Clock, 'monotonic' | 'timer'>;
  readonly outletOf: (isOpener: boolean) => Outlet;
  readonly replays: Replays | undefined;
  readonly replay: (said: Buffer) => void;
  readonly cut: () => void;
  /** Resets it at the acceptor's end alone, from which nothing is heard any more. */
  readonly takeOver: () => void;
  readonly onOver: () => void;
}

export class DivertedStream {
  readonly #deps: StreamDeps;
  readonly #opener: Way;
  readonly #acceptor: Way;
  #isDoomed = false;
  #cut: Disposable | undefined;
  /** Undefined: nobody has asked for it from the beginning. */
  readonly #said: Said | undefined;

  constructor(deps: StreamDeps) {
    this.#deps = deps;
    if (deps.replays !== undefined && deps.rules.replay) this.#said = new Said();
    this.#opener = this.#way(true);
    this.#acceptor = this.#way(false);
  }

  get isDoomed(): boolean {
    return this.#isDoomed;
  }

  raw(isOpener: boolean, bytes: Uint8Array): void {
    this.#record(isOpener, Buffer.from(bytes));
    this.#wayOf(isOpener).raw(Buffer.from(bytes));
  }

  /** @param bytes of a message, without its length @returns what is done to it, and what is said in answer to it */
  message(
    isOpener: boolean,
    bytes: Uint8Array,
    about: Omit<Passing, 'from' | 'to' | 'bytes' | 'again'>,
  ): Pick<Verdict, 'done' | 'answer'> {
    const way = this.#wayOf(isOpener);
    if (way.isMute) return { done: [], answer: undefined };
    const { opener, acceptor, rules } = this.#deps;
    const [from, to] = isOpener ? [opener, acceptor] : [acceptor, opener];
    this.#record(isOpener, withLength(bytes));
    const again = isOpener ? this.#again() : undefined;
    const verdict = rules.judged({ from, to, bytes, again, ...about });
    this.#isDoomed ||= verdict?.drop === 'reset';
    way.message(withLength(verdict?.bytes ?? bytes), verdict);
    this.#cutLater(verdict?.cut);
    return { done: verdict?.done ?? [], answer: verdict?.answer };
  }

  takeOver(): void {
    this.#deps.takeOver();
  }

  /** @param bytes of a message that nothing is done to, without its length */
  untouched(isOpener: boolean, bytes: Uint8Array): void {
    this.#record(isOpener, withLength(bytes));
    this.#wayOf(isOpener).message(withLength(bytes));
  }

  /** The other end takes more. @returns how much of it is this end's */
  credit(isOpener: boolean, bytes: number): number {
    return this.#wayOf(isOpener).credit(bytes);
  }

  ended(isOpener: boolean): void {
    this.#wayOf(isOpener).end();
  }

  discard(): void {
    this.#isDoomed = false;
    this.#cut?.[Symbol.dispose]();
    this.#opener.discard();
    this.#acceptor.discard();
  }

  /** The first message that is meant decides. */
  #cutLater(cut: Verdict['cut']): void {
    if (cut === undefined || this.#cut !== undefined) return;
    this.#cut = this.#deps.clock.timer(cut.afterMs, () => {
      this.#deps.cut();
      cut.onCut();
    });
  }

  #record(isOpener: boolean, bytes: Buffer): void {
    if (isOpener) this.#said?.add(bytes);
  }

  #again(): Passing['again'] {
    const said = this.#said;
    const { replays, replay } = this.#deps;
    if (said === undefined || replays === undefined) return undefined;
    return {
      isPossible: () => replays.canTake(said),
      later: (afterMs, onSaid) =>
        replays.later(afterMs, said, (joined) => {
          replay(joined);
          onSaid();
        }),
    };
  }

  #way(isOpener: boolean): Way {
    const { clock, outletOf, onOver } = this.#deps;
    const over = () => {
      this.#cut?.[Symbol.dispose]();
      onOver();
    };
    return new Way({
      clock,
      outlet: outletOf(isOpener),
      onOver: () => this.#opener.isOver && this.#acceptor.isOver && over(),
    });
  }

  #wayOf(isOpener: boolean): Way {
    return isOpener ? this.#opener : this.#acceptor;
  }
}

export function withLength(bytes: Uint8Array): Buffer {
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
  return Buffer.concat([Uint8Array.from([...length, rest]), bytes]);
}

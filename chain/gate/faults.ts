import type { Clock } from '../../formats/clock.ts';
import { type WrongAnswer, WrongEndpoint } from './wrong-answers.ts';

/**
 * `down`: connections break. `error`: that share of the calls is refused. `slow`: answers come late. Others give wrong
 * answers.
 */
export type RpcFault =
  | { readonly kind: 'down' }
  | { readonly kind: 'error'; readonly percent: number }
  | { readonly kind: 'slow'; readonly ms: number }
  | WrongAnswer;

export interface GateFault {
  readonly client: string | undefined;
  readonly fault: RpcFault;
}

export class ActiveFault {
  readonly of: GateFault;
  met = 0;
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  readonly #requests = new Map<string, number>();
  readonly #wrong = new Map<string, WrongEndpoint>();

  constructor(of: GateFault, clock: Clock) {
    this.of = of;
    this.#clock = clock;
  }

  get isOver(): boolean {
    return this.#ended.signal.aborted;
  }

  end(): void {
    this.#ended.abort();
  }

  async delay(ms: number): Promise<void> {
    await this.#clock.sleep(ms, this.#ended.signal).catch((error: unknown) => {
      if (!this.isOver) throw error;
    });
  }

  /** Rates are spread evenly: effective after a few calls, equal in every run. */
  meets(client: string): boolean {
    const { fault } = this.of;
    if (fault.kind !== 'error') return true;
    const requests = (this.#requests.get(client) ?? 0) + 1;
    this.#requests.set(client, requests);
    return (requests * fault.percent) % 100 < fault.percent;
  }

  wrong(client: string, fault: WrongAnswer): WrongEndpoint {
    const known = this.#wrong.get(client);
    if (known !== undefined) return known;
    const made = new WrongEndpoint(fault);
    this.#wrong.set(client, made);
    return made;
  }
}

export function isWrong(fault: RpcFault): fault is WrongAnswer {
  return fault.kind === 'wrong' || fault.kind === 'lag' || fault.kind === 'frozen';
}

import { Socket } from 'node:net';
import { TIMER_MAX_MS } from '../../../../formats/units.ts';
import { Line } from '../line.ts';
import { type ActiveRule, changed, Direction, isFree, type Rules } from '../rules.ts';
import type { NoiseRelay } from '../tap/relay.ts';
import { lookup } from './addresses.ts';
import { type Budget, Flow } from './flow.ts';

/** An end in one direction leaves the other open; small frames do not wait. */
export const SOCKET_OPTIONS = { allowHalfOpen: true, noDelay: true } as const;

export interface ConnectionDeps {
  readonly rules: Rules;
  readonly budget: Budget;
  readonly seed: string;
  readonly target: string;
  readonly host: string;
  readonly port: number;
  readonly onClosed: () => void;
}

export class Connection {
  readonly target: string;
  readonly address: string;
  readonly ports: { readonly dialler: number; readonly proxy: number };
  dialler: readonly string[] | undefined;
  isIdentified = false;
  relay: NoiseRelay | undefined;
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #up: Flow;
  readonly #down: Flow;
  readonly #deps: ConnectionDeps;
  readonly #passed = new Map<ActiveRule, number>();
  #state: 'accepted' | 'waiting' | 'connecting' | 'open' | 'over' = 'accepted';
  #ended = 0;
  #wait: NodeJS.Timeout | undefined;

  constructor(near: Socket, deps: ConnectionDeps) {
    this.#near = near;
    this.#deps = deps;
    this.target = deps.target;
    this.address = near.remoteAddress ?? '';
    this.ports = { dialler: near.remotePort ?? 0, proxy: near.localPort ?? 0 };
    this.#far = new Socket(SOCKET_OPTIONS);
    const events = {
      onEnded: () => ++this.#ended === 2 && this.#close(),
      onBroken: () => this.reset(),
      onPassing: (bytes: number) => this.#allowed(bytes),
    };
    // A rule that delays both ways delays one connection.
    const direction = new Direction([]);
    const flow = (source: Socket, sink: Socket, way: 'up' | 'down') =>
      new Flow(source, sink, {
        line: new Line(`${deps.seed} ${way}`),
        direction,
        budget: deps.budget,
        events,
        translate: (bytes) => this.relay?.[way](bytes) ?? bytes,
        held: () => this.relay?.held(way) ?? 0,
      });
    this.#up = flow(near, this.#far, 'up');
    this.#down = flow(this.#far, near, 'down');
    // The socket's close follows, which its flow notices.
    near.on('error', () => undefined);
    near.once('end', () => this.#abandonIf(this.#state === 'waiting' && this.#isHeld()));
    near.once('close', () => this.#abandonIf(this.#state !== 'open'));
    this.#far.on('error', () => undefined);
    this.#far.once('connect', () => {
      this.#state = 'open';
      this.#up.open();
      this.#down.read();
    });
    this.#down.open();
  }

  follow(): void {
    if (this.#state === 'over') return;
    const { rules } = this.#deps;
    const up = rules.of(this.dialler, [this.target]);
    const down = rules.of([this.target], this.dialler);
    this.#forgetPassed([...up, ...down]);
    const [upBefore, downBefore] = [this.#up.direction, this.#down.direction];
    this.#up.become(changed(upBefore, up));
    this.#down.become(changed(downBefore, down));
    if (this.#isOver()) return;
    if (this.#state === 'accepted') this.#enter();
    else if (this.#state === 'waiting') {
      const isSame = this.#up.direction === upBefore && this.#down.direction === downBefore;
      if (!isSame) this.#connect();
    }
  }

  inject(way: 'up' | 'down', bytes: Buffer): void {
    (way === 'up' ? this.#up : this.#down).inject(bytes);
  }

  reset(): void {
    if (this.#state === 'over') return;
    this.#end();
    this.#near.resetAndDestroy();
    if (this.#far.connecting || this.#far.pending) this.#far.destroy();
    else this.#far.resetAndDestroy();
  }

  resetBy(rule: ActiveRule): void {
    if (!this.#rules().has(rule) || this.#isOver()) return;
    rule.counts['connections reset']++;
    this.reset();
  }

  #enter(): void {
    const { direction } = this.#up;
    if (direction.rules.some(({ rule }) => rule.conditions.refuse === true)) {
      direction.count('connections refused', 'refuse');
      this.reset();
      return;
    }
    this.#state = 'waiting';
    // Bytes wait, but a departed dialler is noticed.
    this.#up.read();
    for (const { rule, counts } of this.#rules()) {
      if (rule.conditions.stall === true) counts['connections held back']++;
    }
    this.#connect();
  }

  /** Opening takes a round trip, and waits while nothing passes. */
  #connect(): void {
    clearTimeout(this.#wait);
    if (this.#isHeld()) return;
    const connect = () => {
      this.#state = 'connecting';
      this.#far.connect({ host: this.#deps.host, port: this.#deps.port, lookup });
    };
    if (isFree(this.#up.direction) && isFree(this.#down.direction)) connect();
    else {
      const roundTripMs = this.#up.direction.shape.delayMs + this.#down.direction.shape.delayMs;
      this.#wait = setTimeout(connect, Math.min(roundTripMs, TIMER_MAX_MS));
    }
  }

  /** None of its bytes arrive, so it cannot be opened. */
  #isHeld(): boolean {
    return [this.#up, this.#down].some(({ direction: { shape } }) => shape.stalls || shape.swallows);
  }

  #abandonIf(isAbandoned: boolean): void {
    if (!isAbandoned || this.#isOver()) return;
    this.#end();
    this.#near.destroy();
    this.#far.destroy();
  }

  /** @returns how many bytes may pass; fewer: the connection ends */
  #allowed(bytes: number): number {
    let allowed = bytes;
    for (const rule of this.#rules()) {
      const limit = rule.rule.conditions.cutAfterBytes;
      if (limit === undefined) continue;
      const passed = this.#passed.get(rule) ?? 0;
      this.#passed.set(rule, passed + bytes);
      if (passed + bytes <= limit) continue;
      rule.counts['connections cut']++;
      allowed = Math.min(allowed, Math.max(0, limit - passed));
    }
    return allowed;
  }

  #rules(): ReadonlySet<ActiveRule> {
    return new Set([...this.#up.direction.rules, ...this.#down.direction.rules]);
  }

  #forgetPassed(active: readonly ActiveRule[]): void {
    for (const rule of this.#passed.keys()) if (!active.includes(rule)) this.#passed.delete(rule);
  }

  #isOver(): boolean {
    return this.#state === 'over';
  }

  #close(): void {
    if (this.#isOver()) return;
    this.#end();
    this.#near.destroySoon();
    this.#far.destroySoon();
  }

  #end(): void {
    this.#state = 'over';
    clearTimeout(this.#wait);
    this.#up.close();
    this.#down.close();
    this.relay?.closed();
    this.#deps.onClosed();
  }
}

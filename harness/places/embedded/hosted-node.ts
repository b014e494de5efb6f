import type { Clock } from '../../../formats/clock.ts';
import type { Random } from '../../../formats/random.ts';
import type { RunningNode } from '../../../node/compose.ts';
import type { MemoryPlatform } from '../../../node/platform/memory.ts';
import type { Platform } from '../../../node/platform/platform.ts';
import { messageOf } from '../../base/errors.ts';
import type { Counts } from '../../flavours/tampered/settings.ts';
import type { TamperedPlatform } from '../../flavours/tampered/tamper.ts';
import type { Exit, Observed } from '../driver.ts';

/** An ended node never runs again: the next start is another object. */
type Life =
  | { readonly phase: 'starting' }
  | { readonly phase: 'running'; readonly node: RunningNode }
  | { readonly phase: 'ended'; readonly exit: Exit };

/** After at most this many pieces of work, and no later than this. */
const CUT_WITHIN_PIECES = 40;
const CUT_WITHIN_MS = 100;

const KILLED: Exit = { code: null, signal: 'SIGKILL' };

export interface HostedNodeDeps {
  readonly clock: Pick<Clock, 'timer'>;
  readonly start: number;
  readonly platform: MemoryPlatform;
  readonly tampered: TamperedPlatform | undefined;
  readonly onFailed: (message: string, error: unknown) => void;
  /** It may be observed differently now. */
  readonly onChange: () => void;
}

export type Tearing = (random: Random) => Promise<Counts>;

export class HostedNode {
  readonly #deps: HostedNodeDeps;
  readonly #stopping = new AbortController();
  #life: Life = { phase: 'starting' };

  constructor(deps: HostedNodeDeps) {
    this.#deps = deps;
  }

  get start(): number {
    return this.#deps.start;
  }

  get isRunning(): boolean {
    return this.#life.phase !== 'ended' && this.#deps.platform.state !== 'off';
  }

  async live(startNode: (platform: Platform, signal: AbortSignal) => Promise<RunningNode>): Promise<void> {
    const { platform, tampered } = this.#deps;
    const { signal } = this.#stopping;
    try {
      const node = await platform.run(() => startNode(tampered?.platform ?? platform, signal));
      if (this.#life.phase === 'starting') this.#life = { phase: 'running', node };
      const failure = await node.stopped(signal);
      if (failure !== undefined) this.fail('the node has stopped by itself', failure);
    } catch (error) {
      if (!signal.aborted) this.fail('the node could not start', error);
    }
    // An orderly stop is awaited by its caller; a failed node is cut off here.
    if (this.#life.phase === 'ended') await platform.cut();
  }

  /** Recorded in memory first: writing it to the log may fail. */
  fail(message: string, error: unknown): void {
    this.#end({ code: 1, signal: null, reason: messageOf(error) });
    this.#deps.onFailed(message, error);
  }

  async stop(graceMs: number): Promise<boolean> {
    const { platform, clock } = this.#deps;
    const life = this.#life;
    this.#stopping.abort(new Error('stopped'));
    // A paused node sees the request only when it runs.
    platform.thaw();
    const patience = Promise.withResolvers<boolean>();
    using _timer = clock.timer(graceMs, () => patience.resolve(true));
    const stopped = async () => {
      if (life.phase === 'running') await platform.run(() => life.node.stop());
      return false;
    };
    try {
      return await Promise.race([stopped(), patience.promise]);
    } finally {
      this.#end({ code: 0, signal: null });
      await platform.cut();
    }
  }

  async kill(): Promise<void> {
    this.#end(KILLED);
    await this.cut();
  }

  /**
   * Ends the node amid its work; its disk loses what is not synced.
   * @param tear what else the disk loses @returns what was lost
   */
  async cutPower(tear: Tearing): Promise<Counts> {
    const { platform, clock, tampered } = this.#deps;
    const late = Promise.withResolvers<void>();
    using _timer = clock.timer(CUT_WITHIN_MS, () => late.resolve());
    const pieces = 1 + platform.random.below(CUT_WITHIN_PIECES);
    await Promise.race([platform.cutAfter(pieces), late.promise]);
    await this.kill();
    return { ...tampered?.losePower(), ...(await tear(platform.random)) };
  }

  pause(): true {
    this.#deps.platform.freeze();
    this.#deps.onChange();
    return true;
  }

  resume(): true {
    this.#deps.platform.thaw();
    this.#deps.onChange();
    return true;
  }

  observe(): Observed {
    if (this.isRunning) {
      const state = this.#deps.platform.state === 'frozen' ? 'paused' : 'running';
      return { state, pid: process.pid };
    }
    return this.#life.phase === 'ended' ? { state: 'gone', exit: this.#life.exit } : { state: 'gone' };
  }

  cut(): Promise<void> {
    return this.#deps.platform.cut();
  }

  /** Its first end is what it died of. */
  #end(exit: Exit): void {
    if (this.#life.phase !== 'ended') this.#life = { phase: 'ended', exit };
    this.#stopping.abort(new Error('the node has ended'));
    void this.#deps.tampered?.[Symbol.asyncDispose]();
    this.#deps.onChange();
  }
}

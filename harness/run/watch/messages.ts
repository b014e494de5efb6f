/** Keeps what the nodes of a run's clusters say to each other, where they can be heard, in the run's folder. */
import { messageOf } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { TapEvent } from '../../places/links/tap/events.ts';
import { MESSAGES_FILE, MessageFile } from '../../report/messages/message-file.ts';

/** Events that are written at once. */
const BATCH = 1000;

export class MessageWatch {
  /** Undefined after a failure. */
  #file: MessageFile | undefined;
  readonly #problems: string[];
  #ended = new AbortController();
  #following: Promise<void> | undefined;
  #missed = 0;
  #dropped = 0;

  /** @param folder of the run @param problems gets a line for each thing that could not be recorded */
  constructor(folder: string, problems: string[]) {
    this.#file = new MessageFile(folder);
    this.#problems = problems;
  }

  /** @param since `first`: what is kept of the past as well */
  watch(cluster: Pick<Cluster, 'capabilities' | 'tap'>, since: 'first' | false): void {
    const file = this.#file;
    if (file === undefined || !cluster.capabilities.has('tap')) return;
    this.#ended = new AbortController();
    let missed = 0;
    const onMissed = (count: number) => {
      missed += count;
      this.#missed += count;
    };
    const events = cluster.tap({ kept: since, signal: this.#ended.signal, onMissed });
    const taken = () => {
      const count = missed;
      missed = 0;
      return count;
    };
    this.#following = this.#follow(file, events, taken);
  }

  async #follow(file: MessageFile, events: AsyncIterable<TapEvent>, missed: () => number): Promise<void> {
    try {
      let batch: TapEvent[] = [];
      for await (const event of events) {
        batch.push(event);
        if (batch.length < BATCH) continue;
        await file.append(batch, missed());
        batch = [];
      }
      if (batch.length > 0) await file.append(batch, missed());
    } catch (error) {
      this.#file = undefined;
      this.#problems.push(`${MESSAGES_FILE} ends early: ${messageOf(error)}`);
    }
  }

  /** Takes what was said until now, before the nodes are stopped. */
  async release(): Promise<void> {
    this.#ended.abort();
    await this.#following;
    this.#following = undefined;
    const { dropped = 0 } = this.#file ?? {};
    if (dropped > this.#dropped)
      this.#problems.push(
        `${MESSAGES_FILE} has no room for ${plural(dropped - this.#dropped, 'older message')}`,
      );
    if (this.#missed > 0)
      this.#problems.push(`${plural(this.#missed, 'message')} passed too fast to be recorded`);
    this.#dropped = dropped;
    this.#missed = 0;
  }
}

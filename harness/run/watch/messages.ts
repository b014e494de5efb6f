/** Keeps what nodes of a run's clusters say to each other in the run's folder. */
import { messageOf } from '../../base/errors.ts';
import { grouped, plural } from '../../base/format.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { every } from '../../base/wait.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { TapEvent } from '../../places/links/tap/events.ts';
import { MESSAGES_FILE, MessageFile } from '../../report/messages/message-file.ts';

const BATCH = 1000;
/** What a run that is killed loses. */
const WRITTEN_AFTER_MS = 1000;

export class MessageWatch {
  #file: MessageFile | undefined;
  readonly #problems: string[];
  #ended = new AbortController();
  #following: Promise<void> | undefined;
  #missed = 0;
  #clusters = 0;

  /** @param folder of the run @param problems gets a line for each thing that could not be recorded */
  constructor(folder: string, problems: string[], eventsMax?: number) {
    this.#file = new MessageFile(folder, eventsMax);
    this.#problems = problems;
  }

  /** What is said from now on, and during its start if the run has started it. */
  watch(cluster: Pick<Cluster, 'capabilities' | 'startedAt' | 'tap' | 'timings'>): void {
    const file = this.#file;
    this.#clusters++;
    file?.next(cluster.startedAt);
    if (file === undefined || !cluster.capabilities.has('tap')) return;
    this.#ended = new AbortController();
    let missed = 0;
    const onMissed = (count: number) => {
      missed += count;
      this.#missed += count;
    };
    const kept = cluster.timings.totalMs > 0 ? 'first' : false;
    const events = cluster.tap({ kept, signal: this.#ended.signal, onMissed });
    const taken = () => {
      const count = missed;
      missed = 0;
      return count;
    };
    this.#following = this.#follow(file, events, taken);
  }

  async #follow(file: MessageFile, events: AsyncIterable<TapEvent>, missed: () => number): Promise<void> {
    const cluster = this.#clusters;
    try {
      await copied(events, async (batch) => {
        const labelled = cluster === 1 ? batch : batch.map((event) => ({ ...event, cluster }));
        await file.append(labelled, missed());
      });
    } catch (error) {
      this.#file = undefined;
      this.#problems.push(`${MESSAGES_FILE} ends early: ${messageOf(error)}`);
    }
  }

  async release(): Promise<void> {
    this.#ended.abort();
    await this.#following;
    this.#following = undefined;
    if (this.#missed > 0)
      this.#problems.push(`${plural(this.#missed, 'message')} passed too fast to be recorded`);
    this.#missed = 0;
  }

  get notes(): readonly string[] {
    const { count = 0, dropped = 0 } = this.#file ?? {};
    if (dropped === 0) return [];
    const kept = `the latest ${grouped(count - dropped)} of ${grouped(count)} lines`;
    return [`messages between nodes: ${kept} are kept`];
  }
}

/** A second after they came at the latest, and before it throws what `events` throws. */
async function copied(
  events: AsyncIterable<TapEvent>,
  append: (batch: readonly TapEvent[]) => Promise<void>,
): Promise<void> {
  let batch: TapEvent[] = [];
  let written = Promise.resolve();
  const flush = () => {
    const taken = batch;
    batch = [];
    if (taken.length > 0) written = written.then(() => append(taken));
    return written;
  };
  // What a flush throws, each later one throws as well.
  using _regularly = every(MACHINE_CLOCK, WRITTEN_AFTER_MS, () => void Promise.allSettled([flush()]));
  try {
    for await (const event of events) if (batch.push(event) >= BATCH) await flush();
  } finally {
    await flush();
  }
}

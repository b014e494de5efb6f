/** What happens to a member, other than by the scenario, ends the scenario and appears in its result. */
import { HarnessError } from '../../base/errors.ts';
import { ClientError } from '../../client/errors.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { type Incident, incidentText } from '../../cluster/nodes/membership.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';

/** Members that die together are named together. */
const GATHER_MS = 300;
/** The connections of a dying process are gone a moment before the process is. */
const DEATH_MS = 500;
const DEATH_POLL_MS = 20;
/** A node that svcnet has not started must be silent for some seconds to count as lost. */
const SILENCE_MS = 10_000;

export class MemberWatch implements Disposable {
  readonly incidents: Incident[] = [];
  readonly #cluster: Cluster;
  readonly #aborted = new AbortController();
  readonly #forget: () => void;
  readonly #tell: (incident: Incident) => void;
  #timer: Disposable | undefined;

  constructor(cluster: Cluster, tell: (incident: Incident) => void) {
    this.#cluster = cluster;
    this.#tell = tell;
    this.#forget = cluster.membership.onIncident((incident) => this.#note(incident));
  }

  get signal(): AbortSignal {
    return this.#aborted.signal;
  }

  /** Observes once more. @param error what the scenario has ended with, if anything */
  async end(error?: unknown): Promise<void> {
    await this.#cluster.membership.observe();
    if (!(error instanceof ClientError) || error.status !== undefined) return;
    const { clock, driver } = this.#cluster;
    const until = clock.monotonic() + (DRIVER_FACTS[driver].owned ? DEATH_MS : SILENCE_MS);
    while (this.incidents.length === 0 && clock.monotonic() < until) {
      await clock.sleep(DEATH_POLL_MS);
      await this.#cluster.membership.observe();
    }
  }

  get text(): string | undefined {
    if (this.incidents.length === 0) return undefined;
    return this.incidents.map(incidentText).join('\n');
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#forget();
  }

  #note(incident: Incident): void {
    this.incidents.push(incident);
    this.#tell(incident);
    this.#timer ??= this.#cluster.clock.timer(GATHER_MS, () =>
      this.#aborted.abort(new HarnessError('MEMBER_LOST', this.text ?? '')),
    );
  }
}

/** A run owns its cluster's members: whatever else happens to one ends the scenario and is in its result. */
import { HarnessError } from '../../base/errors.ts';
import { ClientError } from '../../client/errors.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { type Incident, incidentText } from '../../cluster/nodes/membership.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';

/** Simultaneous deaths are named together. */
const GATHER_MS = 300;
/** Connections go before their process. */
const DEATH_MS = 500;
const DEATH_POLL_MS = 20;
/** Foreign nodes may be silent for seconds. */
const SILENCE_MS = 10_000;

export class MemberWatch implements Disposable {
  readonly incidents: Incident[] = [];
  readonly #cluster: Cluster;
  readonly #aborted = new AbortController();
  readonly #forget: () => void;
  readonly #tell: (incident: Incident) => void;
  #timer: Disposable | undefined;

  /** @param tell called with every incident as it comes */
  constructor(cluster: Cluster, tell: (incident: Incident) => void) {
    this.#cluster = cluster;
    this.#tell = tell;
    this.#forget = cluster.membership.onIncident((incident) => this.#note(incident));
  }

  /** Aborts soon after the first incident. */
  get signal(): AbortSignal {
    return this.#aborted.signal;
  }

  /**
   * Observes once more.
   * @param error that ended the scenario, if any
   */
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

  /** What happened, a line each; undefined when nothing did. */
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

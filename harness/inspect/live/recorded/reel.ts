/** A record up to a moment, as the page shows it. */
import type { Delta, NodeView, Snapshot, TimeView } from '../../../web/picture/live.ts';
import { UiState } from '../state.ts';
import { Traffic } from '../traffic.ts';
import { withFaults } from '../watch.ts';
import type { Moment, Recording } from './recording.ts';

/** A rate at a moment is that of the time before it. */
const RATE_MS = 1000;

export class Reel {
  readonly #recording: Recording;
  readonly #traffic = new Traffic();
  /** Known of all nodes that there ever were. */
  #nodes = new Map<string, NodeView>();
  #places: ReadonlyMap<string, number> = new Map();
  /** Open connections of each pair that ever had one, by their places. */
  #connections = new Map<string, number>();
  #state: UiState;
  #next = 0;
  #nowMs = 0;

  constructor(recording: Recording) {
    this.#recording = recording;
    this.#state = this.#begun();
    this.seek(recording.cluster.played.fromMs);
  }

  get snapshot(): Snapshot {
    return this.#state.snapshot();
  }

  /** Of the next event after now; undefined: there is none. */
  get nextEventMs(): number | undefined {
    const { moments } = this.#recording;
    return moments.slice(this.#next).find(({ at, event }) => event !== undefined && at > this.#nowMs)?.at;
  }

  /** To any moment. Pages need the snapshot. @param ms since the epoch */
  seek(ms: number): void {
    this.#state = this.#begun();
    this.#play(ms - RATE_MS, { counted: false });
    this.#traffic.links([], [], ms - RATE_MS);
    this.#play(ms, { counted: true });
    this.#show();
  }

  /**
   * On to a later moment.
   * @param ms since the epoch @returns what changed, or undefined: pages need the snapshot
   */
  advance(ms: number): readonly Delta[] | undefined {
    const deltas = this.#play(ms, { counted: true });
    const last = this.#show();
    return deltas === undefined || last === undefined ? deltas : [...deltas, last];
  }

  /** @returns what changed */
  tell(time: Omit<TimeView, 'doing'>): Delta | undefined {
    const { steps, faults } = this.#recording;
    const lasts = ({ at, endAt }: { readonly at: number; readonly endAt?: number | undefined }) =>
      at <= this.#nowMs && (endAt ?? Number.POSITIVE_INFINITY) > this.#nowMs;
    const step = steps.filter(lasts).map(({ text }) => text);
    const broken = faults.filter(lasts).map(({ text }) => text);
    const doing = [step.join(', '), broken.join('; ')].filter((text) => text !== '').join(': ');
    return this.#state.put({ time: { ...time, ...(doing === '' ? {} : { doing }) } });
  }

  #begun(): UiState {
    const { cluster, nodes, first, isHeard } = this.#recording;
    this.#nodes = new Map(nodes);
    this.#connections = new Map();
    this.#traffic.clear();
    this.#next = 0;
    this.#nowMs = 0;
    const members = this.#members(first);
    const state = new UiState(cluster, members);
    if (isHeard) state.put({ messages: [] });
    return state;
  }

  #members(names: readonly string[]): NodeView[] {
    this.#places = new Map(names.map((name, place) => [name, place]));
    return names.map((name) => this.#nodes.get(name) as NodeView);
  }

  /** @param counted its messages are in the rates @returns undefined: nodes have joined or left */
  #play(ms: number, { counted }: { readonly counted: boolean }): Delta[] | undefined {
    const { moments } = this.#recording;
    const deltas: (Delta | undefined)[] = [];
    let renewed = false;
    for (; ; this.#next++) {
      const moment = moments[this.#next];
      if (moment === undefined || moment.at > ms) break;
      const { members, nodes, row, event, message, link } = moment;
      for (const [name, change] of nodes ?? []) {
        const node = this.#nodes.get(name);
        if (node !== undefined) this.#nodes.set(name, { ...node, ...change });
      }
      if (members !== undefined) {
        this.#state.renew(this.#members(members));
        this.#connections.clear();
        renewed = true;
      }
      if (message !== undefined) this.#say(message, counted);
      if (link !== undefined) this.#connect(link);
      if (row !== undefined || event !== undefined)
        deltas.push(this.#state.put({ ...(row && { row }), events: event === undefined ? [] : [event] }));
    }
    this.#nowMs = ms;
    return renewed ? undefined : deltas.filter((delta) => delta !== undefined);
  }

  #say(message: NonNullable<Moment['message']>, counted: boolean): void {
    const [a, b] = [this.#places.get(message.from), this.#places.get(message.to)];
    if (a === undefined || b === undefined) return;
    if (counted) this.#traffic.add({ ...message, a, b });
    else this.#traffic.recall(message);
  }

  #connect({ from, to, connected }: NonNullable<Moment['link']>): void {
    const [a, b] = [this.#places.get(from), this.#places.get(to)];
    if (a === undefined || b === undefined) return;
    const key = `${Math.min(a, b)}-${Math.max(a, b)}`;
    const open = (this.#connections.get(key) ?? 0) + (connected ? 1 : -1);
    this.#connections.set(key, Math.max(0, open));
  }

  #show(): Delta | undefined {
    const names = [...this.#places.keys()];
    const active = this.#recording.faults.filter(
      ({ at, endAt = Number.POSITIVE_INFINITY }) => at <= this.#nowMs && endAt > this.#nowMs,
    );
    const pairs = [...this.#connections]
      .filter(([, open]) => open > 0)
      .map(([key]) => key.split('-').map(Number) as [number, number]);
    return this.#state.put({
      nodes: withFaults(
        names.map((name) => this.#nodes.get(name) as NodeView),
        active,
      ),
      links: this.#traffic.links(pairs, this.#state.links, this.#nowMs),
      ...(this.#recording.isHeard && {
        moves: this.#traffic.takeMoves(),
        messages: this.#traffic.messages,
      }),
    });
  }
}

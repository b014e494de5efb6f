/** A chunk's route as a run's messages tell it, without a node. */
import { interrupted } from '../../base/errors.ts';
import { inLine } from '../../base/foreign-text.ts';
import { readMessages } from '../../report/messages/read-messages.ts';
import { type RunRecord, recordLabel } from '../../report/read-run.ts';
import { type Fate, RunFates } from './fate.ts';
import { Listener } from './overheard.ts';
import { type Route, routeOf } from './route.ts';

export interface RecordedTrace {
  readonly run: string;
  /** In lower case. */
  readonly reference: string;
  /** 64 hex digits: the reference's root. */
  readonly chunk: string;
  readonly clusters: readonly RecordedRoute[];
  /** With kept messages. */
  readonly recorded: readonly string[];
  readonly notes: readonly string[];
}

export interface RecordedRoute {
  /** Folder of the run, such as `cluster-2`, or `part-2/cluster-1` of a parallel run. */
  readonly cluster: string;
  /** Ms since the epoch. */
  readonly began: number;
  readonly route: Route;
  readonly fate: Fate;
}

const ADDRESS_DIGITS = 64;
/** A foreign record may name anything. */
const NAME_MAX = 100;
const DETAIL_MAX = 200;

/**
 * @param reference 64 or 128 hex digits, lower case
 * @throws HarnessError `RUN_INVALID`, `CANNOT_READ`
 */
export async function recordedTrace(
  run: string,
  reference: string,
  { records, signal }: { readonly records: readonly RunRecord[]; readonly signal: AbortSignal },
): Promise<RecordedTrace> {
  const chunk = reference.slice(0, ADDRESS_DIGITS);
  const notes: string[] = [];
  const listeners = new Map<
    string,
    { readonly listener: Listener; readonly began: number; readonly fates: RunFates }
  >();
  for (const { part, folder, files } of records) {
    const fates = new RunFates(folder);
    for await (const event of readMessages(files, (lack) =>
      notes.push(part === '' ? lack : `${part}: ${lack}`),
    )) {
      if (signal.aborted) throw interrupted(signal);
      const label = recordLabel(part, event.cluster);
      const known = listeners.get(label) ?? {
        listener: new Listener(new Map(), chunk),
        began: event.began,
        fates,
      };
      listeners.set(label, known);
      const { from, to, fields } = event;
      const { err } = fields;
      const detail = typeof err === 'string' ? { err: inLine(err, DETAIL_MAX) } : {};
      known.listener.hear({
        ...event,
        from: inLine(from, NAME_MAX),
        to: inLine(to, NAME_MAX),
        fields: { ...fields, ...detail },
      });
    }
  }
  const clusters = [...listeners]
    .map(([cluster, { listener, ...about }]) => ({ cluster, ...about, told: listener.testimonies() }))
    .filter(({ told }) => told.length > 0)
    .map(({ cluster, began, fates, told }) => ({
      cluster,
      began,
      route: routeOf(told, (name) => name),
      fate: fates.of(chunk, told, began),
    }));
  return { run, reference, chunk, clusters, recorded: [...listeners.keys()], notes };
}

import type { Clock } from '../../formats/clock.ts';
import { clusterGone, HarnessError } from '../base/errors.ts';
import type { PartLog } from '../base/logs/file-log.ts';
import { pause } from '../base/wait.ts';
import { type Driver, LINK_PROXY, startedWithout } from '../places/driver.ts';
import { DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import type { TapControl, TapEvent } from '../places/links/tap/events.ts';
import { type ClusterRecord, clusterFolder, readRecord, readRun } from './state/state.ts';

/** Options of `cluster.tap`. */
export interface TapOptions {
  /** One: what it says and hears. Two: what they say to each other. Default: all. */
  readonly nodes?: readonly string[] | undefined;
  /** Name, such as `pushsync`, or the whole id of a protocol. Default: all. */
  readonly protocol?: string | undefined;
  /**
   * True: what is kept of the past, and then the end, instead of what is said from now on; `first`: both. Default:
   * false.
   */
  readonly kept?: boolean | 'first' | undefined;
  /** Messages also as they were sent, each in hex in its field `raw`. Default: false. */
  readonly raw?: boolean | undefined;
  /** Ends it, with `kept` true at once, otherwise after all that was said before. */
  readonly signal?: AbortSignal | undefined;
  /** Called with how many events were not kept long enough to be read. */
  readonly onMissed?: ((count: number) => void) | undefined;
}

const PAUSE_MS = 100;
const REMOVED_WITHIN_MS = 3000;
const NEVER = new AbortController().signal;

interface Heard {
  readonly clock: Clock;
  readonly stateDir: string;
  readonly record: Pick<ClusterRecord, 'name' | 'token'>;
  readonly driver: Driver;
}

/** `cluster.logOf`. @param nodeOf throws when there is none of that name */
export function partLog(
  { stateDir, record, driver }: Heard,
  part: string,
  nodeOf: (name: string) => { readonly output: PartLog | undefined },
): PartLog {
  const isProxy = part === LINK_PROXY && driver.routes !== undefined;
  const node = part === 'chain' || isProxy ? undefined : nodeOf(part);
  if (!DRIVER_FACTS[driver.name].owned) {
    throw new HarnessError('NODE_STATE', `cannot read the log of ${part}: it was not started here`, {
      hint: 'Whatever runs it has its log, such as docker logs or kubectl logs.',
    });
  }
  return node?.output ?? driver.logs({ name: part, log: clusterFolder(stateDir, record.name).log(part) });
}

export function tapped(cluster: Heard, options: TapOptions): AsyncGenerator<TapEvent> {
  const { stateDir, record, driver } = cluster;
  if (driver.can.tap === undefined) throw cannotTap(driver.name, record.name);
  const tap = driver.can.tap.tap(readRun(stateDir, record.name, LINK_PROXY)?.handle);
  const read: TapControl['tapped'] = async (after, raw) => {
    try {
      return await tap.tapped(after, raw);
    } catch (error) {
      throw (await isRemoved(cluster, options.signal)) ? clusterGone(record.name) : error;
    }
  };
  return heard(read, options, cluster.clock);
}

async function isRemoved({ clock, stateDir, record }: Heard, signal?: AbortSignal): Promise<boolean> {
  const isThere = () => readRecord(stateDir, record.name)?.token === record.token;
  using limit = clock.deadline(REMOVED_WITHIN_MS, signal);
  while (isThere() && !limit.signal.aborted) await pause(clock, PAUSE_MS, limit.signal);
  return !isThere();
}

function cannotTap(driver: DriverName, cluster: string): HarnessError {
  const refused = (why: string, hint: string) =>
    new HarnessError('ARGUMENT_INVALID', `cannot tap cluster '${cluster}': ${why}`, { hint });
  if (!DRIVER_FACTS[driver].owned) {
    return refused(
      'it was not started here, so the keys of its nodes are not known',
      'A tap ends the encryption between nodes with their keys: svcnet up --tap starts nodes with known ones.',
    );
  }
  const without = startedWithout(driver, 'tap');
  return without === undefined
    ? refused(
        `no proxy can read the links of driver ${driver}`,
        'Start one of processes, or of nodes in this one: svcnet up --driver process --tap, or --driver embedded',
      )
    : refused('it was started without the tap', `Start one with it: ${without.start}`);
}

export function isMeant(
  { from, to, protocol: name, id }: TapEvent,
  { nodes = [], protocol = name }: Pick<TapOptions, 'nodes' | 'protocol'>,
): boolean {
  return nodes.every((node) => node === from || node === to) && (protocol === name || protocol === id);
}

async function* heard(
  read: TapControl['tapped'],
  { kept = false, raw, signal = NEVER, onMissed, ...selection }: TapOptions,
  clock: Clock,
): AsyncGenerator<TapEvent> {
  const head = async () => (await read(Number.MAX_SAFE_INTEGER, raw)).next;
  // Ongoing talk must not keep the past from ending.
  let last = kept === true ? await head() : Infinity;
  for (let at = kept === false ? await head() : 0; at < last; ) {
    if (signal.aborted && kept === true) return;
    if (signal.aborted && last === Infinity) last = await head();
    const { events, next, missed } = await read(at, raw);
    // Nobody expects more of the past than is kept.
    if (missed > 0 && (at > 0 || kept !== true)) onMissed?.(missed);
    at = next;
    yield* events.filter((event) => isMeant(event, selection));
    if (events.length > 0) continue;
    if (last !== Infinity) return;
    await pause(clock, PAUSE_MS, signal);
  }
}

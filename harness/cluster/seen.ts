import { parseWaitMs, WAIT_EXPECTED } from '../../formats/units.ts';
import { argumentError, expectTimeout } from '../base/arguments.ts';
import { HarnessError, messageOf } from '../base/errors.ts';
import { formatMs } from '../base/format.ts';
import { PROTOCOL_NAMES, type TapEvent } from '../places/links/tap/events.ts';
import { messagesOf, protocolNamed } from '../places/links/tap/protocols.ts';
import type { Cluster } from './cluster.ts';

/** A message to wait for. */
export interface ToSee {
  /** Name, such as `pushsync`, or the whole id of a protocol. */
  readonly protocol: string;
  /** Such as `receipt`; `undecodable` for one that is broken. Default: anything of the protocol. */
  readonly message?: string | undefined;
  /** Name of the node that says it. Default: any. */
  readonly from?: string | undefined;
  /** Name of the node that hears it. Default: any. */
  readonly to?: string | undefined;
  /** When it is said at the earliest: a value of `cluster.clock.now()`, in ms. Default: all that the tap keeps. */
  readonly since?: number | undefined;
  /** How long to wait for it: milliseconds, or text such as `5s`. Default: 10 seconds. */
  readonly within?: number | string | undefined;
}

const WITHIN_MS = 10_000;
const OTHERS = ['undecodable', 'bytes'];
const SHOWN_MAX = 8;

/**
 * The first event that is meant, kept by the tap or still to come.
 * @param onMissed called with how many events were not kept long enough to be seen
 * @throws HarnessError `WAIT_TIMEOUT` with what was seen instead, `ARGUMENT_INVALID` for what can never be
 * seen or without a tap, `NODE_NOT_FOUND`
 */
export async function seen(
  cluster: Cluster,
  wanted: ToSee,
  onMissed: (count: number) => void,
): Promise<TapEvent> {
  expectPossible(cluster, wanted);
  const { protocol, message, from, to, since = Number.NEGATIVE_INFINITY, within = WITHIN_MS } = wanted;
  const timeoutMs = typeof within === 'number' ? within : parseWaitMs(within);
  if (timeoutMs === undefined) throw argumentError('within', within, WAIT_EXPECTED);
  expectTimeout('within', timeoutMs);
  const now = cluster.clock.now();
  if (!(since <= now)) throw argumentError('since', since, `a time up to now, ${now} by the cluster's clock`);
  const counts = new Counts(protocol);
  let lost = 0;
  // What was missed was said before the next event, which tells whether it mattered.
  let doubtful = 0;
  const settle = (isLost: boolean) => {
    if (doubtful > 0 && isLost) {
      lost += doubtful;
      onMissed(doubtful);
    }
    doubtful = 0;
  };
  using limit = cluster.clock.deadline(timeoutMs);
  for await (const event of cluster.tap({
    kept: 'first',
    signal: limit.signal,
    onMissed: (count) => void (doubtful += count),
  })) {
    settle(event.at >= since);
    if (event.at < since) continue;
    const isOfProtocol = protocol === event.protocol || protocol === event.id;
    const isMeant = isOfProtocol && (message === undefined || message === event.name);
    if (isMeant && (from ?? event.from) === event.from && (to ?? event.to) === event.to) return event;
    counts.add(event, isOfProtocol);
  }
  settle(true);
  const lostText = lost === 0 ? '' : `\nevents that were not kept long enough to be looked at: ${lost}`;
  throw new HarnessError(
    'WAIT_TIMEOUT',
    `no ${toSeeText(wanted)} was seen within ${formatMs(timeoutMs)}: ${counts.text()}${lostText}`,
  );
}

export function toSeeText({ protocol, message, from, to }: ToSee): string {
  const parts = [protocol, message, from && `from ${from}`, to && `to ${to}`];
  return parts.filter((part) => part !== undefined).join(' ');
}

function expectPossible(cluster: Cluster, { protocol, message, from, to }: ToSee): void {
  for (const name of [from, to]) if (name !== undefined) cluster.node(name);
  if (from !== undefined && from === to) throw argumentError('to', to, 'another node than from');
  if (protocol.startsWith('/')) return;
  if (!PROTOCOL_NAMES.some((name) => name === protocol)) {
    throw argumentError('protocol', protocol, `one of ${PROTOCOL_NAMES.join(', ')}, or a whole id`);
  }
  if (message === undefined || OTHERS.includes(message) || protocolNamed(protocol)?.raw === message) return;
  try {
    messagesOf(protocol, message);
  } catch (error) {
    throw new HarnessError('ARGUMENT_INVALID', `message: ${messageOf(error)}`, { cause: error });
  }
}

class Counts {
  readonly #protocol: string;
  readonly #own = new Map<string, number>();
  readonly #others = new Map<string, number>();

  constructor(protocol: string) {
    this.#protocol = protocol;
  }

  add({ from, to, kind, name, protocol }: TapEvent, isOwn: boolean): void {
    if (!isOwn) this.#others.set(protocol, (this.#others.get(protocol) ?? 0) + 1);
    else if (kind === 'message') {
      const text = `${name} ${from} -> ${to}`;
      this.#own.set(text, (this.#own.get(text) ?? 0) + 1);
    }
  }

  text(): string {
    if (this.#own.size > 0) return `of ${this.#protocol} it saw\n${listed(this.#own)}`;
    if (this.#others.size > 0) return `it saw nothing of ${this.#protocol}, but of\n${listed(this.#others)}`;
    return 'it saw nothing at all';
  }
}

function listed(counts: ReadonlyMap<string, number>): string {
  const all = [...counts].toSorted(([, one], [, other]) => other - one);
  const lines = all.slice(0, SHOWN_MAX).map(([text, count]) => `  ${count} × ${text}`);
  const rest = all.length - SHOWN_MAX;
  return [...lines, ...(rest > 0 ? [`  and ${rest} more`] : [])].join('\n');
}

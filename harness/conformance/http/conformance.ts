/** Conformance of a node's HTTP interface, which ideally leaves nothing behind. */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../formats/clock.ts';
import { secretsOf } from '../../../formats/shown-url.ts';
import { messageOf } from '../../base/errors.ts';
import type { DialectName } from '../../client/dialect.ts';
import type { Graded, Opened, Opening } from '../grade.ts';
import type { Place } from './messages.ts';
import { Names } from './names.ts';
import { PREREQUISITES } from './prerequisites.ts';
import { probeTarget, type Urls } from './probe-target.ts';
import { httpRows } from './rows/rows.ts';
import type { HttpSubject } from './subject.ts';
import { NodeTransport, type Transport } from './transport.ts';

const CLEANUP_LIMIT_MS = 20_000;
const POLL_MS = 250;

/** HTTP interface to grade. */
export interface HttpOptions {
  /** URL of the API. */
  readonly target: string;
  /** URL of the debug API; without it, its rows are skipped. */
  readonly debugTarget?: string;
  /** URL of the API of another node of the network; without it, rows about two nodes are skipped. */
  readonly second?: string;
  /** Names that the node uses in headers, paths and fields. */
  readonly dialect: DialectName;
  /** Bearer token with full access. */
  readonly token?: string;
  /** Batch id for uploads, 64 hex digits. Default: a usable batch of the node. */
  readonly batch?: string;
}

/** @param around between node and rows, to change answers */
export function httpConformance(
  options: HttpOptions,
  around: (transport: Transport) => Transport = (transport) => transport,
): Graded<HttpSubject> {
  const names = new Names(options.dialect);
  return {
    kind: 'http',
    rows: httpRows(names),
    open: (run) => open(options, { names, around }, run),
  };
}

async function open(
  { target, debugTarget, second, token, batch }: HttpOptions,
  { names, around }: { names: Names; around: (transport: Transport) => Transport },
  { clock, signal }: Opening,
): Promise<Opened<HttpSubject>> {
  const urls: Urls = {
    main: target,
    // A cluster's environment names a node's only interface twice.
    ...(debugTarget === undefined || debugTarget === target ? {} : { debug: debugTarget }),
    ...(second === undefined ? {} : { second }),
  };
  const transport = new NodeTransport(urls, token);
  const cleanups: HttpSubject['cleanups'] = [];
  try {
    const implementation = await probeTarget(transport, { urls, batch }, { clock, signal });
    const subject: HttpSubject = {
      clock,
      names,
      prerequisites: PREREQUISITES,
      transport: around(transport),
      origin: new URL(target).origin,
      places: new Set(Object.keys(urls) as Place[]),
      batch,
      pollMs: POLL_MS,
      seed: randomBytes(8).toString('hex'),
      memo: new Map(),
      cleanups,
    };
    return {
      subject,
      described: `${new URL(target).origin}, dialect ${names.dialect}`,
      implementation,
      secrets: [...(token === undefined ? [] : [token]), ...Object.values(urls).flatMap(secretsOf)],
      close: async () => {
        const leftBehind = await cleanUp(cleanups, clock);
        await transport.close();
        return leftBehind;
      },
    };
  } catch (error) {
    await transport.close();
    throw error;
  }
}

/** One failure must not stop the others: the node may be gone. */
async function cleanUp(cleanups: HttpSubject['cleanups'], clock: Clock): Promise<string[]> {
  const leftBehind: string[] = [];
  const deadline = clock.monotonic() + CLEANUP_LIMIT_MS;
  for (const { what, remove } of cleanups.toReversed()) {
    if (clock.monotonic() > deadline) leftBehind.push(`${what}: no time left`);
    else await remove().catch((error: unknown) => leftBehind.push(`${what}: ${messageOf(error)}`));
  }
  return leftBehind;
}

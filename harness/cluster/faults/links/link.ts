import { z } from 'zod';
import { formatMs, percentText, plural } from '../../../base/format.ts';
import {
  LINK_PROFILE_NAMES,
  LINK_PROFILES,
  type LinkConditions,
  type LinkProfile,
} from '../../../places/links/conditions.ts';
import { ALL } from '../../../places/links/rules.ts';
import type { FaultKind } from '../fault.ts';
import { bandwidth, duration, nodeName, parseNames, share, size } from '../fields.ts';
import { betweenText, ruleFault } from './rule-fault.ts';

const names = z.array(nodeName, { error: 'a list of names of nodes' }).min(1, { error: 'at least one node' });
const yes = z.literal(true, { error: 'true, or nothing' });

const CONDITIONS_EXPECTED =
  'at least one condition: profile, latency, jitter, bandwidth, loss, stall, halfOpen, reset, refuse, cutAfter or slowClose';
const fields = z.strictObject({
  from: names,
  to: names.default([ALL]),
  oneWay: yes.optional(),
  share: share.default(1),
  profile: z.enum(LINK_PROFILE_NAMES, { error: `one of ${LINK_PROFILE_NAMES.join(', ')}` }).optional(),
  latency: duration.optional(),
  jitter: duration.optional(),
  bandwidth: bandwidth.optional(),
  loss: share.optional(),
  stall: yes.optional(),
  halfOpen: yes.optional(),
  reset: yes.optional(),
  refuse: yes.optional(),
  cutAfter: size.optional(),
  slowClose: duration.optional(),
});

/** Conditions of links; at least one. Durations are milliseconds or text such as `200ms`, shares numbers from 0 to 1 or text such as `10%`. */
export interface LinkInput {
  /** Only traffic from the first nodes to the second. */
  readonly oneWay?: true | undefined;
  /** Share of these links, drawn from the seed. Default: all. */
  readonly share?: number | string | undefined;
  /** Conditions by name. */
  readonly profile?: LinkProfile | undefined;
  /** Added to a round trip. */
  readonly latency?: number | string | undefined;
  /** A round trip varies by up to this much either way. */
  readonly jitter?: number | string | undefined;
  /** Of each connection and direction: bytes per second, or text such as `1MB/s`. */
  readonly bandwidth?: number | string | undefined;
  /** Share of packets that are lost and sent again. */
  readonly loss?: number | string | undefined;
  /** Nothing passes; what was sent arrives when the fault ends. */
  readonly stall?: true | undefined;
  /** What is sent is lost, and the sender is not told. */
  readonly halfOpen?: true | undefined;
  /** Connections open when it begins are reset. */
  readonly reset?: true | undefined;
  /** New connections are reset. */
  readonly refuse?: true | undefined;
  /** A connection is reset after this many bytes, or a size such as `64KiB`. */
  readonly cutAfter?: number | string | undefined;
  /** How much later the end of a connection arrives. */
  readonly slowClose?: number | string | undefined;
}

export type LinkRequest = z.output<typeof fields>;

const schema = fields
  .refine((request) => Object.keys(conditionsOf(request)).length > 0, {
    error: CONDITIONS_EXPECTED,
    abort: true,
  })
  .refine((request) => hasStrength(conditionsOf(request)), {
    error: 'a condition that changes something: each that is given is 0',
  })
  .refine(({ share: affected }) => affected > 0, { error: 'a share of the links above 0' });

/** A limit of 0 bytes resets connections at once; any other 0 changes nothing. */
function hasStrength({ cutAfterBytes, ...others }: LinkConditions): boolean {
  return cutAfterBytes !== undefined || Object.values(others).some((value) => value !== 0);
}

export const LINK: FaultKind<LinkRequest> = {
  ...ruleFault((request) => ({
    between: [[request.from, request.to]],
    oneWay: request.oneWay === true,
    share: request.share,
    conditions: conditionsOf(request),
  })),
  name: 'link',
  about: 'make links between nodes slow, lossy or broken',
  schema,
  fields: [
    {
      field: 'from',
      flag: '<from>',
      about: 'nodes at one end: comma-separated names, or all',
      parse: parseNames,
    },
    { field: 'to', flag: '[to]', about: 'nodes at the other end (default: all)', parse: parseNames },
    {
      field: 'profile',
      flag: '--profile <name>',
      about: `conditions by name: ${LINK_PROFILE_NAMES.join(', ')}`,
    },
    { field: 'latency', flag: '--latency <duration>', about: 'added to each round trip' },
    { field: 'jitter', flag: '--jitter <duration>', about: 'random variation of each round trip' },
    {
      field: 'bandwidth',
      flag: '--bandwidth <rate>',
      about: 'limit of each connection and direction, such as 1MB/s',
    },
    { field: 'loss', flag: '--loss <percent>', about: 'share of packets that are lost and sent again' },
    { field: 'stall', flag: '--stall', about: 'hold everything back until the fault ends' },
    { field: 'halfOpen', flag: '--half-open', about: 'discard everything without telling the sender' },
    { field: 'reset', flag: '--reset', about: 'reset existing connections' },
    { field: 'refuse', flag: '--refuse', about: 'refuse new connections' },
    { field: 'cutAfter', flag: '--cut-after <size>', about: 'reset each connection after this many bytes' },
    {
      field: 'slowClose',
      flag: '--slow-close <duration>',
      about: 'delay before the end of a connection arrives',
    },
    {
      field: 'share',
      flag: '--share <percent>',
      about: 'share of these links, drawn from the seed (default: 100%)',
    },
    { field: 'oneWay', flag: '--one-way', about: 'only traffic from the first nodes to the second' },
  ],
  text: (request) => `${conditionsText(request)} ${linksText(request)}`,
  targets: ({ from, to }) => [...new Set([...from, ...to])].filter((name) => name !== ALL),
};

function conditionsOf(request: Partial<LinkRequest>): LinkConditions {
  const {
    profile,
    latency,
    jitter,
    bandwidth: rate,
    loss,
    cutAfter,
    slowClose,
    stall,
    halfOpen,
    reset,
    refuse,
  } = request;
  const given: LinkConditions = {
    latencyMs: latency,
    jitterMs: jitter,
    bytesPerSecond: rate,
    loss,
    stall,
    halfOpen,
    reset,
    refuse,
    cutAfterBytes: cutAfter,
    slowCloseMs: slowClose,
  };
  const chosen = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...(profile === undefined ? {} : LINK_PROFILES[profile]), ...chosen };
}

function conditionsText(request: LinkRequest): string {
  const { latencyMs, jitterMs, bytesPerSecond, loss, cutAfterBytes, slowCloseMs, ...flags } =
    conditionsOf(request);
  const variation = jitterMs === undefined ? '' : ` ± ${msText(jitterMs)}`;
  const parts = [
    latencyMs === undefined && jitterMs === undefined
      ? ''
      : `adds ${msText(latencyMs ?? 0)}${variation} to each round trip`,
    bytesPerSecond === undefined ? '' : `passes ${bytesPerSecond.toLocaleString('en-US')} bytes a second`,
    loss === undefined ? '' : `loses ${percentText(loss)} of the packets`,
    flags.stall === true ? 'holds everything back' : '',
    flags.halfOpen === true ? 'swallows everything' : '',
    flags.reset === true ? 'resets connections' : '',
    flags.refuse === true ? 'refuses connections' : '',
    cutAfterBytes === undefined ? '' : `cuts connections after ${plural(cutAfterBytes, 'byte')}`,
    slowCloseMs === undefined ? '' : `delays the end of connections by ${msText(slowCloseMs)}`,
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function msText(ms: number): string {
  return ms < 1 ? `${ms} ms` : formatMs(ms);
}

function linksText({ from, to, oneWay, share: part }: LinkRequest): string {
  const some = part < 1 ? `on ${percentText(part)} of the links ` : '';
  const others = to.includes(ALL) ? ['all others'] : to;
  return oneWay === true
    ? `${some}from ${from.join(', ')} to ${others.join(', ')}`
    : `${some}${betweenText(from, others)}`;
}

import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { HarnessError } from '../../../base/errors.ts';
import { inLine } from '../../../base/foreign-text.ts';
import { formatMs, percentText } from '../../../base/format.ts';
import { ALL } from '../../../places/links/rules.ts';
import { PROTOCOL_NAMES, type TapControl } from '../../../places/links/tap/events.ts';
import type { MessageActions, MessageAnswer } from '../../../places/links/tap/faults/rule.ts';
import { parseWhere, WHERE_EXPECTED } from '../../../places/links/tap/faults/where.ts';
import type { FaultContext, FaultKind } from '../fault.ts';
import { delay, duration, nodeName, parseNames, share } from '../fields.ts';
import { whole } from '../machines/fields.ts';
import { betweenText } from './rule-fault.ts';

const names = z.array(nodeName, { error: 'a list of names of nodes' }).min(1, { error: 'at least one node' });
const yes = z.literal(true, { error: 'true, or nothing' });
const text = (expected: string) => z.string({ error: expected }).min(1, { error: expected });
const COUNT_MAX = 1_000_000;
const ANSWER_TEXT_MAX = 60;

const DELAY_EXPECTED = 'a duration above 0 such as 2s, or a range such as 2s..5s, the shorter one first';
const ends = z.array(duration).min(1).max(2);
const delayRange = z.unknown().transform((value, { issues }) => {
  const parts = typeof value === 'string' ? value.split('..') : Array.isArray(value) ? value : [value];
  const { data: [shortest = 0, longest = shortest] = [], success } = ends.safeParse(parts);
  if (success && shortest <= longest && longest > 0) return [shortest, longest] as const;
  issues.push({ code: 'custom', input: value, message: DELAY_EXPECTED });
  return z.NEVER;
});

const ANSWER_EXPECTED =
  'error, empty, or the fields of the message as JSON, such as {"err":"no room"}, with bytes in hex';
const answer = z.unknown().transform((value, { issues }): MessageAnswer => {
  if (value === 'error' || value === 'empty') return value;
  const { data, success } = z
    .record(z.string(), z.json())
    .safeParse(typeof value === 'string' ? parsedJson(value) : value);
  if (success) return data;
  issues.push({ code: 'custom', input: value, message: ANSWER_EXPECTED });
  return z.NEVER;
});

const ACTIONS_EXPECTED =
  'at least one action: drop, delay, duplicate, reorder, replay, cut, corrupt or answer';
const LOST = 'nothing else can be done to a message that does not arrive';
const fields = z.strictObject({
  from: names.default([ALL]),
  to: names.default([ALL]),
  oneWay: yes.optional(),
  protocol: z.enum(PROTOCOL_NAMES, { error: `one of ${PROTOCOL_NAMES.join(', ')}` }),
  message: text('the name of a message').optional(),
  where: z
    .string({ error: WHERE_EXPECTED })
    .refine((value) => parseWhere(value) !== undefined, { error: WHERE_EXPECTED })
    .optional(),
  every: whole(1, COUNT_MAX, 'messages').optional(),
  first: whole(1, COUNT_MAX, 'messages').optional(),
  share: share.default(1),
  drop: z.union([yes, share], { error: 'true, or a share such as 10%' }).optional(),
  reset: yes.optional(),
  delay: delayRange.optional(),
  duplicate: yes.optional(),
  reorder: yes.optional(),
  replay: delay.optional(),
  cut: delay.optional(),
  corrupt: text('the name of a field').optional(),
  answer: answer.optional(),
});
export type MessageRequest = z.output<typeof fields>;

const schema = fields
  .refine((request) => Object.keys(actionsOf(request)).length > 0, { error: ACTIONS_EXPECTED })
  .refine(({ drop, share: part }) => drop !== 0 && part > 0, { error: 'a share of the messages above 0' })
  .refine(({ drop, share: part }) => typeof drop !== 'number' || part === 1, {
    error: 'one share: of drop, or of the messages',
  })
  .refine(({ drop, reset }) => reset === undefined || drop !== undefined, {
    error: 'drop beside reset, which says how a message is dropped',
  })
  .refine((request) => isAlone(request, request.drop), { error: `drop alone: ${LOST}` })
  .refine((request) => isAlone(request, request.answer), { error: `answer alone: ${LOST}` })
  .refine(({ from, to }) => [...from, ...to].some((name) => name === ALL || name !== from[0]), {
    error: 'two different nodes',
  });

/** Durations are milliseconds or text such as `2s`, shares numbers from 0 to 1 or text such as `10%`. */
export interface MessageInput {
  /** Names of nodes at one end. Default: all. */
  readonly from?: string | readonly string[] | undefined;
  /** At the other end. Default: all. */
  readonly to?: string | readonly string[] | undefined;
  /** Only messages from the first nodes to the second. */
  readonly oneWay?: true | undefined;
  /** Such as `pushsync`. */
  readonly protocol: string;
  /** Such as `receipt`. Default: every message of the protocol. */
  readonly message?: string | undefined;
  /**
   * Only messages whose field matches: `address starts 0110` (bits), `storageRadius above 3`, `err is text`.
   * `address` is that of the chunk, also where the message itself does not name it.
   */
  readonly where?: string | undefined;
  /** Every how-many-th of them. */
  readonly every?: number | undefined;
  /** How many at most. */
  readonly first?: number | undefined;
  /** Share of them, drawn from the seed. Default: all. */
  readonly share?: number | string | undefined;
  /**
   * Neither the message nor what its sender says after it on the stream arrives. Instead of true: the share of the messages.
   */
  readonly drop?: true | number | string | undefined;
  /** Dropped by a reset of the stream. */
  readonly reset?: true | undefined;
  /** How much later it arrives, or a range such as `2s..5s`. */
  readonly delay?: number | string | readonly [number | string, number | string] | undefined;
  /** It arrives twice. */
  readonly duplicate?: true | undefined;
  /** It arrives after the next one of its end of the stream. */
  readonly reorder?: true | undefined;
  /**
   * How much later its sender says it again, with all that it said before on the stream: in a new stream, as the
   * same node, if they are still connected then. Only of messages from the end that opens the stream.
   */
  readonly replay?: number | string | undefined;
  /** How much later its stream is reset, if it is still open then. */
  readonly cut?: number | string | undefined;
  /** Field in which a bit is flipped. */
  readonly corrupt?: string | undefined;
  /**
   * It does not arrive: its sender gets this from the proxy as the receiver's answer, then the end of the stream.
   * `error` says so in the protocol's words, `empty` has no fields; or the answer's fields, with bytes in hex. Only
   * of messages from the end that opens the stream.
   */
  readonly answer?: 'error' | 'empty' | { readonly [field: string]: unknown } | undefined;
}

export const MESSAGE: FaultKind<MessageRequest> = {
  name: 'message',
  layer: 'message',
  about: 'drop, delay, repeat or change single messages between nodes',
  capability: 'tap',
  schema,
  fields: [
    {
      field: 'from',
      flag: '[from]',
      about: 'nodes at one end: comma-separated names, or all (default: all)',
      parse: parseNames,
    },
    { field: 'to', flag: '[to]', about: 'nodes at the other end (default: all)', parse: parseNames },
    { field: 'protocol', flag: '--protocol <name>', about: 'protocol of the messages, such as pushsync' },
    {
      field: 'message',
      flag: '--message <name>',
      about: 'name of the messages, such as receipt (default: all)',
    },
    {
      field: 'where',
      flag: '--where <condition>',
      about: "only messages whose field matches, such as 'address starts 0110'",
    },
    { field: 'every', flag: '--every <count>', about: 'every how-many-th of these messages' },
    { field: 'first', flag: '--first <count>', about: 'how many of them at most' },
    {
      field: 'share',
      flag: '--share <percent>',
      about: 'share of them, drawn from the seed (default: 100%)',
    },
    {
      field: 'drop',
      flag: '--drop [percent]',
      about: 'drop them, and all that their sender says after them on the stream; or a share of them',
    },
    { field: 'reset', flag: '--reset', about: 'with --drop: reset the stream instead' },
    { field: 'delay', flag: '--delay <duration>', about: 'delay them, by 2s or by 2s..5s' },
    { field: 'duplicate', flag: '--duplicate', about: 'let them arrive twice' },
    { field: 'reorder', flag: '--reorder', about: 'let them arrive after the next message of their stream' },
    {
      field: 'replay',
      flag: '--replay <duration>',
      about: 'send them again after this time, in a new stream from the same node',
    },
    { field: 'cut', flag: '--cut <duration>', about: 'reset their stream after this time' },
    { field: 'corrupt', flag: '--corrupt <field>', about: 'flip a bit of that field' },
    {
      field: 'answer',
      flag: '--answer <message>',
      about: 'do not deliver them, and answer for the receiver: error, empty, or fields as JSON',
    },
    { field: 'oneWay', flag: '--one-way', about: 'only messages from the first nodes to the second' },
  ],
  text: requestText,
  targets: ({ from, to }) => [...new Set([...from, ...to])].filter((name) => name !== ALL),
  async begin(context, request, { hold }) {
    const rule = randomUUID();
    // The rule may act even if no answer comes.
    hold({ rule });
    const { from, to, oneWay, protocol, message, where, every, first, drop } = request;
    await tapOf(context).beginMessages(rule, {
      between: [from, to],
      oneWay: oneWay === true,
      protocol,
      message,
      where,
      every,
      first,
      share: typeof drop === 'number' ? drop : request.share,
      seed: context.seed ?? '0',
      actions: actionsOf(request),
    });
    return { rule };
  },
  effect: (context, { rule }) => tapOf(context).messageEffect(String(rule)),
  end: (context, { rule }) => tapOf(context).endMessages(String(rule)),
};

type Asked = Pick<
  MessageRequest,
  'drop' | 'reset' | 'delay' | 'duplicate' | 'reorder' | 'replay' | 'cut' | 'corrupt' | 'answer'
>;

function parsedJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isAlone(asked: Asked, action: unknown): boolean {
  return action === undefined || Object.keys(actionsOf(asked)).length === 1;
}

function actionsOf(asked: Asked): MessageActions {
  const { drop, reset, delay: delayMs, duplicate, reorder, replay: replayMs, cut: cutMs, corrupt } = asked;
  const { answer: given } = asked;
  return {
    ...(drop === undefined ? {} : { drop: reset === true ? ('reset' as const) : ('hang' as const) }),
    ...(delayMs === undefined ? {} : { delayMs }),
    ...(duplicate === undefined ? {} : { duplicate }),
    ...(reorder === undefined ? {} : { reorder }),
    ...(replayMs === undefined ? {} : { replayMs }),
    ...(cutMs === undefined ? {} : { cutMs }),
    ...(corrupt === undefined ? {} : { corrupt }),
    ...(given === undefined ? {} : { answer: given }),
  };
}

function requestText(request: MessageRequest): string {
  const { from, to, oneWay, protocol, message, where: condition, every, first, drop } = request;
  const { drop: how, delayMs, duplicate, reorder, replayMs, cutMs, corrupt } = actionsOf(request);
  const { answer: given } = request;
  const [shortest, longest] = delayMs ?? [0, 0];
  const late = shortest === longest ? formatMs(shortest) : `${formatMs(shortest)} to ${formatMs(longest)}`;
  const done = [
    ...(how === undefined ? [] : [how === 'reset' ? 'drops by a reset' : 'drops']),
    ...(delayMs === undefined ? [] : [`delays by ${late}`]),
    ...(duplicate === undefined ? [] : ['duplicates']),
    ...(reorder === undefined ? [] : ['reorders']),
    ...(replayMs === undefined ? [] : [`replays after ${formatMs(replayMs)}`]),
    ...(cutMs === undefined ? [] : [`cuts streams ${formatMs(cutMs)} after`]),
    ...(corrupt === undefined ? [] : [`corrupts ${corrupt} of`]),
    ...(given === undefined ? [] : [`answers (${answerText(given)})`]),
  ].join(', ');
  const part = typeof drop === 'number' ? drop : request.share;
  const which = [
    ...(first === undefined ? [] : [`the first ${first}`]),
    ...(every === undefined ? [] : [`one in ${every}`]),
    ...(part === 1 ? [] : [percentText(part)]),
  ].join(' of ');
  const what = [protocol, ...(message === undefined ? ['messages'] : [message])].join(' ');
  const [one, other] = [from, to].map((list) => (list.includes(ALL) ? [ALL] : list)) as [string[], string[]];
  const where =
    one[0] === ALL && other[0] === ALL
      ? ''
      : oneWay === true
        ? ` from ${one.join(', ')} to ${other.join(', ')}`
        : ` ${betweenText(one, other)}`;
  return `${done} ${which === '' ? '' : `${which} of `}${what}${condition === undefined ? '' : ` where ${condition}`}${where}`;
}

function answerText(given: MessageAnswer): string {
  return typeof given === 'string' ? given : inLine(JSON.stringify(given), ANSWER_TEXT_MAX);
}

function tapOf(context: FaultContext): TapControl {
  const { can, name } = context.driver;
  if (can.tap !== undefined) return can.tap.tap(context.linkProxy());
  throw new HarnessError('FAULT_REFUSED', `there is no tap on the ${name} driver`);
}

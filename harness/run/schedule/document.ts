/**
 * Schedules in YAML: faults at a time, after an event, or drawn from the seed within bounds.
 *
 *     duration: 2m
 *     faults:
 *       - { at: 10s, for: 5s, kind: kill, node: node-1 }
 *       - { after: 500 chunks acknowledged, for: 10s, kind: isolate, node: node-2 }
 *       - { draw: [kill, slow], every: 5s, shortest: 500ms, longest: 4s }
 */
import { z } from 'zod';
import { HarnessError } from '../../base/errors.ts';
import { textAs, waitMs } from '../../base/fields.ts';
import { mistakeLines } from '../../base/foreign-text.ts';
import type { FaultRequest } from '../../cluster/faults/fault.ts';
import { explain } from '../../cluster/plan/definition.ts';
import { drawFaults, FAULTS_MAX } from './draw.ts';
import type { RandomIntegers } from './random.ts';
import { MILESTONES, type Milestone, type Schedule, type ScheduledFault } from './schedule.ts';

const EVENT_EXPECTED = `a count of ${MILESTONES.join(', ')}, such as 500 ${MILESTONES[0]}`;
const event = textAs(EVENT_EXPECTED, (text) => {
  const [, count, what] = /^(\d{1,15}) (.+)$/.exec(text) ?? [];
  return MILESTONES.includes(what as Milestone) ? { after: Number(count), of: what as Milestone } : undefined;
});

const WORDS_EXPECTED = 'a list of kinds of faults, such as [kill, slow]';
const entry = z.looseObject(
  {
    at: waitMs.optional(),
    after: event.optional(),
    for: waitMs.optional(),
    draw: z.array(z.string({ error: WORDS_EXPECTED }), { error: WORDS_EXPECTED }).optional(),
    every: waitMs.optional(),
    shortest: waitMs.optional(),
    longest: waitMs.optional(),
  },
  { error: 'a fault, such as { at: 10s, kind: kill, node: node-1 }' },
);
type Entry = z.infer<typeof entry>;

const document = z.strictObject(
  {
    duration: waitMs,
    faults: z
      .array(entry, { error: 'a list of faults' })
      .max(FAULTS_MAX, { error: `a list of faults, at most ${FAULTS_MAX}` }),
  },
  { error: 'duration and faults' },
);

/** Without a gap there would be no end to them. */
const EVERY_MIN_MS = 1;
const DRAW_DEFAULTS = { everyMs: 5000, shortestMs: 500, longestMs: 4000 } as const;

/**
 * @param source names the document in messages @param nodes names of nodes for drawn faults
 * @param random draws them @throws HarnessError `DEFINITION_INVALID` with every mistake
 */
export function parseScheduleDocument(
  input: unknown,
  {
    source,
    nodes,
    random,
  }: {
    readonly source: string;
    readonly nodes: readonly string[];
    readonly random: RandomIntegers;
  },
): Schedule {
  const parsed = document.safeParse(input);
  if (!parsed.success) {
    const mistakes = parsed.error.issues.flatMap((issue) =>
      explain(issue, input, () => Object.keys(document.shape)),
    );
    throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, source));
  }
  const { duration, faults } = parsed.data;
  const all = faults.flatMap((one, index) => {
    const at = `${source}: faults[${index}]`;
    return one.draw === undefined
      ? [single(one, at)]
      : drawn(one, at, { nodes, durationMs: duration, random });
  });
  return {
    schema: 1,
    durationMs: duration,
    faults: all.map((fault, index) => ({ ...fault, id: `s${index + 1}` })),
    operations: [],
  };
}

function single(
  { at, after, for: forMs, draw, every, shortest, longest, ...rest }: Entry,
  where: string,
): ScheduledFault {
  const foreign = Object.entries({ draw, every, shortest, longest }).find(([, value]) => value !== undefined);
  if (foreign !== undefined) throw invalid(where, `${foreign[0]} belongs to faults that are drawn`);
  if ((at === undefined) === (after === undefined)) throw invalid(where, 'expected either at or after');
  if (typeof rest['kind'] !== 'string')
    throw invalid(where, 'expected the kind of a fault, such as kind: kill');
  const when = at === undefined ? (after as { after: number; of: Milestone }) : { atMs: at };
  return { id: '', when, request: rest as FaultRequest, forMs };
}

function drawn(
  { at, after, for: forMs, draw = [], every, shortest, longest, ...rest }: Entry,
  where: string,
  bounds: {
    readonly nodes: readonly string[];
    readonly durationMs: number;
    readonly random: RandomIntegers;
  },
): ScheduledFault[] {
  const foreign = Object.entries({ at, after, for: forMs, ...rest }).find(([, value]) => value !== undefined);
  if (foreign !== undefined) throw invalid(where, `${foreign[0]} does not belong to faults that are drawn`);
  const most = longest ?? DRAW_DEFAULTS.longestMs;
  const least = shortest ?? Math.min(DRAW_DEFAULTS.shortestMs, most);
  if (least > most) throw invalid(where, 'shortest is above longest');
  const everyMs = every ?? DRAW_DEFAULTS.everyMs;
  if (everyMs < EVERY_MIN_MS) throw invalid(where, `every: expected at least ${EVERY_MIN_MS}ms`);
  const { random, ...others } = bounds;
  return drawFaults({ faults: draw, everyMs, forMs: [least, most], ...others }, random);
}

function invalid(where: string, what: string): HarnessError {
  return new HarnessError('DEFINITION_INVALID', `${where}: ${what}`);
}

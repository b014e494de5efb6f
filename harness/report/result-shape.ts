import { z } from 'zod';
import { HarnessError } from '../base/errors.ts';

const text = z.string({ error: 'text' });
const number = z.number({ error: 'a number' });
const figureText = z.union([number, text], { error: 'a number, or decimal digits' });
const list = <T extends z.ZodType>(of: T, what: string) => z.array(of, { error: `a list of ${what}` });
const map = (what: string) => z.record(z.string(), z.unknown(), { error: `a map of ${what}` });
const numbers = list(number.nullable(), 'numbers');
/** As `partFolder` names them. */
const folder = text.regex(/^part-\d{1,6}$/, { error: 'the name of a part, such as part-1' });

const assertion = z.looseObject(
  {
    name: text,
    passed: z.boolean({ error: 'true or false' }),
    observed: text,
    expected: text.optional(),
    evidence: text.optional(),
    at: number.optional(),
  },
  { error: 'a condition' },
);
/** Early runs and errors have fewer keys; present ones have their type. */
const event = z.looseObject(
  {
    kind: text,
    at: number,
    endAt: number.optional(),
    part: text.optional(),
    folder: folder.optional(),
    cluster: number.optional(),
    text,
  },
  { error: 'an event' },
);
const operation = z.looseObject(
  {
    operation: text,
    count: number,
    errors: number,
    errorClasses: map('counts'),
    errorExamples: map('messages'),
  },
  { error: 'an operation' },
);
const timeline = z.looseObject(
  {
    operation: text,
    startMs: number,
    windowMs: number.positive({ error: 'a number above 0' }),
    count: numbers,
    bytes: numbers,
    errors: numbers,
    p50Ms: numbers,
    p99Ms: numbers,
    maxMs: numbers,
  },
  { error: 'a timeline' },
);
const picture = z.looseObject(
  {
    at: text,
    cluster: text,
    nodes: list(z.looseObject({ name: text, overlay: text, state: text }, { error: 'a node' }), 'nodes'),
    links: list(z.looseObject({ a: text, b: text }, { error: 'a link' }), 'links'),
  },
  { error: 'a picture' },
);

const scenario = z.looseObject(
  {
    name: text,
    result: z.enum(['passed', 'failed', 'error', 'skipped'], { error: 'passed, failed, error or skipped' }),
    assertions: list(assertion, 'conditions'),
    durationMs: number.default(0),
    metrics: list(operation, 'operations').default([]),
    timelines: list(timeline, 'timelines').default([]),
    slowest: list(z.looseObject({ operation: text, ms: number, endMs: number }), 'operations').default([]),
    figures: list(z.looseObject({ name: text, value: figureText, unit: text }), 'figures').default([]),
    parameters: map('parameters').default({}),
    ledger: z
      .looseObject(
        {
          acknowledged: number,
          found: number,
          missing: number,
          losses: list(z.looseObject({ chunk: text }), 'losses').optional(),
        },
        { error: 'counts of chunks' },
      )
      .default({ acknowledged: 0, found: 0, missing: 0 }),
    error: text.optional(),
    skipReason: text.optional(),
    incidents: list(z.looseObject({ part: text, what: text }), 'incidents').optional(),
    unchecked: list(text, 'texts').optional(),
    startedAt: number.optional(),
    clusterStartedAt: number.optional(),
    cluster: number.optional(),
    folder: folder.optional(),
    picture: picture.optional(),
  },
  { error: 'a scenario' },
);

const shape = z.looseObject({
  run: text,
  startedAt: text,
  scenarios: list(scenario, 'scenarios'),
  environment: z.record(z.string(), figureText, { error: 'a map of texts and numbers' }),
  events: list(event, 'events').default([]),
  durationMs: number.default(0),
  passed: z.boolean({ error: 'true or false' }).optional(),
  seed: figureText.optional(),
  command: text.optional(),
  series: text.optional(),
  costs: z
    .looseObject(
      { cpuSecondsPerGb: number.optional(), peakMemory: number.optional() },
      { error: 'a map of costs' },
    )
    .optional(),
  problems: list(text, 'texts').optional(),
  notes: list(text, 'texts').optional(),
});

export function checkedResult(
  document: Readonly<Record<string, unknown>>,
  file: string,
): z.infer<typeof shape> {
  const parsed = shape.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new HarnessError(
    'RUN_INVALID',
    `${file}: ${issue?.path.join('.') ?? ''}: expected ${issue?.message ?? 'another value'}`,
    { hint: 'The file is damaged, or svcnet has not written it. Repeat the run.' },
  );
}

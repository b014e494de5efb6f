/** What happened in a run, as the page's events. */
import { plural } from '../../../base/format.ts';
import { incidentText } from '../../../cluster/nodes/membership.ts';
import type { RunEvent } from '../../../report/result.ts';
import type { UiEvent } from '../../../web/picture/live.ts';
import { faultEvents, RECOVERIES } from '../watch.ts';
import type { RecordedFault, RecordedPart } from './parts.ts';

export type Happening = Omit<UiEvent, 'number'>;

/** Of a step, without what it has found at its end. */
export function stepOf(text: string): string {
  return text.split(' · ')[0] as string;
}

export function scenarioEvents({ originMs, scenarios }: RecordedPart): Happening[] {
  return scenarios.flatMap(({ name, result, startedAt = originMs, durationMs, timelines }) => [
    { at: startedAt, kind: 'change' as const, part: null, text: `scenario ${name} begins` },
    {
      at: startedAt + durationMs,
      kind: 'change' as const,
      part: null,
      text: `scenario ${name} ends: ${result}`,
    },
    ...timelines.flatMap(({ operation, startMs, windowMs, errors }) =>
      errors.flatMap((count, i) => {
        if (count === 0) return [];
        // Known when its window ends.
        const at = Math.min(startMs + (i + 1) * windowMs, startedAt + durationMs);
        return [
          {
            at,
            kind: 'change' as const,
            part: null,
            text: `${plural(count, 'operation')} failed: ${operation}`,
          },
        ];
      }),
    ),
  ]);
}

/** What was broken by no fault. */
export function withoutFaults(events: readonly RunEvent[], faults: readonly RecordedFault[]): RunEvent[] {
  return events.filter(
    ({ kind, at, text }) =>
      kind === 'fault' && !faults.some((fault) => fault.at === at && text.startsWith(fault.text)),
  );
}

/** Faults read as in a cluster that is watched. */
export function eventsIn(events: readonly RunEvent[], faults: readonly RecordedFault[]): Happening[] {
  const steps = events.filter(({ kind }) => kind === 'phase');
  const incidents = events.filter(({ kind }) => kind === 'incident');
  const others = withoutFaults(events, faults);
  return [
    ...faults.flatMap((fault) => [
      ...faultEvents([], [fault], fault.at),
      ...(fault.endAt === undefined ? [] : faultEvents([fault], [], fault.endAt)),
    ]),
    ...steps.flatMap(({ at, endAt, text }) => [
      { at, kind: 'change' as const, part: null, text: `step ${stepOf(text)}` },
      ...(endAt === undefined || stepOf(text) === text
        ? []
        : [{ at: endAt, kind: 'change' as const, part: null, text: `step ${text}` }]),
    ]),
    ...incidents.map(({ at, part = null, text }) => ({
      at,
      kind: [...RECOVERIES].some((what) => text.startsWith(`${part} ${what}`))
        ? ('recovery' as const)
        : ('fault' as const),
      part,
      text,
    })),
    // What became of a node's state is told with it.
    ...others
      .filter(({ part }) => part === undefined || part === 'chain')
      .flatMap(({ at, endAt, part = null, text }) => [
        { at, kind: 'fault' as const, part, text },
        ...(endAt === undefined
          ? []
          : [{ at: endAt, kind: 'recovery' as const, part, text: `over: ${text}` }]),
      ]),
  ];
}

/** In order of time. */
export function failuresOf({ originMs, scenarios }: RecordedPart): Happening[] {
  const failure = (at: number, text: string): Happening => ({ at, kind: 'failure', part: null, text });
  return scenarios
    .flatMap(({ name, assertions, error, incidents = [], startedAt = originMs, durationMs }) => {
      const endMs = startedAt + durationMs;
      return [
        ...assertions
          .filter(({ passed }) => !passed)
          .map(({ name: condition, observed, expected, at }) =>
            failure(at ?? endMs, `condition failed: ${condition}: ${observed}, expected ${expected}`),
          ),
        ...incidents.map((incident) => failure(incident.at, `scenario ${name}: ${incidentText(incident)}`)),
        ...(error === undefined || incidents.length > 0
          ? []
          : [failure(endMs, `scenario ${name}: ${error}`)]),
      ];
    })
    .toSorted((a, b) => a.at - b.at);
}

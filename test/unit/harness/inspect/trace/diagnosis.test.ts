import { expect, test } from 'vitest';
import { fromHex } from '../../../../../formats/crypto/hex.ts';
import {
  type Diagnosis,
  diagnosisLines,
  diagnosisOf,
} from '../../../../../harness/inspect/trace/diagnosis.ts';
import type { Testimony } from '../../../../../harness/inspect/trace/route.ts';
import type { Witness } from '../../../../../harness/inspect/trace/witnesses.ts';
import type { ChunkEvent } from '../../../../../node/env/chunk-events.ts';

const overlayOf = (first: number) => first.toString(16).padStart(2, '0').padEnd(64, '0');
const CHUNK = overlayOf(0x60);
const LOSS = { chunk: CHUNK, reference: overlayOf(1), uploader: 'a', batch: 'ba'.repeat(32), closest: 'b' };

interface Given {
  readonly name: string;
  /** First byte of its overlay. */
  readonly overlay: number;
  readonly radius?: number;
  readonly silence?: string;
  readonly mode?: 'full' | 'light';
  /** Stamps that have taken an older chunk's place. */
  readonly displaced?: number;
  /** Kind, time, more. */
  readonly events?:
    | readonly (readonly [ChunkEvent['kind'], number, Partial<ChunkEvent>?])[]
    | 'none'
    | 'lost';
}

function diagnosed(given: readonly Given[]): Diagnosis {
  const witnesses = given.map(
    ({ name, overlay, radius = 1, silence, mode = 'full', events = [], displaced }): Witness =>
      ({
        node: { name, overlay: overlayOf(overlay), mode },
        overlay: fromHex(overlayOf(overlay)),
        silence,
        displaced: new Map(displaced === undefined ? [] : [[LOSS.batch, displaced]]),
        radius: silence === undefined && mode === 'full' ? radius : undefined,
        ring:
          silence === undefined
            ? { capacity: events === 'none' ? 0 : 100, lost: events === 'lost' ? 1 : 0 }
            : undefined,
      }) as unknown as Witness,
  );
  const told = given.flatMap(({ name, overlay, events = [], silence }): Testimony[] =>
    silence !== undefined || typeof events === 'string'
      ? []
      : [
          {
            node: name,
            overlay: overlayOf(overlay),
            events: events.map(([kind, at, more], seq) => ({ kind, at, seq, address: CHUNK, ...more })),
          },
        ],
  );
  return diagnosisOf(LOSS, witnesses, told);
}

test('a chunk of a batch that started again was displaced, where no events tell more', () => {
  const nodes: Given[] = [
    { name: 'a', overlay: 0x80, events: 'none', displaced: 12 },
    { name: 'b', overlay: 0x60, events: 'none' },
  ];
  const diagnosis = diagnosed(nodes);
  expect(diagnosis).toMatchObject({ cause: 'displaced', displacing: { batch: LOSS.batch, chunks: 12 } });
  expect(diagnosisLines([diagnosis], 1)[0]).toBe(
    '1 chunk: its batch babababa is mutable and full: 12 stamps took the place of its oldest chunks, which nodes then drop; dilute it, or buy a deeper one',
  );
  expect(diagnosed(nodes.map(({ displaced: _none, ...node }) => node))).toMatchObject({
    cause: 'untold',
    displacing: null,
  });
});

test('a chunk in a neighbourhood without a node has no place in the network', () => {
  const diagnosis = diagnosed([
    { name: 'a', overlay: 0x80, radius: 1, events: [['synced', 2, { peer: overlayOf(0x00) }]] },
    {
      name: 'b',
      overlay: 0x00,
      radius: 2,
      events: [
        ['stored', 1],
        ['evicted', 3, { detail: 'below the radius' }],
      ],
    },
  ]);
  expect(diagnosis).toMatchObject({
    cause: 'uncovered',
    neighbourhood: '01',
    covering: [],
    closest: { node: 'b', proximityOrder: 1 },
    receipts: ['b'],
    had: ['b'],
    left: [{ node: 'b', at: 3, why: 'below the radius' }],
    end: { node: 'b', at: 3, what: 'evicted it (below the radius)' },
  });
  expect(diagnosisLines([diagnosis], 1)[0]).toBe(
    '1 chunk: neighbourhood 01 has no node at the present radius, so no node has to keep its chunks',
  );
});

test('names the node that evicted the last copy, and why', () => {
  const diagnosis = diagnosed([
    { name: 'a', overlay: 0x80 },
    {
      name: 'b',
      overlay: 0x40,
      events: [
        ['pulled', 1],
        ['evicted', 5, { detail: 'its batch has expired' }],
      ],
    },
  ]);
  expect(diagnosis).toMatchObject({ cause: 'evicted', covering: ['b'] });
  expect(diagnosisLines([diagnosis], 1)).toEqual([
    '1 chunk: neighbourhood 0, covered by b: the last node that had it, b, evicted it (its batch has expired)',
    `chunk ${CHUNK}: acknowledged by a below ${overlayOf(1)}; closest b (2 bits in common); was on b; left b: its batch has expired; last heard of: b evicted it (its batch has expired)`,
  ]);
});

test('the reuse of a stamp index is a separate cause', () => {
  expect(
    diagnosed([
      {
        name: 'b',
        overlay: 0x40,
        events: [
          ['stored', 1],
          ['replaced', 2],
        ],
      },
    ]).cause,
  ).toBe('replaced');
});

test('a node that had the chunk and cannot be asked may still have it', () => {
  const away = diagnosed([
    { name: 'a', overlay: 0x80 },
    { name: 'b', overlay: 0x40, silence: 'it is killed' },
  ]);
  expect(away).toMatchObject({ cause: 'away', silent: [{ node: 'b', why: 'it is killed' }] });
});

test('a chunk was never stored if all nodes keep all events and none stored it; otherwise the cause is unknown', () => {
  const uploader: Given = { name: 'a', overlay: 0x80, events: [['uploaded', 0]] };
  const refused: Given = {
    name: 'b',
    overlay: 0x40,
    events: [
      ['received', 1],
      ['refused', 2, { detail: 'invalid stamp' }],
    ],
  };
  expect(diagnosed([uploader, refused])).toMatchObject({
    cause: 'never-stored',
    end: { what: 'refused it (invalid stamp)' },
  });
  expect(diagnosed([refused, { name: 'a', overlay: 0x80, events: 'none' }]).cause).toBe('untold');
  expect(diagnosed([refused, { name: 'a', overlay: 0x80, events: 'lost' }]).cause).toBe('untold');
});

test('a node that signed a receipt and stored nothing is named', () => {
  const diagnosis = diagnosed([
    {
      name: 'a',
      overlay: 0x80,
      events: [
        ['uploaded', 0],
        ['synced', 3, { peer: overlayOf(0x40) }],
      ],
    },
    {
      name: 'b',
      overlay: 0x40,
      events: [
        ['received', 1],
        ['signed', 2],
      ],
    },
  ]);
  expect(diagnosis).toMatchObject({ cause: 'never-stored', signedOnly: ['b'], gaps: [] });
  expect(diagnosisLines([diagnosis], 1)[0]).toBe(
    '1 chunk: neighbourhood 0, covered by b: b signed its receipt without storing it',
  );
});

test('a chunk that a node stored and lost without an event is not called untold: its events are known', () => {
  const stored = { name: 'b', overlay: 0x40, events: [['stored', 1]] } as const;
  for (const events of ['none', 'lost'] as const) {
    const diagnosis = diagnosed([stored, { name: 'a', overlay: 0x80, events }]);
    expect(diagnosis.cause).toBe('vanished');
    expect(diagnosisLines([diagnosis], 1)[0]).toBe(
      '1 chunk: neighbourhood 0, covered by b: it was stored on b, and is gone without an event of dropping it',
    );
  }
});

test('names the nodes whose events are missing, and why, if nothing is known of a chunk', () => {
  const b: Given = { name: 'b', overlay: 0x40 };
  const synced: Given = { name: 'a', overlay: 0x80, events: [['synced', 1, { peer: overlayOf(0x40) }]] };
  const missing = (nodes: readonly Given[]) =>
    diagnosisLines([diagnosed(nodes)], 1)[0]?.replace(/^.*chunk events are missing: /, '');
  expect(missing([synced, b])).toBe('b (started again since)');
  expect(missing([b])).toBe('a (not asked)');
  expect(missing([{ name: 'a', overlay: 0x80 }, b])).toBe('a (started again since)');
  const light: Given = { name: 'a', overlay: 0x80, mode: 'light', events: [['uploaded', 0]] };
  expect(diagnosed([light, b])).toMatchObject({ cause: 'never-stored', gaps: [] });
  const mute = [1, 2, 3, 4, 5].map((n): Given => ({ name: `n${n}`, overlay: 0x80 + n, events: 'none' }));
  expect(missing([{ ...b, events: 'lost' }, ...mute])).toBe(
    'b (the oldest overwritten); n1, n2, n3, n4 and 1 more (none kept); a (not asked)',
  );
});

test('losses with the same cause share one line with their number, the most frequent first', () => {
  const evicted = diagnosed([
    {
      name: 'b',
      overlay: 0x40,
      events: [
        ['stored', 1],
        ['evicted', 5, { detail: 'x' }],
      ],
    },
  ]);
  const never = diagnosed([
    { name: 'a', overlay: 0x80, events: [['uploaded', 0]] },
    { name: 'b', overlay: 0x40 },
  ]);
  const lines = diagnosisLines([never, evicted, evicted], 1);
  expect(lines[0]).toMatch(/^2 chunks: .*evicted it/);
  expect(lines[1]).toMatch(/^1 chunk: .*no node has ever stored it/);
  expect(lines.at(-1)).toBe("and 2 more, in losses.jsonl of the run's folder");
});

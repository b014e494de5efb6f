import { describe, expect, test } from 'vitest';
import { BINS, MAX_PO } from '../../../formats/chunk/address.ts';
import {
  ADDRESS_SIZE,
  CHUNK_PAYLOAD_SIZE,
  CHUNK_STORED_SIZE_MAX,
  SPAN_SIZE,
} from '../../../formats/chunk/chunk.ts';
import { STAMP_SIZE } from '../../../formats/chunk/stamp.ts';
import { ERROR_OF_SELECTOR } from '../../../formats/ethereum/revert.ts';
import { TestbedMetrics } from '../../../harness/metrics/testbed.ts';
import { acceptedHeaderNames, dialectOf } from '../../../node/api/dialect.ts';
import { ROUTES } from '../../../node/api/routes/table.ts';
import { parityCount, type RedundancyLevel, shardsMax } from '../../../node/files/redundancy/redundancy.ts';
import { SAMPLE_SIZE } from '../../../node/incentives/sample.ts';
import { EVENTS, FUNCTIONS } from '../../../node/onchain/contracts.ts';
import { GAME_FUNCTIONS, STAKE_FUNCTIONS } from '../../../node/onchain/incentive-contracts.ts';
import { BUCKET_DEPTH } from '../../../node/postage/rules.ts';
import { SWAP_EVENTS, SWAP_FUNCTIONS } from '../../../node/swap/contracts.ts';
import { nodeMetrics, read, rows, section } from './repository.ts';

const page = (name: string) => read(`docs/protocol/${name}.md`);

describe('http-api-completion.md', () => {
  const text = page('http-api-completion');

  test('the index has every route with its port, statuses, gates and limit, and no other', () => {
    const written = rows(section(text, '11'), 'Method', 'Path').map((row) => row.join(' | '));
    const coded = ROUTES.map(({ method, path, port, success, gates, bodyLimit }) =>
      [method, path, port, success.join(' '), gates.join(' '), bodyLimit ?? ''].join(' | '),
    );
    expect(written.toSorted()).toEqual(coded.toSorted());
  });

  test('all prefixed header names are listed', () => {
    const names = /Headers with the prefix: (.*)\. This page/.exec(section(text, '1.1'))?.[1] ?? '';
    const written = [...names.matchAll(/`([a-z-]+)`/g)].map(([, name]) => `svc-${name}`);
    const own = acceptedHeaderNames(dialectOf('svc')).filter((name) => name.startsWith('svc-'));
    expect(written.toSorted()).toEqual(own.toSorted());
  });
});

describe('node-behaviour.md', () => {
  test('section 12 has every series of a node with its kind and labels, and no other', async () => {
    const written = rows(section(page('node-behaviour'), '12'), 'Name', 'Kind', 'Labels').map((row) =>
      row.slice(0, 3).join(' | '),
    );
    const coded = (await nodeMetrics()).map(({ name, kind, labels = [] }) =>
      [name, kind, labels.join(', ')].join(' | '),
    );
    expect(coded.length).toBeGreaterThan(100);
    expect(written.toSorted()).toEqual(coded.toSorted());
  });
});

describe('scenarios.md', () => {
  test('section 8.5 has every series of the harness with its kind, and no other', async () => {
    const written = rows(section(page('scenarios'), '8.5'), 'Series', 'Kind').map(
      ([name, kind = '']) => `${name} ${kind.split(':')[0]}`,
    );
    const exposed = await new TestbedMetrics('run').expose();
    const coded = [...exposed.matchAll(/^# TYPE (\S+ \S+)$/gm)].map(([, series = '']) => series);
    expect(written.toSorted()).toEqual(coded.toSorted());
  });
});

describe('data-formats.md', () => {
  const text = page('data-formats');

  test('the constants are those of the code', () => {
    expect(Object.fromEntries(rows(section(text, '0'), 'Constant', 'Value'))).toMatchObject({
      'Address, hash, segment': `${ADDRESS_SIZE} bytes`,
      Span: `${SPAN_SIZE} bytes`,
      'Payload of a chunk': `${CHUNK_PAYLOAD_SIZE} bytes: ${CHUNK_PAYLOAD_SIZE / ADDRESS_SIZE} segments`,
      'Stored content-addressed chunk': `${SPAN_SIZE} to ${SPAN_SIZE + CHUNK_PAYLOAD_SIZE} bytes`,
      'Stored single-owner chunk': `105 to ${CHUNK_STORED_SIZE_MAX} bytes`,
      'Highest proximity order, bins': `${MAX_PO}, ${BINS}`,
      Stamp: `${STAMP_SIZE} bytes`,
      'Bucket depth': `${BUCKET_DEPTH}`,
      'Reserve sample': `${SAMPLE_SIZE} chunks`,
    });
  });

  test('the numbers of references and parities that fill an intermediate chunk are those of the code', () => {
    const filled = (level: RedundancyLevel, encrypted: boolean) => {
      const data = shardsMax({ level, encrypted });
      return [data, parityCount(data, { level, encrypted })];
    };
    const written = rows(section(text, '3.2'), 'Level', 'Most data references, plain').map((row) =>
      row.map(Number),
    );
    const levels: readonly RedundancyLevel[] = [0, 1, 2, 3, 4];
    expect(written).toEqual(levels.map((level) => [level, ...filled(level, false), ...filled(level, true)]));
  });

  test('the parities for every number of references are those of the code', () => {
    const lists = [...section(text, '3.2').matchAll(/: ((?:\d+, ){17,}\d+)\./g)].map(([, list = '']) =>
      list.split(', ').map(Number),
    );
    const [plain = [], encrypted = []] = lists;
    for (const [table, isEncrypted] of [
      [plain, false],
      [encrypted, true],
    ] as const) {
      const coded = table.map((_, i) => parityCount(table.length - i, { level: 4, encrypted: isEncrypted }));
      expect(table).toEqual(coded);
    }
    const columns = rows(section(text, '3.2'), 'Table', 'Parities of the first column');
    expect(columns).toHaveLength(4);
    for (const [table = '', first, list = ''] of columns) {
      const shape = {
        level: Number(table.at(-1)) as RedundancyLevel,
        encrypted: table.startsWith('encrypted'),
      };
      const counts = (list.split(';')[0] ?? '').split(', ').map(Number);
      const written = counts.map((_, i) => Number(first) - i);
      expect(written, table).toEqual(counts.map((shards) => parityCount(shards, shape)));
    }
  });
});

describe('contracts.md', () => {
  const text = page('contracts').replaceAll('`', '');

  test('events read by nodes are listed as declared by their contracts', () => {
    const events = [...Object.values(EVENTS), SWAP_EVENTS.SimpleSwapDeployed, SWAP_EVENTS.ChequeCashed];
    expect(events.filter((signature) => !text.includes(signature))).toEqual([]);
  });

  test('every function called by a node is named, with parameters for transactions', () => {
    const sent = [
      FUNCTIONS.createBatch,
      FUNCTIONS.topUp,
      FUNCTIONS.increaseDepth,
      FUNCTIONS.expireLimited,
      STAKE_FUNCTIONS.manageStake,
      STAKE_FUNCTIONS.withdrawFromStake,
      STAKE_FUNCTIONS.migrateStake,
      GAME_FUNCTIONS.commit,
      GAME_FUNCTIONS.reveal,
      SWAP_FUNCTIONS.deploySimpleSwap,
      SWAP_FUNCTIONS.cashChequeBeneficiary,
      SWAP_FUNCTIONS.withdraw,
    ];
    const all = [FUNCTIONS, STAKE_FUNCTIONS, GAME_FUNCTIONS, SWAP_FUNCTIONS].flatMap((table) =>
      Object.values(table),
    );
    const unnamed = all
      .map((signature) => signature.split('(')[0] ?? '')
      .filter((name) => !text.includes(name));
    expect(sent.filter((signature) => !text.includes(signature))).toEqual([]);
    expect(unnamed).toEqual([]);
  });

  test('nodes know the errors of PostageStamp by name', () => {
    const known = new Set([...ERROR_OF_SELECTOR.values()].map((signature) => signature.split('(')[0]));
    const named = [...section(page('contracts'), '4.3').matchAll(/`([A-Z]\w+)`/g)].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(15);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

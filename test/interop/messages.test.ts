import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { GroupInput } from '../../harness/cluster/plan/definition-input.ts';
import { trace } from '../../harness/inspect/trace/document.ts';
import { faultsOf, type TapEvent } from '../../harness/places/links/tap/events.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import changedChunk from '../../scenarios/changed-chunk.ts';
import lostReceipt from '../../scenarios/lost-receipt.ts';
import repeatedCheque from '../../scenarios/repeated-cheque.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { describeOthers, eventually, type Other, option } from './kit.ts';

const TEST_MS = 900_000;
/** It checks at least these. */
const SCENARIOS = [
  { scenario: lostReceipt, set: 'by=reset', conditions: 5 },
  { scenario: lostReceipt, set: 'by=hang', conditions: 5 },
  { scenario: changedChunk, set: '', conditions: 11 },
  { scenario: repeatedCheque, set: '', conditions: 4 },
] as const;

/** Four in two neighbourhoods. */
function group(side: Other): GroupInput[] {
  const neighbourhoods = ['0', '0', '1', '1'];
  const options = { 'minimum-storage-radius': 1 };
  return [{ ...side.group, count: neighbourhoods.length, neighbourhoods, options }];
}

describeOthers(option('minimum-storage-radius'), '$title', (side) => {
  const folder = temporaryFolder('svcnet-interop-messages');

  test(
    'the route of a chunk through Bees is read from their messages',
    async () => {
      const stateDir = join(folder, 'state');
      await using net = await Cluster.start({
        flavours: side.flavours,
        nodes: group(side),
        seed: 3,
        tap: true,
        stateDir,
      });
      const uploader = net.node(0);
      const { reference } = await uploader.bytes.upload(Buffer.from('the way of a chunk'), {
        redundancyLevel: 0,
      });
      await net.synced(reference);
      const request = { name: net.name, began: net.startedAt, reference, nodes: net.nodes, chunks: 1 };
      const signal = new AbortController().signal;
      const look = () => trace({ ...request, messages: net.tap({ kept: true }), signal });
      const { chunks, notes } = await eventually(
        'the push has ended',
        look,
        ({ chunks: [chunk] }) =>
          chunk?.route.pushes[0]?.attempts.every(({ outcome }) => outcome !== 'open') === true,
      );
      const [push] = chunks[0]?.route.pushes ?? [];
      expect(push).toMatchObject({ node: uploader.name, outcome: 'synced' });
      const storers = push?.attempts.map(({ hop }) => hop?.outcome);
      expect(storers).toContain('signed');
      expect(chunks[0]?.holders).toContain(push?.storer);
      expect(notes).toEqual([expect.stringContaining('is read from the messages between nodes')]);
    },
    TEST_MS,
  );

  test(
    'a Bee whose request is answered with an error in the place of its peer asks another one',
    async () => {
      const stateDir = join(folder, 'answered');
      const light = { ...side.group, mode: 'light' } as const;
      const nodes: GroupInput[] = [{ ...side.group, count: 3 }, light];
      await using net = await Cluster.start({ flavours: side.flavours, nodes, seed: 3, tap: true, stateDir });
      const data = Buffer.from('a chunk that three nodes have');
      const { reference } = await net.node(0).bytes.upload(data, { redundancyLevel: 0 });
      await net.synced(reference);
      // Who is asked next has nobody to pass the request on to.
      await eventually(
        `not all full nodes have ${reference}`,
        () => Promise.all(net.nodes.slice(0, 3).map(({ chunks }) => chunks.has(reference))),
        (all) => all.every(Boolean),
      );
      const condition = { where: `address is ${reference}`, first: 1 } as const;
      const selection = { from: 'node-3', oneWay: true, protocol: 'retrieval', message: 'request' } as const;
      await net.faults.message({ ...selection, ...condition, answer: 'error' });
      expect(Buffer.from(await net.node(3).bytes.download(reference)).equals(data)).toBe(true);
      const [fault] = await net.faults.heal();
      expect(fault?.effect).toMatchObject({ 'messages answered': 1 });
      const events: TapEvent[] = [];
      for await (const event of net.tap({ kept: true })) events.push(event);
      const asked = events.filter(
        ({ name, from, fields }) => name === 'request' && from === 'node-3' && fields['addr'] === reference,
      );
      expect(new Set(asked.map(({ to }) => to)).size).toBeGreaterThan(1);
      expect(faultsOf(asked[0] as TapEvent)).toEqual(['answered']);
    },
    TEST_MS,
  );

  test.each(SCENARIOS)(
    '$scenario.name passes among Bees alone $set',
    async ({ scenario, set, conditions }) => {
      const result = await runScenarios({
        planned: planScenarios([scenario], new Map(set === '' ? [] : [set.split('=') as [string, string]])),
        definition: { flavours: side.flavours },
        nodes: group(side),
        exactNodes: true,
        seed: 7n,
        stateDir: join(folder, 'state'),
        report: join(folder, `${side.title} ${scenario.name} ${set}`),
        name: `${side.title} ${scenario.name} ${set}`,
        command: 'npm run test:interop',
        signal: new AbortController().signal,
      });
      const [outcome] = result.scenarios;
      expect(outcome?.error).toBeUndefined();
      expect(outcome?.unchecked ?? []).toEqual([]);
      expect(outcome?.assertions.filter(({ passed }) => !passed)).toEqual([]);
      expect(outcome?.assertions.length).toBeGreaterThanOrEqual(conditions);
      expect(result.passed).toBe(true);
    },
    TEST_MS,
  );
});

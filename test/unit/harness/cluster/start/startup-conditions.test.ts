import { expect, test } from 'vitest';
import { ClientError } from '../../../../../harness/client/errors.ts';
import type { Acquaintance } from '../../../../../harness/cluster/nodes/introductions.ts';
import { meshTimeoutFor } from '../../../../../harness/cluster/start/start-deadline.ts';
import { remind } from '../../../../../harness/cluster/start/startup-conditions.ts';

const nodes = (flavour: 'svc' | 'bee', count: number) => Array.from({ length: count }, () => ({ flavour }));

test('a start with Bees has time for dials that a Bee repeats 35 s later', () => {
  expect(meshTimeoutFor(nodes('svc', 5))).toBe(37_500);
  expect(meshTimeoutFor(nodes('bee', 5))).toBe(72_500);
  expect(meshTimeoutFor([...nodes('svc', 3), ...nodes('bee', 2)])).toBe(72_500);
});

test('a Bee is told to connect to a node that it has not reached, and may refuse; a node of ours dials by itself', async () => {
  const told: string[] = [];
  const node = (name: string, flavour: 'svc' | 'bee', refusal?: Error): Acquaintance => ({
    name,
    flavour,
    mode: 'full',
    binary: undefined,
    image: undefined,
    running: true,
    underlay: `/to/${name}`,
    client: {
      connect: async (underlay) => {
        told.push(`${name} ${underlay}`);
        if (refusal !== undefined) throw refusal;
        return '';
      },
      peers: async () => [],
    },
  });
  const never = new AbortController().signal;
  const request = { class: 'http.500', status: 500, node: 'b', method: 'POST', path: '/connect' } as const;
  const other = node('c', 'bee');
  await remind({ node: node('a', 'svc'), other }, never);
  await remind({ node: node('b', 'bee', new ClientError('dial backoff', request)), other }, never);
  expect(told).toEqual(['b /to/c']);
});

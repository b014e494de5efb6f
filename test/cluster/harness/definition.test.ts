/** What a definition says about nodes, seen on clusters that run. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { DefinitionInput } from '../../../harness/plan/schema.ts';

let stateDir: string;

beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'svcnet-definition-'));
});
afterAll(() => rmSync(stateDir, { recursive: true, force: true }));

function start(input: DefinitionInput): Promise<Cluster> {
  return Cluster.start({ driver: 'embedded', seed: 7, stateDir, ...input });
}

test('nodes of a cluster in the swarm dialect speak it, and so do their clients, also after attaching', async () => {
  await using net = await start({ name: 'dialect', nodes: 2, dialect: 'swarm' });
  const node = net.node(0);
  const mode = await fetch(`${node.api}/node`);
  expect(await mode.json()).toMatchObject({ beeMode: 'full' });
  const data = randomBytes(5000);
  const { reference } = await node.files.upload(data, { name: 'a.bin' });
  const read = await fetch(`${net.node(1).api}/bzz/${reference}/`);
  expect(Buffer.compare(Buffer.from(await read.arrayBuffer()), data)).toBe(0);
  const attached = await Cluster.attach('dialect', { stateDir });
  try {
    expect(attached.node(1).dialect).toBe('swarm');
    expect((await attached.node(1).client.node()).mode).toBe('full');
    expect(attached.toJSON().nodes.map(({ dialect }) => dialect)).toEqual(['swarm', 'swarm']);
  } finally {
    await attached.detach();
  }
});

test('nodes with keys of their own own these accounts, batches and chequebooks', async () => {
  // Account of the usual development mnemonic, as every tool shows it.
  const keys = ['0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba'];
  await using net = await start({ nodes: [{ count: 1 }, { keys }] });
  const [other, node] = net.nodes;
  expect(node?.ethereum).toBe('9965507d1a55bcc2695c58ba16fb37d819b0a4dc');
  expect(node?.privateKey).toBe(keys[0]?.slice(2));
  expect(other?.privateKey).toMatch(/^[0-9a-f]{64}$/);
  expect(await node?.client.addresses()).toMatchObject({
    ethereum: node?.ethereum,
    overlay: node?.overlay,
  });
  const { reference } = (await node?.bytes.upload(randomBytes(5000))) ?? {};
  expect((await other?.bytes.download(reference ?? ''))?.length).toBe(5000);
});

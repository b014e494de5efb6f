import { expect, onTestFinished, test } from 'vitest';
import { Simulation } from './simulation.ts';

const BOOTNODES = [1634, 1700].map((port) => `/ip4/127.0.0.1/tcp/${port}`);

test("a node has a peer within a second of its bootnode's start, even after a hundred dials that nobody answered", async () => {
  const sim = new Simulation('late bootnodes');
  onTestFinished(() => sim.end());
  const node = await sim.start(1, { bootnode: BOOTNODES.join(',') });
  await sim.time.advance(55_000);
  const { payload } = await node.ask({ url: '/metrics' });
  expect(
    Number(/^svc_kademlia_total_bootnodes_connection_attempts (\d+)$/m.exec(payload)?.[1]),
  ).toBeGreaterThan(100);
  await sim.start(0);
  await sim.time.advance(1000);
  expect(JSON.parse((await node.ask({ url: '/peers' })).payload)).toMatchObject({ peers: [{}] });
});

import { expect, onTestFinished, test } from 'vitest';
import { listClusters, readRecord } from '../../../harness/cluster/state/state.ts';
import { Cluster } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startSvcnet, svcnetHere } from '../svcnet.ts';

test('a simulation of another process is not called crashed: it is named with its process, and left alone', async () => {
  const stateDir = temporaryFolder('svcnet-elsewhere');
  const { child, finished, output } = startSvcnet(
    ['run', 'storm', '--driver', 'simulated', '--seed', '7', '--nodes', '4', '--set', 'duration=10h'],
    { stateDir },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await finished;
  });
  await expect.poll(() => output.stdout).toContain('✔ books');
  const [name = ''] = listClusters(stateDir);
  const why = `it runs in virtual time in process ${child.pid}, which alone reaches its nodes`;

  const ps = await svcnetHere(['ps'], { stateDir });
  expect(ps.stdout).toContain(`${name} runs in virtual time in process ${child.pid}, which alone`);
  expect(ps.stdout).not.toContain('crashed');
  const json = await svcnetHere(['ps', '--name', name, '--json'], { stateDir });
  expect(JSON.parse(json.stdout)).toMatchObject({
    clusters: [{ name, state: 'running', driver: 'simulated', nodes: 4, simulatedBy: child.pid }],
  });
  for (const command of [['status'], ['ui'], ['kill', 'node-0'], ['start'], ['down']]) {
    const { code, stderr } = await svcnetHere(command, { stateDir });
    expect({ command, code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`cluster '${name}': ${why}`) as string,
    });
    expect(stderr).toContain(`kill -INT ${child.pid}`);
  }
  await expect(Cluster.attach(name, { stateDir })).rejects.toThrow(why);
  const logs = await svcnetHere(['logs', 'chain', 'node-0'], { stateDir });
  expect({ code: logs.code, chain: logs.stdout.includes('chain ') }).toEqual({ code: 0, chain: true });
  const wrong = await svcnetHere(['logs', 'node-9'], { stateDir });
  expect(wrong.stderr).toContain("no node 'node-9'");

  child.kill('SIGKILL');
  await finished;
  const { code } = await svcnetHere(['down', '--name', name], { stateDir });
  expect([code, readRecord(stateDir, name)]).toEqual([0, undefined]);
});

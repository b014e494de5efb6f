import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { readJson } from '../../../harness/base/json-file.ts';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { until } from '../../../harness/base/wait.ts';
import { driverOf } from '../../../harness/cluster/lifecycle/drivers.ts';
import { clusterFolder, findCluster } from '../../../harness/cluster/state/state.ts';
import type { ProxyOptions } from '../../../harness/places/links/proxy/proxy.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startSvcnet, svcnetHere } from '../svcnet.ts';

let stateDir = '';
const svcnet = async (line: string) => svcnetHere(line.split(' '), { stateDir });
afterEach(async () => void (await svcnet('down')));

test.each(['process', 'process --tap', 'embedded'])(
  'a node that a killed command was adding ends with the next command, which says so: driver %s',
  async (driverName) => {
    stateDir = temporaryFolder('svcnet-killed');
    expect(await svcnet(`up -n 2 --seed 3 --driver ${driverName}`)).toMatchObject({ code: 0 });
    const record = findCluster(stateDir, undefined);
    const folder = clusterFolder(stateDir, record.name);
    const driver = driverOf(stateDir, record, { stopWithParent: false });
    const found = async () => (await driver.find?.('node-2')) ?? [];
    const adding = startSvcnet(['add'], { stateDir });
    await until(
      'node-2 has not been launched',
      async () => {
        // It stands still, so that it does not end before it is killed.
        adding.child.kill('SIGSTOP');
        if ((await found()).length > 0) return { done: true };
        adding.child.kill('SIGCONT');
        return { missing: adding.output.stderr };
      },
      { clock: MACHINE_CLOCK, timeoutMs: 30_000, longestPauseMs: 20 },
    );
    adding.child.kill('SIGKILL');
    await adding.finished;
    // As if it had been killed a moment earlier.
    rmSync(join(folder.path, 'run', 'node-2.json'), { force: true });
    expect(await found()).toHaveLength(1);
    const { stdout, stderr, code } = await startSvcnet(['ps', '--json'], { stateDir }).finished;
    expect(code, stderr).toBe(0);
    expect(stderr).toBe(
      `svcnet: removed node-2 from cluster '${record.name}': process ${adding.child.pid} ended before it had added it\n`,
    );
    const { nodes } = JSON.parse(stdout) as { nodes: readonly { readonly name: string }[] };
    expect(nodes.map(({ name }) => name)).toEqual(['node-0', 'node-1']);
    expect(await found()).toEqual([]);
    expect(existsSync(folder.dataDir('node-2'))).toBe(false);
    const proxy = readJson(folder.linkProxyOptions()) as ProxyOptions | undefined;
    expect(proxy?.routes.map((route) => route.node) ?? ['node-0', 'node-1']).toEqual(['node-0', 'node-1']);
    expect(JSON.parse((await svcnet('add --json')).stdout)).toMatchObject({ added: ['node-3'] });
    expect((await startSvcnet(['ps'], { stateDir }).finished).stderr).toBe('');
  },
  90_000,
);

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { REAL_NODES_MAX } from '../../../../harness/cluster/plan/options/nodes.ts';
import { exportCompose } from '../../../../harness/export/compose.ts';
import { prepare } from '../../../../harness/export/prepare.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { requestFor } from './kit.ts';

/** Merge keys are resolved as Compose does. */
function composeOf(...given: Parameters<typeof requestFor>) {
  const [file] = exportCompose(requestFor(...given)).files;
  return parse(file?.content ?? '', { merge: true }) as {
    services: Record<string, Record<string, unknown>>;
    volumes: Record<string, object>;
  };
}

async function prepared(environment: Record<string, string>): Promise<string> {
  const folder = temporaryFolder('svcnet-export');
  await prepare({ ...environment, SVCNET_FOLDER: folder });
  return folder;
}

test("the repository's compose file is what an export with the defaults writes", () => {
  const [file] = exportCompose(requestFor({ nodes: 5 })).files;
  expect(readFileSync('docker-compose.yml', 'utf8')).toBe(file?.content);
});

test('the first container prepares the network that the file describes, from the seed it is given', async () => {
  const input = {
    name: 'demo',
    nodes: [{ count: 2, options: { 'welcome-message': 'a $HOME of one' } }, { mode: 'light' as const }],
    batches: [{ depth: 18 }, { depth: 17, ttl: '2h' }],
  };
  const { environment } = composeOf(input)['services']['init'] as { environment: Record<string, string> };
  // Compose turns a doubled dollar sign into one.
  const SVCNET_DEFINITION = environment['SVCNET_DEFINITION']?.replaceAll('$$', '$') ?? '';
  const folder = await prepared({ SVCNET_DEFINITION, SVCNET_SEED: '42' });
  const [, networkFile] = exportCompose(requestFor(input)).files;
  expect(parse(readFileSync(join(folder, 'chain', 'network.yaml'), 'utf8'))).toEqual(
    parse(networkFile?.content ?? ''),
  );
  const config = JSON.parse(readFileSync(join(folder, 'node-1', 'config.yaml'), 'utf8')) as object;
  expect(config).toMatchObject({
    'welcome-message': 'a $HOME of one',
    'data-dir': '/data',
    'nat-addr': 'node-1:1634',
    'api-open': true,
    'allowed-hosts': ['node-1'],
  });
  expect(environment['SVCNET_SEED']).toBe('${SVCNET_SEED:-42}');
  const other = await prepared({ SVCNET_DEFINITION, SVCNET_SEED: '43' });
  const [one, another] = [folder, other].map((each) => readFileSync(join(each, 'chain', 'env'), 'utf8'));
  expect(another).not.toBe(one);
});

test('each node has its batches, and a boot node has none', () => {
  const input = { nodes: [{ mode: 'boot' as const }, { count: 2 }], batches: [{ depth: 18 }, { depth: 17 }] };
  const [, file] = exportCompose(requestFor(input)).files;
  const { batches } = parse(file?.content ?? '') as { batches: { id: string; node: string }[] };
  expect(batches.map(({ node }) => node)).toEqual(['node-1', 'node-1', 'node-2', 'node-2']);
  expect(new Set(batches.map(({ id }) => id)).size).toBe(4);
});

test('published ports and their address, limits and images are those of the definition', () => {
  const { services } = composeOf({
    nodes: [{ resources: { cpus: 0.25, memory: '128MiB' }, image: 'other:1' }, { count: 1 }],
    ports: { first: 17_000, stride: 3 },
    chain: { port: 18_000 },
    listen: '0.0.0.0',
  });
  expect(services['node-0']).toMatchObject({
    image: 'other:1',
    ports: ['0.0.0.0:17000:1633', '0.0.0.0:17002:1635'],
    cpus: 0.25,
    mem_limit: 134_217_728,
  });
  expect(services['node-1']).toMatchObject({
    image: 'svcnet',
    ports: ['0.0.0.0:17003:1633', '0.0.0.0:17005:1635'],
  });
  expect(services['node-1']).not.toHaveProperty('cpus');
  expect(services['chain']?.['ports']).toEqual(['0.0.0.0:18000:8545', '127.0.0.1:18001:8546']);
});

test('the control endpoint of the chain is on loopback only, and the network file lists it there', () => {
  const [, file] = exportCompose(requestFor({ nodes: 1, listen: '10.0.0.7' })).files;
  const { chain, nodes } = parse(file?.content ?? '') as { chain: object; nodes: { api: string }[] };
  const token = expect.stringMatching(/^[0-9a-f]{64}$/) as string;
  expect(chain).toEqual({ rpc: 'http://10.0.0.7:8545', control: 'http://127.0.0.1:8546', token });
  expect(file?.secret).toBe(true);
  expect(nodes[0]?.api).toBe('http://10.0.0.7:1633');
});

test('a chosen image is not built', () => {
  const { services } = composeOf({ nodes: 1 }, { image: 'registry.test/svcnet:1' });
  for (const service of Object.values(services).filter(({ profiles }) => profiles === undefined)) {
    expect(service['image']).toBe('registry.test/svcnet:1');
    expect(service).not.toHaveProperty('build');
  }
  expect(composeOf({ nodes: 1 }, { sources: '../..' }).services['init']?.['build']).toMatchObject({
    context: '../..',
  });
});

test('preparing without a definition, or with a wrong definition or seed, says so', async () => {
  await expect(prepared({ SVCNET_DEFINITION: 'nodes: 0' })).rejects.toThrow(
    /SVCNET_DEFINITION: nodes: got 0/,
  );
  await expect(prepared({ SVCNET_DEFINITION: 'nodes: 1', SVCNET_SEED: 'x' })).rejects.toThrow(
    /SVCNET_SEED: got 'x'/,
  );
});

test('every container lacks privileges, writes to its volume and /tmp alone, and has so many processes', () => {
  const { services } = composeOf({ nodes: [{ count: 2 }, { image: 'other:1' }] });
  for (const [name, service] of Object.entries(services)) {
    expect(service, name).toMatchObject({
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges'],
      read_only: true,
      pids_limit: 1024,
    });
    expect(service['tmpfs'], name).toContain('/tmp:rw,noexec,nosuid,nodev,mode=1777,size=67108864');
    // Prometheus and Grafana have users of their own.
    expect(service['user'], name).toBe(service['profiles'] === undefined ? '1000:1000' : undefined);
  }
});

test('a container has a volume of its own: keys and the seed are in none of another one', () => {
  const { services, volumes } = composeOf({ nodes: 3 });
  const mountsOf = (name: string) => services[name]?.['volumes'] as string[];
  for (const name of ['chain', 'node-0', 'node-1', 'node-2'])
    expect(mountsOf(name)).toEqual([`${name}:/data`]);
  const filled = ['chain', 'dashboards', 'node-0', 'node-1', 'node-2'];
  expect(mountsOf('init')).toEqual(filled.map((name) => `${name}:/volumes/${name}`));
  expect(Object.keys(volumes)).toEqual(filled);
  // `down` leaves the nameless volume that the image would get there.
  expect(services['init']?.['tmpfs']).toContainEqual(expect.stringMatching(/^\/data:/));
  expect(JSON.stringify({ ...services, init: undefined })).not.toContain('SVCNET_SEED');
});

test('the image has a folder for the volume of each node that a definition may have, and for the others', () => {
  const text = readFileSync('node/Dockerfile', 'utf8');
  expect(text).toContain(`for name in chain dashboards $(node -p "Array.from({ length: ${REAL_NODES_MAX} }`);
  expect(text).toContain('mkdir -p "/volumes/$name" && chown node:node "/volumes/$name"');
});

test('volumes of the same network are left as they are, except one that was emptied', async () => {
  const environment = { SVCNET_DEFINITION: 'nodes: 2', SVCNET_SEED: '42' };
  const folder = await prepared(environment);
  const state = join(folder, 'chain', 'chain', 'state');
  mkdirSync(join(folder, 'chain', 'chain'));
  writeFileSync(state, 'blocks');
  const key = join(folder, 'node-1', 'keys', 'swarm.key');
  const content = readFileSync(key, 'utf8');
  rmSync(join(folder, 'node-1'), { recursive: true });
  mkdirSync(join(folder, 'node-1'));
  expect(await prepare({ ...environment, SVCNET_FOLDER: folder })).toMatch(/^continues with 2 nodes/);
  expect(readFileSync(key, 'utf8')).toBe(content);
  expect(readFileSync(state, 'utf8')).toBe('blocks');
  expect(await prepare({ ...environment, SVCNET_SEED: '43', SVCNET_FOLDER: folder })).toMatch(
    /^prepared 2 nodes/,
  );
  expect(existsSync(state)).toBe(false);
  expect(readFileSync(key, 'utf8')).not.toBe(content);
});

test('the profile has Prometheus and Grafana, which read what the first container wrote, but no keys', async () => {
  const { services } = composeOf({ nodes: 2 });
  const inProfile = Object.entries(services).filter(([, { profiles }]) => profiles !== undefined);
  expect(inProfile.map(([name]) => name)).toEqual(['prometheus', 'grafana']);
  for (const [, service] of inProfile) {
    expect(service).toMatchObject({
      profiles: ['dashboards'],
      volumes: ['dashboards:/data/dashboards:ro'],
      ports: [expect.stringMatching(/^127\.0\.0\.1:/)],
      depends_on: { init: { condition: 'service_completed_successfully' } },
    });
  }
  const folder = await prepared({ SVCNET_DEFINITION: 'nodes: 2', SVCNET_SEED: '42' });
  const path = (inside: string) => join(folder, inside.replace('/data/', ''));
  const command = services['prometheus']?.['command'] as string[];
  const config = command[0] ?? '';
  const environment = services['grafana']?.['environment'] as Record<string, string>;
  const board = path(environment['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '');
  const provisioning = path(environment['GF_PATHS_PROVISIONING'] ?? '');
  const source = join(provisioning, 'datasources', 'prometheus.yml');
  for (const file of [path(config.replace('--config.file=', '')), board, source])
    expect(statSync(file).mode & 0o777, file).toBe(0o644);
  expect(readFileSync(source, 'utf8')).toContain('url: http://prometheus:9090');
  const targets = readFileSync(join(folder, 'dashboards/prometheus/targets/nodes.json'), 'utf8');
  expect(JSON.parse(targets)).toMatchObject([{ targets: ['node-0:1635'] }, { targets: ['node-1:1635'] }]);
  const keys = readdirSync(join(folder, 'node-0'), { recursive: true, withFileTypes: true });
  for (const entry of keys.filter((each) => each.isFile()))
    expect(statSync(join(entry.parentPath, entry.name)).mode & 0o077, entry.name).toBe(0);
});

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  grafanaEnvironment,
  serverCommand,
  serverContainer,
} from '../../../../../harness/metrics/dashboards/definition.ts';
import { findProgram, grafanaHome, SERVERS } from '../../../../../harness/metrics/dashboards/programs.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-programs');

function program(path: string, mode = 0o755): string {
  const file = join(folder, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, '#!/bin/sh\n');
  chmodSync(file, mode);
  return file;
}

const onPath = program('bin/prometheus');
const named = program('named/prometheus');
const PATH = ['/nowhere', join(folder, 'bin')].join(':');

test('a flag wins over the variable, and the variable over the path', () => {
  expect(findProgram('prometheus', undefined, { PATH })).toBe(onPath);
  expect(findProgram('prometheus', undefined, { PATH, SVCNET_PROMETHEUS: named })).toBe(named);
  expect(findProgram('prometheus', onPath, { PATH: '', SVCNET_PROMETHEUS: named })).toBe(onPath);
});

test('an empty variable names nothing, and without a program the result is undefined', () => {
  expect(findProgram('prometheus', undefined, { PATH: '/nowhere', SVCNET_PROMETHEUS: '' })).toBeUndefined();
  expect(findProgram('grafana', undefined, {})).toBeUndefined();
});

test('a named program that cannot be run is an error that says where it was named', () => {
  const plain = program('named/plain', 0o644);
  expect(() => findProgram('prometheus', '/nowhere/prometheus', {})).toThrow(
    "--prometheus: no such file '/nowhere/prometheus'",
  );
  expect(() => findProgram('grafana', undefined, { SVCNET_GRAFANA: plain })).toThrow(
    `SVCNET_GRAFANA: '${plain}' is not a program that can be run`,
  );
  expect(() => findProgram('grafana', folder, {})).toThrow('is not a program that can be run');
});

test("Grafana's own files are found beside its program, also behind a link, or where packages put them", () => {
  const grafana = program('grafana-12/bin/grafana');
  expect(() => grafanaHome(grafana, '/nowhere')).toThrow("found no folder 'public'");
  mkdirSync(join(folder, 'grafana-12', 'public'));
  symlinkSync(grafana, join(folder, 'bin', 'grafana'));
  expect(grafanaHome(join(folder, 'bin', 'grafana'), '/nowhere')).toBe(join(folder, 'grafana-12'));
  expect(grafanaHome(named, join(folder, 'grafana-12'))).toBe(join(folder, 'grafana-12'));
});

const plan = { port: 7, folder: '/c/dashboards' } as const;

test('Prometheus listens on loopback and keeps its data in the folder', () => {
  expect(serverCommand({ ...plan, name: 'prometheus' }, named)).toEqual({
    file: named,
    args: [
      '--config.file=/c/dashboards/prometheus/prometheus.yml',
      '--storage.tsdb.path=/c/dashboards/prometheus/data',
      '--web.listen-address=127.0.0.1:7',
      String.raw`--web.cors.origin=http://127\.0\.0\.1:\d+`,
    ],
    env: {},
  });
});

test('Grafana listens on loopback, needs no login and lets no user change anything', () => {
  const { args, env } = serverCommand({ ...plan, name: 'grafana' }, join(folder, 'grafana-12/bin/grafana'));
  expect(args).toEqual(['server', '--homepath', join(folder, 'grafana-12')]);
  expect(env).toMatchObject({
    GF_SERVER_HTTP_ADDR: '127.0.0.1',
    GF_SERVER_HTTP_PORT: '7',
    GF_AUTH_ANONYMOUS_ENABLED: 'true',
    GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
    GF_PATHS_DATA: '/c/dashboards/grafana/data',
  });
  const server = program('grafana-12/bin/grafana-server');
  expect(serverCommand({ ...plan, name: 'grafana' }, server).args[0]).toBe('--homepath');
});

test('a container shares the network and the folder of its machine, and is removed when it stops', () => {
  const owner = { token: 'a-token', name: 'local' };
  for (const name of ['prometheus', 'grafana'] as const) {
    expect(serverContainer({ ...plan, name }, { owner, user: '1000:100' })).toMatchObject({
      Image: SERVERS[name].image,
      User: '1000:100',
      Labels: { 'svcnet.cluster': 'a-token' },
      HostConfig: {
        NetworkMode: 'host',
        AutoRemove: true,
        Binds: ['/c/dashboards:/c/dashboards'],
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
        ReadonlyRootfs: true,
      },
    });
  }
  const { Cmd } = serverContainer({ ...plan, name: 'prometheus' }, { owner, user: '1:1' });
  expect(Cmd).toContain('--web.listen-address=127.0.0.1:7');
  const { Env, Cmd: none } = serverContainer({ ...plan, name: 'grafana' }, { owner, user: '1:1' });
  expect(Env).toContain('GF_SERVER_HTTP_PORT=7');
  expect(none).toBeUndefined();
});

test('no page of another origin reads either server, nor one under a name that was made to lead there', () => {
  const { args } = serverCommand({ name: 'prometheus', port: 9090, folder }, onPath);
  const pattern = args.find((arg) => arg.startsWith('--web.cors.origin='))?.replace(/^[^=]*=/, '') ?? '';
  const admits = (origin: string) => new RegExp(`^(?:${pattern})$`).test(origin);
  expect(
    ['http://127.0.0.1:9090', 'https://evil.example', 'http://127.0.0.1.evil.example:80', 'null'].filter(
      admits,
    ),
  ).toEqual(['http://127.0.0.1:9090']);
  expect(grafanaEnvironment(folder)).toMatchObject({
    GF_SERVER_DOMAIN: '127.0.0.1',
    GF_SERVER_ENFORCE_DOMAIN: 'true',
  });
});

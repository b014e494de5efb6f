import { extract } from 'tar-stream';
import { expect, test } from 'vitest';
import { archiveOf } from '../../../../../harness/places/docker/archive.ts';
import { containerSpec } from '../../../../../harness/places/docker/container.ts';
import { EntryReader } from '../../../../../harness/places/docker/log.ts';
import { exitOf } from '../../../../../harness/places/docker/observer.ts';
import { usageOf } from '../../../../../harness/places/docker/usage.ts';

const OWNER = { token: '0123456789abcdef', name: 'net' };

function specOf(
  given: Partial<Parameters<typeof containerSpec>[0]> = {},
  listen = '127.0.0.1',
): ReturnType<typeof containerSpec> {
  const command = {
    entrypoint: ['node', 'main.ts'],
    args: ['start'],
    env: { A: 'b' },
    health: ['node', '-e', '0'],
  };
  const ports = [{ inside: 1633, outside: 20_000 }];
  return containerSpec({ part: 'node-1', command, ports, ...given }, 'sha256:1', { ...OWNER, listen });
}

test('a port is published at its own address if it has one', () => {
  const ports = [
    { inside: 8545, outside: 20_000 },
    { inside: 8546, outside: 20_001, at: '127.0.0.1' },
  ];
  expect(specOf({ ports }, '0.0.0.0').HostConfig?.PortBindings).toEqual({
    '8545/tcp': [{ HostIp: '0.0.0.0', HostPort: '20000' }],
    '8546/tcp': [{ HostIp: '127.0.0.1', HostPort: '20001' }],
  });
});

test('containers, volumes and networks carry the token, and are named after cluster and node', () => {
  const spec = specOf();
  const labels = { 'svcnet.cluster': OWNER.token, 'svcnet.name': 'net', 'svcnet.node': 'node-1' };
  expect(spec.name).toBe('svcnet-net-01234567-node-1');
  expect(spec.Labels).toEqual(labels);
  expect(spec.HostConfig?.Mounts?.[0]).toMatchObject({
    Type: 'volume',
    Source: spec.name,
    VolumeOptions: { Labels: labels },
  });
  expect(spec.HostConfig?.NetworkMode).toBe('svcnet-net-01234567');
});

test('nothing of this machine is mounted, and ports are published only at the given address', () => {
  const { HostConfig } = specOf({}, '10.0.0.7');
  expect(HostConfig?.Binds).toBeUndefined();
  expect(HostConfig?.Mounts?.map(({ Type }) => Type)).toEqual(['volume']);
  expect(HostConfig?.PortBindings).toEqual({ '1633/tcp': [{ HostIp: '10.0.0.7', HostPort: '20000' }] });
});

test('a container lacks privileges, and writes to its volume and /tmp alone, whatever its image', () => {
  for (const spec of [specOf(), specOf({ command: { args: ['start'], env: {} } })]) {
    expect(spec.User).toBe('1000:1000');
    expect(spec.HostConfig).toMatchObject({
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'rw,noexec,nosuid,nodev,mode=1777,size=67108864' },
      PidsLimit: 1024,
    });
  }
});

test('limits become those of the container, without any swap', () => {
  expect(specOf({ resources: { cpus: 0.5, memory: 2 ** 28 } }).HostConfig).toMatchObject({
    NanoCpus: 500_000_000,
    Memory: 2 ** 28,
    MemorySwap: 2 ** 28,
  });
  expect(specOf().HostConfig?.Memory).toBeUndefined();
});

test('a foreign image keeps its own entry point and health check', () => {
  const spec = specOf({ command: { args: ['start'], env: {} } });
  expect(spec.Entrypoint).toBeUndefined();
  expect(spec.Healthcheck).toBeUndefined();
});

test('files arrive in their own folders, owned by the node', async () => {
  const archive = await archiveOf([
    { path: 'node/config.yaml', content: '{}' },
    { path: 'node/keys/swarm.key', content: 'secret' },
  ]);
  const entries: [string, string | null | undefined, number | undefined, number | undefined][] = [];
  const reader = extract();
  reader.end(archive);
  for await (const entry of reader) {
    const { name, type, mode, uid } = entry.header;
    entries.push([name, type, mode, uid]);
    entry.resume();
  }
  expect(entries).toEqual([
    ['node', 'directory', 0o700, 1000],
    ['node/keys', 'directory', 0o700, 1000],
    ['node/config.yaml', 'file', 0o600, 1000],
    ['node/keys/swarm.key', 'file', 0o600, 1000],
  ]);
});

const T = (n: number) => `2026-01-01T00:00:00.00000000${n}Z`;

function frame(stream: number, text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

test('a log is assembled from frames, however they are split', () => {
  const raw = Buffer.concat([
    frame(1, `${T(1)} one\n`),
    frame(2, `${T(2)} be`),
    frame(1, `${T(3)} bétween\n`),
    frame(2, `${T(4)} gun\n`),
    frame(1, `${T(5)} \n`),
  ]);
  const expected = [
    { at: T(1), line: 'one' },
    { at: T(3), line: 'bétween' },
    { at: T(4), line: 'begun' },
    { at: T(5), line: '' },
  ];
  expect(new EntryReader().read(raw)).toEqual(expected);
  const reader = new EntryReader();
  expect(Array.from(raw, (_, i) => reader.read(raw.subarray(i, i + 1))).flat()).toEqual(expected);
});

test.each([
  [{ ExitCode: 0 }, { code: 0, signal: null }],
  [{ ExitCode: 1 }, { code: 1, signal: null }],
  [{ ExitCode: 137 }, { code: null, signal: 'SIGKILL' }],
  [{ ExitCode: 143 }, { code: null, signal: 'SIGTERM' }],
  [
    { ExitCode: 137, OOMKilled: true },
    { code: null, signal: 'SIGKILL', reason: 'out of memory (limit 256 MiB)', outOfMemory: true },
  ],
  [
    { ExitCode: 127, Error: 'no such file' },
    { code: 127, signal: null, reason: 'no such file' },
  ],
])('a container with %j has ended as %j', (state, exit) => {
  const State = { OOMKilled: false, Error: '', ...state };
  expect(exitOf({ State, HostConfig: { Memory: 2 ** 28 } })).toEqual(exit);
});

test.each([
  ['version 1', { total_rss: 5000, anon: undefined }],
  ['version 2', { anon: 5000 }],
])('usage is read from control groups of %s', (_name, stats) => {
  const document = {
    cpu_stats: { cpu_usage: { total_usage: 2_500_000 } },
    memory_stats: { usage: 9000, stats },
    networks: { eth0: { rx_bytes: 1, tx_bytes: 2 }, eth1: { rx_bytes: 10, tx_bytes: 20 } },
  };
  expect(usageOf(document as never)).toEqual({
    cpuMs: 2.5,
    memoryBytes: 5000,
    receivedBytes: 11,
    sentBytes: 22,
  });
});

test('the usage of an ended container is unknown', () => {
  expect(usageOf({ cpu_stats: { cpu_usage: { total_usage: 0 } }, memory_stats: {} })).toEqual({});
});

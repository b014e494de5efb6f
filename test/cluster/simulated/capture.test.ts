import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Cluster } from '../../../harness/index.ts';
import type { TapEvent } from '../../../harness/places/links/tap/events.ts';
import { capturedPacket, captureHeader } from '../../../harness/places/links/tap/pcapng.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { bytesOf } from '../node/kit.ts';

const folder = temporaryFolder('svcnet-capture');
const DISSECTOR = fileURLToPath(new URL('../../../harness/places/links/tap/svcnet.lua', import.meta.url));
const COLUMNS = ['kind', 'protocol', 'message', 'from', 'to', 'stream', 'id', 'bytes', 'fields', 'raw'];
// Continuous integration installs it.
const isThere = process.env['CI'] !== undefined || spawnSync('tshark', ['--version']).status === 0;

function shownOf(file: string): string[][] {
  const fields = COLUMNS.flatMap((column) => ['-e', `svcnet.${column}`]);
  const args = ['-X', `lua_script:${DISSECTOR}`, '-r', file, '-T', 'fields', '-E', 'separator=|', ...fields];
  const { status, stdout, stderr } = spawnSync('tshark', ['-e', 'frame.time_epoch', ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  expect(status, stderr).toBe(0);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split('|'));
}

const name = 'every event is a packet, with its time, its ends, its protocol and its message';
test(isThere ? name : `not run, tshark is not installed: ${name}`, async () => {
  await using net = await Cluster.start({
    nodes: 4,
    seed: 11,
    driver: 'simulated',
    tap: true,
    stateDir: join(folder, 'state'),
  });
  const data = bytesOf('captured', 60_000);
  const before = await Array.fromAsync(net.tap({ kept: true, raw: true }));
  expect(before.filter(({ raw }) => raw !== undefined)).toEqual([]);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const events: TapEvent[] = (await Array.fromAsync(net.tap({ kept: true, raw: true }))).slice(before.length);
  expect(
    events.filter(({ kind, raw }) => (kind === 'message') !== (raw !== undefined && kind !== 'headers')),
  ).toEqual([]);
  const pushed = events.filter(
    ({ protocol, name: message }) => protocol === 'pushsync' && message === 'delivery',
  );
  const chunk = Buffer.from(data.subarray(0, 4096)).toString('hex');
  expect(pushed.some(({ raw = '' }) => raw.includes(chunk))).toBe(true);
  for await (const event of net.tap({ kept: true })) expect(event.raw).toBeUndefined();
  // Others may have protocols with any id.
  events.push({
    ...(events[0] as TapEvent),
    protocol: `/ü/${'x'.repeat(5000)}`,
    name: '',
    bytes: 2 ** 32 - 1,
  });
  const capture = Buffer.concat([captureHeader(), ...events.map(capturedPacket)]);
  expect(capture.length % 4).toBe(0);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'all.pcapng');
  writeFileSync(file, capture);
  if (!isThere) return;
  const shown = shownOf(file);
  expect(shown.slice(0, -1)).toEqual(
    events
      .slice(0, -1)
      .map(({ at, kind, protocol, name: message, from, to, stream, id, bytes, fields, raw = '' }) => [
        `${Math.floor(at / 1000)}.${String(at % 1000).padStart(3, '0')}000000`,
        kind,
        protocol,
        message,
        from,
        to,
        stream,
        id,
        String(bytes),
        JSON.stringify(fields),
        raw,
      ]),
  );
  expect(shown.at(-1)?.slice(1, 3)).toEqual(['opened', `/ü/${'x'.repeat(1020)}`]);
  const first = Buffer.concat([captureHeader(), capturedPacket(events[0] as TapEvent)]);
  writeFileSync(file, first);
  expect(shownOf(file)).toHaveLength(1);
});

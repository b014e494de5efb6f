import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { download, upload } from '../../../harness/commands/transfer.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { contextOf } from '../../unit/harness/commands/kit.ts';

const folder = temporaryFolder('svcnet-transfer');
const stateDir = join(folder, 'state');
const source = join(folder, 'a file.bin');
const data = Buffer.from(Uint8Array.from({ length: 300_000 }, (_, at) => (at * at) >> 7));
const timeout = 60_000;

let net: Cluster;
beforeAll(async () => {
  writeFileSync(source, data);
  net = await Cluster.start({ nodes: 3, name: 'transfer', driver: 'embedded', seed: 3, stateDir });
});
afterAll(() => net.stop());

interface UploadDocument {
  readonly reference: string;
  readonly batch: string;
  readonly synced: boolean;
}

async function uploaded(node: string): Promise<UploadDocument> {
  const context = contextOf(stateDir, true);
  await upload(source, { node, wait: true, timeout }, context);
  return JSON.parse(context.printed()) as UploadDocument;
}

test('a file that one node has uploaded is written through another, as it was', async () => {
  const { reference, batch, synced } = await uploaded('node-1');
  expect({ batch, synced }).toEqual({ batch: net.node(1).batch, synced: true });
  const target = join(folder, 'copy');
  const context = contextOf(stateDir);
  await download(reference, target, { node: 'node-2', timeout }, context);
  expect(data.equals(readFileSync(target))).toBe(true);
  expect(context.printed()).toContain(`293.0 KiB from node-2 in ${target}`);
  const { contentType, filename } = await net.node(0).files.open(reference);
  expect({ contentType, filename }).toEqual({
    contentType: 'application/octet-stream',
    filename: 'a file.bin',
  });
});

test('the reference of raw bytes is written too', async () => {
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const target = join(folder, 'bytes');
  await download(reference, target, { node: 'node-1', timeout }, contextOf(stateDir));
  expect(data.equals(readFileSync(target))).toBe(true);
});

test('a file that is there stays, unless it is to be overwritten with what exists', async () => {
  const target = join(folder, 'mine');
  writeFileSync(target, 'mine');
  const { reference } = await uploaded('node-0');
  const context = contextOf(stateDir);
  await expect(download(reference, target, { timeout }, context)).rejects.toMatchObject({
    code: 'USAGE',
    message: `${target} already exists`,
  });
  const nothing = download('ab'.repeat(32), target, { force: true, timeout }, context);
  await expect(nothing).rejects.toMatchObject({ status: 404 });
  expect(readFileSync(target, 'utf8')).toBe('mine');
  await download(reference, target, { force: true, timeout }, context);
  expect(data.equals(readFileSync(target))).toBe(true);
  expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test.each([
  ['nowhere', 'cannot access nowhere: no such file or folder (ENOENT)'],
  [folder, `${folder} is no file`],
])('what is no file is not uploaded: %s', async (path, message) => {
  const refused = upload(path, { wait: true, timeout }, contextOf(stateDir));
  await expect(refused).rejects.toMatchObject({ code: 'USAGE', message });
});

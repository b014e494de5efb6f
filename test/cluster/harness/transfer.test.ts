import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { HarnessError } from '../../../harness/base/errors.ts';
import { tarOf } from '../../../harness/base/tree.ts';
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
  await upload(source, { node, wait: true }, context);
  return JSON.parse(context.printed()) as UploadDocument;
}

test('a file that one node has uploaded is written through another, as it was', async () => {
  const { reference, batch, synced } = await uploaded('node-1');
  expect({ batch, synced }).toEqual({ batch: net.node(1).batch, synced: true });
  const target = join(folder, 'copy');
  const context = contextOf(stateDir);
  await download(reference, target, { node: 'node-2', timeout }, context);
  expect(data.equals(readFileSync(target))).toBe(true);
  expect(context.printed()).toContain(`293.0 KiB from node-2 written to ${target} in `);
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

test('an upload that the network does not have in time is not lost', async () => {
  const late = new HarnessError('WAIT_TIMEOUT', 'the upload is not synced');
  const synced = vi.spyOn(Cluster.prototype, 'synced').mockRejectedValue(late);
  onTestFinished(() => synced.mockRestore());
  await expect(uploaded('node-0')).rejects.toMatchObject({
    code: 'WAIT_TIMEOUT',
    message: late.message,
    hint: expect.stringMatching(/^node-0 has all chunks of [0-9a-f]{64}, and goes on\.$/),
  });
});

test('a file that appears during a download stays, too', async () => {
  const { reference } = await uploaded('node-0');
  const target = join(folder, 'meanwhile');
  const late = download(reference, target, { timeout }, contextOf(stateDir));
  writeFileSync(target, 'mine');
  await expect(late).rejects.toMatchObject({ code: 'USAGE', message: `${target} already exists` });
  expect(readFileSync(target, 'utf8')).toBe('mine');
});

test('the command that upload prints downloads through another node that runs', async () => {
  const context = contextOf(stateDir);
  await upload(source, { node: 'node-0', wait: false }, context);
  expect(context.printed()).toMatch(
    /svcnet download [0-9a-f]{64} 'copy-of-a file.bin' --node node-1 --name transfer\n$/,
  );
  const other = contextOf(stateDir);
  await upload(source, { node: 'node-2', wait: false }, other);
  expect(other.printed()).toContain('--node node-0');
});

test('the name of a file is one line of plain text, and so is the name of its copy', async () => {
  const file = join(folder, 'a\u001b[31mb\n  batch      forged\u0007.bin');
  writeFileSync(file, 'x');
  const context = contextOf(stateDir);
  await upload(file, { node: 'node-0', wait: false }, context);
  const shown = String.raw`a\u001b[31mb batch      forged\u0007.bin`;
  expect(context.printed()).toContain(`  file       ${join(folder, shown)}, 1 B\n`);
  expect(context.printed()).toContain(` 'copy-of-${shown}' --node `);
});

test('the longest name of a file gives the copy a name that the file system takes', async () => {
  const file = join(folder, `${'🐝'.repeat(62)}abc.bin`);
  writeFileSync(file, 'x');
  const context = contextOf(stateDir);
  await upload(file, { node: 'node-0', wait: true }, context);
  const [, reference = '', name = ''] = /download (\w+) '(.*)' --node/.exec(context.printed()) ?? [];
  expect(name).toBe(`copy-of-${'🐝'.repeat(60)}.bin`);
  await download(reference, join(folder, name), { timeout }, contextOf(stateDir));
  expect(readFileSync(join(folder, name), 'utf8')).toBe('x');
});

test('an empty file is transferred', async () => {
  const empty = join(folder, 'empty');
  writeFileSync(empty, '');
  const context = contextOf(stateDir, true);
  await upload(empty, { wait: true }, context);
  const { reference, bytes } = JSON.parse(context.printed()) as { reference: string; bytes: number };
  const target = join(folder, 'empty-copy');
  await download(reference, target, { node: 'node-1', timeout }, contextOf(stateDir));
  expect([bytes, statSync(target).size]).toEqual([0, 0]);
});

test('raw bytes may be fewer than a manifest has, or none', async () => {
  for (const size of [0, 10]) {
    const { reference } = await net.node(0).bytes.upload(data.subarray(0, size));
    const target = join(folder, `bytes-${size}`);
    await download(reference, target, { timeout }, contextOf(stateDir));
    expect(data.subarray(0, size).equals(readFileSync(target))).toBe(true);
  }
});

test('the manifest of a folder is not written as raw bytes', async () => {
  const tar = await tarOf([{ path: 'inside', data }]);
  const { reference } = await net.node(0).files.uploadTar(tar);
  const target = join(folder, 'folder');
  const refused = download(reference, target, { timeout }, contextOf(stateDir));
  const message = expect.stringContaining('/svc/') as string;
  const hint = 'Name a file of the folder with --path: inside';
  await expect(refused).rejects.toMatchObject({ cause: { status: 404 }, message, hint });
  expect(existsSync(target)).toBe(false);
  await download(reference, target, { path: 'inside', timeout }, contextOf(stateDir));
  expect(data.equals(readFileSync(target))).toBe(true);
});

test('a path that a folder does not have leads to those that it has', async () => {
  const paths = [...Array.from({ length: 12 }, (_, at) => `pictures/${at + 10}.png`), 'a file.txt'];
  const { reference } = await net.node(0).files.uploadTar(await tarOf(paths.map((path) => ({ path, data }))));
  const asked = (path: string, of = reference) =>
    download(of, join(folder, 'none'), { path, timeout }, contextOf(stateDir));
  const pictures = Array.from({ length: 7 }, (_, at) => `pictures/${at + 10}.png`).join(', ');
  await expect(asked('picture.png')).rejects.toMatchObject({
    cause: { status: 404 },
    hint: `Name a file of the folder with --path: 'a file.txt', ${pictures}, …`,
  });
  const { reference: raw } = await net.node(0).bytes.upload(data);
  await expect(asked('inside', raw)).rejects.toMatchObject({ status: 404 });
});

test('--force replaces no folder and no pipe', async () => {
  const { reference } = await uploaded('node-0');
  const [place, pipe] = [join(folder, 'place'), join(folder, 'pipe')];
  mkdirSync(place);
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
  for (const [path, message] of [
    [place, `${place} is a folder, expected the path of a file`],
    [pipe, `${pipe} is a device or a pipe, expected a regular file`],
  ] as const) {
    const refused = download(reference, path, { force: true, timeout }, contextOf(stateDir));
    await expect(refused).rejects.toMatchObject({ code: 'USAGE', message });
  }
  expect(statSync(pipe).isFIFO()).toBe(true);
});

test('the limit of an upload is that of the whole transfer; without one, the wait has its own', async () => {
  const synced = vi.spyOn(Cluster.prototype, 'synced');
  onTestFinished(() => synced.mockRestore());
  await upload(source, { node: 'node-0', wait: true, timeout }, contextOf(stateDir));
  await upload(source, { node: 'node-0', wait: true }, contextOf(stateDir));
  const limits = synced.mock.calls.map(([, given]) => given?.timeoutMs);
  expect(limits).toEqual([expect.any(Number), undefined]);
  expect(limits[0]).toBeLessThan(timeout);
});

test.each([
  ['nowhere', 'cannot access nowhere: no such file or folder (ENOENT)'],
  [folder, `${folder} is a folder, expected a file`],
  ['/dev/null', '/dev/null is a device or a pipe, expected a file'],
])('only files are uploaded: %s', async (path, message) => {
  const refused = upload(path, { wait: true, timeout }, contextOf(stateDir));
  await expect(refused).rejects.toMatchObject({ code: 'USAGE', message });
});

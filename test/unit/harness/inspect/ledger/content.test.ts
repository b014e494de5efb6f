import { pack } from 'tar-stream';
import { expect, test } from 'vitest';
import { tarOf } from '../../../../../harness/base/tree.ts';
import { expectForm, expectTar, formOf } from '../../../../../harness/inspect/ledger/content.ts';
import { multipartEntries } from '../../../../../node/files/collection/multipart.ts';

const TREE = [
  { path: 'index.html', data: new TextEncoder().encode('<p>\r\n--svcnet') },
  { path: 'a b/c/empty.json', data: new Uint8Array() },
  { path: 'a b/large.png', data: new Uint8Array(10_000).fill(7) },
];

async function* piece(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
}

test('a tree as a form has every file under its full path, with its bytes', async () => {
  const { body, contentType } = formOf(TREE);
  const seen: { path: string; data: Uint8Array }[] = [];
  for await (const entry of multipartEntries(piece(body), contentType)) {
    const data = new Uint8Array(Buffer.concat(await Array.fromAsync(entry.body)));
    seen.push({ path: entry.path, data });
  }
  expect(seen).toEqual(TREE);
});

test('archive and form of a tree hold the same data in different manifests', async () => {
  const archive = await expectTar(await tarOf(TREE));
  const form = await expectForm(formOf(TREE));
  expect(form.reference).not.toBe(archive.reference);
  // The large file has three chunks and a root.
  const shared = form.chunks.filter((chunk) => archive.chunks.includes(chunk));
  expect(shared.length).toBeGreaterThanOrEqual(6);
});

test('a hard link has the content of its target where nodes store it so, and none in the dialect of a Bee', async () => {
  const archive = async (second: Parameters<ReturnType<typeof pack>['entry']>[0], data: string) => {
    const packed = pack();
    packed.entry({ name: 'a.txt' }, 'content');
    packed.entry(second, data);
    packed.finalize();
    return Buffer.concat(await Array.fromAsync(packed as AsyncIterable<Buffer>));
  };
  const linked = await archive({ name: 'b.txt', type: 'link', linkname: 'a.txt' }, '');
  const copied = await archive({ name: 'b.txt' }, 'content');
  const empty = await archive({ name: 'b.txt' }, '');
  expect(await expectTar(linked)).toEqual(await expectTar(copied));
  for (const dialect of ['svc', 'swarm'] as const)
    expect(await expectTar(linked, {}, { dialect })).toEqual(
      await expectTar(dialect === 'svc' ? copied : empty, {}, { dialect }),
    );
});

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tarOf } from '../../harness/base/tree.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { formOf } from '../../harness/inspect/ledger/content.ts';
import { bytesOf, http, sameBytes } from '../cluster/node/kit.ts';
import { OTHERS, of, ownErrors, startMixed } from './kit.ts';

/** Nothing, one byte, one leaf, two, a whole run of 64 references and one more. */
const SIZES = [0, 1, 4096, 4097, 64 * 4096, 64 * 4096 + 1];
const READ_MS = 180_000;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 83 });
  });
  afterAll(() => net.stop());

  const ways = [
    ['ours', () => of('svc', net)[0] as ClusterNode, () => of(side.flavour, net)],
    ['theirs', () => of(side.flavour, net)[0] as ClusterNode, () => of('svc', net)],
  ] as const;

  function wrongKey(reference: string): string {
    return `${reference.slice(0, 127)}${reference.endsWith('0') ? '1' : '0'}`;
  }

  test.each(
    ways.flatMap(([name, maker, readers]) =>
      [true, false].map((deferred) => ({ name, maker, readers, deferred })),
    ),
  )(
    'bytes encrypted by $name (deferred: $deferred) can be read by the others, whole and in part',
    async ({ name, maker, readers, deferred }) => {
      for (const size of SIZES) {
        const data = bytesOf(`${name} ${deferred} ${size}`, size);
        const { reference } = await maker().bytes.upload(data, { encrypt: true, deferred });
        expect(reference).toMatch(/^[0-9a-f]{128}$/);
        if (deferred) await net.synced(reference);
        for (const reader of readers()) {
          const seen = await reader.bytes.download(reference, { cache: false });
          expect([reader.name, size, sameBytes(seen, data)]).toEqual([reader.name, size, true]);
          if (size < 4097) continue;
          const range = { from: 4000, to: 4096 };
          const part = await reader.bytes.download(reference, { range });
          expect([reader.name, size, sameBytes(part, data.subarray(4000, 4097))]).toEqual([
            reader.name,
            size,
            true,
          ]);
        }
      }
    },
    READ_MS,
  );

  test.each(ways)('equal bytes encrypted twice by %s have nothing in common', async (name, maker) => {
    const data = bytesOf(`twice ${name}`, 5000);
    const upload = () => maker().bytes.upload(data, { encrypt: true, deferred: false });
    const [first, second] = [(await upload()).reference, (await upload()).reference];
    expect(first.slice(0, 64)).not.toBe(second.slice(0, 64));
    expect(first.slice(64)).not.toBe(second.slice(64));
  });

  test.each(ways)(
    'a file encrypted by %s keeps its name and type, and cannot be read with another key',
    async (name, maker, readers) => {
      const data = bytesOf(`file ${name}`, 9000);
      const about = { name: 'letter.txt', contentType: 'text/x-letter; charset=utf-8' };
      const options = { ...about, encrypt: true, deferred: false };
      const { reference } = await maker().files.upload(data, options);
      for (const reader of readers()) {
        const file = await reader.files.open(reference, '', { cache: false });
        expect([file.contentType, file.filename]).toEqual([about.contentType, about.name]);
        const seen = Buffer.concat(await Array.fromAsync(file.pieces()));
        expect(sameBytes(seen, data), reader.name).toBe(true);
        // A Bee mistakes the result of a wrong key for a tree, and looks for its chunks for minutes.
        if (reader.flavour !== 'svc') continue;
        const { status } = await http(reader, `${reader.client.dialect.files}/${wrongKey(reference)}/`);
        expect([reader.name, status]).toEqual([reader.name, 404]);
      }
    },
  );

  test.each(ways)(
    'an archive and a form encrypted by %s can be read path by path',
    async (name, maker, readers) => {
      const tree = [
        { path: 'index.html', data: bytesOf(`index ${name}`, 600) },
        { path: 'error.html', data: bytesOf(`error ${name}`, 700) },
        { path: 'a/b/c/a rather long name, longer than one fork can hold.json', data: bytesOf(name, 70_000) },
        { path: 'a/b/d.css', data: bytesOf(`css ${name}`, 4097) },
      ];
      const options = { encrypt: true, deferred: false };
      const documents = { indexDocument: 'index.html', errorDocument: 'error.html' };
      const site = await maker().files.uploadTar(await tarOf(tree), { ...options, ...documents });
      const form = await maker().files.uploadForm(formOf(tree), options);
      for (const reader of readers()) {
        for (const { reference } of [site, form]) {
          expect(reference).toMatch(/^[0-9a-f]{128}$/);
          for (const { path, data } of tree) {
            const seen = await reader.files.download(reference, path, { cache: false });
            expect([reader.name, path, sameBytes(seen, data)]).toEqual([reader.name, path, true]);
          }
        }
        const index = await reader.files.download(site.reference, '');
        expect(sameBytes(index, tree[0]?.data as Uint8Array)).toBe(true);
        const lost = await http(reader, `${reader.client.dialect.files}/${site.reference}/a/none`);
        expect(sameBytes(lost.body, tree[1]?.data as Uint8Array), `${reader.name} ${lost.status}`).toBe(true);
      }
    },
    READ_MS,
  );

  test('our nodes have logged no error', async () => {
    expect(await ownErrors(net)).toEqual([]);
  });
});

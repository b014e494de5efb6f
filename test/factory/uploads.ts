import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MantarayNode, RedundancyLevel } from '@ethersphere/bee-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bytesOf, eventually, sameBytes } from '../cluster/node/kit.ts';
import { batchOf, payee, queen, reader } from './kit.ts';

/** The reference of 'Hello, Swarm!' on any network. */
const HELLO = '680bb26ce329867d9063251135dea6f02b58d0ef3d4eb9076c3d5fc03fe54cf6';
const LEVELS = [
  RedundancyLevel.OFF,
  RedundancyLevel.MEDIUM,
  RedundancyLevel.STRONG,
  RedundancyLevel.INSANE,
] as const;

export function uploadTests(): void {
  describe('uploads', () => {
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), 'svcnet-factory-site-'));
      mkdirSync(join(folder, 'static'));
      writeFileSync(join(folder, 'index.html'), '<h1>index</h1>');
      writeFileSync(join(folder, 'static', 'styles.css'), 'body {}');
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test('data has the same reference as on any network', async () => {
      const { reference } = await queen.uploadData(batchOf(0), 'Hello, Swarm!');
      expect(reference.toHex()).toBe(HELLO);
      expect((await payee.downloadData(reference)).toUtf8()).toBe('Hello, Swarm!');
      expect((await queen.probeData(reference)).contentLength).toBe(13);
    });

    test('chunks are accepted as they are', async () => {
      const chunk = queen.makeContentAddressedChunk('Hello, Swarm!');
      expect((await queen.uploadChunk(batchOf(0), chunk)).reference.toHex()).toBe(HELLO);
      expect(sameBytes(await reader.downloadChunk(HELLO), chunk.data)).toBe(true);
    });

    test('files keep their name and type, and may be encrypted', async () => {
      for (const encrypt of [false, true]) {
        const options = { contentType: 'text/plain', encrypt };
        const { reference } = await queen.uploadFile(batchOf(0), 'a secret', 'secret.txt', options);
        expect(reference).toHaveLength(encrypt ? 64 : 32);
        const { name, contentType, data } = await payee.downloadFile(reference);
        expect([name, contentType, data.toUtf8()]).toEqual(['secret.txt', 'text/plain', 'a secret']);
      }
    });

    test('folders are read path by path, and their manifest is the one of the client', async () => {
      const { reference } = await queen.uploadFilesFromDirectory(batchOf(0), folder, {
        indexDocument: 'index.html',
        redundancyLevel: RedundancyLevel.OFF,
      });
      expect((await payee.downloadFile(reference)).data.toUtf8()).toBe('<h1>index</h1>');
      expect((await payee.downloadFile(reference, 'static/styles.css')).data.toUtf8()).toBe('body {}');
      const manifest = await MantarayNode.unmarshal(queen, reference);
      await manifest.loadRecursively(queen);
      expect(Object.keys(manifest.collectAndMap()).toSorted()).toEqual(['index.html', 'static/styles.css']);
    });

    test('folders streamed by the client have the reference that it computed', async () => {
      // Only one of them would get an index document.
      const styles = join(folder, 'static');
      const { reference } = await queen.streamDirectory(batchOf(0), styles);
      expect(reference.toHex()).toBe((await queen.hashDirectory(styles)).toHex());
      expect((await payee.downloadFile(reference, 'styles.css')).data.toUtf8()).toBe('body {}');
    });

    test('collections of files in memory can be uploaded', async () => {
      const files = [new File(['one'], 'one.txt'), new File(['two'], 'two.txt')];
      const { reference } = await queen.uploadFiles(batchOf(0), files);
      expect((await payee.downloadFile(reference, 'two.txt')).data.toUtf8()).toBe('two');
    });

    test('have the default level of the network when none is given: a chunk with two replicas', async () => {
      const { uid } = await queen.createTag();
      await queen.uploadData(batchOf(0), 'Tagged hello.', { tag: uid });
      expect((await queen.retrieveTag(uid)).split).toBe(3);
    });

    test.each(LEVELS)('are read from another node at redundancy level %i', async (redundancyLevel) => {
      const data = bytesOf(`factory, level ${redundancyLevel}`, 50_000);
      const { reference } = await queen.uploadData(batchOf(0), data, { redundancyLevel });
      expect(sameBytes((await reader.downloadData(reference)).toUint8Array(), data)).toBe(true);
    });

    test('can be followed by tags', async () => {
      const { uid } = await queen.createTag();
      const { tagUid } = await queen.uploadData(batchOf(0), bytesOf('factory, tag', 9000), { tag: uid });
      expect(tagUid).toBe(uid);
      await eventually('the upload is not synced', async () => {
        const { split, seen, synced } = await queen.retrieveTag(uid);
        return split > 0 && seen + synced === split ? undefined : `${seen + synced} of ${split} chunks`;
      });
      expect((await queen.getAllTags({ limit: 1000 })).map((tag) => tag.uid)).toContain(uid);
      await queen.deleteTag(uid);
      await expect(queen.retrieveTag(uid)).rejects.toMatchObject({ status: 404 });
    });

    test('can be pinned, uploaded again and unpinned', async () => {
      const { reference } = await queen.uploadData(batchOf(0), 'Pinned hello.', { pin: true });
      const pinned = async () => (await queen.getAllPins()).some((pin) => pin.equals(reference));
      expect(await pinned()).toBe(true);
      await queen.reuploadPinnedData(batchOf(0), reference);
      expect(await queen.isReferenceRetrievable(reference)).toBe(true);
      await queen.unpin(reference);
      expect(await pinned()).toBe(false);
    });

    test('require a batch of the node that accepts them', async () => {
      await expect(payee.uploadData(batchOf(0), 'not mine')).rejects.toMatchObject({ status: 404 });
      await expect(queen.downloadData('ab'.repeat(32))).rejects.toMatchObject({ status: 404 });
    });
  });
}

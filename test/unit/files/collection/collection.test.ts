import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { SharedRoom } from '../../../../node/env/turns/shared-room.ts';
import {
  type CollectionEntry,
  storeCollection,
  storeFile,
} from '../../../../node/files/collection/collection.ts';
import { multipartEntries } from '../../../../node/files/collection/multipart.ts';
import { tarEntries } from '../../../../node/files/collection/tar.ts';
import { openFile } from '../../../../node/files/joiner.ts';
import { openManifest } from '../../../../node/files/manifest-store.ts';
import { resolvePath } from '../../../../node/manifest/serve.ts';
import vectors from '../../../vectors/mantaray.json' with { type: 'json' };
import { ChunkMap, collect, inParts } from '../chunk-map.ts';
import { settle } from '../settle.ts';
import { multipartOf, tarHeader, tarOf } from './archives.ts';

interface Step {
  path: string;
  content?: string;
  metadata?: Record<string, string>;
}

interface Case {
  name: string;
  input?: { steps?: Step[] };
  expected: { reference?: string };
}

const cases = (vectors.cases as Case[]).filter(({ input }) => input?.steps !== undefined);
const collections = cases.filter(({ name }) => name.startsWith('collection: '));
const singles = cases.filter(({ name }) => name.startsWith('single file'));

/** As the vectors describe it: literally, or repeated. */
function contentOf(step: Step): Buffer {
  const [, text, size] = /^"(.*)" repeated to (\d+) bytes$/.exec(step.content ?? '') ?? [];
  return size === undefined ? Buffer.from(step.content ?? '') : Buffer.alloc(Number(size), text);
}

async function* entriesOf(steps: readonly Step[]): AsyncGenerator<CollectionEntry> {
  for (const step of steps)
    yield {
      path: step.path,
      contentType: step.metadata?.['Content-Type'] ?? '',
      filename: step.metadata?.['Filename'] ?? '',
      body: inParts(contentOf(step), 1000),
    };
}

async function served(store: ChunkMap, reference: Uint8Array, path: string): Promise<string> {
  const resolution = await resolvePath(await openManifest(reference, store), path);
  if (resolution.outcome !== 'serve') return resolution.outcome;
  const file = await openFile(resolution.entry.reference, store);
  return Buffer.from(await collect(file.read(0n, file.length))).toString();
}

describe('storing a collection', () => {
  test.each(collections)(
    '$name has the reference of the reference implementation',
    async ({ input, expected }) => {
      const steps = input?.steps ?? [];
      const documents = steps.find(({ path }) => path === '/')?.metadata ?? {};
      const store = new ChunkMap();
      const reference = await storeCollection(entriesOf(steps.filter(({ path }) => path !== '/')), store, {
        indexDocument: documents['website-index-document'] ?? '',
        errorDocument: documents['website-error-document'] ?? '',
      });
      expect(toHex(reference)).toBe(expected.reference);
    },
  );

  test('gives the same files under the same paths from a tar archive and from multipart', async () => {
    const files = [
      { name: 'index.html', content: '<h1>hello' },
      { name: 'img/logo.png', content: 'x'.repeat(9000) },
      { name: 'error.html', content: 'gone' },
    ];
    const options = { indexDocument: 'index.html', errorDocument: 'error.html' };
    const store = new ChunkMap();
    const fromTar = await storeCollection(tarEntries(inParts(await tarOf(files), 512)), store, options);
    const types = ['text/html; charset=utf-8', 'image/png', 'text/html; charset=utf-8'];
    const parts = files.map(({ name, content }, i) => ({
      headers: [`Content-Disposition: form-data; name="${name}"`, `Content-Type: ${types[i]}`],
      content,
    }));
    const fromMultipart = await storeCollection(
      multipartEntries(inParts(multipartOf('b', parts), 512), 'multipart/form-data; boundary=b'),
      store,
      options,
    );
    expect(toHex(fromMultipart)).toBe(toHex(fromTar));
    expect(await served(store, fromTar, '')).toBe('<h1>hello');
    expect(await served(store, fromTar, 'img/logo.png')).toBe('x'.repeat(9000));
    expect(await served(store, fromTar, 'img')).toBe('redirect');
    expect(await served(store, fromTar, 'nowhere')).toBe('gone');
  });

  test('without a file is refused', async () => {
    const empty = tarEntries(inParts(await tarOf([{ name: 'dir', type: 'directory' }]), 512));
    await expect(storeCollection(empty, new ChunkMap())).rejects.toMatchObject({ code: 'NO_FILES' });
  });

  test('with a separator in its index document is refused before anything is read', async () => {
    let asked = false;
    async function* entries(): AsyncGenerator<CollectionEntry> {
      asked = true;
      yield* [];
    }
    const storing = storeCollection(entries(), new ChunkMap(), { indexDocument: 'a/index.html' });
    await expect(storing).rejects.toMatchObject({ code: 'INVALID_INDEX_DOCUMENT' });
    expect(asked).toBe(false);
  });

  test('whose archive is cut off is refused', async () => {
    const archive = await tarOf([
      { name: 'a', content: 'x'.repeat(5000) },
      { name: 'b', content: 'x'.repeat(50) },
    ]);
    const entries = tarEntries(inParts(archive.subarray(0, 5632 + 512 + 40), 512));
    await expect(storeCollection(entries, new ChunkMap())).rejects.toMatchObject({ code: 'INVALID_TAR' });
  });

  test('ends with the reason of its signal while its body is silent', async () => {
    const archive = await tarOf([{ name: 'a', content: 'x'.repeat(5000) }]);
    async function* silent() {
      yield archive.subarray(0, 1000);
      await new Promise(() => {});
    }
    const controller = new AbortController();
    const storing = storeCollection(tarEntries(silent()), new ChunkMap(), { signal: controller.signal });
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    controller.abort(new Error('client is gone'));
    await expect(storing).rejects.toThrow('client is gone');
  });

  test('rejects with the error of the putter', async () => {
    const put = async () => {
      throw new Error('batch is full');
    };
    const entries = tarEntries(inParts(await tarOf([{ name: 'a', content: 'x' }]), 512));
    await expect(storeCollection(entries, { put })).rejects.toThrow('batch is full');
  });
});

describe('a body that is not wanted any more', () => {
  const LENGTH = 1_000_000;
  const part = new Uint8Array(10_000);
  const tar = tarHeader({ name: 'a', size: LENGTH.toString(8) });
  const multipart = Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n');
  const full = async () => {
    throw new Error('batch is full');
  };

  function sending(head: Uint8Array) {
    const state = { ended: false, send: () => undefined as void };
    async function* parts() {
      try {
        yield Buffer.concat([head, part]);
        for (;;) {
          await new Promise<void>((resolve) => {
            state.send = resolve;
          });
          yield part;
        }
      } finally {
        state.ended = true;
      }
    }
    return { body: parts(), state };
  }

  test.each([
    ['of a file', new Uint8Array(0), (body) => storeFile(body, { put: full })],
    ['of a tar archive', tar, (body) => storeCollection(tarEntries(body), { put: full })],
    [
      'of a multipart upload',
      multipart,
      (body) => storeCollection(multipartEntries(body, 'multipart/form-data; boundary=b'), { put: full }),
    ],
  ] as [string, Uint8Array, (body: AsyncIterable<Uint8Array>) => Promise<unknown>][])(
    '%s ends as soon as its next part has come',
    async (_what, head, store) => {
      const { body, state } = sending(head);
      await expect(store(body)).rejects.toThrow('batch is full');
      await settle();
      state.send();
      await settle();
      expect(state.ended).toBe(true);
    },
  );
});

describe('memory for the manifests of collections', () => {
  const names = Array.from({ length: 40 }, (_, i) => `folder/${'x'.repeat(60)}${i}`);
  const store = (count: number, room: SharedRoom) =>
    storeCollection(entriesOf(names.slice(0, count).map((path) => ({ path }))), new ChunkMap(), { room });

  test('ends an upload with more names than it holds, and is given back', async () => {
    const room = new SharedRoom(20_000);
    await expect(store(40, room)).rejects.toMatchObject({
      code: 'COLLECTION_TOO_LARGE',
      message: expect.stringMatching(/more than \d+ files, the last one is "folder\/x+\d+"/),
    });
    expect(room.held).toBe(0);
    await store(5, room);
    expect(room.held).toBe(0);
  });

  test('is shared by all of them', async () => {
    const room = new SharedRoom(20_000);
    using other = room.open();
    other.resize(18_000);
    await expect(store(5, room)).rejects.toMatchObject({ code: 'COLLECTION_TOO_LARGE' });
  });
});

describe('storing a file', () => {
  test.each(singles)('$name', async ({ name, input, expected }) => {
    const step = input?.steps?.at(-1) as Step;
    const store = new ChunkMap();
    const reference = await storeFile(inParts(contentOf(step), 1000), store, {
      contentType: step.metadata?.['Content-Type'] ?? '',
      ...(name.includes('without a name') ? {} : { name: step.path }),
    });
    expect(toHex(reference)).toBe(expected.reference);
    expect(await served(store, reference, '')).toBe(contentOf(step).toString());
    expect(await served(store, reference, step.path)).toBe(contentOf(step).toString());
  });

  test.each([
    { content: '<html><p>', type: 'text/html; charset=utf-8' },
    { content: '', type: 'text/plain; charset=utf-8' },
    { content: `GIF89a${'\0'.repeat(9000)}`, type: 'image/gif' },
  ])('without a content type sniffs $type', async ({ content, type }) => {
    const store = new ChunkMap();
    const reference = await storeFile(inParts(Buffer.from(content), 3), store, { name: 'x' });
    const manifest = await openManifest(reference, store);
    expect((await manifest.lookup('x'))?.metadata).toEqual({ 'Content-Type': type, Filename: 'x' });
    expect(await served(store, reference, 'x')).toBe(content);
  });

  test('whose name begins with a separator is refused', async () => {
    await expect(
      storeFile(inParts(Buffer.from('x'), 1), new ChunkMap(), { name: '/x' }),
    ).rejects.toMatchObject({
      code: 'INVALID_NAME',
    });
  });
});

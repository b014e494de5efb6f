import { describe, expect, test } from 'vitest';
import { Manifest } from '../../../node/manifest/manifest.ts';
import { resolvePath } from '../../../node/manifest/serve.ts';

const NONE = new Uint8Array(0);

function reference(fill: number): Uint8Array {
  return new Uint8Array(32).fill(fill);
}

async function website(documents: Record<string, string>, files: readonly string[]): Promise<Manifest> {
  const manifest = Manifest.create();
  for (const [i, path] of files.entries()) await manifest.add(path, reference(i + 1), { Filename: path });
  if (Object.keys(documents).length > 0) await manifest.add('/', NONE, documents);
  return manifest;
}

const FILES = ['index.html', 'dir/index.html', 'dir/page', 'error.html', 'empty/file', '/slashed/file'];
const BOTH = { 'website-index-document': 'index.html', 'website-error-document': 'error.html' };

async function outcome(manifest: Manifest, path: string): Promise<string> {
  const resolution = await resolvePath(manifest, path);
  if (resolution.outcome === 'serve') return `serve ${resolution.entry.metadata['Filename']}`;
  return resolution.outcome === 'redirect' ? 'redirect' : resolution.reason;
}

describe('with index and error documents', () => {
  test.each([
    ['', 'serve index.html'],
    ['index.html', 'serve index.html'],
    ['dir/page', 'serve dir/page'],
    ['dir', 'redirect'],
    ['di', 'serve error.html'],
    ['dir/', 'serve dir/index.html'],
    ['dir///', 'serve dir/index.html'],
    ['empty', 'redirect'],
    ['empty/', 'serve error.html'],
    ['/slashed', 'serve error.html'],
    ['missing', 'serve error.html'],
    ['missing/index.html', 'serve error.html'],
    ['error.html', 'serve error.html'],
    ['/', 'NO_CONTENT'],
    ['//', 'NO_CONTENT'],
  ])('"%s": %s', async (path, expected) => {
    expect(await outcome(await website(BOTH, FILES), path)).toBe(expected);
  });
});

describe('without documents', () => {
  test.each([
    ['', 'NO_INDEX'],
    ['dir', 'redirect'],
    ['dir/', 'NO_PATH'],
    ['missing', 'NO_PATH'],
    ['dir/page', 'serve dir/page'],
  ])('"%s": %s', async (path, expected) => {
    expect(await outcome(await website({}, FILES), path)).toBe(expected);
  });
});

test('a missing index document is not found at the empty path', async () => {
  const manifest = await website({ 'website-index-document': 'home.html' }, FILES);
  expect(await outcome(manifest, '')).toBe('NO_INDEX');
});

test('with a missing error document the path is not found', async () => {
  const manifest = await website({ 'website-error-document': 'gone.html' }, FILES);
  expect(await outcome(manifest, 'missing')).toBe('NO_PATH');
  expect(await outcome(manifest, 'gone.html')).toBe('NO_PATH');
});

test('the root entry of a manifest is not its index', async () => {
  const manifest = await website({}, FILES);
  await manifest.add('', reference(9));
  expect(await outcome(manifest, '')).toBe('NO_INDEX');
});

test('a long run of separators is answered at once', async () => {
  const manifest = await website(BOTH, FILES);
  expect(await outcome(manifest, `a${'/'.repeat(200_000)}b`)).toBe('serve error.html');
});

test('the entry is served with its reference and metadata', async () => {
  const manifest = await website(BOTH, FILES);
  expect(await resolvePath(manifest, 'dir/page')).toEqual({
    outcome: 'serve',
    entry: { reference: reference(3), metadata: { Filename: 'dir/page' } },
  });
});

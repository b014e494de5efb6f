import { describe, expect, test } from 'vitest';
import { octal, paxEntry, TAR_END, tarEntry } from '../files/collection/archives.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const BOUNDARY = 'cut';
const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;
const PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; name=a\r\n\r\nx`;
const TAR = 'application/x-tar';
const FILE = tarEntry('dir/file.txt', 'content');
const LINK = tarEntry('link.css', '', { type: '1', linkname: 'dir/file.txt' });

function post(kit: Kit, type: string, payload: Uint8Array | string) {
  return kit.api.main.post('/svc', Buffer.from(payload), {
    'svc-postage-batch-id': BATCH,
    'content-type': type,
    'svc-collection': 'true',
  });
}

async function served(kit: Kit, payload: Uint8Array, paths: readonly string[]): Promise<unknown[]> {
  const answer = await post(kit, TAR, payload);
  expect(answer.statusCode).toBe(201);
  const gets = paths.map((path) => kit.api.main.get(`/svc/${answer.json().reference}/${path}`));
  return (await Promise.all(gets)).map((seen) => [seen.statusCode, seen.statusCode === 200 ? seen.body : '']);
}

describe('a hard link of an archive', () => {
  test('svc: has the content of its target, and a type by its own name', async () => {
    const kit = await startKit();
    const body = Buffer.concat([FILE, LINK]);
    expect(await served(kit, body, ['link.css', 'dir/file.txt'])).toEqual([
      [200, 'content'],
      [200, 'content'],
    ]);
  });

  test('swarm: is an empty file', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    expect(await served(kit, Buffer.concat([FILE, LINK]), ['link.css'])).toEqual([[200, '']]);
  });

  test('svc: is refused by name when its target is not in the archive before it', async () => {
    const answer = await post(await startKit(), TAR, Buffer.concat([LINK, FILE]));
    expect(answer.json()).toEqual({
      code: 400,
      message: 'invalid filename in tar archive',
      reasons: [
        'body: "link.css" is a hard link to "dir/file.txt", which is no file of the archive before it',
      ],
    });
  });
});

describe.each(['svc', 'swarm'] as const)('in the dialect %s', (name) => {
  test('an archive of git has its empty file of attributes', async () => {
    const kit = await startKit({ dialect: name });
    const body = Buffer.concat([paxEntry({ comment: 'a'.repeat(40) }, 'g'), FILE, TAR_END]);
    expect(await served(kit, body, ['dir/file.txt', 'pax_global_header'])).toEqual([
      [200, 'content'],
      [200, ''],
    ]);
  });

  test.each([
    ['a header without its checksum', 'x'.repeat(1024), 'invalid filename in tar archive', 'wrong checksum'],
    ['gzip', Buffer.from('1f8b08000000', 'hex'), 'invalid filename in tar archive', 'gzip format'],
    ['a name that leads out', tarEntry('../up', 'x'), 'invalid filename in tar archive', '"../up"'],
  ])('an archive with %s answers 400 and says what is wrong', async (_what, body, message, reason) => {
    const kit = await startKit({ dialect: name });
    const answer = await post(kit, TAR, body);
    expect(answer.json()).toMatchObject({ code: 400, message });
    expect(JSON.stringify(answer.json().reasons)).toContain(reason.replaceAll('"', '\\"'));
    expect(kit.services.store.uploads.totals().pending).toBe(0);
  });

  test('sparse files larger than a node fills answer 413', async () => {
    const at = { 386: octal(0), 398: octal(0), 483: '777777777777' };
    const sparse = tarEntry('sparse', '', { type: 'S', magic: 'ustar  \0', at });
    expect((await post(await startKit({ dialect: name }), TAR, sparse)).json()).toMatchObject({
      code: 413,
      message: 'collection too large',
    });
  });
});

test.each([
  [TAR, FILE.subarray(0, 700), 'invalid tar archive', 'the tar archive is cut off'],
  ['multipart/form-data', 'x', 'invalid multipart body', 'multipart body: the content type has no boundary'],
  [
    MULTIPART,
    `${PART}\r\n--${BOUNDARY}--more\r\n`,
    'invalid multipart body',
    'multipart body: a boundary is expected after part 1, not "--cut--more"',
  ],
  [MULTIPART, PART, 'invalid multipart body', 'multipart body: it is cut off'],
])('%s that is broken answers 400 in svc, and as a Bee in swarm', async (type, body, message, reason) => {
  const kit = await startKit();
  const ours = await post(kit, type, body);
  expect(ours.json()).toEqual({ code: 400, message, reasons: [`body: ${reason}`] });
  expect(kit.knobs.sessions).toEqual([{ tagUid: 1, state: 'cleaned' }]);
  const bees = await post(await startKit({ dialect: 'swarm' }), type, body);
  expect(bees.json()).toMatchObject({ code: 500, message: 'could not store directory' });
});

describe('a form', () => {
  const unclosed = `${PART}\r\n--${BOUNDARY}\r\n`;

  test('svc: without its last boundary answers 400', async () => {
    expect((await post(await startKit(), MULTIPART, unclosed)).json()).toMatchObject({
      code: 400,
      message: 'invalid multipart body',
    });
  });

  test('swarm: without its last boundary has the parts that came', async () => {
    expect((await post(await startKit({ dialect: 'swarm' }), MULTIPART, unclosed)).statusCode).toBe(201);
    expect((await post(await startKit({ dialect: 'swarm' }), MULTIPART, 'no parts')).json()).toMatchObject({
      code: 400,
      message: 'no files in root directory',
    });
  });

  test('svc: with a part without a name answers 400, where a Bee stores what nobody can read', async () => {
    const form = `--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--`;
    const answer = await post(await startKit(), MULTIPART, form);
    expect(answer.json()).toMatchObject({ code: 400, message: 'invalid multipart body' });
    expect((await post(await startKit({ dialect: 'swarm' }), MULTIPART, form)).statusCode).toBe(201);
  });
});

describe('names of any bytes', () => {
  const name = Buffer.from('caf\xe9', 'latin1');
  const form = Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="`),
    name,
    Buffer.from(`"\r\n\r\nx\r\n--${BOUNDARY}--`),
  ]);

  test.each([
    [TAR, tarEntry(name, 'x')],
    [MULTIPART, form],
  ])('are paths of %s, read as they are and nothing else', async (type, body) => {
    const kit = await startKit();
    const { reference } = (await post(kit, type, body)).json();
    const read = async (path: string) => (await kit.api.main.get(`/svc/${reference}/${path}`)).statusCode;
    expect(await Promise.all(['caf%E9', 'caf%e9', 'caf%EF%BF%BD', 'caf%C3%A9', '%E9'].map(read))).toEqual([
      200, 200, 404, 404, 404,
    ]);
  });

  test('are the name of a single file', async () => {
    const kit = await startKit();
    const answer = await kit.api.main.post('/svc?name=%E9', 'x', {
      'svc-postage-batch-id': BATCH,
      'content-type': 'text/plain',
    });
    const file = await kit.api.main.get(`/svc/${answer.json().reference}/%E9`);
    expect([file.statusCode, file.body]).toEqual([200, 'x']);
  });

  test('an unknown one gets the error document', async () => {
    const kit = await startKit();
    const answer = await kit.api.main.post('/svc', FILE, {
      'svc-postage-batch-id': BATCH,
      'content-type': TAR,
      'svc-collection': 'true',
      'svc-error-document': 'dir/file.txt',
    });
    const file = await kit.api.main.get(`/svc/${answer.json().reference}/%E9`);
    expect([file.statusCode, file.body]).toEqual([200, 'content']);
  });
});

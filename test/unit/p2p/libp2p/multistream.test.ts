import { fc } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { acceptProtocol, ProposedStream, proposeInTurn } from '../../../../node/p2p/libp2p/multistream.ts';
import { Inbox } from '../../../../node/p2p/stream/inbox.ts';
import type { RawStream } from '../../../../node/p2p/transport.ts';

function scripted(...arrivals: string[]) {
  const inbox = new Inbox(() => undefined);
  for (const text of arrivals) inbox.push(Buffer.from(text, 'latin1'));
  const written: string[] = [];
  const raw: RawStream = {
    write: (bytes) => void written.push(Buffer.from(bytes).toString('latin1')),
    drained: () => Promise.resolve(),
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => void written.push('END'),
    reset: (reason) => inbox.fail(reason),
  };
  return { raw, inbox, written };
}

const HEADER = '\x13/multistream/1.0.0\n';
const ONE = '\x05/one\n';
const supports = (id: string) => id === '/one';
const patient = { signal: new AbortController().signal };

test('the proposal travels with the first bytes, and the answer is checked at the first read', async () => {
  const { raw, inbox, written } = scripted();
  const stream = new ProposedStream(raw, '/one');
  stream.write(Buffer.from('hello'));
  expect(written).toEqual([`${HEADER}${ONE}hello`]);
  inbox.push(Buffer.from(`${HEADER}${ONE}world`, 'latin1'));
  expect(Buffer.from((await stream.read()) ?? []).toString()).toBe('world');
});

test('an answer in pieces is put together', async () => {
  const { raw, inbox } = scripted();
  const stream = new ProposedStream(raw, '/one');
  for (const character of `${HEADER}${ONE}!`) inbox.push(Buffer.from(character, 'latin1'));
  expect(Buffer.from((await stream.read()) ?? []).toString()).toBe('!');
});

test('a refusal is reported at the first read', async () => {
  const { raw } = scripted(`${HEADER}\x03na\n`);
  await expect(new ProposedStream(raw, '/one').read()).rejects.toMatchObject({
    code: 'PROTOCOL_UNSUPPORTED',
  });
});

test('closing without a write still proposes', () => {
  const { raw, written } = scripted();
  new ProposedStream(raw, '/one').closeWrite();
  expect(written).toEqual([`${HEADER}${ONE}`, 'END']);
});

test('header, proposal and first bytes in one packet are answered at once, and nothing is lost', async () => {
  const { raw, written } = scripted(`${HEADER}${ONE}early`);
  const { protocolId, stream } = await acceptProtocol(raw, supports, patient);
  expect(protocolId).toBe('/one');
  expect(written).toEqual([`${HEADER}${ONE}`]);
  expect(Buffer.from(stream.take() ?? []).toString()).toBe('early');
});

test('the answer to an id that others have made up is not kept', async () => {
  const answers: Uint8Array[] = [];
  const proposal = `${HEADER}\x05/any\n`;
  for (const arrivals of [[proposal], [proposal.slice(0, 9), proposal.slice(9)]]) {
    for (let time = 0; time < 2; time++) {
      const { raw } = scripted(...arrivals);
      const answering = { ...raw, write: (bytes: Uint8Array) => void answers.push(bytes) };
      await acceptProtocol(answering, () => true, patient);
    }
  }
  expect(answers).toHaveLength(4);
  expect(new Set(answers).size).toBe(4);
});

test('an opener that waits for our header gets it', async () => {
  const { raw, inbox, written } = scripted(HEADER);
  const accepted = acceptProtocol(raw, supports, patient);
  await Promise.resolve();
  expect(written).toEqual([HEADER]);
  inbox.push(Buffer.from(ONE, 'latin1'));
  expect((await accepted).protocolId).toBe('/one');
  expect(written).toEqual([HEADER, ONE]);
});

test('unsupported proposals are refused until a supported one comes', async () => {
  const { raw, written } = scripted(`${HEADER}\x05/two\n`, ONE);
  expect((await acceptProtocol(raw, supports, patient)).protocolId).toBe('/one');
  expect(written).toEqual([HEADER, '\x03na\n', ONE]);
});

test.each([
  ['an endless list of proposals', `${HEADER}${'\x05/two\n'.repeat(20)}`, 'PROTOCOL_UNSUPPORTED'],
  ['a line without its end', `${HEADER}\x04/two`, 'STREAM_RESET'],
  ['a line that is too long', `${HEADER}\xff\xff\x03`, 'MESSAGE_TOO_LARGE'],
])('%s is given up', async (_name, text, code) => {
  const { raw } = scripted(text);
  await expect(acceptProtocol(raw, supports, patient)).rejects.toMatchObject({ code });
});

test('a silent opener runs into the deadline', async () => {
  const { raw } = scripted();
  const controller = new AbortController();
  const accepted = expect(acceptProtocol(raw, supports, controller)).rejects.toThrow('too slow');
  controller.abort(new Error('too slow'));
  await accepted;
});

const TWO = '\x05/two\n';
const NONE = '\x03na\n';

test('the first accepted proposal stands, and nothing is sent ahead of the answer', async () => {
  const { raw, inbox, written } = scripted();
  const agreed = proposeInTurn(raw, ['/one', '/two']);
  expect(written).toEqual([`${HEADER}${ONE}`]);
  inbox.push(Buffer.from(`${HEADER}${ONE}early`, 'latin1'));
  const { protocolId, stream } = await agreed;
  expect(protocolId).toBe('/one');
  expect(Buffer.from((await stream.read()) ?? []).toString()).toBe('early');
  expect(written).toHaveLength(1);
});

test('a refused proposal is followed by the next one on the same stream', async () => {
  const { raw, inbox, written } = scripted(HEADER, NONE);
  const agreed = proposeInTurn(raw, ['/one', '/two']);
  inbox.push(Buffer.from(`${TWO}early`, 'latin1'));
  const { protocolId, stream } = await agreed;
  expect(protocolId).toBe('/two');
  expect(written).toEqual([`${HEADER}${ONE}`, TWO]);
  expect(Buffer.from((await stream.read()) ?? []).toString()).toBe('early');
});

test.each([
  ['all are refused', [HEADER, NONE, NONE], 'PROTOCOL_UNSUPPORTED'],
  ['another protocol is confirmed', [HEADER, '\x07/three\n'], 'STREAM_RESET'],
  ['no header comes', [ONE], 'STREAM_RESET'],
  ['the line has no end', [HEADER, '\x02na'], 'STREAM_RESET'],
  ['the line is too long', [HEADER, '\xff\xff\xff\x7f'], 'MESSAGE_TOO_LARGE'],
] as const)('there is no agreement when %s', async (_name, arrivals, code) => {
  const { raw } = scripted(...arrivals);
  await expect(proposeInTurn(raw, ['/one', '/two'])).rejects.toMatchObject({ code });
});

test('an end during the negotiation is an error', async () => {
  const { raw, inbox } = scripted(HEADER);
  inbox.end();
  await expect(proposeInTurn(raw, ['/one'])).rejects.toMatchObject({ code: 'STREAM_ENDED' });
});

test('whatever arrives during a negotiation, it ends in an agreement or with a reason', async () => {
  const piece = fc.oneof(
    fc.constantFrom(HEADER, ONE, TWO, NONE, '\x00', '\x01\n'),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      for (const negotiate of [
        (stream: RawStream) => proposeInTurn(stream, ['/one', '/two']),
        (stream: RawStream) => acceptProtocol(stream, supports, patient),
      ]) {
        const { raw, inbox } = scripted(...pieces);
        inbox.end();
        const result = await negotiate(raw).catch((error: unknown) => error);
        if (result instanceof Error) expect(result).toMatchObject({ code: expect.any(String) });
        else expect(['/one', '/two']).toContain((result as { protocolId: string }).protocolId);
      }
    }),
  );
});

import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { publicKeyOf } from '../../../formats/crypto/ecdh.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import { PssError } from '../../../node/pss/errors.ts';
import { topicOf } from '../../../node/pss/trojan.ts';
import { BATCH, NO_BATCH, YOUNG_BATCH_ID } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const PAID = { 'svc-postage-batch-id': BATCH };

function post(kit: Kit, path: string, payload = 'hello', headers: Record<string, string> = PAID) {
  return kit.api.main.post(`/pss/send/${path}`, payload, headers);
}

describe('POST /pss/send/{topic}/{targets}', () => {
  test('a message goes to its targets under the hash of its topic', async () => {
    const kit = await startKit();
    const answer = await post(kit, 'a%20topic/aabb,ccdd');
    expect([answer.statusCode, answer.json()]).toEqual([201, { code: 201, message: 'Created' }]);
    const [message] = kit.knobs.messages;
    expect(toHex(message!.topic)).toBe(toHex(topicOf('a topic')));
    expect(message!.targets.map(toHex)).toEqual(['aabb', 'ccdd']);
    expect(Buffer.from(message!.payload).toString()).toBe('hello');
    expect(message!.recipient).toBeUndefined();
    expect(toHex(message!.stamper.batchId)).toBe(BATCH);
  });

  test('a topic may be any bytes', async () => {
    const kit = await startKit();
    await post(kit, '%E9/aa');
    expect(kit.knobs.messages[0]?.topic).toEqual(keccak256(Uint8Array.of(0xe9)));
  });

  test('a recipient is a public key of either length', async () => {
    const kit = await startKit();
    const key = toHex(publicKeyOf(new Uint8Array(32).fill(1)));
    await post(kit, `topic/aa?recipient=${key}`);
    expect(toHex(kit.knobs.messages[0]!.recipient!)).toBe(key);
    const answer = await post(kit, 'topic/aa?recipient=abcd');
    expect(answer.json()).toEqual({
      code: 400,
      message: 'invalid query params',
      reasons: ['recipient: malformed public key: invalid length: 2'],
    });
  });

  test.each([
    ['aabbccdd', 'target: want max:3'],
    ['aa,,bb', 'target: want required:'],
    ['aabbccdd,xx', 'target: want max:3'],
    ['aa,xx', "target: invalid hex byte: U+0078 'x'"],
    ['aaa', 'target: odd length hex string'],
  ])('target %s is refused before the missing batch: %s', async (targets, reason) => {
    const answer = await post(await startKit(), `topic/${targets}`, 'x', {});
    expect(answer.json()).toEqual({ code: 400, message: 'invalid path params', reasons: [reason] });
  });

  test('a batch must be named', async () => {
    expect((await post(await startKit(), 'topic/aa', 'x', {})).json()).toEqual({
      code: 400,
      message: 'invalid header params',
      reasons: ['svc-postage-batch-id: want required:'],
    });
  });

  test.each([
    [NO_BATCH, 'batch not found'],
    [toHex(YOUNG_BATCH_ID), 'batch not usable yet'],
  ])('batch %s is refused: %s', async (batch, message) => {
    const answer = await post(await startKit(), 'topic/aa', 'x', { 'svc-postage-batch-id': batch });
    expect(answer.json()).toEqual({ code: 400, message });
  });

  test('a full bucket answers 402, any other failure 500', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 0;
    expect((await post(kit, 'topic/aa')).json()).toEqual({ code: 402, message: 'batch is overissued' });
    kit.knobs.messageError = new Error('no receipt');
    expect((await post(kit, 'topic/aa')).json()).toEqual({ code: 500, message: 'pss send failed' });
    kit.knobs.messageError = new PostageError('BATCH_OVERISSUED', 'bucket full');
    expect((await post(kit, 'topic/aa')).statusCode).toBe(402);
  });

  test('a body of 4096 bytes is read, a longer one is refused by its announced length', async () => {
    const kit = await startKit();
    expect((await post(kit, 'topic/aa', 'x'.repeat(4096))).statusCode).toBe(201);
    expect((await post(kit, 'topic/aa', 'x'.repeat(4097))).statusCode).toBe(413);
    expect(kit.knobs.messages).toHaveLength(1);
  });

  test('a longer body of unknown length is refused when it grows too long', async () => {
    const kit = await startKit();
    const payload = Readable.from([Buffer.alloc(4000), Buffer.alloc(200)]);
    const answer = await kit.api.main.post('/pss/send/topic/aa', payload, {
      ...PAID,
      'transfer-encoding': 'chunked',
    });
    expect(answer.json()).toMatchObject({ code: 413, message: 'pss send failed' });
  });

  test.each([
    ['svc', 413],
    ['swarm', 500],
  ] as const)('%s: a message of more than 4,000 bytes is %i', async (dialect, code) => {
    const kit = await startKit({ dialect });
    const text = 'message payload size cannot be greater than 4000 bytes';
    kit.knobs.messageError = new PssError('MESSAGE_TOO_LONG', text);
    const { reasons, ...said } = (await post(kit, 'topic/aa', 'x'.repeat(4001))).json();
    expect(said).toEqual({ code, message: 'pss send failed' });
    expect(reasons).toEqual(code === 413 ? [`body: ${text}`] : undefined);
  });
});

import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { BATCH, NO_BATCH, YOUNG_BATCH_ID } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const ADDRESS = '12'.repeat(32);

function post(kit: Kit, headers: Record<string, string>, address = ADDRESS) {
  return kit.api.main.inject({ method: 'POST', url: `/envelope/${address}`, headers });
}

describe('POST /envelope/{address}', () => {
  test.each([
    ['svc', 'ab'.repeat(20)],
    ['swarm', '0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB'],
  ] as const)('returns a stamp and its signer, in the form of %s', async (dialect, issuer) => {
    const answer = await post(await startKit({ dialect }), { [`${dialect}-postage-batch-id`]: BATCH });
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual({
      issuer,
      index: '0'.repeat(16),
      timestamp: '0'.repeat(16),
      signature: '0'.repeat(130),
    });
  });

  test('the stamp is on disk before it is returned', async () => {
    const kit = await startKit();
    kit.knobs.failing.add('saved');
    expect((await post(kit, { 'svc-postage-batch-id': BATCH })).json()).toEqual({
      code: 500,
      message: 'failed to save stamp issuer',
    });
  });

  test.each([
    [{ 'svc-postage-batch-id': NO_BATCH }, 404, 'batch with id not found'],
    [{ 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) }, 422, 'batch not usable yet or does not exist'],
  ])('%j: %i %s', async (headers: Record<string, string>, code, message) => {
    expect((await post(await startKit(), headers)).json()).toEqual({ code, message });
  });

  test('a full bucket answers 402', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 0;
    expect((await post(kit, { 'svc-postage-batch-id': BATCH })).json()).toEqual({
      code: 402,
      message: 'batch is overissued',
    });
  });

  test('the header is checked before the path', async () => {
    const kit = await startKit();
    expect((await post(kit, {}, 'zz')).json()).toEqual({
      code: 400,
      message: 'invalid header params',
      reasons: ['svc-postage-batch-id: want required:'],
    });
    expect((await post(kit, { 'svc-postage-batch-id': BATCH }, 'zz')).json()).toEqual({
      code: 400,
      message: 'invalid path params',
      reasons: ["address: invalid hex byte: U+007A 'z'"],
    });
    expect((await post(kit, { 'svc-postage-batch-id': BATCH }, '1212')).json()).toEqual({
      code: 400,
      message: 'invalid path params',
      reasons: ['address: want len:32'],
    });
  });
});

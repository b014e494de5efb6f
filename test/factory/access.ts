import type { Reference } from '@ethersphere/bee-js';
import { describe, expect, test } from 'vitest';
import { batchOf, payee, queen } from './kit.ts';

export function accessTests(): void {
  describe('access control', () => {
    test('lets grantees read until they are revoked', async () => {
      const publisher = (await queen.getNodeAddresses()).publicKey;
      const grantee = (await payee.getNodeAddresses()).publicKey;
      const list = await queen.createGrantees(batchOf(0), [grantee]);
      expect((await queen.getGrantees(list.ref)).grantees.map((key) => key.toCompressedHex())).toEqual([
        grantee.toCompressedHex(),
      ]);
      const upload = (text: string, actHistoryAddress: Reference) =>
        queen.uploadFile(batchOf(0), text, 'act.txt', { act: true, actHistoryAddress, deferred: false });
      const read = (reference: Reference, actHistoryAddress: Reference) =>
        payee.downloadFile(reference, 'act.txt', { actPublisher: publisher, actHistoryAddress });
      const before = await upload('for a friend', list.historyref);
      expect((await read(before.reference, list.historyref)).data.toUtf8()).toBe('for a friend');

      const revoked = await queen.patchGrantees(batchOf(0), list.ref, list.historyref, { revoke: [grantee] });
      expect((await queen.getGrantees(revoked.ref)).grantees).toEqual([]);
      const after = await upload('for nobody', revoked.historyref);
      await expect(read(after.reference, revoked.historyref)).rejects.toMatchObject({ status: 404 });
    });

    test('gives protected files their own history', async () => {
      const publisher = (await queen.getNodeAddresses()).publicKey;
      const { reference, historyAddress } = await queen.uploadFile(batchOf(0), 'protected', 'a.txt', {
        act: true,
      });
      const access = { actPublisher: publisher, actHistoryAddress: historyAddress.getOrThrow() };
      expect((await queen.downloadFile(reference, '', access)).data.toUtf8()).toBe('protected');
      await expect(queen.downloadFile(reference)).rejects.toMatchObject({ status: 404 });
    });
  });
}

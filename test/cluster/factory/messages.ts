import { type Bytes, NULL_IDENTIFIER, Topic, Utils } from '@ethersphere/bee-js';
import { describe, expect, test } from 'vitest';
import { batchOf, payee, payer, queen } from './kit.ts';

export function messageTests(): void {
  describe('messages', () => {
    test('of pss are received by their recipient', async () => {
      const topic = Topic.fromString('a topic of the preset');
      const { overlay, pssPublicKey } = await payee.getNodeAddresses();
      const received = payee.pssReceive(topic, 30_000);
      await queen.pssSend(
        batchOf(0),
        topic,
        Utils.makeMaxTarget(overlay),
        'for the third node',
        pssPublicKey,
      );
      expect((await received).toUtf8()).toBe('for the third node');
    });

    test('of gsoc are received near their address', async () => {
      const { overlay } = await queen.getNodeAddresses();
      const signer = queen.gsocMine(overlay, NULL_IDENTIFIER);
      const heard = new Promise<Bytes>((resolve, reject) => {
        const subscription = queen.gsocSubscribe(signer.publicKey().address(), NULL_IDENTIFIER, {
          onMessage(message) {
            subscription.cancel();
            resolve(message);
          },
          onError: reject,
          onClose: () => undefined,
        });
      });
      await payer.gsocSend(batchOf(1), signer, NULL_IDENTIFIER, 'an update');
      expect((await heard).toUtf8()).toBe('an update');
    });
  });
}

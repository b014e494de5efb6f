import { NULL_IDENTIFIER, Topic, Utils } from '@ethersphere/bee-js';
import { describe, expect, test } from 'vitest';
import { eventually } from '../cluster/node/kit.ts';
import { batchOf, payee, payer, queen } from './kit.ts';

export function messageTests(): void {
  describe('messages', () => {
    test('of pss are received by their recipient', async () => {
      const topic = Topic.fromString('a topic of the preset');
      const { overlay, pssPublicKey } = await payee.getNodeAddresses();
      const target = Utils.makeMaxTarget(overlay);
      const { texts, handler } = received();
      const subscription = payee.pssSubscribe(topic, handler);
      await untilReceived(texts, () =>
        queen.pssSend(batchOf(0), topic, target, 'for the third node', pssPublicKey),
      );
      subscription.cancel();
      expect(new Set(texts)).toEqual(new Set(['for the third node']));
    });

    test('of gsoc are received near their address', async () => {
      const { overlay } = await queen.getNodeAddresses();
      const signer = queen.gsocMine(overlay, NULL_IDENTIFIER);
      const { texts, handler } = received();
      const subscription = queen.gsocSubscribe(signer.publicKey().address(), NULL_IDENTIFIER, handler);
      await untilReceived(texts, () => payer.gsocSend(batchOf(1), signer, NULL_IDENTIFIER, 'an update'));
      subscription.cancel();
      expect(new Set(texts)).toEqual(new Set(['an update']));
    });
  });
}

function received() {
  const texts: string[] = [];
  const handler = {
    onMessage: (message: { toUtf8(): string }) => void texts.push(message.toUtf8()),
    onError: (error: unknown) => void texts.push(`error: ${String(error)}`),
    onClose: () => undefined,
  };
  return { texts, handler };
}

/** The client does not say when its subscription is open, and no node keeps a message. */
function untilReceived(texts: readonly string[], send: () => Promise<unknown>): Promise<true> {
  return eventually('nothing has come', async () => {
    await send();
    return texts.length > 0 ? undefined : 'no message';
  });
}

import { toHex } from '../../../formats/crypto/hex.ts';
import type { NodeServices } from '../../../node/api/services.ts';
import type { Message } from '../../../node/pss/pss.ts';
import { type Failing, failIf } from './failing.ts';
import { OVERLAY } from './fake-peers.ts';

export interface MessagingKnobs extends Failing {
  messages: Message[];
  messageError: Error | undefined;
  /** By topic, or by address in hex. */
  subscriptions: Set<{ key: string; deliver: (message: Uint8Array) => void }>;
}

export function messagingKnobs(): Omit<MessagingKnobs, 'failing'> {
  return { messages: [], messageError: undefined, subscriptions: new Set() };
}

export function fakeMessaging(turn: MessagingKnobs): Pick<NodeServices, 'pss' | 'gsoc'> {
  return {
    pss: {
      async send(message) {
        if (turn.messageError !== undefined) throw turn.messageError;
        message.stamper.stamp({ address: OVERLAY, identity: OVERLAY });
        turn.messages.push(message);
      },
      subscribe: (topic, deliver) => subscribed(turn, toHex(topic), deliver),
    },
    gsoc: { subscribe: (address, deliver) => subscribed(turn, toHex(address), deliver) },
  };
}

function subscribed(turn: MessagingKnobs, key: string, deliver: (message: Uint8Array) => void): () => void {
  failIf(turn, 'subscribe');
  const subscription = { key, deliver };
  turn.subscriptions.add(subscription);
  return () => turn.subscriptions.delete(subscription);
}

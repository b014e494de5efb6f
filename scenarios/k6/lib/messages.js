/** Sent by one node, delivered by another. */
import exec from 'k6/execution';
import { inTurn, nodes } from './config.js';
import { OperationError, operation } from './operations.js';
import { ask, named } from './requests.js';
import { Socket } from './socket.js';
import { nextUploader, uniqueContent } from './uploads.js';

/** @import { TargetNode } from '../../../harness/run/load/k6/config.ts' */

const MESSAGE_SIZE = 64;
/** Of the receiver's overlay: one byte costs the sender some 256 hashes. */
const TARGET_DIGITS = 2;

/** From one node, until another has delivered it. */
export async function sendMessage() {
  const sender = nextUploader();
  const receivers = nodes.filter(({ mode, name }) => mode === 'full' && name !== sender.name);
  const receiver = inTurn(receivers, exec.scenario.iterationInTest);
  const { index, data } = await uniqueContent('message', MESSAGE_SIZE);
  const topic = index.replaceAll(' ', '-');
  /** @type {Socket | undefined} */
  let socket;
  try {
    const subscribed = await operation('subscribe', receiver.name, async () => {
      socket = await Socket.open(receiver, { path: `/pss/subscribe/${topic}` });
      return { bytes: 0 };
    });
    if (subscribed === undefined) return;
    const to = `${topic}/${receiver.overlay.slice(0, TARGET_DIGITS)}`;
    const sentAtMs = Date.now();
    const sent = await operation('send', sender.name, () => post(sender, to, data.buffer));
    if (sent === undefined) return;
    await operation('deliver', receiver.name, async () => {
      const message = new Uint8Array(/** @type {ArrayBuffer} */ (await socket?.next()));
      if (message.length !== data.length || message.some((byte, i) => byte !== data[i])) {
        throw new OperationError({
          class: 'data.mismatch',
          message: `${receiver.name} delivered another message`,
        });
      }
      // At least until the sender has its answer: k6 reads sockets only between requests.
      return { bytes: message.length, ms: Date.now() - sentAtMs };
    });
  } finally {
    socket?.close();
  }
}

/**
 * @param {TargetNode} node
 * @param {string} to topic and target
 * @param {ArrayBuffer} body
 */
function post(node, to, body) {
  const headers = named(node, { 'postage-batch-id': node.batch });
  const { ms } = ask(node, { method: 'POST', path: `/pss/send/${to}`, headers, body }, 'text');
  return { bytes: body.byteLength, ms };
}

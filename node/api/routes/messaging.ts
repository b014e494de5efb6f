/** Messages and subscriptions: `http-api-completion.md` 5.5 and 6.2. */
import { TARGET_SIZE_MAX } from '../../pss/mining.ts';
import type { Deliver } from '../../pss/subscriptions.ts';
import { topicOf } from '../../pss/trojan.ts';
import { ApiError, orElse } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { route, SOCKET_REFUSALS } from '../route/route.ts';
import type { NodeServices } from '../services.ts';
import { byteText, hex, hexList, publicKey, reference } from '../values/kinds.ts';
import { type Check, ONE_HASH, optional, required } from '../values/params.ts';

/** The messaging refuses sizes in between. */
const BODY_SIZE_MAX = 4096;
/** Keeps a silent subscriber's connection open. */
const PING_MS = 60_000;

const eachTarget: Check<readonly Uint8Array[]> = (targets) => {
  const last = targets.at(-1);
  if (last === undefined || last.length === 0) return 'want required:';
  return last.length > TARGET_SIZE_MAX ? `want max:${TARGET_SIZE_MAX}` : undefined;
};

export const MESSAGING_ROUTES = [
  route({
    method: 'POST',
    path: '/pss/send/{topic}/{targets}',
    port: 'main',
    summary: 'send a message to a neighbourhood',
    gates: ['started'],
    params: {
      topic: required(byteText),
      targets: required(hexList(TARGET_SIZE_MAX), { checks: [eachTarget], field: 'target' }),
    },
    query: { recipient: optional(publicKey, undefined) },
    headers: { postageBatchId: required(hex, ONE_HASH) },
    body: { content: 'octets' },
    bodyLimit: BODY_SIZE_MAX,
    success: [201],
    refusals: [
      'PSS_BATCH_NOT_FOUND',
      'PSS_BATCH_NOT_USABLE',
      'PSS_ISSUER_FAILED',
      'BATCH_OVERISSUED',
      'DISK_FULL',
    ],
    response: 'Acknowledgement',
    failure: 'PSS_SEND_FAILED',
    serverErrors: ['PSS_SEND_FAILED'],
    async handle({ params: { topic, targets }, query: { recipient }, headers, body, services, signal }) {
      const payload = await body.read().catch((cause: unknown) => {
        throw new ApiError('PSS_SEND_FAILED', { cause });
      });
      const stamper = await orElse(
        'PSS_ISSUER_FAILED',
        () => services.postage.stamper(headers.postageBatchId),
        {
          BATCH_NOT_FOUND: 'PSS_BATCH_NOT_FOUND',
          BATCH_NOT_USABLE: 'PSS_BATCH_NOT_USABLE',
          BATCH_EXPIRED: 'PSS_BATCH_NOT_USABLE',
        },
      );
      await services.pss.send({ topic: topicOf(topic), payload, recipient, targets, stamper }, signal);
      return { status: 201, json: { code: 201, message: 'Created' } };
    },
  }),
  route({
    method: 'GET',
    path: '/pss/subscribe/{topic}',
    port: 'main',
    effect: 'subscribes',
    summary: 'messages of a topic, over a WebSocket',
    gates: ['started'],
    params: { topic: required(byteText) },
    success: [101],
    refusals: SOCKET_REFUSALS,
    handle({ params: { topic }, services }) {
      return subscribed(services, (deliver) => services.pss.subscribe(topicOf(topic), deliver));
    },
  }),
  route({
    method: 'GET',
    path: '/gsoc/subscribe/{address}',
    port: 'main',
    effect: 'subscribes',
    summary: 'payloads of a single-owner chunk address, over a WebSocket',
    gates: ['started'],
    params: { address: required(reference, ONE_HASH) },
    success: [101],
    refusals: SOCKET_REFUSALS,
    handle({ params: { address }, services }) {
      return subscribed(services, (deliver) => services.gsoc.subscribe(address, deliver));
    },
  }),
];

/** What the client sends is ignored. */
function subscribed(
  { clock }: Pick<NodeServices, 'clock'>,
  subscribe: (deliver: Deliver) => () => void,
): Answer {
  return {
    status: 101,
    async socket(socket) {
      const end = subscribe((message) => socket.send(message));
      try {
        for (;;) {
          await clock.sleep(PING_MS, socket.signal);
          socket.ping();
        }
      } catch (error) {
        if (!socket.signal.aborted) throw error;
      } finally {
        end();
      }
    },
  };
}

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import { signSoc, socAddress, socParts } from '../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import type { Subscription } from '../../harness/client/messages.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { until } from '../../harness/scenario.ts';
import { ownerNear } from '../../scenarios/steps/gsoc-owner.ts';
import { bytesOf } from '../cluster/node/kit.ts';
import { errorsInLogs, OTHERS, of, startMixed } from './kit.ts';

/** A failed push arrives with the next round of pull syncing. */
const HEARD_WITHIN_MS = 60_000;
/** Two messages have to be mined first, on a loaded machine. */
const TEST_MS = 180_000;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let own: ClusterNode;
  let theirs: ClusterNode;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 37 });
    [own, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
  });
  afterAll(() => net.stop());

  const ways = [
    ['ours to theirs', () => [own, theirs] as const],
    ['theirs to ours', () => [theirs, own] as const],
  ] as const;

  function heard(subscription: Subscription, texts: readonly string[]): Promise<true> {
    return until<true>(
      `${JSON.stringify(texts)} not heard`,
      async () => {
        const missing = texts.filter((text) => !subscription.texts.includes(text));
        return missing.length === 0
          ? { done: true }
          : { missing: `heard ${JSON.stringify(subscription.texts)}` };
      },
      { timeoutMs: HEARD_WITHIN_MS },
    );
  }

  test.each(ways)(
    'a message from %s can be opened only with its key, one without a recipient by all',
    async (name, way) => {
      const [from, to] = way();
      const topic = `topic of ${name}`;
      const { pssPublicKey: recipient } = await to.client.addresses();
      const subscriptions = await Promise.all(net.nodes.map((node) => node.messages.listen(topic)));
      const mine = subscriptions[net.nodes.indexOf(to)] as Subscription;
      // One byte: a Bee hashes the whole chunk for every nonce, so two take a minute on a loaded machine.
      const target = to.overlay.slice(0, 2);
      await from.messages.send(topic, [target], `for one, from ${name}`, { recipient });
      await heard(mine, [`for one, from ${name}`]);
      await from.messages.send(topic, [target], `for all, from ${name}`);
      await heard(mine, [`for all, from ${name}`]);
      for (const other of subscriptions) {
        if (other !== mine) expect(other.texts).not.toContain(`for one, from ${name}`);
        other.close();
      }
    },
    TEST_MS,
  );

  test.each(ways)('payloads from %s under one address are received', async (name, way) => {
    const [from, to] = way();
    const id = bytesOf(`id of ${name}`, 32);
    const owner = ownerNear(fromHex(to.overlay), id, 10);
    using subscription = await to.messages.listenTo(toHex(socAddress(id, owner.address)));
    const texts = ['one', 'two', 'three'].map((text) => `${text}, from ${name}`);
    for (const text of texts) {
      const soc = signSoc(id, makeCac(BigInt(text.length), Buffer.from(text)).data, owner);
      await from.soc.upload(toHex(owner.address), socParts(soc.data));
    }
    await heard(subscription, texts);
  });

  test('no log has an error, except what a bee reports about every WebSocket', async () => {
    const errors = await errorsInLogs(net);
    expect(errors.filter((line) => !line.includes('response.Write on hijacked connection'))).toEqual([]);
  });
});

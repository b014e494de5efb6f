import { afterAll, beforeAll, expect, test } from 'vitest';
import { tarOf } from '../../harness/base/tree.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { type Exposition, parseExposition } from '../../harness/metrics/exposition.ts';
import { bytesOf, type HttpReply, http, speakSwarm } from '../cluster/node/kit.ts';
import { aBee, asBee28, describeOthers, of, startMixed } from './kit.ts';

const OWNER = 'ab'.repeat(20);
const SOMETHING = 'ab'.repeat(32);

interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
}

describeOthers(
  (side) => aBee(side) ?? asBee28(side),
  '$title',
  (side) => {
    let net: Cluster;
    let [ours, theirs] = [] as unknown as [ClusterNode, ClusterNode];
    beforeAll(async () => {
      net = await startMixed({ side, own: 1, others: 1, seed: 91 });
      [ours, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
      await speakSwarm(ours);
      await net.meshed();
    });
    afterAll(() => net.stop());

    const ask = (node: ClusterNode, { path, headers = {}, ...question }: Question) =>
      http(node, path, { ...question, headers: { 'swarm-postage-batch-id': node.batch ?? '', ...headers } });
    const both = <T>(look: (node: ClusterNode) => Promise<T>) => Promise.all([look(ours), look(theirs)]);

    async function upload(node: ClusterNode, question: Question): Promise<unknown> {
      const { status, json, headers } = await ask(node, { method: 'POST', ...question });
      const tag = await ask(node, { path: `/tags/${headers['swarm-tag']}` });
      const { split, address } = tag.json;
      return { status, json, split, address, etag: headers['etag'] };
    }

    test('metrics with the same name have the same kind and labels', async () => {
      const [own, its] = await both(async (node) => parseExposition(await node.client.metrics()));
      const shared = [...its.families.values()].filter(({ name }) => own.families.has(name));
      expect(shared.length).toBeGreaterThan(100);
      const labelsOf = ({ samples }: Exposition, name: string) =>
        samples.find((sample) => sample.name === name || sample.name === `${name}_count`)?.labels;
      const different = shared.flatMap(({ name, kind }) => {
        const [ours, theirs] = [labelsOf(own, name), labelsOf(its, name)].map(
          (labels) => labels && Object.keys(labels),
        );
        const asTheirs =
          ours === undefined || theirs === undefined || ours.toSorted().join() === theirs.toSorted().join();
        return asTheirs && own.families.get(name)?.kind === kind ? [] : [name];
      });
      expect(different).toEqual([]);
    });

    const levels = [{}, ...[0, 1, 2, 3, 4].map((level) => ({ 'swarm-redundancy-level': String(level) }))];
    test.each(levels)('uploads with headers %j have the same references and counts', async (headers) => {
      for (const size of [0, 1, 4096, 4097, 50_000, 200_000]) {
        const body = bytesOf(`dialect ${JSON.stringify(headers)} ${size}`, size);
        const [own, theirs] = await both((node) => upload(node, { path: '/bytes', headers, body }));
        expect(own, `${size} bytes`).toEqual(theirs);
        const file = { path: '/bzz?name=a.bin', headers: { ...headers, 'content-type': 'x/y' }, body };
        const [ownFile, theirFile] = await both((node) => upload(node, file));
        expect(ownFile, `a file of ${size} bytes`).toEqual(theirFile);
      }
      const files = [1, 9000].map((size) => ({ path: `${size}.html`, data: bytesOf(`${size}`, size) }));
      const tar = { 'content-type': 'application/x-tar', 'swarm-collection': 'true' };
      const body = await tarOf(files);
      const [own, theirs] = await both((node) =>
        upload(node, { path: '/bzz', headers: { ...headers, ...tar }, body }),
      );
      expect(own).toEqual(theirs);
    });

    test.each([undefined, 'a/b/c', 'text/', 'image', 'multipart/form-data; boundary'])(
      'a file of type %s is accepted and served identically',
      async (type) => {
        for (const content of ['hello', '<html>', '%PDF-1', '\xfe\xff', 'a\0b', '']) {
          const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
          const question = { path: '/bzz?name=a', headers, body: Buffer.from(content, 'latin1') };
          const [own, theirs] = await both(async (node) => {
            const { json } = await ask(node, { method: 'POST', ...question });
            const file = await ask(node, { path: `/bzz/${String(json['reference'])}/a` });
            return [json, file.headers['content-type']];
          });
          expect(own, content).toEqual(theirs);
        }
      },
    );

    const questions: Question[] = [
      ...['5', 'x', '256'].flatMap((level) =>
        [
          { method: 'POST' as const, path: `/feeds/${OWNER}/aa` },
          { method: 'POST' as const, path: `/pins/${SOMETHING}` },
          { method: 'PUT' as const, path: `/stewardship/${SOMETHING}` },
          { path: `/stewardship/${SOMETHING}` },
          { method: 'POST' as const, path: '/grantee', body: '{}' },
          { method: 'PATCH' as const, path: `/grantee/${SOMETHING}`, body: '{}' },
          { path: `/grantee/${SOMETHING}` },
          { path: `/chunks/${SOMETHING}` },
        ].map((question) => ({ ...question, headers: { 'swarm-redundancy-level': level } })),
      ),
      { method: 'POST', path: '/bzz', headers: { 'swarm-collection': 'true' }, body: 'x' },
      {
        method: 'POST',
        path: '/bzz',
        headers: { 'swarm-collection': 'true', 'content-type': 'a/b/c' },
        body: 'x',
      },
      { path: '/chunks/stream?swarm-tag=x' },
      { path: '/chunks/stream?swarm-tag=99999' },
      { method: 'DELETE', path: '/tags/99999' },
    ];
    test.each(questions)('$method $path $headers gets the same answer', async (question) => {
      const [own, theirs] = await both((node) => ask(node, question));
      expect([own.status, own.json]).toEqual([theirs.status, theirs.json]);
    });

    test.each(['/health', '/readiness', '/chainstate', '/node'])('%s has the same members', async (path) => {
      const members = ({ json }: HttpReply) =>
        Object.fromEntries(Object.entries(json).map(([name, value]) => [name, typeof value]));
      const [own, theirs] = await both((node) => ask(node, { path }));
      expect(members(own)).toEqual(members(theirs));
    });

    test('it reports this version', async () => {
      const [own, theirs] = await both((node) => ask(node, { path: '/health' }));
      const versionOf = ({ json }: HttpReply) => String(json['version']).split('-')[0];
      expect(versionOf(own)).toBe(versionOf(theirs));
    });
  },
);

import { MockAgent } from 'undici';
import { vi } from 'vitest';
import { ClientError } from '../../../../harness/client/errors.ts';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { BytesClient, ChunksClient, FilesClient } from '../../../../harness/client/transfers.ts';
import { plainAgent } from '../../../../scenarios/steps/known.ts';
import { all, answers, fails, impatience, type Lie, type Mutation, refusal } from './lies.ts';

const gone = new ClientError('the connection was closed', {
  class: 'client.reset',
  node: 'node-1',
  method: 'GET',
  path: '/',
});

function plainAnswer(status: number): Lie {
  return () => {
    const node = new MockAgent();
    node
      .get(/.*/)
      .intercept({ path: () => true, method: () => true })
      .reply(status)
      .persist();
    vi.spyOn(plainAgent, 'dispatch').mockImplementation((...call) => node.dispatch(...call));
  };
}

export const KNOWN: readonly Mutation[] = [
  [
    'known/bee-5545',
    { size: '5000' },
    plainAnswer(200),
    /svc: HEAD of data at redundancy level [01] returns its length/,
  ],
  [
    'known/bee-5551',
    { size: '5000' },
    all(
      plainAnswer(404),
      answers(BytesClient.prototype, 'download', () => new Uint8Array(3)),
    ),
    /svc: GET of an encrypted reference delivers the data/,
    /svc: HEAD of the same reference finds it/,
  ],
  [
    'known/bee-letters',
    {},
    all(fails(BytesClient.prototype, 'download', gone), fails(FilesClient.prototype, 'download', gone)),
    /svc: reading it as data is answered/,
    /svc: reading it as a website is answered/,
  ],
  ['known/bee-5524', {}, fails(NodeClient.prototype, 'health', gone), /svc: the node survives the read/],
  [
    'known/bee-depth-48',
    {},
    fails(ChunksClient.prototype, 'upload', refusal(402)),
    /svc: a batch of depth 48 stamps the first upload/,
  ],
  [
    'known/bee-depth-64',
    {},
    all(impatience, fails(NodeClient.prototype, 'chainState', gone)),
    /svc: the node survives a batch of depth 64 on the chain/,
  ],
  [
    'known/bee-5400',
    { chunks: '1', arrive: '1' },
    answers(ChunksClient.prototype, 'upload', () => ({ reference: 'ab'.repeat(32) })),
    /svc: while its node answers, its neighbourhood takes a chunk/,
    /svc: what is acknowledged is in its neighbourhood/,
  ],
];

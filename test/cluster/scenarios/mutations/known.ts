/** Scenarios about known bugs: what each check is shown so that it turns red. */
import { vi } from 'vitest';
import { BytesClient, ChunksClient } from '../../../../harness/client/transfers.ts';
import { all, answers, type Lie, type Mutation } from './lies.ts';

/** To a request as any client sends it. */
function plainAnswer(status: number): Lie {
  return () =>
    void vi
      .spyOn(globalThis, 'fetch')
      .mockImplementation(() => Promise.resolve(new Response(null, { status })));
}

export const KNOWN: readonly Mutation[] = [
  [
    'known/bee-5545',
    { size: '5000' },
    plainAnswer(200),
    /svc: HEAD of data at redundancy level [01] tells its length/,
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
    'known/bee-5400',
    { chunks: '1', arrive: '1' },
    answers(ChunksClient.prototype, 'upload', () => ({ reference: 'ab'.repeat(32) })),
    /svc: while its node answers, its neighbourhood takes a chunk/,
    /svc: what is acknowledged is in its neighbourhood/,
  ],
];

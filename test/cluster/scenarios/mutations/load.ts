import { join } from 'node:path';
import { BytesClient } from '../../../../harness/client/transfers.ts';
import { answers, type Lie, type Mutation } from './lies.ts';

const WRONG = { k6: join(import.meta.dirname, 'k6-wrong.sh'), warmup: '0s', duration: '1s' };
const IDLE = { ...WRONG, k6: join(import.meta.dirname, 'k6-idle.sh') };
const nothing: Lie = () => undefined;

export const LOAD: readonly Mutation[] = [
  ['load', IDLE, nothing, /the load performs operations/, /threshold errors/],
  [
    'load',
    WRONG,
    nothing,
    /what is read is what was uploaded/,
    /no iteration ends by an exception/,
    /the script does not mark the test as failed/,
    /iterations start on time/,
    /threshold errors/,
    /each reference matches the bytes/,
    /every acknowledged chunk is held by a node/,
  ],
  [
    'load',
    { ...WRONG, encrypt: 'true' },
    answers(BytesClient.prototype, 'download', () => new Uint8Array(3)),
    /what is read is what was uploaded/,
    /no iteration ends by an exception/,
    /the script does not mark the test as failed/,
    /iterations start on time/,
    /threshold errors/,
    /node-\d reads an encrypted upload of node-0/,
    /every acknowledged chunk is held by a node/,
  ],
  [
    'load',
    { k6: IDLE.k6, findLimit: 'p95<500ms', rate: '1/s', warmup: '0s' },
    nothing,
    /the highest rate with p95<500ms is found and confirmed/,
  ],
];

import type { CommandOptions } from './spec.ts';
import { batch, limit, ONE_CLUSTER, reference } from './values.ts';

export const upload: CommandOptions = {
  arguments: ['path of the file'],
  options: {
    ...ONE_CLUSTER,
    '--node <node>': 'node that uploads (default: the first full or light node)',
    '--batch <id>': {
      help: 'postage batch of that node (default: the one that it was started with)',
      parse: batch,
    },
    '--no-wait': 'return when the node has all chunks',
    '--timeout <duration>': {
      help: 'limit of the whole transfer (default: 24h until the node has all chunks, then 5m without progress)',
      parse: limit,
    },
  },
};

export const download: CommandOptions = {
  arguments: [
    { help: 'reference of the content: 64 hex digits, or 128 of encrypted content', parse: reference },
    'path of the file to write',
  ],
  options: {
    ...ONE_CLUSTER,
    '--node <node>': 'node that downloads (default: the first full or light node)',
    '--path <inside>': 'path inside the folder of this reference (default: its own file)',
    '--force': 'overwrite the file',
    '--timeout <duration>': {
      help: 'limit of the whole transfer',
      parse: limit,
      default: limit('24h'),
      shown: '24h',
    },
  },
  note: `
The reference may also be that of an upload to /bytes.`,
};

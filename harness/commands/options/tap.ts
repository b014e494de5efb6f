import { NotExpected, oneOf } from '../../cluster/plan/options/flag.ts';
import { PROTOCOL_NAMES } from '../../places/links/tap/events.ts';
import type { CommandOptions } from './spec.ts';
import { ONE_CLUSTER } from './values.ts';

const NODES_MAX = 2;

export const tap: CommandOptions = {
  arguments: [
    {
      help: 'one node: what it sends and receives; two: what they send each other (default: all)',
      parse: nodes,
    },
  ],
  options: {
    ...ONE_CLUSTER,
    '--json': { help: 'print one JSON document per message, one per line', once: true },
    '--protocol <protocol>': {
      help: `one protocol: ${PROTOCOL_NAMES.join(', ')}, or the full id of a different one`,
      parse: (text: string) => (text.startsWith('/') ? text : oneOf(PROTOCOL_NAMES)(text)),
    },
    '--address <digits>': {
      help: 'whole streams that name this address of a chunk or node: its first hexadecimal digits, at least 4',
      parse: address,
    },
    '--stream <id>': {
      help: 'one conversation, by the id at its opened line, such as c0/12',
      parse: stream,
    },
    '--write <file>':
      'write a capture for Wireshark and tshark (pcapng) instead of printing lines, until Ctrl-C, then name the dissector; - is standard output',
    '--force': 'let --write overwrite an existing file',
    '--read <run>':
      'print the messages that a run has kept, given its folder, its name, last, or its message file',
    '--kept': 'print the messages kept so far and exit, instead of following new ones',
  },
  note: `
The cluster needs a tap, which decrypts the traffic between nodes with their keys and passes everything on.
  svcnet up -n 5 --tap
  svcnet tap
  svcnet tap node-0 node-3 --protocol pushsync --json
  svcnet tap --kept --stream c0/12
  svcnet tap --write out.pcapng
  svcnet run smoke --tap; svcnet tap --read last --protocol hive
  svcnet tap --write - | wireshark -k -i -
Chunks are shown by address and size. Text shortens values of 64 hex digits; --json prints them in full.`,
};

function address(text: string): string {
  if (!/^[0-9a-f]{4,64}$/i.test(text)) throw new NotExpected('Expected 4 to 64 hexadecimal digits.');
  return text.toLowerCase();
}

function stream(text: string): string {
  if (!/^c\d+\/\d+$/.test(text)) throw new NotExpected('Expected the id of a stream, such as c0/12.');
  return text;
}

function nodes(text: string, before: readonly string[] = []): readonly string[] {
  if (before.length === NODES_MAX) throw new NotExpected(`Expected at most ${NODES_MAX} nodes.`);
  return [...before, text];
}

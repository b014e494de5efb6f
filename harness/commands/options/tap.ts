/** Options of `svcnet tap`. */
import { NotExpected, oneOf } from '../../cluster/plan/options/flag.ts';
import { PROTOCOL_NAMES } from '../../places/links/tap/events.ts';
import type { CommandOptions } from './spec.ts';
import { ONE_CLUSTER } from './values.ts';

const NODES_MAX = 2;

export const tap: CommandOptions = {
  arguments: [
    {
      help: 'one node: what it says and hears; two: what they say to each other (default: all)',
      parse: nodes,
    },
  ],
  options: {
    ...ONE_CLUSTER,
    '--json': { help: 'print one JSON document a line for each message', once: true },
    '--protocol <protocol>': {
      help: `one protocol: ${PROTOCOL_NAMES.join(', ')}, or the whole id of another`,
      parse: (text: string) => (text.startsWith('/') ? text : oneOf(PROTOCOL_NAMES)(text)),
    },
    '--write <file>':
      'write a capture for Wireshark and tshark (pcapng) instead of lines, until Ctrl-C; the answer names the dissector; - is standard output',
    '--force': 'overwrite the file of --write',
    '--read <run>': 'print what a run has kept: its folder, its name or last, or a file of its messages',
    '--kept': 'print what is kept of the past and end, instead of what is said from now on',
  },
  note: `
The cluster needs a tap: it ends the encryption between the nodes, with their keys, and passes everything on.
  svcnet up -n 5 --tap
  svcnet tap
  svcnet tap node-0 node-3 --protocol pushsync --json
  svcnet tap --write out.pcapng
  svcnet run smoke --tap; svcnet tap --read last --protocol hive
  svcnet tap --write - | wireshark -k -i -
Chunks have their address and size, 64 hex digits are shortened in text and whole with --json.`,
};

function nodes(text: string, before: readonly string[] = []): readonly string[] {
  if (before.length === NODES_MAX) throw new NotExpected(`Expected at most ${NODES_MAX} nodes.`);
  return [...before, text];
}

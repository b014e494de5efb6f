/** Faults select messages by these names. */
import { PROTOCOLS } from '../../harness/places/links/tap/protocols.ts';
import { MESSAGES_SCHEMA } from '../../harness/report/messages/message-file.ts';
import { code, page, table } from './markdown.ts';

export function messagesPage(): string {
  const rows = PROTOCOLS.flatMap(({ name, opener, acceptor }) =>
    [
      ...opener.map((message) => ({ message, end: 'opener' })),
      ...acceptor.map((message) => ({ message, end: 'acceptor' })),
    ].map(({ message, end }) => [
      code(name),
      code(message.name),
      end,
      Object.keys(message.table).map(code).join(', '),
    ]),
  );
  // Versions differ in types of the same names.
  const distinct = new Map(rows.map((row) => [row.join(), row]));
  return page(
    'Messages between nodes',
    'the tables of the tap',
    '[What nodes say to each other](../tap.md) explains how to read and change them.',
    '## Names',
    'Each side of a stream sends its messages in this order and may repeat the last one. `ping` streams carry plain bytes, shown as `echo`. Events of a whole connection have the protocol `noise`.',
    table(['Protocol', 'Message', 'Said by', 'Fields'], [...distinct.values()]),
    '## Selection by a field',
    'A fault with `where` affects only messages whose field meets the condition. `every`, `first` and `share` then count and choose among these. svcnet refuses a condition that no message can meet. A field that a message leaves out is zero or empty.',
    table(
      ['Condition', 'For', 'Example'],
      [
        ['`FIELD starts BITS`', 'bytes: their first bits, each 0 or 1', '`address starts 0110`'],
        ['`FIELD starts TEXT`', 'text', '`err starts context`'],
        ['`FIELD is VALUE`', 'bytes in hex, text, a number, `true` or `false`', '`storageRadius is 3`'],
        ['`FIELD above NUMBER`', 'a number', '`storageRadius above 3`'],
        ['`FIELD below NUMBER`', 'a number', '`storageRadius below 3`'],
      ],
    ),
    '`address` is the address of the chunk: that of a `retrieval request` (`addr`), and of its `delivery`, which does not name it.',
    'The field `fault` of a message names what faults have done to it, such as `delayed, dropped`. `faultsOf(event)` of the package `svcnet` returns that as a list.',
    '## Replay',
    'With `replay`, the proxy keeps what the opener of a stream has sent so far, up to and including the message. After the given time it sends that again in a new stream in the name of the opener, if both nodes are still connected. The opener hears nothing of that stream. `messages replayed` counts the messages sent again. The proxy keeps at most 256 KiB of a stream, and 1000 messages and 16 MiB of a connection. The fault spares messages beyond that, and those of streams that were open before it. They do not count for `every` and `first`.',
    '## Answers',
    'With `answer`, a message does not arrive. Its receiver sees a reset of the stream instead. The sender gets an answer that the proxy makes up, and then the end of the stream. Only messages of the opener that the acceptor answers can be chosen: the first one gets the first message of the acceptor, and so on.',
    table(
      ['Answer', 'What the sender gets'],
      [
        ['`error`', 'the text `refused` in the field `err`, for `pushsync delivery` and `retrieval request`'],
        ['`empty`', 'a message without fields'],
        [
          '`{"err":"no room"}`',
          'these fields: bytes in hex, numbers, texts, `true` or `false`, lists, objects. The others are zero or empty',
        ],
      ],
    ),
    'The proxy answers after the headers of the acceptor. The fault spares a message that has its answer already. The field `fault` says `answered` of the message, and `made up` of the answer, which other faults treat as any message.',
    '## Storms',
    'The word `message` lets a storm draw faults on the messages between one node and all others: `--set faults=kill,message`, which gives its cluster a tap, or `draw: [message]` in a [schedule](../storms.md), with `--tap`. `--vary` draws it on simulated clusters. The faults heal before the storm checks anything.',
    table(
      ['Fault', 'Messages', 'At most', 'The storm accepts'],
      [
        [
          'lost, answered with an error, late, cut off, sent again later',
          'of `pushsync` and `retrieval`',
          '20',
          'ends of a link that count differently by no more than the credit of one link',
        ],
        [
          'lost, sent again later',
          'payments of `pseudosettle`, cheques of `swap`',
          '1',
          'the same for a lost one and for a payment; a cheque counts once',
        ],
        ['late, sent twice', 'payments and cheques', 'any number', 'nothing'],
        ['lost by a reset, late, out of turn', 'of `pullsync`', 'any number', 'nothing'],
        ['sent twice', 'of `pushsync` and `retrieval`', 'any number', 'nothing'],
        [
          'changed: `data`, `address`, `stamp`, `signature`',
          'deliveries, receipts',
          '2',
          'the same as for a lost one, and no blocklisted peer: nodes bear 16 such mistakes',
        ],
      ],
    ),
    'Nodes must serve right bytes and keep what they acknowledge, whatever the fault. A creditor that counts what its debtor does not may refuse it for some seconds. A fault may meet no message, and its share may spare the few that it meets. The storm counts the faults that met none. It fails if a fault spares more than its share explains, or if none of its message faults meets a message.',
    '## Captures',
    '`svcnet tap --write out.pcapng` writes each message as a packet until Ctrl-C, and then names the dissector, a Lua script for Wireshark and tshark. A packet holds what a line of `svcnet tap --json` holds, and the bytes of headers and messages as they were sent, without the length in front: `svcnet.raw`. That is before a fault changes them. The tap keeps bytes only while a capture is written: of a message the first 128 KiB, and of all messages the latest 16 MiB. Earlier messages (`--kept`) and records of runs have only fields. `svcnet.protocol`, `svcnet.message`, `svcnet.from`, `svcnet.to`, `svcnet.stream`, `svcnet.kind`, `svcnet.id`, `svcnet.bytes` and `svcnet.fields` work in filters.',
    'In a test, `net.tap({ raw: true })` yields these bytes in hex, in the field `raw`, of messages that pass after it has begun.',
    '```\ntshark -X lua_script:svcnet.lua -r out.pcapng -Y \'svcnet.message == "receipt"\'\n```',
    '## Records',
    `A run on a tapped cluster appends what \`svcnet tap --json\` prints to \`messages.jsonl.gz\` in its folder, a line each, after a line with \`schema\` (${MESSAGES_SCHEMA}) and \`before\` (the number of earlier messages). A line with \`cluster\` and \`began\` says when a cluster began, before its first message in a file. ` +
      'After 500,000 lines that file replaces `messages-older.jsonl.gz`, so a run keeps at least the latest 500,000. A note at its end says how many of how many are kept (`notes` in `report.json`). A line with `missed` counts those that passed too fast to be recorded. If the run had several clusters, lines of the later ones name theirs: `cluster` 2 is the one whose logs are in `cluster-2`. `svcnet tap --read` takes the folder of a run or one of its files, and filters as for a running cluster. For runs in parallel it adds `part`. `svcnet trace ADDRESS --run` reads the [route of a chunk](../chunk-routes.md) from a record, by cluster. Both say what a record lacks: earlier messages, missed ones, or the end of a file that was cut off. `report.html` counts the messages of each scenario by protocol and shows up to 50 that a fault has touched.',
    '## Limits',
    [
      '- Drivers are `process`, on Linux alone, and `embedded` and `simulated` for svc nodes, which need no proxy. svcnet lacks the keys of networks that it did not start.',
      "- The folder of a tapped cluster also holds the nodes' libp2p keys (`.svcnet/clusters/NAME`, readable by its owner alone).",
      '- Connections from programs outside the cluster pass through undecoded.',
      '- A delayed message still waits out its delay after healing.',
      '- [Link faults](../faults.md#links) work as well. The tap sees nodes that join, and a fault of `all` that began earlier also affects them.',
    ].join('\n'),
  );
}

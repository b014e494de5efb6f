/** `svcnet tap`: what nodes say to each other, a line or a packet of a capture for each message, as it passes. */
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { HarnessError, messageOf } from '../base/errors.ts';
import { inLine } from '../base/foreign-text.ts';
import { plural } from '../base/format.ts';
import { clip } from '../base/terminal/table.ts';
import { shellWord } from '../base/typed.ts';
import type { TapEvent, TapValue } from '../places/links/tap/events.ts';
import { capturedPacket, captureHeader } from '../places/links/tap/pcapng.ts';
import { paint } from '../report/console.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

interface TapFlags extends ClusterFlags {
  readonly protocol?: string;
  readonly kept?: boolean;
  readonly write?: string;
  readonly force?: boolean;
}

const DISSECTOR = fileURLToPath(new URL('../places/links/tap/svcnet.lua', import.meta.url));

const STANDARD_OUTPUT = '-';

/** Digits of a hash in text. */
const HASH_SHOWN = 8;
const HASH = /\b[0-9a-f]{40,}\b/g;
const WIDTH = { nodes: 18, protocol: 12, name: 10 } as const;

export async function tap(
  nodes: readonly string[],
  { protocol, kept, write, force, ...flags }: TapFlags,
  context: CommandContext,
): Promise<void> {
  const { json, signal } = context;
  await onCluster(flags, context, async (cluster) => {
    const onMissed = (count: number) =>
      context.note(`  ${plural(count, 'message')} passed too fast to be shown\n`);
    const events = cluster.tap({ nodes, protocol, kept, signal, onMissed });
    if (write === STANDARD_OUTPUT) return await captureToPipe(events, context);
    if (write !== undefined) return await capture(events, { file: write, force }, context);
    for await (const event of events) {
      context.out(`${json ? JSON.stringify(event) : line(event, context)}\n`);
    }
  });
}

/**
 * Each packet is in the file as a whole as soon as its message is known.
 * @throws HarnessError `USAGE` when the file exists or cannot be written
 */
async function capture(
  events: AsyncIterable<TapEvent>,
  { file, force = false }: { readonly file: string; readonly force: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  let count = 0;
  try {
    await using handle = await open(file, force ? 'w' : 'wx');
    await handle.writeFile(captureHeader());
    for await (const event of events) {
      await handle.writeFile(capturedPacket(event));
      count++;
    }
  } catch (error) {
    if (error instanceof HarnessError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') {
      throw new HarnessError('USAGE', `${file} already exists`, {
        hint: 'Choose another path, or overwrite the file with --force.',
      });
    }
    throw new HarnessError('USAGE', `cannot write ${file}: ${messageOf(error)}`, { cause: error });
  }
  answer(context, { file, events: count, dissector: DISSECTOR }, [
    `  wrote ${plural(count, 'packet')} to ${file}`,
    '',
    '  try next',
    `    tshark -X ${shellWord(`lua_script:${DISSECTOR}`)} -r ${shellWord(file)}`,
  ]);
}

/**
 * A capture for a program that reads while the nodes speak, such as `wireshark -k -i -`.
 * @throws HarnessError `USAGE` when standard output is a terminal, or is to be JSON
 */
async function captureToPipe(events: AsyncIterable<TapEvent>, context: CommandContext): Promise<void> {
  const { json, terminal, outBytes, note } = context;
  if (json) {
    throw new HarnessError('USAGE', '--json and --write - both need standard output', {
      hint: 'Leave one of them out, or write the capture to a file.',
    });
  }
  const reader = `wireshark -k -i - -X ${shellWord(`lua_script:${DISSECTOR}`)}`;
  if (terminal !== undefined) {
    throw new HarnessError('USAGE', 'a capture is not text for a terminal', {
      hint: `Pipe it: svcnet tap --write - | ${reader}`,
    });
  }
  note(`  for live packets: ${reader}\n`);
  let count = 0;
  outBytes(captureHeader());
  for await (const event of events) {
    outBytes(capturedPacket(event));
    count++;
  }
  note(`  wrote ${plural(count, 'packet')} to standard output\n`);
}

/** `12:00:01.203 node-0 -> node-3   pushsync     delivery   3f2a09c4… (4104 B)  stamp batch 9c1d77aa…` */
function line(event: TapEvent, { style, width }: CommandContext): string {
  const { at, from, to, protocol, kind, name, fields } = event;
  const what = name === '' ? kind : name;
  const text = [
    new Date(at).toISOString().slice(11, 23),
    inLine(`${from} -> ${to}`).padEnd(WIDTH.nodes),
    inLine(protocol).padEnd(WIDTH.protocol),
    what.padEnd(WIDTH.name),
    inLine(fieldsText(fields)),
  ].join(' ');
  const shown = clip(text.trimEnd(), width);
  return name === 'undecodable' || name === 'reset' ? paint(style, 'red', shown) : shown;
}

function fieldsText({ address, data, ...rest }: TapEvent['fields']): string {
  const chunk = [
    address === undefined ? undefined : valueText(address),
    data === undefined ? undefined : `(${valueText(data)})`,
  ].filter((part) => part !== undefined);
  const others = Object.entries(rest).map(([field, value]) => `${field} ${valueText(value)}`);
  return [chunk.join(' '), ...others]
    .filter((part) => part !== '')
    .join('  ')
    .replaceAll(HASH, (hash) => `${hash.slice(0, HASH_SHOWN)}…`);
}

function valueText(value: TapValue): string {
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map(valueText).join(', ');
  return `{ ${Object.entries(value)
    .map(([field, inner]) => `${field} ${valueText(inner)}`)
    .join(', ')} }`;
}

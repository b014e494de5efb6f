/** Messages between nodes as they pass: a line, or a captured packet, each. */
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { fileRefused, HarnessError } from '../base/errors.ts';
import { inLine } from '../base/foreign-text.ts';
import { plural, suggestion } from '../base/format.ts';
import { NOT_THROUGH_LINKS } from '../base/json-file.ts';
import { clip } from '../base/terminal/table.ts';
import { shellWord } from '../base/typed.ts';
import { isMeant, type TapOptions } from '../cluster/heard.ts';
import type { TapEvent, TapValue } from '../places/links/tap/events.ts';
import { capturedPacket, captureHeader } from '../places/links/tap/pcapng.ts';
import { paint } from '../report/console.ts';
import type { ReadEvent } from '../report/messages/message-file.ts';
import { readMessages } from '../report/messages/read-messages.ts';
import { recordLabel, recordsOf } from '../report/read-run.ts';
import { clock, moment } from '../web/base/format.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

interface TapFlags extends ClusterFlags {
  readonly protocol?: string;
  readonly address?: string;
  readonly stream?: string;
  readonly kept?: boolean;
  readonly write?: string;
  readonly force?: boolean;
  readonly read?: string;
}

/** An event of a record, with the part of the run where there are several. */
type PrintedEvent = ReadEvent & { readonly part?: string };

const DISSECTOR = fileURLToPath(new URL('../places/links/tap/svcnet.lua', import.meta.url));

const STANDARD_OUTPUT = '-';
/** A foreign record may name any number. */
const NAMES_MAX = 1000;

/** In text. */
const HASH_SHOWN = 8;
const HASH = /\b[0-9a-f]{40,}\b/g;
const WIDTH = { time: 8, nodes: 18, protocol: 12, name: 10 } as const;

export async function tap(
  nodes: readonly string[],
  { protocol, address, stream, kept, write, force, read, ...flags }: TapFlags,
  context: CommandContext,
): Promise<void> {
  const { signal } = context;
  const to = { write, force };
  if (read !== undefined) {
    expectAlone(kept === true, flags.name);
    const events = recorded(read, { nodes, protocol }, context);
    return await print(about(address, ofStream(stream, events)), to, context);
  }
  await onCluster(flags, context, async (cluster) => {
    const onMissed = (count: number) =>
      context.note(`  ${plural(count, 'message')} passed too fast to be shown\n`);
    const raw = write !== undefined;
    const events = cluster.tap({ nodes, protocol, kept, raw, signal, onMissed });
    await print(about(address, ofStream(stream, since(cluster.startedAt, events))), to, context);
  });
}

async function* since(began: number, events: AsyncIterable<TapEvent>): AsyncGenerator<PrintedEvent> {
  for await (const event of events) yield { ...event, began };
}

/** @param stream undefined: all */
async function* ofStream(
  stream: string | undefined,
  events: AsyncIterable<PrintedEvent>,
): AsyncGenerator<PrintedEvent> {
  for await (const event of events) if (stream === undefined || event.stream === stream) yield event;
}

/** Streams that may still name the address, and events of each; the oldest are forgotten first. */
const STREAMS_MAX = 20_000;
const STREAM_EVENTS_MAX = 100;

/** Whole streams from the message that names the address; undefined: all. */
async function* about(
  address: string | undefined,
  events: AsyncIterable<PrintedEvent>,
): AsyncGenerator<PrintedEvent> {
  const open = new Map<string, PrintedEvent[] | 'named'>();
  for await (const event of events) {
    const key = `${event.part ?? ''} ${event.cluster ?? ''} ${event.stream}`;
    const before = open.get(key) ?? [];
    const isNamed = address === undefined || JSON.stringify(event.fields).includes(`"${address}`);
    if (before === 'named' || isNamed) {
      if (before !== 'named') yield* before;
      yield event;
      open.set(key, 'named');
    } else open.set(key, [...before, event].slice(-STREAM_EVENTS_MAX));
    if (event.kind === 'end') open.delete(key);
    const [oldest] = open.size > STREAMS_MAX ? open.keys() : [];
    if (oldest !== undefined) open.delete(oldest);
  }
}

function expectAlone(kept: boolean, name: string | undefined): void {
  if (!kept && name === undefined) return;
  const other = kept ? '--kept' : '--name';
  throw new HarnessError('USAGE', `--read and ${other} exclude each other`, {
    hint: 'A run has kept its messages in its folder; a cluster says what it says now.',
  });
}

/** @throws HarnessError `RUN_NOT_FOUND`, `RUN_INVALID`, `NODE_NOT_FOUND`: no message names the node */
async function* recorded(
  run: string,
  selection: Pick<TapOptions, 'protocol'> & { readonly nodes: readonly string[] },
  { stateDir, note, signal }: CommandContext,
): AsyncGenerator<PrintedEvent> {
  const unseen = new Set(selection.nodes);
  const names = new Set<string>();
  for (const { part, files } of recordsOf(run, stateDir)) {
    for await (const event of readMessages(files, (what) => note(`  ${what}\n`))) {
      if (signal.aborted) return;
      for (const name of [event.from, event.to]) {
        unseen.delete(name);
        if (names.size < NAMES_MAX) names.add(name);
      }
      if (isMeant(event, selection)) yield part === '' ? event : { ...event, part };
    }
  }
  const [missing] = unseen;
  if (missing === undefined) return;
  throw new HarnessError(
    'NODE_NOT_FOUND',
    `${run}: no message is from or to '${inLine(missing)}'${inLine(suggestion(missing, [...names]))}`,
  );
}

async function print(
  events: AsyncIterable<PrintedEvent>,
  { write, force }: { readonly write: string | undefined; readonly force: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  if (write === STANDARD_OUTPUT) return await captureToPipe(events, context);
  if (write !== undefined) return await capture(events, { file: write, force }, context);
  let from: number | undefined;
  for await (const event of events) {
    if (!context.json && event.began !== from)
      context.note(`  times since ${moment(event.began)}, when the cluster began\n`);
    from = event.began;
    context.out(`${context.json ? JSON.stringify(event) : line(event, context)}\n`);
  }
  if (from === undefined) context.note('  no matching message\n');
}

/**
 * A packet is written whole as soon as its message is known.
 * @throws HarnessError `USAGE` when the file exists or cannot be written
 */
async function capture(
  events: AsyncIterable<TapEvent>,
  { file, force = false }: { readonly file: string; readonly force: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  const handle = await writing(file, open(file, force ? NOT_THROUGH_LINKS : 'wx'));
  let written: Packets;
  try {
    written = await packets(events, (bytes) => writing(file, handle.writeFile(bytes)));
  } finally {
    await handle.close();
  }
  const { count, lacks, gone } = written;
  answer(context, { file, events: count, dissector: DISSECTOR }, [
    `  wrote ${plural(count, 'packet')} to ${file}`,
    ...lacks,
    '',
    '  try next',
    `    tshark -X ${shellWord(`lua_script:${DISSECTOR}`)} -r ${shellWord(file)}`,
  ]);
  if (gone !== undefined) throw gone;
}

interface Packets {
  readonly count: number;
  /** What is missing. */
  readonly lacks: readonly string[];
  /** Removed meanwhile. */
  readonly gone?: HarnessError;
}

async function packets(
  events: AsyncIterable<TapEvent>,
  write: (bytes: Buffer) => Promise<void> | void,
): Promise<Packets> {
  let [count, bare] = [0, 0];
  let gone: HarnessError | undefined;
  await write(captureHeader());
  try {
    for await (const event of events) {
      await write(capturedPacket(event));
      count++;
      const isSaid = event.kind === 'message' || event.kind === 'headers';
      if (isSaid && event.raw === undefined) bare++;
    }
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'CLUSTER_GONE') throw error;
    gone = error;
  }
  const why = 'a tap keeps bytes only while a capture is written, and then the latest 16 MiB';
  const lacks = bare === 0 ? [] : [`  ! ${plural(bare, 'packet')} without the bytes of the message: ${why}`];
  return { count, lacks, ...(gone === undefined ? {} : { gone }) };
}

async function writing<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw fileRefused(file, error, 'Choose another path, or overwrite the file with --force.');
  }
}

/**
 * For a program that reads meanwhile, such as `wireshark -k -i -`.
 * @throws HarnessError `USAGE` for JSON or a terminal
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
  const { count, lacks, gone } = await packets(events, outBytes);
  for (const line of [`  wrote ${plural(count, 'packet')} to standard output`, ...lacks]) note(`${line}\n`);
  if (gone !== undefined) throw gone;
}

function line(event: PrintedEvent, { style, width }: CommandContext): string {
  const { at, began, from, to, stream, protocol, kind, name, fields, part = '', cluster } = event;
  const origin = part === '' && cluster === undefined ? [] : [recordLabel(part, cluster)];
  const what = name === '' ? kind : name;
  const text = [
    clock(at - began).padStart(WIDTH.time),
    ...origin,
    inLine(`${from} -> ${to}`).padEnd(WIDTH.nodes),
    inLine(protocol).padEnd(WIDTH.protocol),
    inLine(what).padEnd(WIDTH.name),
    inLine(kind === 'opened' ? stream : fieldsText(fields)),
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

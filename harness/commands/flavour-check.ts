/** Starts a node as the file says, beside ours, and tests each statement. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT, HarnessError, messageOf } from '../base/errors.ts';
import { inLine } from '../base/foreign-text.ts';
import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { parseDefinition } from '../cluster/plan/definition.ts';
import { readFlavour } from '../cluster/plan/document/flavour-file.ts';
import { drawSeed } from '../cluster/plan/seed.ts';
import { declaredFlavour, valuesLeftOut } from '../flavours/declared/declared.ts';
import type { FlavourInput } from '../flavours/declared/input.ts';
import type { NodeMode } from '../flavours/flavour.ts';
import { paint } from '../report/console.ts';
import { answer, type CommandContext } from './context.ts';

/** Beside the checked node. */
const OURS = 2;
const CONTENT_BYTES = 20_000;

interface Subject {
  readonly flavour: FlavourInput;
  readonly net: Cluster;
  readonly node: ClusterNode;
  readonly other: ClusterNode;
  readonly signal: AbortSignal;
}

interface Statement {
  readonly about: string;
  readonly see: (subject: Subject) => Promise<string>;
}

const STATEMENTS: readonly Statement[] = [
  {
    about: 'keys.swarm: its account and overlay follow from the key',
    async see({ node, signal }) {
      const { overlay, ethereum } = await node.client.addresses(signal);
      expectSame('overlay', overlay, node.overlay);
      expectSame('account', ethereum.replace(/^0x/, '').toLowerCase(), node.ethereum);
      return `overlay ${overlay.slice(0, 8)}`;
    },
  },
  {
    about: 'keys.libp2p: its peer id follows from the key',
    async see({ node, signal }) {
      const { underlay } = await node.client.addresses(signal);
      const peerId = node.p2p.split('/').at(-1) ?? '';
      if (underlay.some((address) => address.endsWith(`/${peerId}`))) return peerId;
      throw new Error(`got the addresses ${underlay.join(', ')}, expected peer id ${peerId}`);
    },
  },
  {
    about: 'dialect: it answers under the names of its dialect',
    async see({ node, signal }) {
      const { mode } = await node.client.node(signal);
      expectSame('mode', mode, node.mode);
      return `${node.dialect}, mode ${mode}`;
    },
  },
  {
    about: 'it stores content that others read, and reads theirs',
    async see({ node, other, signal }) {
      for (const [from, to] of [
        [node, other],
        [other, node],
      ] as const) {
        const data = new Uint8Array(randomBytes(CONTENT_BYTES));
        const { reference } = await from.bytes.upload(data, { deferred: false, signal });
        const read = await to.bytes.download(reference, { signal });
        if (!Buffer.from(data).equals(read))
          throw new Error(`${to.name} read other bytes than ${from.name} stored`);
      }
      return 'both ways';
    },
  },
  {
    about: 'stop: it ends by itself after SIGTERM',
    async see({ node }) {
      const startedAt = MACHINE_CLOCK.monotonic();
      const { forced } = await node.stop();
      const tookMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
      if (forced) throw new Error(`it was killed after ${formatMs(tookMs)}`);
      return formatMs(tookMs);
    },
  },
  {
    about: 'stored: it has made these folders',
    see({ flavour, node }) {
      const { stored = [] } = flavour;
      const missing = stored.filter((folder) => !existsSync(join(node.dataDir, folder)));
      if (missing.length > 0) throw new Error(`there is no ${missing.join(', ')} in ${node.dataDir}`);
      return Promise.resolve(stored.join(', ') || 'none named');
    },
  },
  {
    about: 'it starts again on its data, as the same node',
    async see({ net, node, signal }) {
      await node.start({ signal });
      await net.meshed({ signal });
      const { overlay } = await node.client.addresses(signal);
      expectSame('overlay', overlay, node.overlay);
      return 'linked again';
    },
  },
];

interface Row {
  readonly about: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** @returns failed check: a statement does not hold @throws HarnessError `DEFINITION_INVALID` */
export async function checkFlavour(
  path: string,
  _flags: Readonly<Record<string, unknown>>,
  context: CommandContext,
): Promise<number> {
  const flavour = await readFlavour(path, 'file');
  const { style, json, signal } = context;
  const rows: Row[] = [];
  const note = (row: Row) => {
    rows.push(row);
    if (json) return;
    const mark = row.ok ? paint(style, 'green', '✔') : paint(style, 'red', '✗');
    context.out(`  ${mark} ${row.about}: ${inLine(row.detail)}\n`);
  };
  const { modes } = declaredFlavour(flavour);
  const mode = modes.find((one) => one === 'full') ?? modes[0];
  const net = await started(flavour, mode, { context, note });
  if (net !== undefined) {
    await using cluster = net;
    const node = cluster.node(OURS);
    const subject = { flavour, net: cluster, node, other: cluster.node(0), signal };
    for (const { about, see } of STATEMENTS) {
      signal.throwIfAborted();
      note(await rowOf(about, signal, () => see(subject)));
    }
  }
  const failed = rows.filter(({ ok }) => !ok).length;
  const end =
    failed === 0
      ? `each of ${rows.length} statements holds`
      : `${failed} of ${rows.length} statements do not hold`;
  const unchecked = [
    ...(net === undefined ? ['what a running node shows'] : []),
    ...modes.filter((one) => one !== mode).map((one) => `mode ${one}`),
    ...uncheckedIn(flavour),
  ];
  const ok = failed === 0;
  if (json) answer(context, { file: path, flavour: flavour.name, ok, rows, unchecked }, []);
  else answer(context, {}, ['', `  ${flavour.name}: ${end}; not checked: ${unchecked.join(', ')}`]);
  return failed === 0 ? EXIT.success : EXIT.checkFailed;
}

/** Needs faults, options or larger networks. */
function uncheckedIn({ options, redial, keys }: FlavourInput): string[] {
  return [
    ...(options === 'none' ? [] : ['options']),
    'bootstraps',
    'publicConstants',
    'learnsListeners',
    ...(redial === undefined ? [] : ['redial']),
    ...(keys.pss === undefined ? [] : ['keys.pss']),
  ];
}

async function started(
  flavour: FlavourInput,
  mode: NodeMode | undefined,
  {
    context: { stateDir, signal },
    note,
  }: { readonly context: CommandContext; readonly note: (row: Row) => void },
): Promise<Cluster | undefined> {
  const definition = {
    flavours: [flavour],
    nodes: [{ count: OURS }, { flavour: flavour.name, ...(mode === undefined ? {} : { mode }) }],
  };
  let binary = flavour.program;
  const program = await rowOf('program: this machine runs it, and it says its version', signal, async () => {
    // The environment may name another one than the file.
    binary = parseDefinition(definition, 'file').nodes.at(-1)?.binary ?? binary;
    const where = { where: 'file', binary, image: undefined, options: {} };
    await declaredFlavour(flavour).check?.(where);
    return binary;
  });
  note(program);
  if (!program.ok) return undefined;
  if (flavour.config?.known !== undefined) {
    const about = 'config.known: the configuration has what the program lists';
    const leftOut = async () => `left out: ${(await valuesLeftOut(flavour, binary)).join(', ') || 'nothing'}`;
    note(await rowOf(about, signal, leftOut));
  }
  let net: Cluster | undefined;
  const start = await rowOf(
    'args, env, config, files: it starts, is ready and is linked to all others',
    signal,
    async () => {
      net = await Cluster.start({
        name: `flavour-${flavour.name}-${process.pid}`,
        seed: drawSeed(),
        stateDir,
        ...definition,
        signal,
      });
      return formatMs(net.timings.totalMs);
    },
  );
  note(start);
  return net;
}

/** @throws an interruption's error */
async function rowOf(about: string, signal: AbortSignal, see: () => Promise<string>): Promise<Row> {
  try {
    return { about, ok: true, detail: await see() };
  } catch (error) {
    if (signal.aborted) throw error;
    const hint =
      error instanceof HarnessError && error.hint !== undefined
        ? `; ${error.hint.replaceAll('\n', '; ')}`
        : '';
    return { about, ok: false, detail: `${messageOf(error)}${hint}` };
  }
}

function expectSame(what: string, got: string, expected: string): void {
  if (got !== expected) throw new Error(`${what}: got ${got}, expected ${expected}`);
}

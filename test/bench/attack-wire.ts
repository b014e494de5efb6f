import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface WireTarget {
  /** Multiaddress with peer id. */
  readonly underlay: string;
  readonly networkId: number;
  /** A batch that exists, 64 hex: stamps under any other are refused without a look at their signature. */
  readonly batch: string;
}

export interface Attacked {
  /** Connections that the node took for peers. */
  sessions: number;
  /** Messages, records, streams or connections. */
  sent: number;
  /** Streams that the node has answered. */
  answered: number;
}

export interface RunningAttack {
  stop(): Promise<Attacked>;
}

export interface WireAttack {
  readonly name: string;
  /** Resolves when it has begun. */
  start(target: WireTarget): Promise<RunningAttack>;
}

const PROGRAM = join(import.meta.dirname, 'attack-wire-process.ts');
/** Whatever becomes of who has started it. */
const LIMIT_MS = 60_000;
const NAMES = [
  'silent sockets',
  'strangers',
  'pings',
  'streams',
  'bad stamps',
  'bad chunks',
  'missing chunks',
  'gossip',
] as const;

export const WIRE_ATTACKS: readonly WireAttack[] = NAMES.map((name) => ({
  name,
  start: (target) => start(name, target),
}));

async function start(name: string, { underlay, networkId, batch }: WireTarget): Promise<RunningAttack> {
  const args = [PROGRAM, name, underlay, String(networkId), String(LIMIT_MS), batch];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  if ((await lines.next()).done === true) throw new Error(`the attack '${name}' has ended before it began`);
  return {
    async stop() {
      child.kill('SIGTERM');
      const last = await lines.next();
      if (last.done === true) throw new Error(`the attack '${name}' does not say what it has done`);
      return JSON.parse(last.value) as Attacked;
    },
  };
}

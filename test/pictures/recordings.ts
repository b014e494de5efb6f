import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { CLI } from '../cluster/svcnet.ts';
import type { Session } from './terminal.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Shown instead of the temporary folder. */
const SHOWN_FOLDER = '/home/ada/net';
const UNFINISHED = /^ *… .*\n/gm;

interface Recording {
  /** In `docs/pictures`. */
  readonly file: string;
  readonly commands: readonly string[];
  /** Ends what the commands leave running. */
  readonly after?: string;
  readonly moving: boolean;
}

export const RECORDINGS: readonly Recording[] = [
  {
    file: 'up.svg',
    commands: ['svcnet up -n 3 --seed 7 --driver embedded'],
    after: 'svcnet down',
    moving: false,
  },
  {
    file: 'replay.svg',
    commands: [
      'svcnet run ./power-cut.ts --driver simulated --network 50ms --seed 7 --report first',
      'svcnet replay first --times 3',
    ],
    moving: true,
  },
];

/** @param folder empty; the example's files are put there */
export async function played({ commands, after }: Recording, folder: string): Promise<Session[]> {
  cpSync(join(ROOT, 'examples/fault-and-replay'), folder, { recursive: true });
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/svcnet'));
  const sessions: Session[] = [];
  try {
    for (const command of commands) {
      const printed = await shell(command, folder);
      sessions.push({ command, printed: printed.replace(UNFINISHED, '').replaceAll(folder, SHOWN_FOLDER) });
    }
  } finally {
    if (after !== undefined) await shell(after, folder);
  }
  return sessions;
}

function shell(command: string, folder: string): Promise<string> {
  const svcnet = `"${process.execPath}" "${CLI}"`;
  const env = { ...process.env, SVCNET_STATE: join(folder, '.svcnet') };
  return new Promise((resolve, reject) => {
    execFile(
      'sh',
      ['-c', `exec 2>&1; ${command.replace(/^svcnet/, svcnet)}`],
      { cwd: folder, env },
      (error, printed) => (typeof error?.code === 'string' ? reject(error) : resolve(printed)),
    );
  });
}

/** Times, ports, the order of concurrent steps and what exactly a fault has hit differ. */
export function comparable(rows: readonly string[]): string[] {
  return rows
    .map((row) =>
      row
        .replace(/\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d/g, 'DATE')
        .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{3})? UTC/g, 'DATE')
        .replace(/127\.0\.0\.1:\d+/g, 'ADDRESS')
        .replace(/net-[0-9a-f]{8}/g, 'NET')
        .replace(/\b[\d.,]+ (?:ms|s|min)\b/g, 'TIME')
        .replace(/\b\d+:\d\d\.\d{1,3}\b/g, 'TIME')
        .replace(/\(\d[^()]*\)/g, '(EFFECT)')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter((row) => row !== '')
    .toSorted();
}

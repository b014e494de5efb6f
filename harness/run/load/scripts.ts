import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { suggestion } from '../../base/format.ts';
import { expectSource } from '../source/kept.ts';

export const K6_FOLDER = resolve(import.meta.dirname, '../../../scenarios/k6');

/** What a k6 script does to the nodes. */
export interface LoadScriptFacts {
  readonly about: string;
  readonly writes: boolean;
  readonly reads: boolean;
  /** Chunks can be encrypted, and get parities. */
  readonly shapes: boolean;
  readonly updates?: true;
  readonly sends?: true;
  readonly directories?: true;
  readonly operations?: readonly string[];
}

export const SCRIPTS = {
  upload: {
    about: 'new data, one piece in each iteration',
    writes: true,
    reads: false,
    shapes: true,
    operations: ['upload'],
  },
  download: {
    about: 'data that was uploaded before, compared',
    writes: false,
    reads: true,
    shapes: true,
    operations: ['download'],
  },
  mixed: {
    about: 'downloads, and now and then an upload',
    writes: true,
    reads: true,
    shapes: true,
    operations: ['download', 'upload'],
  },
  directory: {
    about: 'new directories as archives',
    writes: true,
    reads: false,
    shapes: true,
    directories: true,
    operations: ['directory'],
  },
  chunks: {
    about: 'new chunks over a stream each',
    writes: true,
    reads: false,
    shapes: false,
    operations: ['chunks'],
  },
  feeds: {
    about: 'updates of feeds, each read on another node',
    writes: false,
    reads: false,
    shapes: false,
    updates: true,
    operations: ['update', 'read'],
  },
  messages: {
    about: 'messages between nodes, until they are delivered',
    writes: false,
    reads: false,
    shapes: false,
    sends: true,
    operations: ['subscribe', 'send', 'deliver'],
  },
} as const satisfies Record<string, LoadScriptFacts>;
export type ScriptName = keyof typeof SCRIPTS;
export const SCRIPT_NAMES = Object.keys(SCRIPTS) as ScriptName[];

const OWN: LoadScriptFacts = { about: 'a script of your own', writes: true, reads: true, shapes: true };

/** A k6 script. */
export interface LoadScript {
  readonly name: string;
  readonly path: string;
  readonly own: boolean;
  readonly facts: LoadScriptFacts;
}

/** @param given name, or path of a file @throws HarnessError `USAGE` */
export function findScript(given: string): LoadScript {
  const name = SCRIPT_NAMES.find((known) => known === given);
  if (name !== undefined) {
    return { name, path: join(K6_FOLDER, `${name}.js`), own: false, facts: SCRIPTS[name] };
  }
  if (/[/\\]|\.[cm]?[jt]s$/.test(given)) {
    const path = resolve(given);
    if (!existsSync(path)) throw new HarnessError('USAGE', `--script: there is no file ${path}`);
    expectSource(path);
    return { name: given, path, own: true, facts: OWN };
  }
  throw new HarnessError(
    'USAGE',
    `unknown load '${given}'${suggestion(given, SCRIPT_NAMES)} (known: ${SCRIPT_NAMES.join(', ')}, or a file with --script)`,
  );
}

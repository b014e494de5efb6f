import { dirname, join, relative, resolve } from 'node:path';
import { cannotWrite, HarnessError } from '../base/errors.ts';
import { makeFolder, replaceFile, statusOf } from '../base/own-folder.ts';
import { shellWord } from '../base/typed.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import { readClusterFile } from '../cluster/plan/document/read.ts';
import { NODES_DEFAULT } from '../cluster/plan/options/nodes.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import {
  DEFAULT_SEED,
  type Exported,
  type ExportRequest,
  type Machine,
  parseExported,
} from '../export/export-request.ts';
import { obstacles, type Target } from '../export/obstacles.ts';
import { nameOf } from '../export/published.ts';
import { EXPORTS } from '../export/targets.ts';
import { type ClusterFlags, keysFrom } from './cluster-flags.ts';
import { answer, type CommandContext } from './context.ts';

export interface ExportFlags extends Pick<ClusterFlags, 'file' | 'nodes' | 'name' | 'seed' | 'dialect'> {
  readonly image?: string;
  readonly machine: readonly Machine[];
  readonly output?: string;
  readonly force?: boolean;
}

export async function exportDefinition(
  target: Target,
  flags: ExportFlags,
  context: CommandContext,
): Promise<void> {
  if (target !== 'stack' && flags.machine.length > 0) {
    throw new HarnessError('USAGE', `--machine: only for the target stack, got ${target}`);
  }
  const request = await requestOf(target, flags);
  const { definition, seed } = request;
  const { files, next } = EXPORTS[target](request);
  const { output } = flags;
  const isShown = ({ path }: { readonly path: string }) => output !== undefined || path === files[0]?.path;
  if (files.some((file) => file.secret === true && isShown(file))) {
    context.note('The keys and tokens in this export are for tests: do not use them on any other chain.\n');
  }
  if (output === undefined) return print(files, { target, request, context });
  write(output, files, flags.force ?? false);
  const written = files.map(({ path }) => join(output, path));
  const document = {
    target,
    name: nameOf(definition),
    seed: seedToJson(seed),
    folder: output,
    files: written,
  };
  answer(context, document, [
    `  ${written.slice(0, 2).join(' and ')}${written.length > 2 ? `, and ${written.length - 2} more files` : ''}`,
    '',
    ...next((path) => shellWord(join(output, path))).map((line) => `  ${line}`),
  ]);
}

async function requestOf(target: Target, flags: ExportFlags): Promise<ExportRequest> {
  const file = flags.file === undefined ? {} : await readClusterFile(flags.file);
  const nodes = flags.nodes === undefined ? {} : { nodes: flags.nodes };
  const input = { nodes: NODES_DEFAULT, ...file, ...keysFrom(flags), ...nodes } as DefinitionInput;
  const source = flags.file ?? 'options';
  const definition = parseExported(input, source);
  const mistakes = obstacles(definition, target);
  if (mistakes.length > 0) {
    const lines = mistakes.map((mistake) => `${source}: ${mistake}`);
    throw new HarnessError('DEFINITION_INVALID', lines.join('\n'), {
      hint: `This concerns only the export to ${target}; svcnet up may support such a cluster.`,
    });
  }
  const root = join(import.meta.dirname, '../..');
  return {
    input,
    definition,
    seed: definition.seed ?? DEFAULT_SEED,
    image: flags.image,
    sources: relative(resolve(flags.output ?? '.'), root) || '.',
    machines: flags.machine,
  };
}

function print(
  files: Exported['files'],
  of: { target: Target; request: ExportRequest; context: CommandContext },
): void {
  const { target, request, context } = of;
  if (target === 'stack' && !context.json) {
    throw new HarnessError(
      'USAGE',
      '--output is missing: a stack needs secrets and configs in separate files',
      {
        hint: 'Name a folder, for example --output stack',
      },
    );
  }
  if (context.json) {
    const { definition, seed } = request;
    const contents = files.map(({ path, content }) => ({ path, content }));
    context.out(
      `${JSON.stringify({ target, name: nameOf(definition), seed: seedToJson(seed), files: contents }, null, 2)}\n`,
    );
    return;
  }
  context.out(files[0]?.content ?? '');
}

function write(folder: string, files: Exported['files'], force: boolean): void {
  const there = files.map(({ path }) => join(folder, path)).filter((path) => statusOf(path) !== undefined);
  if (there.length > 0 && !force) {
    throw new HarnessError(
      'USAGE',
      `--output: ${there.slice(0, 3).join(', ')}${there.length > 3 ? ' and others' : ''} already exist${there.length === 1 ? 's' : ''}`,
      {
        hint: 'Choose another folder, or overwrite the files with --force',
      },
    );
  }
  try {
    for (const { path, content, secret = false } of files) {
      const file = join(folder, path);
      makeFolder(dirname(file));
      replaceFile(file, content, secret ? 0o600 : 0o644);
    }
  } catch (error) {
    throw cannotWrite(folder, error, 'choose another folder with --output');
  }
}

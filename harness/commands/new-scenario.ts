import { writeFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { fileRefused } from '../base/errors.ts';
import { makeFolder } from '../base/own-folder.ts';
import { typed } from '../base/typed.ts';
import { findsPackage } from '../run/catalogue.ts';
import { answer, type CommandContext } from './context.ts';

export interface NewFlags {
  readonly folder: string;
}

export function newScenario(name: string, { folder }: NewFlags, context: CommandContext): Promise<void> {
  const path = join(folder, `${name}.ts`);
  try {
    makeFolder(folder);
    writeFileSync(path, scenarioTemplate(name), { flag: 'wx' });
  } catch (error) {
    throw fileRefused(path, error, 'Choose another name, or another folder with --folder.');
  }
  const shown = isAbsolute(path) || path.startsWith('..') ? path : `./${path}`;
  answer(context, { file: path }, [
    `  wrote ${path}`,
    '',
    '  try next',
    ...(findsPackage(resolve(folder)) ? [] : [`    npm install --save-dev svcnet`]),
    `    ${typed(`run ${shown} --driver embedded`)}`,
  ]);
  return Promise.resolve();
}

const ENTRY = 'svcnet/scenario';

export function scenarioTemplate(name: string): string {
  return `import { defineScenario, parameter } from '${ENTRY}';

const parameters = {
  size: parameter('size', 64 * 1024, 'size of the upload', { min: 1 }),
};

export default defineScenario({
  name: '${name}',
  group: 'functional',
  about: 'Uploads on one node and downloads on another.',
  parameters,
  // Without these the scenario is skipped.
  needs: { nodes: 2 },
  // Started when no cluster is named.
  cluster: { nodes: 3 },
  timeoutMs: 120_000,
  async run({ cluster, parameters, random, step, measure, expect }) {
    const [uploader, reader] = cluster.nodes;
    if (uploader === undefined || reader === undefined) return;
    // The same seed gives the same bytes.
    const data = random('content').bytes(parameters.size);

    const { reference } = await step('upload', () =>
      measure({ operation: 'upload', node: uploader.name }, () => uploader.bytes.upload(data), () => data.length),
    );
    await step('sync', () => cluster.synced(reference));
    const read = await step('download', () =>
      measure({ operation: 'download', node: reader.name }, () => reader.bytes.download(reference), () => data.length),
    );

    // A condition that does not hold fails the scenario at its end, with this evidence.
    expect(\`\${reader.name} reads what \${uploader.name} uploaded\`, Buffer.compare(read, data) === 0, {
      observed: \`\${read.length} bytes\`,
      expected: \`the \${data.length} bytes uploaded\`,
      evidence: reference,
    });
  },
});
`;
}

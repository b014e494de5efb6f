import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Declarations, emitDeclarations, type PublicExport, textOf } from './declarations.ts';

/** Name that users import → file, without extension. */
const ENTRIES = {
  svcnet: 'harness/index',
  'svcnet/scenario': 'harness/scenario',
  'svcnet/matchers': 'harness/matchers',
  'svcnet/testcontainers': 'harness/testcontainers',
} as const;

export const REPORT_FILE = 'test/unit/public/api-report.md';

const HEAD = `# API report

Everything that users of the package can import, without comments. Written by \`npm run api\`; a change of this file is a change of the public API, and belongs into CHANGELOG.md.
`;

export interface PublicSurface {
  readonly declarations: Declarations;
  readonly exports: readonly PublicExport[];
}

export function readSurface(): PublicSurface {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-api-'));
  try {
    emitDeclarations(
      folder,
      Object.values(ENTRIES).map((path) => `${path}.ts`),
    );
    const declarations = new Declarations(folder);
    const exports = Object.entries(ENTRIES).flatMap(([entry, path]) => declarations.exportsOf(entry, path));
    for (const one of exports) declarations.referencesOf(one);
    return { declarations, exports };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function reportOf({ declarations, exports }: PublicSurface): string {
  const parts = Object.keys(ENTRIES).map((entry) => {
    const texts = exports
      .filter((one) => one.entry === entry)
      .map((one) => {
        const alias = one.name === one.declaration.name ? '' : `// as ${one.name}\n`;
        const values = declarations.valuesOf(one).map((value) => `\n// of ${textOf(value)}`);
        return `${alias}${textOf(one)}${values.join('')}`;
      });
    return `\n## ${entry}\n\n\`\`\`ts\n${texts.join('\n\n')}\n\`\`\`\n`;
  });
  return `${HEAD}${parts.join('')}`;
}

/** Writes `generated/` from boards and rules: npm run dashboards. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedFiles } from './generate.ts';

const folder = join(import.meta.dirname, 'generated');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [name, content] of generatedFiles()) writeFileSync(join(folder, name), content);

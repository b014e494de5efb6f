/**
 * Makes `dist` a package: `npm run build` compiles into it (Node.js refuses to strip types below `node_modules`, so
 * the published package alone needs a build), this writes its package.json, bundles the pages and copies what is not
 * code.
 */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundledFile, bundleFromSource, PAGES } from '../harness/pages/bundle.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const { name, version, description, license, type, engines, dependencies, ...others } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as Record<string, unknown>;
const manifest = {
  name,
  version,
  description,
  license,
  type,
  engines,
  bin: { svcnet: './harness/cli.js' },
  exports: {
    '.': { types: './harness/index.d.ts', default: './harness/index.js' },
    './testcontainers': {
      types: './harness/testcontainers.d.ts',
      default: './harness/testcontainers.js',
    },
    './k6': { types: './scenarios/k6/lib/index.d.ts', default: './scenarios/k6/lib/index.js' },
  },
  dependencies,
  peerDependencies: others['peerDependencies'],
  peerDependenciesMeta: others['peerDependenciesMeta'],
};
writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
for (const file of ['README.md', 'LICENSE']) copyFileSync(join(root, file), join(dist, file));
for (const page of PAGES) {
  const bundle = await bundleFromSource(page);
  for (const kind of ['script', 'style'] as const)
    writeFileSync(join(dist, 'harness', 'pages', bundledFile(page, kind)), bundle[kind]);
}
cpSync(join(root, 'dashboards', 'generated'), join(dist, 'dashboards', 'generated'), { recursive: true });

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
/** What of the repository's own package.json is true of the published one as well. */
const KEPT = [
  'name',
  'version',
  'description',
  'keywords',
  'license',
  'type',
  'engines',
  'dependencies',
  'peerDependencies',
  'peerDependenciesMeta',
  'publishConfig',
];
const source = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown> & {
  readonly exports: Readonly<Record<string, string>>;
};
const manifest = {
  ...Object.fromEntries(KEPT.map((key) => [key, source[key]])),
  // Without './': npm publishes a package whose command begins with it as one without commands.
  bin: { svcnet: 'harness/bin.js' },
  exports: Object.fromEntries(
    Object.entries(source.exports).map(([entry, path]) => {
      const built = path.replace(/\.[jt]s$/, '');
      return [entry, { types: `${built}.d.ts`, default: `${built}.js` }];
    }),
  ),
};
writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
for (const file of ['README.md', 'CHANGELOG.md', 'LICENSE']) copyFileSync(join(root, file), join(dist, file));
for (const page of PAGES) {
  const bundle = await bundleFromSource(page);
  for (const kind of ['script', 'style'] as const)
    writeFileSync(join(dist, 'harness', 'pages', bundledFile(page, kind)), bundle[kind]);
}
cpSync(join(root, 'dashboards', 'generated'), join(dist, 'dashboards', 'generated'), { recursive: true });

/**
 * Makes `dist` a package: `npm run build` compiles into it, as Node.js strips no types below `node_modules`; this writes its
 * package.json, bundles the pages and copies the rest. `--release`: it must name its repository.
 */
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundledFile, bundleFromSource, PAGES } from '../harness/web/pages/bundle.ts';
import { publishedManifest, SHIPPED, type SourceManifest } from './manifest.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');
const source = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as SourceManifest;
const manifest = publishedManifest(source, process.env, { release: process.argv.includes('--release') });
// Tried examples have packages and clusters of their own.
const isShipped = (path: string) => !/^(?:node_modules|\..*|dist)$/.test(basename(path));
for (const path of SHIPPED)
  cpSync(join(root, path), join(dist, path), { recursive: true, filter: isShipped });
for (const page of PAGES) {
  const bundle = await bundleFromSource(page);
  for (const kind of ['script', 'style'] as const)
    writeFileSync(join(dist, 'harness', 'web', 'pages', bundledFile(page, kind)), bundle[kind]);
}
const DISSECTOR = join('harness', 'places', 'links', 'tap', 'svcnet.lua');
copyFileSync(join(root, DISSECTOR), join(dist, DISSECTOR));
cpSync(join(root, 'dashboards', 'generated'), join(dist, 'dashboards', 'generated'), { recursive: true });
// All of it, also what looks like a project's own.
const files = readdirSync(dist).filter((name) => name !== 'package.json');
writeFileSync(join(dist, 'package.json'), `${JSON.stringify({ ...manifest, files }, undefined, 2)}\n`);

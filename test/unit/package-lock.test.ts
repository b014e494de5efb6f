/** Every package is known by its hash, and runs nothing when it is installed. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}
interface Locked extends Partial<Manifest> {
  readonly version: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly hasInstallScript?: boolean;
  readonly engines?: unknown;
}

/** They work without their scripts. */
const UNAPPROVED = ['cpu-features', 'protobufjs', 'ssh2'];

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8')) as unknown;
const manifest = read('package.json') as Manifest;
const { '': root, ...packages } = (read('package-lock.json') as { packages: Record<string, Locked> })
  .packages;
const locked = Object.entries(packages);

test('the lock file matches the manifest, whose versions are exact', () => {
  for (const kind of ['dependencies', 'devDependencies'] as const) {
    expect(root?.[kind]).toEqual(manifest[kind]);
    for (const [name, version] of Object.entries(manifest[kind])) {
      expect(version, name).toMatch(/^\d+\.\d+\.\d+/);
      expect(packages[`node_modules/${name}`]?.version).toBe(version);
    }
  }
});

test('every package has its hash, programs for other platforms included', () => {
  const unknown = locked.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
  expect(unknown.map(([path]) => path)).toEqual([]);
});

test('no package comes from an address of its own', () => {
  expect(locked.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
});

test('the packages with install scripts are exactly those that were decided about', () => {
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript === true);
  const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ''));
  expect(new Set(names)).toEqual(new Set([...Object.keys(manifest.allowScripts), ...UNAPPROVED]));
});

// npm leaves out an optional package whose engines its own Node.js is not; nodes and chains run on the package's own. `npm
// install` writes the engines again: remove them from the lock file.
test('the engine of the chain is installed whatever Node.js runs npm', () => {
  const engines = locked.filter(([path]) => path.includes('@nomicfoundation/edr-'));
  expect(engines.length).toBeGreaterThan(5);
  for (const [path, { engines: asked }] of engines) expect(asked, path).toBeUndefined();
});

/** A tag can be moved: what the release runs and what containers begin with is named by its content. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(`${ROOT}/${path}`, 'utf8');
const WORKFLOWS = readdirSync(`${ROOT}/.github/workflows`).map((name) => `.github/workflows/${name}`);

/** Image → why it has no digest. */
const BY_VERSION: Readonly<Record<string, string>> = {
  'node:24-bookworm-slim':
    'engines without a registry know it by this name alone; the provenance of a release names the digest that was used',
  'prom/prometheus:v3.5.0': 'no digest was confirmed by its registry; runs on request, without privileges',
  'grafana/grafana:12.1.0': 'as Prometheus',
  'grafana/k6:2.2.0': 'as Prometheus',
};

/** Images that the Dockerfile begins with, and that sources name. */
function images(): Set<string> {
  const bases = [...read('node/Dockerfile').matchAll(/^FROM (\S+)/gm)];
  const sources = readdirSync(`${ROOT}/harness`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [
      ...read(`harness/${path}`).matchAll(/'([a-z][\w.-]*\/[\w.-]+:v?\d[\w.-]*(?:@\S+)?)'/g),
    ]);
  return new Set([...bases, ...sources].map(([, image = '']) => image));
}

test('each action of a workflow is named by its commit, with its version beside it', () => {
  const uses = WORKFLOWS.flatMap((path) => read(path).match(/^.*\buses:.*$/gm) ?? []);
  expect(uses.length).toBeGreaterThan(5);
  for (const line of uses) expect(line).toMatch(/uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test('one action has one commit', () => {
  const pins = WORKFLOWS.flatMap((path) => [...read(path).matchAll(/uses: ([^@\s]+)@(\w+)/g)]);
  const commits = Map.groupBy(pins, ([, action]) => action);
  for (const [action, all] of commits)
    expect(new Set(all.map(([, , commit]) => commit)).size, action).toBe(1);
});

test('each image has a digest, or a version and a reason', () => {
  const byVersion = [...images()].filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image));
  expect(byVersion.toSorted()).toEqual(Object.keys(BY_VERSION).toSorted());
});

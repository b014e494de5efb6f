/** The image as the tests of this folder need it: built from the sources, without a package registry. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** @returns its name, which no other test has; it shares its layers with every other build of the same sources */
export function buildImage(name: string): string {
  const image = `svcnet-test-${name}-${process.pid}`;
  execFileSync(
    'docker',
    ['build', '-q', '-f', 'node/Dockerfile', '--build-arg', 'DEPENDENCIES=copied', '-t', image, '.'],
    { cwd: ROOT, env: { ...process.env, DOCKER_BUILDKIT: '0' }, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  return image;
}

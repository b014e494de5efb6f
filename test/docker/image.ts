/** The image as the tests of this folder need it: built from the sources, without a package registry. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/**
 * @returns its name, which no other test uses. With `SVCNET_TEST_IMAGE`, an image of these sources, it is another name of
 * that one: sending all dependencies to the engine takes half a minute, even when nothing has to be built.
 */
export function buildImage(name: string): string {
  const image = `svcnet-test-${name}-${process.pid}`;
  const built = process.env['SVCNET_TEST_IMAGE'];
  if (built !== undefined) {
    docker('tag', built, image);
    return image;
  }
  execFileSync(
    'docker',
    ['build', '-q', '-f', 'node/Dockerfile', '--build-arg', 'DEPENDENCIES=copied', '-t', image, '.'],
    { cwd: ROOT, env: { ...process.env, DOCKER_BUILDKIT: '0' }, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  return image;
}

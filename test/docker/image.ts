/** The image as the tests of this folder need it: built from the sources, once for all of them. Run by itself it is built. */
import { execFileSync } from 'node:child_process';
import { Engine } from '../../harness/places/docker/engine/engine.ts';
import { ownImage } from '../../harness/places/docker/image.ts';

export function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** Its usual name goes to what `docker compose build` makes; an image without a name is removed with the last one derived. */
const NAME = 'svcnet-test-base';

/** The image that clusters of these sources use. */
async function built(): Promise<string> {
  const { id } = await ownImage(new Engine(), { onProgress: () => undefined });
  docker('tag', id, NAME);
  return id;
}

/** @returns name of an image like it that no other test uses, so that its containers can be told from those of others */
export async function buildImage(name: string): Promise<string> {
  const image = `svcnet-test-${name}-${process.pid}`;
  execFileSync('docker', ['build', '-q', '--label', `svcnet.test=${image}`, '-t', image, '-'], {
    input: `FROM ${await built()}\n`,
    env: { ...process.env, DOCKER_BUILDKIT: '0' },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  return image;
}

if (import.meta.main) process.stdout.write(`${await built()}\n`);

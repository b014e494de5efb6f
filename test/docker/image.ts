/** The image is built from the sources, once for all tests of this folder. Run by itself this file builds it. */
import { execFileSync } from 'node:child_process';
import { Engine } from '../../harness/places/docker/engine/engine.ts';
import { ownImage } from '../../harness/places/docker/image.ts';

export function docker(...args: string[]): string {
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** `docker compose build` takes the usual name; an image without a name is removed with the last one derived. */
const NAME = 'svcnet-test-base';

async function built(): Promise<string> {
  const { id } = await ownImage(new Engine(), { onProgress: () => undefined });
  docker('tag', id, NAME);
  return id;
}

/** @returns name of an image like it of one test, which tells its containers from those of others */
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

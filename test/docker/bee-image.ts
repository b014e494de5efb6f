import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pack } from 'tar-stream';
import { docker } from './kit.ts';

export async function buildBeeImage(name: string): Promise<void> {
  const context = pack();
  context.entry(
    { name: 'Dockerfile' },
    'FROM node:24-bookworm-slim\nCOPY bee /usr/local/bin/bee\nENTRYPOINT ["bee"]\n',
  );
  const binary = `${process.env['SVCNET_BEE_BINARY']}`.split(',')[0] ?? '';
  context.entry({ name: 'bee', mode: 0o755 }, readFileSync(binary));
  context.finalize();
  const stream = await docker.buildImage(Readable.from(context), { t: name });
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(stream, (error: Error | null) =>
      error === null ? resolve() : reject(error),
    );
  });
}

import { Readable } from 'node:stream';
import { HarnessError, messageOf } from '../../base/errors.ts';
import type { ImageWatch } from '../driver.ts';
import { CONFINED, UNPRIVILEGED } from './container.ts';
import type { Docker } from './engine/docker.ts';
import type { Progress } from './engine/documents.ts';
import { type Engine, engineError, statusOf, unless } from './engine/engine.ts';
import { containerLog } from './log.ts';
import { buildContext, canBuild, DOCKERFILE, dependenciesFor, sourcesHash } from './sources.ts';

const IMAGE = 'svcnet';
/** An image is found by what it was built from: its name may belong to another checkout. */
const SOURCES_LABEL = 'svcnet.sources';
const BUILD_COMMAND = `docker build -f ${DOCKERFILE} -t ${IMAGE} .`;
const PROGRAM_TIMEOUT_MS = 60_000;
const LINES_SHOWN = 15;

/** @returns image id, and what was done @throws HarnessError `IMAGE_FAILED`, `ENGINE_FAILED` */
export async function ownImage(
  engine: Engine,
  watch: ImageWatch,
): Promise<{ readonly id: string; readonly detail: string }> {
  if (!canBuild()) return installedImage(engine);
  const sources = sourcesHash();
  const known = await builtFrom(engine, sources);
  if (known !== undefined) return { id: known, detail: `${IMAGE} is up to date` };
  const dependencies = dependenciesFor(await engine.facts());
  const doing = `building ${IMAGE} from ${DOCKERFILE}`;
  watch.onProgress(doing);
  await follow(
    engine,
    (docker, onProgress) =>
      docker.buildImage(
        Readable.from(buildContext(dependencies)),
        {
          name: IMAGE,
          dockerfile: DOCKERFILE,
          args: { DEPENDENCIES: dependencies },
          labels: { [SOURCES_LABEL]: sources },
          signal: watch.signal,
        },
        onProgress,
      ),
    {
      onLine(line) {
        const [, step, steps] = /^Step (\d+)\/(\d+)/.exec(line) ?? [];
        if (step !== undefined) watch.onProgress(`${doing}, step ${step} of ${steps}`);
      },
      failed: (error, lines) => buildError(error, dependencies, lines),
    },
  );
  const id = await builtFrom(engine, sources);
  if (id === undefined)
    throw new HarnessError('IMAGE_FAILED', `image ${IMAGE} is gone right after its build`);
  return { id, detail: `${IMAGE} built` };
}

async function builtFrom(engine: Engine, sources: string): Promise<string | undefined> {
  const filters = { label: [`${SOURCES_LABEL}=${sources}`] };
  const images = await engine.ask((docker) => docker.images(filters));
  // Derived images have its labels too, but are newer.
  return images.toSorted((a, b) => a.Created - b.Created)[0]?.Id;
}

async function installedImage(engine: Engine): Promise<{ readonly id: string; readonly detail: string }> {
  const id = await idOf(engine, IMAGE);
  if (id !== undefined) return { id, detail: `${IMAGE} is there` };
  throw new HarnessError(
    'IMAGE_FAILED',
    `the engine has no image '${IMAGE}', and the installed package cannot build it`,
    { hint: `Build it in a clone of the repository: ${BUILD_COMMAND}` },
  );
}

export async function namedImage(engine: Engine, name: string, watch: ImageWatch): Promise<void> {
  if ((await idOf(engine, name)) !== undefined) return;
  const doing = `pulling ${name}`;
  watch.onProgress(doing);
  // Without a tag the engine would fetch all.
  const tagged = /[:@][^/]*$/.test(name) ? name : `${name}:latest`;
  await follow(engine, (docker, onProgress) => docker.pullImage(tagged, onProgress), {
    onLine: (line) => watch.onProgress(`${doing}: ${line}`),
    failed: (error) =>
      new HarnessError(
        'IMAGE_FAILED',
        `image '${name}' is not on the engine and cannot be pulled: ${messageOf(error).trim()}`,
        { cause: error, hint: `Check its name, or bring it to the engine: docker pull ${name}, docker load` },
      ),
  });
}

async function idOf(engine: Engine, name: string): Promise<string | undefined> {
  try {
    return (await engine.ask((docker) => docker.image(name))).Id;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

interface Following {
  readonly onLine: (line: string) => void;
  readonly failed: (error: unknown, lines: readonly string[]) => HarnessError;
}

async function follow(
  engine: Engine,
  start: (docker: Docker, onProgress: (progress: Progress) => void) => Promise<void>,
  { onLine, failed }: Following,
): Promise<void> {
  const lines: string[] = [];
  const note = ({ stream, status }: Progress) => {
    for (const line of (stream ?? status ?? '').split('\n').filter((text) => text.trim() !== '')) {
      lines.push(line);
      onLine(line);
    }
  };
  try {
    await engine.ask((docker) => start(docker, note));
  } catch (error) {
    throw failed(error instanceof HarnessError && error.cause !== undefined ? error.cause : error, lines);
  }
}

function buildError(error: unknown, dependencies: string, lines: readonly string[]): HarnessError {
  const sources = dependencies === 'copied' ? '' : ' and the package registry';
  return new HarnessError('IMAGE_FAILED', `image ${IMAGE} cannot be built: ${messageOf(error).trim()}`, {
    cause: error,
    hint: [
      ...lines.slice(-LINES_SHOWN).map((line) => `  ${line}`),
      `The build needs the base image of ${DOCKERFILE}${sources}. By hand: ${BUILD_COMMAND}`,
    ].join('\n'),
  });
}

export async function runProgram(
  engine: Engine,
  { image, args, labels }: { image: string; args: readonly string[]; labels: Record<string, string> },
): Promise<string> {
  return engine.ask(async (docker) => {
    const container = await docker.createContainer({
      Image: image,
      Cmd: args,
      User: UNPRIVILEGED,
      Labels: labels,
      HostConfig: { NetworkMode: 'none', ...CONFINED },
      NetworkDisabled: true,
    });
    try {
      await container.start().catch((error: unknown) => {
        throw new HarnessError(
          'BINARY_INVALID',
          `image ${image} cannot run '${args.join(' ')}': ${messageOf(engineError(error))}`,
          { cause: error },
        );
      });
      await container.ended(AbortSignal.timeout(PROGRAM_TIMEOUT_MS));
      return (await containerLog(engine, container.id).tail(Number.POSITIVE_INFINITY)).join('\n');
    } finally {
      await unless([404, 409], container.remove());
    }
  });
}

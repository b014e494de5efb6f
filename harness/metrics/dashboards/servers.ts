import { requestDirectly } from '../../base/direct.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { fileLog } from '../../base/logs/file-log.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { isAlive, spawnProgram } from '../../base/machine/processes.ts';
import { until } from '../../base/wait.ts';
import { Engine, remoteEngine, statusOf } from '../../places/docker/engine/engine.ts';
import { namedImage } from '../../places/docker/image.ts';
import type { Owner } from '../../places/docker/names.ts';
import { HOST, type ServerPlan, serverCommand, serverContainer } from './definition.ts';
import { findProgram, SERVERS, type ServerName } from './programs.ts';
import { endServer, type RunningServer } from './running.ts';

const READY_WITHIN_MS = 60_000;
const REQUEST_TIMEOUT_MS = 2000;
const LOG_LINES_SHOWN = 10;
const READINESS: Readonly<Record<ServerName, string>> = { prometheus: '/-/ready', grafana: '/api/health' };

export type ServerSource =
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'container'; readonly image: string };

export interface ServerRequest extends ServerPlan {
  readonly owner: Owner;
  readonly source: ServerSource;
  /** Of a program. */
  readonly log: string;
}

/**
 * A program here, else an image.
 * @param note hears of slow steps
 * @throws HarnessError `BINARY_INVALID`, `PROGRAM_NOT_FOUND` saying how to get it
 */
export async function findServer(
  name: ServerName,
  { flag, note }: { readonly flag: string | undefined; readonly note: (text: string) => void },
): Promise<ServerSource> {
  const path = findProgram(name, flag, process.env);
  if (path !== undefined) return { kind: 'program', path };
  const { title, image, remedy, variable } = SERVERS[name];
  const missing = (why: string, cause?: unknown) =>
    new HarnessError(
      'PROGRAM_NOT_FOUND',
      `${title} is not on the path, neither --${name} nor ${variable} names it, and ${why}`,
      { cause, hint: remedy },
    );
  const remote = remoteEngine();
  if (remote !== undefined) throw missing(`the Docker engine is that of another machine (${remote})`);
  try {
    await namedImage(new Engine(), image, { onProgress: note });
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    throw missing(`it cannot run in a container: ${error.message}`, error);
  }
  return { kind: 'container', image };
}

/**
 * Waits until it answers.
 * @throws HarnessError `PROCESS_FAILED` with its last log lines, `INTERRUPTED`
 */
export async function startServer(request: ServerRequest, signal: AbortSignal): Promise<RunningServer> {
  const { name, port } = request;
  const url = `http://${HOST}:${port}`;
  const server = { name, url, ...(await launch(request)) };
  try {
    await until(
      `${SERVERS[name].title} does not answer`,
      async (limit) => {
        if (!(await isRunning(server))) throw await ended(request);
        const why = await unreadiness(url + READINESS[name], limit);
        return why === undefined ? { done: undefined } : { missing: why };
      },
      { clock: MACHINE_CLOCK, timeoutMs: READY_WITHIN_MS, signal },
    );
    return server;
  } catch (error) {
    await endServer(server);
    throw error;
  }
}

async function launch(request: ServerRequest): Promise<Pick<RunningServer, 'process' | 'container'>> {
  const { source, owner, log } = request;
  if (source.kind === 'program') {
    const command = serverCommand(request, source.path);
    try {
      const options = { command, logFile: log, stopWithParent: false, compileCache: undefined };
      const { id } = await spawnProgram({ ...options, label: owner.token });
      return { process: id };
    } catch (error) {
      throw new HarnessError('PROCESS_FAILED', `${command.file}: ${messageOf(error)}`, { cause: error });
    }
  }
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const id = await new Engine().ask(async (docker) => {
    const container = await docker.createContainer(serverContainer(request, { owner, user }));
    await container.start();
    return container.id;
  });
  return { container: id };
}

export async function isRunning({ process, container }: RunningServer): Promise<boolean> {
  if (process !== undefined) return isAlive(process);
  if (container === undefined) return false;
  try {
    return (await new Engine().ask((docker) => docker.container(container).inspect())).State.Running;
  } catch (error) {
    if (statusOf(error) === 404) return false;
    throw error;
  }
}

async function unreadiness(url: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    using limit = MACHINE_CLOCK.deadline(REQUEST_TIMEOUT_MS, signal);
    const { statusCode, body } = await requestDirectly(url, { signal: limit.signal });
    await body.dump();
    return statusCode === 200 ? undefined : `${url} answers with ${statusCode}`;
  } catch (error) {
    return `${url}: ${messageOf(error)}`;
  }
}

/** @returns the error, with the last log lines */
export async function ended({
  name,
  source,
  log,
}: Pick<ServerRequest, 'name' | 'source' | 'log'>): Promise<HarnessError> {
  const { title } = SERVERS[name];
  if (source.kind === 'container') {
    return new HarnessError('PROCESS_FAILED', `the container of ${title} has ended by itself`);
  }
  // Its last lines may not be in the file yet.
  await MACHINE_CLOCK.sleep(50);
  const lines = await fileLog(log).tail(LOG_LINES_SHOWN);
  return new HarnessError('PROCESS_FAILED', `${title} has ended by itself`, {
    hint: [`end of ${log}:`, ...lines.map((line) => `  ${line}`)].join('\n'),
  });
}

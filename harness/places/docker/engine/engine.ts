import { HarnessError, messageOf } from '../../../base/errors.ts';
import { shownHost } from './connection.ts';
import { Docker, EngineRefusal } from './docker.ts';
import { succeedOnce } from './succeed-once.ts';

const API_MIN = '1.41';
/** An engine answers in milliseconds; behind a firewall, never. */
const OPEN_TIMEOUT_MS = 10_000;

export interface EngineFacts {
  /** `linux`, and the processor by Docker's name: `amd64`. */
  readonly os: string;
  readonly arch: string;
}

interface Opened extends EngineFacts {
  readonly docker: Docker;
}

export class Engine {
  readonly #opened = succeedOnce(() =>
    open().catch((error: unknown) => {
      throw engineError(error);
    }),
  );

  /** @throws HarnessError `ENGINE_FAILED`: no engine, no permission, or the engine's refusal */
  async ask<T>(work: (docker: Docker) => Promise<T>): Promise<T> {
    const { docker } = await this.#opened();
    try {
      return await work(docker);
    } catch (error) {
      throw engineError(error);
    }
  }

  facts(): Promise<EngineFacts> {
    return this.#opened();
  }
}

async function open(): Promise<Opened> {
  const docker = new Docker();
  const deadline = AbortSignal.timeout(OPEN_TIMEOUT_MS);
  const { ApiVersion, Version, Os, Arch } = await docker.version(deadline).catch((error: unknown) => {
    if (!deadline.aborted) throw error;
    const hint = HINTS.absent;
    throw new HarnessError('ENGINE_FAILED', `${engineAddress()} has not answered within 10 s`, { hint });
  });
  if (ApiVersion.localeCompare(API_MIN, 'en', { numeric: true }) < 0) {
    throw new HarnessError(
      'ENGINE_FAILED',
      `${engineAddress()} is Docker ${Version} with API ${ApiVersion}, expected API ${API_MIN} or newer`,
      { hint: 'Docker 20.10 is the first one with it.' },
    );
  }
  return { docker, os: Os, arch: Arch };
}

export function statusOf(error: unknown): number | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof EngineRefusal) return cause.statusCode;
  }
  return undefined;
}

/** Tolerates a target that is gone or already in the wanted state. @param statuses that are no failures */
export async function unless(statuses: readonly number[], work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (statuses.includes(statusOf(error) ?? 0)) return false;
    throw error;
  }
}

export function remoteEngine(dockerHost = process.env['DOCKER_HOST']): string | undefined {
  if (dockerHost === undefined || dockerHost === '' || /^(unix|npipe):/.test(dockerHost)) return undefined;
  const url = dockerHost.includes('//') ? dockerHost : `tcp://${dockerHost}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  const local = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  return local ? undefined : hostname;
}

export function engineAddress(): string {
  const host = process.env['DOCKER_HOST'];
  return host === undefined || host === ''
    ? 'the Docker engine of this machine'
    : `DOCKER_HOST ${shownHost(host)}`;
}

const HINTS = {
  absent:
    'Start Docker, or name another engine in DOCKER_HOST. Without Docker: --driver process, or --driver embedded.',
  permission:
    "Only root and members of the socket's group may use it: sudo usermod -aG docker $USER, then log in again.",
} as const;
const ABSENT = [
  'ENOENT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  'ENOTSOCK',
];

export function engineError(error: unknown): HarnessError {
  if (error instanceof HarnessError) return error;
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM') {
    return failed(`${engineAddress()}: permission denied (${code})`, HINTS.permission, error);
  }
  if (ABSENT.includes(code)) {
    return failed(`${engineAddress()} cannot be reached: ${messageOf(error)}`, HINTS.absent, error);
  }
  if (statusOf(error) !== undefined) {
    return failed(`the Docker engine has refused: ${messageOf(error)}`, undefined, error);
  }
  return failed(`${engineAddress()}: ${messageOf(error)}`, HINTS.absent, error);
}

function failed(message: string, hint: string | undefined, cause: unknown): HarnessError {
  return new HarnessError('ENGINE_FAILED', message, { cause, hint });
}

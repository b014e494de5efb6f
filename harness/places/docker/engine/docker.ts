/**
 * Paths without a version get the engine's newest API, because engines refuse old versions. Source: Docker Engine API
 * reference.
 */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { connectEngine, engineTarget } from './connection.ts';
import type {
  ContainerEntry,
  ContainerSpec,
  ContainerState,
  ContainerStats,
  EngineVersion,
  Filters,
  HostConfig,
  ImageEntry,
  LogRange,
  NetworkEntry,
  Progress,
  VolumeEntry,
} from './documents.ts';

interface Asked {
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly json?: unknown;
  readonly archive?: Buffer | Readable;
  readonly signal?: AbortSignal | undefined;
}

export class EngineRefusal extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.name = 'EngineRefusal';
    this.statusCode = statusCode;
  }
}

export class Docker {
  readonly #agent: Dispatcher;
  readonly #origin: string;

  /** Connects on first use. @throws HarnessError `ENGINE_FAILED`: the variables name no engine */
  constructor() {
    const { agent, origin } = connectEngine(engineTarget());
    this.#agent = agent;
    this.#origin = origin;
  }

  version(signal: AbortSignal): Promise<EngineVersion> {
    return this.#json('GET', '/version', { signal });
  }

  containers(filters: Filters): Promise<readonly ContainerEntry[]> {
    return this.#json('GET', '/containers/json', { query: { all: true, ...filtered(filters) } });
  }

  container(id: string) {
    const at = `/containers/${encodeURIComponent(id)}`;
    return {
      id,
      inspect: () => this.#json<ContainerState>('GET', `${at}/json`),
      /** 304: it is running. */
      start: () => this.#done('POST', `${at}/start`),
      /** 304: it is not running. @param graceSeconds before it is killed */
      stop: (graceSeconds: number) => this.#done('POST', `${at}/stop`, { query: { t: graceSeconds } }),
      kill: () => this.#done('POST', `${at}/kill`, { query: { signal: 'SIGKILL' } }),
      pause: () => this.#done('POST', `${at}/pause`),
      unpause: () => this.#done('POST', `${at}/unpause`),
      limit: (limits: Required<Pick<HostConfig, 'Memory' | 'MemorySwap'>>) =>
        this.#done('POST', `${at}/update`, { json: limits }),
      remove: () => this.#done('DELETE', at, { query: { force: true, v: true } }),
      ended: (signal?: AbortSignal) =>
        this.#done('POST', `${at}/wait`, { query: { condition: 'not-running' }, signal }),
      stats: () =>
        this.#json<ContainerStats>('GET', `${at}/stats`, { query: { stream: false, 'one-shot': true } }),
      putArchive: (archive: Buffer, path: string) =>
        this.#done('PUT', `${at}/archive`, { query: { path }, archive }),
      log: async (range: LogRange) => {
        const { body } = await this.#request('GET', `${at}/logs`, { query: { ...LOG, ...range } });
        return Buffer.from(await body.arrayBuffer());
      },
      /** Follows until the container ends or the stream is destroyed. */
      followLog: async (range: LogRange): Promise<Readable> => {
        const query = { ...LOG, ...range, follow: true };
        const { body } = await this.#request('GET', `${at}/logs`, { query });
        // Its reader sees the failure, or has destroyed it.
        return body.on('error', () => undefined);
      },
    };
  }

  async createContainer({ name, ...json }: ContainerSpec): Promise<Container> {
    const query = name === undefined ? {} : { name };
    const { Id } = await this.#json<{ Id: string }>('POST', '/containers/create', { query, json });
    return this.container(Id);
  }

  networks(filters: Filters): Promise<readonly NetworkEntry[]> {
    return this.#json('GET', '/networks', { query: filtered(filters) });
  }

  createNetwork(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    const json = { Name: name, Driver: 'bridge', CheckDuplicate: true, Labels: labels };
    return this.#done('POST', '/networks/create', { json });
  }

  connectNetwork(network: string, container: string, aliases: readonly string[]): Promise<void> {
    const json = { Container: container, EndpointConfig: { Aliases: aliases } };
    return this.#done('POST', `/networks/${encodeURIComponent(network)}/connect`, { json });
  }

  disconnectNetwork(network: string, container: string): Promise<void> {
    const json = { Container: container, Force: true };
    return this.#done('POST', `/networks/${encodeURIComponent(network)}/disconnect`, { json });
  }

  removeNetwork(id: string): Promise<void> {
    return this.#done('DELETE', `/networks/${encodeURIComponent(id)}`);
  }

  async volumes(filters: Filters): Promise<readonly VolumeEntry[]> {
    const query = filtered(filters);
    const { Volumes } = await this.#json<{ Volumes: VolumeEntry[] | null }>('GET', '/volumes', { query });
    return Volumes ?? [];
  }

  removeVolume(name: string): Promise<void> {
    return this.#done('DELETE', `/volumes/${encodeURIComponent(name)}`, { query: { force: true } });
  }

  images(filters: Filters): Promise<readonly ImageEntry[]> {
    return this.#json('GET', '/images/json', { query: filtered(filters) });
  }

  image(name: string): Promise<Pick<ImageEntry, 'Id'>> {
    return this.#json('GET', `/images/${name.split('/').map(encodeURIComponent).join('/')}/json`);
  }

  buildImage(context: Readable, options: BuildOptions, onProgress: OnProgress): Promise<void> {
    const { name, dockerfile, args, labels, signal } = options;
    const query = {
      t: name,
      dockerfile,
      buildargs: JSON.stringify(args),
      labels: JSON.stringify(labels),
      forcerm: true,
    };
    return this.#follow('/build', { query, archive: context, signal }, onProgress);
  }

  /** @param name with a tag: otherwise the engine fetches all tags */
  pullImage(name: string, onProgress: OnProgress): Promise<void> {
    return this.#follow('/images/create', { query: { fromImage: name } }, onProgress);
  }

  /** A failure is one of the progress lines. */
  async #follow(path: string, asked: Asked, onProgress: OnProgress): Promise<void> {
    const { body } = await this.#request('POST', path, asked);
    const read = (line: string) => {
      if (line.trim() === '') return;
      const progress = JSON.parse(line) as Progress;
      if (progress.error !== undefined) throw new Error(progress.error);
      onProgress(progress);
    };
    let unfinished = '';
    for await (const piece of body.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (unfinished + piece).split('\n');
      unfinished = lines.pop() ?? '';
      for (const line of lines) read(line);
    }
    read(unfinished);
  }

  async #done(method: Dispatcher.HttpMethod, path: string, asked: Asked = {}): Promise<void> {
    const { body } = await this.#request(method, path, asked);
    await body.dump();
  }

  async #json<T>(method: Dispatcher.HttpMethod, path: string, asked: Asked = {}): Promise<T> {
    const { body } = await this.#request(method, path, asked);
    return (await body.json()) as T;
  }

  async #request(
    method: Dispatcher.HttpMethod,
    path: string,
    { query = {}, json, archive, signal }: Asked,
  ): Promise<Dispatcher.ResponseData> {
    const answer = await this.#agent.request({
      origin: this.#origin,
      path,
      method,
      query,
      signal: signal ?? null,
      ...(json === undefined ? {} : { body: JSON.stringify(json), headers: JSON_BODY }),
      ...(archive === undefined ? {} : { body: archive, headers: ARCHIVE_BODY }),
    });
    const { statusCode, body } = answer;
    // Everything else, with 304 for what was so before, is an answer that the caller may tolerate.
    if (statusCode >= 200 && statusCode < 300) return answer;
    throw new EngineRefusal(statusCode, messageIn(await body.text()) || `HTTP status ${statusCode}`);
  }
}

export type Container = ReturnType<Docker['container']>;

interface BuildOptions {
  readonly name: string;
  readonly dockerfile: string;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

type OnProgress = (progress: Progress) => void;

const LOG = { stdout: true, stderr: true, timestamps: true } as const;
const JSON_BODY = { 'content-type': 'application/json' } as const;
const ARCHIVE_BODY = { 'content-type': 'application/x-tar' } as const;

function filtered(filters: Filters): { readonly filters: string } {
  return { filters: JSON.stringify(filters) };
}

function messageIn(body: string): string {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    if (typeof message === 'string') return message.trim();
  } catch {
    // Not JSON: the text is the message.
  }
  return body.trim();
}

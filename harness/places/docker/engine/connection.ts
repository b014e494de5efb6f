/** Connects as Docker's client does to DOCKER_HOST: socket, TCP, TLS with a client certificate, or `ssh`. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Duplex } from 'node:stream';
import { Agent, type buildConnector, type Dispatcher } from 'undici';
import { HarnessError, messageOf } from '../../../base/errors.ts';

const PROGRAM = 'ssh';
/** Nobody could answer questions below a progress display. */
const OPTIONS = ['-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10'] as const;
const REMOTE_COMMAND = ['docker', 'system', 'dial-stdio'] as const;
const STDERR_MAX = 2000;

const SOCKET = '/var/run/docker.sock';
const DESKTOP_SOCKET = '.docker/run/docker.sock';
const PORT = { plain: '2375', tls: '2376' } as const;
const CONNECT_TIMEOUT_MS = 10_000;
const EXPECTED = 'expected unix:///PATH, tcp://HOST:PORT, https://HOST:PORT or ssh://[USER@]HOST[:PORT]';

export interface EngineVariables {
  readonly DOCKER_HOST?: string | undefined;
  /** Not empty: `tcp` is TLS. */
  readonly DOCKER_TLS_VERIFY?: string | undefined;
  /** The folder of ca.pem, cert.pem and key.pem; default: `~/.docker`. */
  readonly DOCKER_CERT_PATH?: string | undefined;
}

export type EngineTarget =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'tcp'; readonly origin: string }
  | { readonly kind: 'tls'; readonly origin: string; readonly certificates: string }
  | ({ readonly kind: 'ssh' } & SshTarget);

/** @throws HarnessError `ENGINE_FAILED`: DOCKER_HOST names no engine */
export function engineTarget(variables: EngineVariables = process.env): EngineTarget {
  const { DOCKER_HOST: host = '', DOCKER_TLS_VERIFY: verify = '', DOCKER_CERT_PATH: folder = '' } = variables;
  if (host === '') return { kind: 'socket', path: ownSocket() };
  const address = host.includes('://') ? host : `tcp://${host}`;
  if (!URL.canParse(address)) throw invalid(host);
  const { protocol, hostname, port, username, pathname } = new URL(address);
  if (protocol === 'unix:' && hostname === '' && pathname !== '')
    return { kind: 'socket', path: decodeURIComponent(pathname) };
  if (hostname === '') throw invalid(host);
  if (protocol === 'ssh:') {
    if (pathname !== '' && pathname !== '/') throw invalid(host);
    return { kind: 'ssh', host: hostname.replace(/^\[|\]$/g, ''), user: decodeURIComponent(username), port };
  }
  if (!['tcp:', 'http:', 'https:'].includes(protocol)) throw invalid(host);
  if (protocol === 'https:' || verify !== '') {
    const certificates = folder === '' ? join(homedir(), '.docker') : folder;
    return { kind: 'tls', origin: `https://${hostname}:${portOf(address, PORT.tls)}`, certificates };
  }
  return { kind: 'tcp', origin: `http://${hostname}:${portOf(address, PORT.plain)}` };
}

/** URLs drop the default port of `http` and `https`. */
function portOf(address: string, absent: string): string {
  return new URL(address.replace(/^\w+:/, 'tcp:')).port || absent;
}

function ownSocket(): string {
  const desktop = join(homedir(), DESKTOP_SOCKET);
  return existsSync(desktop) ? desktop : SOCKET;
}

/** The user of `ssh://me@host` shows whose keys are used; a password is hidden. */
export function shownHost(host: string): string {
  return host.replace(/(?<=\/\/[^/@:]*:)[^/@]*(?=@)/, '…');
}

function invalid(host: string): HarnessError {
  return new HarnessError(
    'ENGINE_FAILED',
    `DOCKER_HOST ${shownHost(host)} is not an address of an engine, ${EXPECTED}`,
  );
}

/**
 * @returns an agent, and the origin that precedes the paths of its requests
 * @throws HarnessError `ENGINE_FAILED`: no certificate
 */
export function connectEngine(target: EngineTarget): { readonly origin: string; readonly agent: Dispatcher } {
  const origin = 'origin' in target ? target.origin : 'http://docker';
  // Waiting for a container or following its log has no time limit.
  return { origin, agent: new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: connectorOf(target) }) };
}

function connectorOf(target: EngineTarget): buildConnector.BuildOptions | buildConnector.connector {
  if (target.kind === 'ssh') return dialOverSsh(target);
  const options = { timeout: CONNECT_TIMEOUT_MS };
  if (target.kind === 'socket') return { ...options, socketPath: target.path };
  return target.kind === 'tls' ? { ...options, ...certificates(target.certificates) } : options;
}

function certificates(folder: string): { ca: Buffer; cert: Buffer; key: Buffer } {
  const read = (name: string) => {
    try {
      return readFileSync(join(folder, name));
    } catch (cause) {
      throw new HarnessError('ENGINE_FAILED', `no certificate for the engine: ${messageOf(cause)}`, {
        cause,
        hint: 'DOCKER_CERT_PATH names the folder of ca.pem, cert.pem and key.pem.',
      });
    }
  };
  return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') };
}

interface SshTarget {
  readonly host: string;
  readonly user: string;
  readonly port: string;
}

/**
 * `docker system dial-stdio` joins its standard streams to the engine. Keys, hosts and aliases are those of the user's
 * `ssh`. @returns opens a connection in a process of its own
 */
function dialOverSsh({ host, user, port }: SshTarget): buildConnector.connector {
  const args = [
    ...OPTIONS,
    ...(user === '' ? [] : ['-l', user]),
    ...(port === '' ? [] : ['-p', port]),
    '--',
    host,
    ...REMOTE_COMMAND,
  ];
  return (_options, connected) => {
    const child = spawn(PROGRAM, args);
    child.once('error', (error) => connected(error, null));
    // The HTTP client uses only what every duplex stream has, and what `streamOf` defines.
    child.once('spawn', () => connected(null, streamOf(child) as unknown as Socket));
  };
}

function streamOf(child: ChildProcessWithoutNullStreams): Duplex {
  const stream = new Duplex({
    read: () => void child.stdout.resume(),
    write: (data: Buffer, _encoding, done) => void child.stdin.write(data, () => done()),
    final: (done) => void child.stdin.end(() => done()),
    destroy(error, done) {
      child.kill();
      done(error);
    },
  });
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => {
    if (!stream.push(data)) child.stdout.pause();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_MAX);
  });
  child.stdin.on('error', () => undefined);
  child.on('close', (code) => {
    if (code === 0) stream.push(null);
    else stream.destroy(new Error(`${PROGRAM} has ended with code ${code}: ${stderr.trim()}`));
  });
  // An idle connection does not keep this process alive.
  const parts = [child, child.stdin, child.stdout, child.stderr] as Partial<Socket>[];
  const each = (method: 'ref' | 'unref') => () => {
    for (const part of parts) part[method]?.();
    return stream;
  };
  return Object.assign(stream, { ref: each('ref'), unref: each('unref') });
}

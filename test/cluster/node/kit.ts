import { createCipheriv, createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dispatcher } from 'undici';
import { afterAll } from 'vitest';
import type { Clock } from '../../../formats/clock.ts';
import { requestDirectly } from '../../../harness/base/direct.ts';
import { checkPortsFree, pickFreePorts } from '../../../harness/base/machine/ports.ts';
import type { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { parseDefinition } from '../../../harness/cluster/plan/definition.ts';
import { wantedPorts } from '../../../harness/cluster/plan/ports.ts';
import type { ChunkHolder } from '../../../harness/inspect/ledger/ledger.ts';
import { until } from '../../../harness/scenario.ts';

/** For what takes a moment on an idle machine. */
const EVENTUALLY_MS = 120_000;
const HEADS_AT_ONCE = 64;

/** Removed after the last test of the file. */
export function stateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-node-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function speakSwarm(node: ClusterNode): Promise<void> {
  await node.stop();
  const file = join(node.dataDir, 'config.yaml');
  const config = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...config, 'api-dialect': 'swarm' }));
  await node.start();
}

export function bytesOf(name: string, length: number): Uint8Array {
  const key = createHash('sha256').update(name).digest();
  const stream = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  return new Uint8Array(stream.update(Buffer.alloc(length)));
}

export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly json: Record<string, unknown>;
}

interface Asked {
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array | string;
}

/** Every status is an answer. */
export async function http(
  node: Pick<ClusterNode, 'api'>,
  path: string,
  asked: Asked = {},
): Promise<HttpReply> {
  const { method = 'GET', headers = {}, body } = asked;
  const answer = await requestDirectly(`${node.api}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const bytes = new Uint8Array(await answer.body.arrayBuffer());
  const isJson = bytes.length > 0 && String(answer.headers['content-type']).startsWith('application/json');
  return {
    status: answer.statusCode,
    headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])),
    body: bytes,
    json: isJson ? (JSON.parse(Buffer.from(bytes).toString('utf8')) as Record<string, unknown>) : {},
  };
}

export function holders(nodes: readonly ClusterNode[]): ChunkHolder[] {
  return nodes.map(({ name, overlay, chunks }) => ({
    name,
    overlay,
    hasChunk: (address: string, signal: AbortSignal) => chunks.has(address, signal),
  }));
}

export async function heldBy(nodes: readonly ClusterNode[], chunks: readonly string[]): Promise<string[]> {
  const signal = AbortSignal.timeout(60_000);
  const held: string[] = [];
  for (let from = 0; from < chunks.length; from += HEADS_AT_ONCE) {
    const some = chunks.slice(from, from + HEADS_AT_ONCE);
    const has = await Promise.all(
      some.map(async (chunk) => {
        for (const node of nodes) if (await node.chunks.has(chunk, signal)) return true;
        return false;
      }),
    );
    held.push(...some.filter((_, index) => has[index]));
  }
  return held;
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

export function eventually(
  what: string,
  probe: () => Promise<string | undefined>,
  timeoutMs = EVENTUALLY_MS,
  clock?: Clock,
): Promise<true> {
  return until<true>(
    what,
    async () => {
      const missing = await probe();
      return missing === undefined ? { done: true } : { missing };
    },
    { timeoutMs, ...(clock === undefined ? {} : { clock }) },
  );
}

export function eventuallyIn(cluster: () => Pick<Cluster, 'clock'>) {
  return (what: string, probe: () => Promise<string | undefined>, timeoutMs = EVENTUALLY_MS) =>
    eventually(what, probe, timeoutMs, cluster().clock);
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** In bytes, without the pages of files, which are the system's cache. */
export function residentBytes(pid: number): number {
  const line = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (line?.[1] === undefined) throw new Error(`process ${pid} has no memory`);
  return Number(line[1]) * 1024;
}

export function pidOf(node: ClusterNode): number {
  if (node.pid === undefined) throw new Error(`${node.name} does not run`);
  return node.pid;
}

export async function metric(node: Pick<ClusterNode, 'api'>, name: string): Promise<number> {
  const text = Buffer.from((await http(node, '/metrics')).body).toString();
  return Number(new RegExp(`^svc_${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

export async function reserveSize(node: ClusterNode): Promise<number> {
  return Number((await http(node, '/status')).json['reserveSize']);
}

/** For two nodes and a chain. */
export async function freeRange(): Promise<number> {
  for (const ports of await pickFreePorts(10)) {
    const isFree = await checkPortsFree(wantedPorts(parseDefinition({ nodes: 2, ports }, 'options'))).then(
      () => true,
      () => false,
    );
    if (isFree) return ports;
  }
  throw new Error('ten ranges in a row are in use');
}

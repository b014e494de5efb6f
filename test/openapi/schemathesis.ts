/**
 * All phases, bounded in time, against a node of ours in either dialect, with its own document and examples of what it has.
 * No request may cause a status from 500 on, except those of the operation's row with its message, and few operations may
 * only refuse.
 *
 * Usage: node test/openapi/schemathesis.ts [PROGRAM-OF-SCHEMATHESIS] [SECONDS-PER-DIALECT]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { type Dialect, dialectOf } from '../../node/api/dialect.ts';
import { ApiError, type ApiErrorCode, errorBody, statusOf } from '../../node/api/errors.ts';
import { refusalsOf } from '../../node/api/route/openapi.ts';
import { ROUTES } from '../../node/api/routes/table.ts';
import { type Document, examplesOf, give, WITHDRAWAL_ADDRESS } from './examples.ts';

const CHECKS = 'status_code_conformance,content_type_conformance,response_schema_conformance';
const SECONDS_DEFAULT = 40;
const GRACE_SECONDS = 180;
/** They would change or end the tested node, or never answer. */
const LEFT_OUT = /^\/(connect|peers\/\{|loggers\/\{exp\}\/|rchash|chunks\/stream)|subscribe/;
/** Records below each other are no JSON document. */
const LINES = /^\/pins\/check/;
/** Share of operations that may refuse everything. */
const REFUSING_MAX = 0.1;

/** On a cluster that is well, and why. */
const REFUSING: Readonly<Record<string, string>> = {
  'DELETE /stake': 'takes stake back from a contract that its owner has paused',
  'DELETE /transactions/{txHash}': 'cancels what is not mined; here transactions are mined at once',
};

const [program = 'st', seconds = String(SECONDS_DEFAULT)] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'svcnet-openapi-'));

async function tested(net: Cluster): Promise<string[]> {
  const [node] = net.nodes as readonly [ClusterNode];
  const document = (await (await fetch(`${node.api}/openapi.json`)).json()) as Document;
  for (const path of Object.keys(document.paths)) {
    if (LEFT_OUT.test(path) || (node.dialect === 'swarm' && LINES.test(path))) delete document.paths[path];
  }
  give(document, await examplesOf(net));
  const file = join(folder, `${node.dialect}.json`);
  writeFileSync(file, JSON.stringify(document));
  const seen = new Seen(document, dialectOf(node.dialect === 'swarm' ? 'swarm' : 'svc'));
  const server = await proxy(node.api, seen);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const args = ['run', file, '--url', url, '--checks', CHECKS, '--max-time', seconds, '--warnings', 'off'];
  const child = spawn(program, [...args, '--no-color', '--continue-on-failure', '--seed', '1'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: (Number(seconds) + GRACE_SECONDS) * 1000,
  });
  const [code] = (await once(child, 'close')) as [number | null];
  server.close();
  server.closeAllConnections();
  return [...(code === 0 ? [] : [`schemathesis ended with ${code}`]), ...seen.problems(node.dialect)];
}

/** By the operation's row: status → messages. */
function failuresOf(method: string, path: string, dialect: Dialect): ReadonlyMap<number, readonly string[]> {
  const canonical = path.replace(new RegExp(`^/${dialect.segment}(?=/|$)`), '/svc');
  const row = ROUTES.find((one) => one.method === method.toUpperCase() && one.path === canonical);
  // Names besides: a service that the node lacks would look them up.
  const allowed = new Set<ApiErrorCode>([...(row?.serverErrors ?? []), 'SERVICE_UNAVAILABLE']);
  const refusals = row === undefined ? [] : refusalsOf(row, dialect);
  const errors = refusals.filter((code) => allowed.has(code)).map((code) => new ApiError(code));
  return new Map(
    [...Map.groupBy(errors, statusOf)].map(([status, caused]) => [
      status,
      caused.map((error) => String(errorBody(error, dialect)['message'])),
    ]),
  );
}

class Seen {
  readonly #operations: readonly {
    readonly name: string;
    readonly method: string;
    readonly path: RegExp;
    /** Status from 500 on → messages. */
    readonly declared: ReadonlyMap<number, readonly string[]>;
  }[];
  readonly #statuses = new Map<string, Set<number>>();
  readonly #failures = new Set<string>();
  #answers = 0;

  constructor({ paths }: Document, dialect: Dialect) {
    const literalFirst = Object.entries(paths).toSorted(
      ([a], [b]) => a.split('{').length - b.split('{').length,
    );
    this.#operations = literalFirst.flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path: new RegExp(`^${path.replace(/\{path\}/, '.*').replace(/\{[^}]+\}/g, '[^/]+')}$`),
        declared: failuresOf(method, path, dialect),
      })),
    );
  }

  add(method: string, target: string, { status, body }: { status: number; body: Buffer }): void {
    this.#answers += 1;
    const path = target.replace(/\?.*$/, '').replace(/^\/v1(?=\/)/, '');
    const operation = this.#operations.find((one) => one.method === method && one.path.test(path));
    if (operation === undefined) return;
    const { name, declared } = operation;
    const statuses = this.#statuses.get(name) ?? new Set();
    this.#statuses.set(name, statuses.add(status));
    if (status < 500) return;
    const text = body.toString('utf8');
    const [, message = text.slice(0, 100)] = /"message":"([^"]*)"/.exec(text) ?? [];
    // HEAD has no body that could say it.
    const messages = declared.get(status);
    if (messages === undefined || (method !== 'HEAD' && !messages.includes(message)))
      this.#failures.add(`undeclared: ${name}: ${status} ${message} (${target.slice(0, 200)})`);
  }

  problems(dialect: string): string[] {
    const all = this.#operations.length;
    const refusing = this.#operations
      .map(({ name }) => ({ name, statuses: [...(this.#statuses.get(name) ?? [])] }))
      .filter(({ statuses }) => !statuses.some((status) => status < 400));
    const share = `${refusing.length} of ${all} operations refused everything`;
    process.stdout.write(`${dialect}: ${this.#answers} answers; ${share}\n`);
    for (const { name, statuses } of refusing)
      process.stdout.write(`  ${name} (${statuses.join(', ') || 'never asked'})${because(REFUSING[name])}\n`);
    const tooMany = refusing.length / all >= REFUSING_MAX;
    return [
      ...(this.#answers === 0 ? ['nothing was asked'] : []),
      ...this.#failures,
      ...(tooMany ? [`${share}: want fewer than ${REFUSING_MAX * 100} %`] : []),
    ];
  }
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`;
}

async function proxy(target: string, seen: Seen): Promise<Server> {
  const { hostname, port, host } = new URL(target);
  const server = createServer((request, response) => {
    const { method = 'GET', url = '/', headers } = request;
    const passed = forward({ hostname, port, method, path: url, headers: { ...headers, host } }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () => {
        const body = Buffer.concat(parts);
        seen.add(method, url, { status: answer.statusCode ?? 0, body });
        const { 'transfer-encoding': _, ...rest } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, rest);
        response.end(method === 'HEAD' ? undefined : body);
      });
      answer.on('error', () => response.destroy());
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const problems: string[] = [];
try {
  for (const dialect of ['svc', 'swarm'] as const) {
    await using net = await Cluster.start({
      nodes: [{ count: 2, options: { 'withdrawal-addresses-whitelist': WITHDRAWAL_ADDRESS } }],
      dialect,
      driver: 'embedded',
      stateDir: join(folder, 'state'),
      name: dialect,
      seed: 3,
      chain: { blockTime: '200ms' },
      prepare: { cheques: [{ from: 'node-1', to: 'node-0' }] },
    });
    await net.meshed();
    problems.push(...(await tested(net)).map((problem) => `${dialect}: ${problem}`));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(
  problems.length === 0 ? 'ok: nothing is undeclared\n' : `FAILED\n${problems.join('\n')}\n`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

/** Asked before grading: whether it is a node, its dialect, and whether the named interfaces and batch exist. */
import { HarnessError, messageOf, throwIfInterrupted } from '../../base/errors.ts';
import { DIALECT_NAMES, DIALECTS, type DialectName } from '../../client/dialect.ts';
import { parseJson } from '../../client/json.ts';
import type { Opening } from '../grade.ts';
import type { Place } from './messages.ts';
import { NodeTransport } from './transport.ts';

const ANSWER_MS = 10_000;
const FLAGS: Readonly<Record<Place, string>> = {
  main: '--target',
  debug: '--debug-target',
  second: '--second',
};

export type Urls = Readonly<Partial<Record<Place, string>>>;

interface Answer {
  readonly status: number;
  readonly members: Readonly<Record<string, unknown>>;
}

/** @returns what it calls itself, such as `version 2.8.1`; empty: unknown @throws HarnessError */
export async function probeTarget(
  transport: NodeTransport,
  { urls, batch }: { readonly urls: Urls; readonly batch: string | undefined },
  run: Opening,
): Promise<string> {
  const ask = (place: Place, path: string) => requestFrom(transport, { urls, place, path }, run);
  const health = await ask('main', '/health');
  if (!('status' in health.members) && dialectOf(await ask('main', '/node')) === undefined)
    throw new HarnessError(
      'NETWORK_INVALID',
      `${urls.main} is no storage node: ${describe('/health', health)}`,
      {
        hint: 'Name the HTTP interface of a node with --target.',
      },
    );
  if (await servesOnlyData((path) => ask('main', path)))
    throw new HarnessError('USAGE', `${urls.main} serves only data: GET /node answers 404`, {
      hint: 'Rows ask all operations of one interface: start the node without --api-data-only.',
    });
  for (const place of ['debug', 'second'] as const)
    if (urls[place] !== undefined) await ask(place, '/health');
  if (batch !== undefined) {
    const path = `/stamps/${batch}`;
    const stamps = await ask('main', path);
    if (stamps.members['usable'] !== true)
      throw new HarnessError(
        'USAGE',
        `--batch: the node has no usable batch ${batch}: ${describe(path, stamps)}`,
        {
          hint: 'Name one of GET /stamps, or leave it out: the largest is taken then.',
        },
      );
  }
  const { version } = health.members;
  return typeof version === 'string' ? `version ${version}` : '';
}

/** This interface lacks an operation that all nodes have: others are elsewhere. */
async function servesOnlyData(ask: (path: string) => Promise<Answer>): Promise<boolean> {
  if ((await ask('/node')).status !== 404) return false;
  const { status, members } = await ask('/openapi.json');
  return status === 200 && !Object.hasOwn(members['paths'] ?? {}, '/node');
}

/** @returns `svc` by default @throws HarnessError when nothing answers */
export async function spokenDialect(
  { target, token }: { readonly target: string; readonly token?: string },
  run: Opening,
): Promise<DialectName> {
  const urls = { main: target };
  const transport = new NodeTransport(urls, token);
  try {
    return dialectOf(await requestFrom(transport, { urls, place: 'main', path: '/node' }, run)) ?? 'svc';
  } finally {
    await transport.close();
  }
}

function dialectOf({ members }: Answer): DialectName | undefined {
  return DIALECT_NAMES.find((name) => DIALECTS[name].modeField in members);
}

function describe(path: string, { status, members: { message } }: Answer): string {
  return `GET ${path} answers ${status}${typeof message === 'string' ? `, ${message}` : ''}`;
}

async function requestFrom(
  transport: NodeTransport,
  { urls, place, path }: { readonly urls: Urls; readonly place: Place; readonly path: string },
  { clock, signal }: Opening,
): Promise<Answer> {
  using limit = clock.deadline(ANSWER_MS, signal);
  const answer = await transport.send({ place, path }, limit.signal).catch((error: unknown) => {
    throwIfInterrupted(signal);
    throw new HarnessError('NETWORK_INVALID', `${urls[place]} does not answer: ${messageOf(error)}`, {
      cause: error,
      hint: `Start the node, or name its HTTP interface with ${FLAGS[place]}.`,
    });
  });
  const { status, body } = answer;
  if (status === 401)
    throw new HarnessError('USAGE', `${urls[place]} answers ${status}: it needs a token`, {
      hint: 'Give it with --token.',
    });
  return { status, members: membersOf(Buffer.from(body).toString('utf8')) };
}

function membersOf(body: string): Answer['members'] {
  try {
    const value = parseJson(body);
    return typeof value === 'object' && value !== null ? (value as Answer['members']) : {};
  } catch (error) {
    // Another server's body.
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

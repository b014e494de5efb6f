import { beforeEach, describe, expect, test } from 'vitest';
import { AT_ONCE, type Kit, startKit } from './kit.ts';

interface Listed {
  readonly tree: Record<string, unknown>;
  readonly loggers: readonly { logger: string; verbosity: string; subsystem: string; id: string }[];
}

let kit: Kit;
beforeEach(async () => {
  kit = await startKit();
  kit.knobs.sleep = AT_ONCE;
});

const base64 = (text: string) =>
  Buffer.from(text).toString('base64').replaceAll('+', '-').replaceAll('/', '_');

async function ask(url: string, method: 'GET' | 'PUT' = 'GET'): Promise<{ status: number; body: Listed }> {
  const answer = await kit.api.main.inject({ method, url });
  return { status: answer.statusCode, body: answer.json() };
}

async function verbosities(): Promise<Record<string, string>> {
  const { body } = await ask('/loggers');
  return Object.fromEntries(body.loggers.map(({ logger, verbosity }) => [logger, verbosity]));
}

const put = (expression: string, verbosity: string) =>
  ask(`/loggers/${base64(expression)}/${verbosity}`, 'PUT');

describe('the list', () => {
  test('has every logger with its verbosity, its subsystem and that subsystem in base64', async () => {
    expect(await ask('/loggers')).toEqual({
      status: 200,
      body: {
        tree: {
          node: { '+': 'info|node[0][]>>1', '/': { api: { '+': 'info|node/api[0][]>>1', '/': {} } } },
        },
        loggers: [
          {
            logger: 'node',
            verbosity: 'info',
            subsystem: 'node[0][]>>1',
            id: 'bm9kZVswXVtdPj4x',
          },
          {
            logger: 'node/api',
            verbosity: 'info',
            subsystem: 'node/api[0][]>>1',
            id: 'bm9kZS9hcGlbMF1bXT4-MQ==',
          },
        ],
      },
    });
  });

  test('has an array in its tree where real nodes have one', async () => {
    kit = await startKit({ dialect: 'swarm' });
    const { body } = await ask('/loggers');
    expect(body.tree).toEqual({
      node: { '+': ['info|node[0][]>>1'], '/': { api: { '+': ['info|node/api[0][]>>1'] } } },
    });
  });

  test.each([
    ['^node/', ['node/api']],
    ['api', ['node/api']],
    ['node', ['node', 'node/api']],
    ['\\[0\\]', ['node', 'node/api']],
    ['node/api[0][]>>1', ['node/api']],
    ['pushsync', []],
  ])('of the loggers that %s matches', async (expression, names) => {
    const { status, body } = await ask(`/loggers/${base64(expression)}`);
    expect(status).toBe(200);
    expect(body.loggers.map(({ logger }) => logger)).toEqual(names);
    if (names.length === 0) expect(body.tree).toEqual({});
  });

  test('accepts the identifiers that it returns, in either alphabet', async () => {
    const { body } = await ask('/loggers');
    const { id } = body.loggers[1] as Listed['loggers'][number];
    for (const form of [id, encodeURIComponent(id), encodeURIComponent(id.replaceAll('-', '+'))]) {
      const found = await ask(`/loggers/${form}`);
      expect(found.body.loggers.map(({ logger }) => logger)).toEqual(['node/api']);
    }
  });

  test('is available before the node has started, on both ports', async () => {
    kit.knobs.state = 'starting';
    for (const api of [kit.api.main, kit.api.debug]) {
      for (const prefix of ['', '/v1'])
        expect((await api.inject({ url: `${prefix}/loggers` })).statusCode).toBe(200);
      const put = await api.inject({ method: 'PUT', url: `/loggers/${base64('.')}/info` });
      expect(put.statusCode).toBe(200);
    }
  });
});

describe('setting the verbosity', () => {
  test.each(['none', 'error', 'warning', 'info'])('%s is set and shown', async (verbosity) => {
    expect(await put('api', verbosity)).toEqual({ status: 200, body: { code: 200, message: 'OK' } });
    expect(await verbosities()).toEqual({ node: 'info', 'node/api': verbosity });
  });

  test.each(['debug', 'all'])('%s is the finest there is, which is shown as all', async (verbosity) => {
    await put('^node', verbosity);
    expect(await verbosities()).toEqual({ node: 'all', 'node/api': 'all' });
  });

  test('decides what is logged from then on', async () => {
    const answered = () => kit.knobs.logged.filter((line) => line.includes('request answered'));
    await ask('/health');
    expect(answered()).toEqual([]);
    await put('^node/api', 'debug');
    await ask('/health');
    expect(answered().map((line) => (JSON.parse(line) as { route: string }).route)).toContain('/health');
    await put('^node/api', 'info');
    const before = answered().length;
    await ask('/health');
    expect(answered()).toHaveLength(before);
  });

  test('of a subsystem named in full does not affect any other', async () => {
    // As an expression it would match only the root.
    await put('node[0][]>>1', 'none');
    expect(await verbosities()).toEqual({ node: 'none', 'node/api': 'info' });
  });

  test('of a name that no logger has does nothing', async () => {
    expect(await put('pushsync', 'none')).toEqual({ status: 200, body: { code: 200, message: 'OK' } });
    expect(await verbosities()).toEqual({ node: 'info', 'node/api': 'info' });
  });
});

describe('what is refused', () => {
  const refusal = (...reasons: string[]) => ({
    status: 400,
    body: { code: 400, message: 'invalid path params', reasons },
  });

  test.each([
    ['[', 'missing closing ]: `[`'],
    ['(', 'missing closing ): `(`'],
    ['a**', 'invalid nested repetition operator: `**`'],
  ])('%s is not a valid expression', async (expression, problem) => {
    const refused = refusal(`exp: error parsing regexp: ${problem}`);
    expect(await ask(`/loggers/${base64(expression)}`)).toEqual(refused);
    expect(await put(expression, 'info')).toEqual(refused);
  });

  test('an expression that is larger than any name needs is refused', async () => {
    const refused = refusal(
      'exp: error parsing regexp: expression too large: counts of 200 together, at most 20',
    );
    expect(await put('(n|o){100}(d|e){100}', 'none')).toEqual(refused);
    expect(await verbosities()).toEqual({ node: 'info', 'node/api': 'info' });
  });

  test('an expression with catastrophic backtracking is matched without delay', async () => {
    expect(await put('((.|.)*)*#', 'none')).toEqual({ status: 200, body: { code: 200, message: 'OK' } });
    expect(await verbosities()).toEqual({ node: 'info', 'node/api': 'info' });
  });

  test('invalid base64 is reported with the position of the wrong byte', async () => {
    const refused = refusal('exp: illegal base64 data at input byte 4');
    expect(await ask('/loggers/bm9kZ')).toEqual(refused);
    expect(await ask('/loggers/bm9kZ/info', 'PUT')).toEqual(refused);
  });

  test.each(['loud', 'warn', 'silent', 'INFO', '0'])('%s is not a verbosity', async (verbosity) => {
    expect(await put('node', verbosity)).toEqual(
      refusal('verbosity: want oneof:none error warning info debug all'),
    );
    expect(await verbosities()).toEqual({ node: 'info', 'node/api': 'info' });
  });

  test('the reasons are objects where real nodes have them', async () => {
    kit = await startKit({ dialect: 'swarm' });
    const { body } = await ask('/loggers/bm9kZ');
    expect(body).toEqual({
      code: 400,
      message: 'invalid path params',
      reasons: [{ field: 'exp', error: 'illegal base64 data at input byte 4' }],
    });
  });
});

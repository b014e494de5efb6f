/** Verbosity at run time: `http-api-completion.md` 7. */
import { ExpressionError, type Expressions } from '../../env/expression.ts';
import { LOGGER_VERBOSITIES, type LoggerVerbosity, type RegisteredLogger } from '../../env/logger.ts';
import type { Dialect } from '../dialect.ts';
import { ApiError } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { ACKNOWLEDGEMENT, route } from '../route/route.ts';
import { base64Text, text } from '../values/kinds.ts';
import { oneOf, required } from '../values/params.ts';

const EXPRESSION = { exp: required(base64Text) } as const;

export const LOGGER_ROUTES = [
  route({
    method: 'GET',
    path: '/loggers',
    port: 'both',
    summary: 'every logger and its verbosity',
    gates: [],
    success: [200],
    response: 'Loggers',
    handle: ({ services: { loggers }, dialect }) => listing(loggers.registered(), dialect),
  }),
  route({
    method: 'GET',
    path: '/loggers/{exp}',
    port: 'both',
    summary: 'loggers whose subsystem an expression matches',
    gates: [],
    params: EXPRESSION,
    success: [200],
    response: 'Loggers',
    handle: async ({ params, services: { loggers }, dialect, expressions, signal }) =>
      listing(await matching(params.exp, loggers.registered(), { expressions, signal }), dialect),
  }),
  route({
    method: 'PUT',
    path: '/loggers/{exp}/{verbosity}',
    port: 'both',
    summary: 'sets the verbosity of a subsystem, or of those that an expression matches',
    gates: [],
    params: { ...EXPRESSION, verbosity: required(text, { checks: [oneOf(LOGGER_VERBOSITIES)] }) },
    success: [200],
    response: 'Acknowledgement',
    async handle({ params, services: { loggers }, expressions, signal }) {
      const known = loggers.registered();
      // A complete subsystem name means only itself.
      const exact = known.filter(({ subsystem }) => subsystem === params.exp);
      const meant = exact.length > 0 ? exact : await matching(params.exp, known, { expressions, signal });
      for (const logger of meant) logger.setVerbosity(params.verbosity as LoggerVerbosity);
      return ACKNOWLEDGEMENT;
    },
  }),
];

/** @throws ApiError for neither expression nor subsystem */
async function matching(
  expression: string,
  loggers: readonly RegisteredLogger[],
  { expressions, signal }: { readonly expressions: Expressions; readonly signal: AbortSignal },
): Promise<RegisteredLogger[]> {
  const exact = loggers.filter(({ subsystem }) => subsystem === expression);
  try {
    const texts = loggers.map(({ subsystem }) => subsystem);
    const matched = await expressions.matches(expression, texts, signal);
    return loggers.filter((logger, i) => matched[i] === true || exact.includes(logger));
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    if (exact.length > 0) return exact;
    const reason = { field: 'exp', error: `error parsing regexp: ${error.message}` };
    throw new ApiError('INVALID_PATH_PARAMS', { reasons: [reason], cause: error });
  }
}

function listing(loggers: readonly RegisteredLogger[], dialect: Dialect): Answer {
  return {
    status: 200,
    json: {
      tree: treeOf(loggers, dialect),
      loggers: loggers.map((logger) => ({
        logger: logger.name,
        verbosity: logger.verbosity(),
        subsystem: logger.subsystem,
        id: base64Url(logger.subsystem),
      })),
    },
  };
}

interface Branch {
  readonly entries: string[];
  readonly children: Map<string, Branch>;
}

function treeOf(loggers: readonly RegisteredLogger[], dialect: Dialect): object {
  const root: Branch = { entries: [], children: new Map() };
  for (const logger of loggers) {
    let branch = root;
    for (const element of logger.name.split('/')) {
      const next = branch.children.get(element) ?? { entries: [], children: new Map() };
      branch.children.set(element, next);
      branch = next;
    }
    branch.entries.push(`${logger.verbosity()}|${logger.subsystem}`);
  }
  return childrenOf(root, dialect);
}

function childrenOf({ children }: Branch, dialect: Dialect): object {
  const { wholeLoggers: whole, namedLoggers } = dialect;
  return Object.fromEntries(
    Array.from(children, ([element, branch]) => [
      element,
      {
        ...(whole || branch.children.size > 0 ? { '/': childrenOf(branch, dialect) } : {}),
        ...(whole || branch.entries.length > 0 ? { '+': namedLoggers(branch.entries) } : {}),
      },
    ]),
  );
}

function base64Url(value: string): string {
  return Buffer.from(value, 'utf8').toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

import type { Expectation } from '../../../../harness/conformance/http/expectation.ts';
import type { HttpAnswer } from '../../../../harness/conformance/http/messages.ts';
import { misfits, parseShape, type Shape } from '../../../../harness/conformance/http/shape.ts';

/** It must make an expected answer unacceptable. */
export interface Mutation {
  readonly about: string;
  readonly answer: HttpAnswer;
}

export function* mutationsOf(answer: HttpAnswer, expected: Expectation): Generator<Mutation> {
  yield { about: 'another status', answer: { ...answer, status: 299 } };
  for (const [name, wanted] of Object.entries(expected.headers ?? {})) {
    const { [name]: _, ...others } = answer.headers;
    yield wanted === null
      ? { about: `with ${name}`, answer: { ...answer, headers: { ...others, [name]: 'something' } } }
      : { about: `without ${name}`, answer: { ...answer, headers: others } };
  }
  if (expected.empty === true) yield { about: 'a body', answer: { ...answer, body: Buffer.from('{}') } };
  if (expected.bytes !== undefined)
    yield { about: 'another byte', answer: { ...answer, body: changed(answer.body) } };
  if (expected.text !== undefined)
    yield { about: 'another text', answer: { ...answer, body: new Uint8Array(0) } };
  const { json, values, message, reasons } = expected;
  if ([json, values, message, reasons].some((claim) => claim !== undefined))
    yield* jsonMutations(answer, expected);
}

function* jsonMutations(answer: HttpAnswer, expected: Expectation): Generator<Mutation> {
  const body = JSON.parse(Buffer.from(answer.body).toString('utf8')) as unknown;
  const json = (about: string, value: unknown): Mutation => ({
    about,
    answer: { ...answer, body: Buffer.from(JSON.stringify(value)) },
  });
  yield { about: 'no JSON', answer: { ...answer, body: Buffer.from('{') } };
  yield {
    about: 'another content-type',
    answer: { ...answer, headers: { ...answer.headers, 'content-type': 'text/plain' } },
  };
  if (expected.json !== undefined)
    for (const { about, value } of wrongCopies(parseShape(expected.json), body)) yield json(about, value);
  for (const path of Object.keys(expected.values ?? {}))
    yield json(`another ${path}`, withMember(body, path));
  if (expected.message !== undefined) {
    yield json('another message', { ...(body as object), message: '' });
    yield json('another code', { ...(body as object), code: 299 });
  }
  if (expected.reasons !== undefined) {
    const { reasons } = body as { reasons?: unknown[] };
    yield json('other reasons', { ...(body as object), reasons: ['x: y'] });
    yield json('no reasons', { ...(body as object), reasons: [] });
    yield json('one reason more', { ...(body as object), reasons: [...(reasons ?? []), 'x: y'] });
  }
}

/** Each is wrong in one field of the shape. */
function* wrongCopies(shape: Shape, value: unknown): Generator<{ about: string; value: unknown }> {
  switch (shape.kind) {
    case 'word':
      if (shape.word !== 'any') yield { about: `no ${shape.word}`, value: shape.word === 'tree' ? 7 : {} };
      return;
    case 'either': {
      const fitting = shape.of.find((one) => misfits(one, value).length === 0);
      if (fitting !== undefined) yield* wrongCopies(fitting, value);
      return;
    }
    case 'list':
      yield { about: 'no list', value: 7 };
      if (Array.isArray(value) && value.length > 0)
        for (const copy of wrongCopies(shape.of, value[0]))
          yield { about: copy.about, value: [copy.value, ...value.slice(1)] };
      return;
    case 'map': {
      yield { about: 'no object', value: 7 };
      const [first] = Object.entries(value as object);
      if (first === undefined) return;
      for (const copy of wrongCopies(shape.of, first[1]))
        yield { about: copy.about, value: { ...(value as object), [first[0]]: copy.value } };
      return;
    }
    case 'object': {
      const known = value as Record<string, unknown>;
      for (const { name, optional, shape: inner } of shape.fields) {
        if (!optional) {
          const { [name]: _, ...rest } = known;
          yield { about: `without ${name}`, value: rest };
        }
        if (known[name] === undefined) continue;
        for (const copy of wrongCopies(inner, known[name]))
          yield { about: `${name} ${copy.about}`, value: { ...known, [name]: copy.value } };
      }
    }
  }
}

function withMember(value: unknown, path: string): unknown {
  const [key = '', ...rest] = path.split('.');
  if (Array.isArray(value) && key === 'length') return [...value, { changed: true }];
  const known = (value ?? {}) as Record<string, unknown>;
  const member = rest.length === 0 ? { changed: true } : withMember(known[key], rest.join('.'));
  return Array.isArray(value)
    ? value.map((element, i) => (String(i) === key ? member : element))
    : { ...known, [key]: member };
}

function changed(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? Uint8Array.of(1) : bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte));
}

import { NotApplicable, type Row } from '../../row.ts';
import { refusal } from '../expectation.ts';
import type { HttpRequest, Transcript } from '../messages.ts';
import type { Names } from '../names.ts';
import { BATCH, signedChunk, signerOf } from '../prerequisites.ts';
import { type Question, type Steps, table } from '../question.ts';
import { ROUTES, responseOf } from '../routes.ts';
import { NOTHING } from '../samples.ts';
import type { Ask, Expected, HttpSubject } from '../subject.ts';

const ACKNOWLEDGED: Expected = { status: 200, json: '{code:int,message:text}', message: 'OK' };
const SAMPLE =
  '{hash:hex32,proofs:{proof1:Proof,proof2:Proof,proofLast:Proof},durationSeconds:number} with Proof={proofSegments:hex32[],proveSegment:hex32,proofSegments2:hex32[],proveSegment2:hex32,chunkSpan:uint,proofSegments3:hex32[],postageProof:{signature:hex65,postageId:hex32,index:text,timeStamp:text},socProof:any[]|null}';
const SIXTY_SECONDS = 60_000;

export function nodeRows(names: Names): Row<HttpSubject>[] {
  return [
    ...table('peers', { level: 'write' }, peers(names)),
    ...table('game', { level: 'write', limitMs: SIXTY_SECONDS }, GAME),
    ...table('welcome message', { level: 'write' }, welcome(names)),
    ...table('loggers', { level: 'read' }, LOGGERS),
    ...table('money', { level: 'money' }, money(names)),
    ...table('batches', { level: 'write' }, batches(names)),
    ...table('messages', { level: 'write' }, MESSAGES),
  ];
}

function fieldsOf(method: string, path: string, names: Names): Expected {
  const route = ROUTES.find((one) => one.method === method && one.path === path);
  return { status: 200, json: (route && responseOf(route, names)) ?? 'any' };
}

function peers(names: Names): Question[] {
  const unconnected = { status: 404, message: 'peer not found' };
  const stranger = (path: string, message: string): Question => ({
    id: `GET ${path} unknown`,
    about: 'nothing is known of a stranger',
    level: 'read',
    ask: { path: `${path}/${NOTHING}` },
    expect: { status: 404, message },
  });
  const account = (path: string): Question => ({
    id: `GET ${path}/{address}`,
    about: 'all fields of one peer',
    ask: { path: `${path}/{trading-peer}` },
    expect: fieldsOf('GET', `${path}/{address}`, names),
  });
  return [
    {
      id: 'POST /pingpong',
      about: 'a peer answers in a time',
      ask: { method: 'POST', path: '/pingpong/{peer}' },
      expect: { status: 200, json: '{rtt:duration}' },
    },
    {
      id: 'POST /pingpong unknown',
      about: 'a peer must be connected',
      ask: { method: 'POST', path: `/pingpong/${NOTHING}` },
      expect: unconnected,
    },
    {
      id: 'DELETE /peers unknown',
      about: 'a peer must be connected',
      ask: { method: 'DELETE', path: `/peers/${NOTHING}` },
      expect: unconnected,
    },
    stranger('/balances', 'No balance for peer'),
    stranger('/consumed', 'No balance for peer'),
    stranger('/settlements', 'no settlements for peer'),
    account('/balances'),
    account('/consumed'),
  ];
}

const GAME: readonly Steps[] = [
  {
    id: 'GET /rchash',
    about: 'a sample of the reserve is made with its proofs',
    enabled: '/redistributionstate',
    steps: async (session) => {
      const path = `/rchash/0/${NOTHING}/${NOTHING}`;
      const { status } = await session.once('sample', (setup) => setup.ask({ path }, { status: [200, 500] }));
      if (status === 500) throw new NotApplicable('the reserve holds too little for a sample');
      await session.ask({ path }, { status: 200, json: SAMPLE });
    },
  },
];

function welcome(names: Names): (Question | Steps)[] {
  const post = (body: string): HttpRequest => ({ method: 'POST', path: '/welcome-message', body });
  return [
    {
      id: 'POST /welcome-message',
      about: 'is set and told',
      steps: async (session) => {
        const { text } = await session.ask(
          { path: '/welcome-message' },
          { status: 200, json: '{welcomeMessage:text}' },
        );
        const before = { welcomeMessage: text('welcomeMessage') };
        session.later('welcome message', post(JSON.stringify(before)));
        const values = { welcomeMessage: 'conformance' };
        const expect = { ...fieldsOf('POST', '/welcome-message', names), message: 'OK' };
        await session.ask(post(JSON.stringify(values)), expect);
        await session.ask({ path: '/welcome-message' }, { status: 200, values });
      },
    },
    {
      id: 'POST /welcome-message long',
      about: 'has at most 140 bytes',
      ask: post(JSON.stringify({ welcomeMessage: 'x'.repeat(141) })),
      expect: {
        status: names.either(400, 500),
        message: 'handshake welcome message longer than maximum of 140 characters',
      },
    },
    {
      id: 'POST /welcome-message too large',
      about: 'its body has at most 512 bytes',
      ask: post(JSON.stringify({ welcomeMessage: 'x'.repeat(600) })),
      expect: { status: 413, message: 'Request Entity Too Large' },
    },
    {
      id: 'POST /welcome-message no JSON',
      about: 'a body that is no JSON is refused',
      ask: post('{'),
      expect: { status: 400, message: /./ },
    },
  ];
}

function loggers(expression: string): string {
  const text = Buffer.from(expression).toString('base64url');
  return `/loggers/${text.padEnd(4 * Math.ceil(text.length / 4), '=')}`;
}

const LOGGERS: readonly (Question | Steps)[] = [
  {
    id: 'GET /loggers/{exp} nothing',
    about: 'nothing that matches is an empty list',
    ask: { path: loggers('^nothing$') },
    expect: { status: 200, json: '{tree:tree,loggers:any[]|null}' },
  },
  {
    id: 'GET /loggers/{exp} all',
    about: 'an expression picks loggers',
    ask: { path: loggers('node.*') },
    expect: {
      status: 200,
      json: '{tree:tree,loggers:{logger:text,verbosity:text,subsystem:text,id:base64}[]}',
    },
  },
  {
    id: 'GET /loggers/{exp} no expression',
    about: 'what is no expression is refused',
    ask: { path: loggers('[') },
    expect: refusal('path', { exp: /^error parsing regexp: / }),
  },
  {
    id: 'PUT /loggers/{exp}/{verbosity}',
    about: 'a logger is told to say more, and as much as before',
    level: 'write',
    steps: async (session) => {
      const listed = await session.ask({ path: '/loggers' }, { status: 200, json: '{loggers:any[]}' });
      const id = listed.text('loggers.0.id');
      const path = `/loggers/${id}`;
      const before = `${path}/${listed.text('loggers.0.verbosity')}`;
      session.later('verbosity', { method: 'PUT', path: before });
      await session.ask({ method: 'PUT', path: `${path}/error` }, ACKNOWLEDGED);
      const values = { 'loggers.0.verbosity': 'error', 'loggers.0.id': id };
      await session.ask({ path }, { status: 200, values });
      await session.ask({ method: 'PUT', path: before }, ACKNOWLEDGED);
    },
  },
  {
    id: 'PUT /loggers/{exp}/{verbosity} nothing',
    about: 'is done when nothing matches',
    level: 'write',
    ask: { method: 'PUT', path: `${loggers('^nothing$')}/info` },
    expect: { status: 200, message: 'OK' },
  },
];

/** Only questions and refused requests: a node that accepts one spends. */
function money(names: Names): Question[] {
  const noCheque: Expected = { status: 404, message: 'no prior cheque' };
  const poor: Expected = { status: 400, message: 'insufficient funds' };
  const unknownTx: Expected = { status: 404, message: 'unknown transaction' };
  const huge = '9'.repeat(40);
  const stranger = 'ab'.repeat(20);
  const post = (path: string): Ask => ({ method: 'POST', path });
  return [
    {
      id: 'GET /chequebook/cheque unknown',
      about: names.either('a peer without cheques is not found', 'a peer without cheques has none'),
      level: 'read',
      ask: { path: `/chequebook/cheque/${NOTHING}` },
      expect: names.either<Expected>(noCheque, {
        status: 200,
        values: { peer: NOTHING, lastreceived: null, lastsent: null },
      }),
    },
    {
      id: 'GET /chequebook/cashout unknown',
      about: 'there is no cashout without a cheque',
      level: 'read',
      ask: { path: `/chequebook/cashout/${NOTHING}` },
      expect: noCheque,
    },
    {
      id: 'POST /chequebook/cashout unknown',
      about: 'there is nothing to cash without a cheque',
      ask: post(`/chequebook/cashout/${NOTHING}`),
      expect: names.either<Expected>(noCheque, { status: 500, message: 'cannot cash cheque' }),
    },
    {
      id: 'POST /chequebook/deposit',
      about: 'more than there is cannot be deposited',
      ask: post(`/chequebook/deposit?amount=${huge}`),
      expect: poor,
    },
    {
      id: 'POST /chequebook/withdraw',
      about: 'more than there is cannot be withdrawn',
      ask: post(`/chequebook/withdraw?amount=${huge}`),
      expect: poor,
    },
    {
      id: 'POST /wallet/withdraw coin',
      about: 'there are two coins',
      ask: post(`/wallet/withdraw/gold?amount=1&address=${stranger}`),
      expect: {
        status: 400,
        message: `only ${names.either('SVC', 'BZZ')} or NativeToken options are accepted`,
      },
    },
    {
      id: 'POST /wallet/withdraw address',
      about: 'an address must be allowed',
      ask: post(`/wallet/withdraw/nativetoken?amount=1&address=${stranger}`),
      expect: { status: 400, message: 'provided address not whitelisted' },
    },
    ...(['GET', 'POST', 'DELETE'] as const).map(
      (method): Question => ({
        id: `${method} /transactions unknown`,
        about: 'is not found',
        level: method === 'GET' ? 'read' : 'write',
        ask: { method, path: `/transactions/0x${NOTHING}` },
        expect: unknownTx,
      }),
    ),
  ];
}

function batches(names: Names): (Question | Steps)[] {
  const unknown: Expected = { status: 404, message: 'issuer does not exist' };
  const label = (id: string, body: string): HttpRequest => ({ method: 'PATCH', path: `/stamps/${id}`, body });
  return [
    {
      id: 'GET /stamps/{batch_id}',
      about: 'all fields of one batch',
      ask: { path: '/stamps/{batch}' },
      expect: { ...fieldsOf('GET', '/stamps/{batch_id}', names), values: { usable: true, exists: true } },
    },
    {
      id: 'GET /stamps/{batch_id}/buckets',
      about: 'there are 65536 buckets',
      ask: { path: '/stamps/{batch}/buckets' },
      expect: {
        ...fieldsOf('GET', '/stamps/{batch_id}/buckets', names),
        values: { bucketDepth: 16, 'buckets.length': 65_536 },
      },
    },
    {
      id: 'GET /batches/{batch_id}',
      about: 'all fields of one batch of the network',
      ask: { path: '/batches/{batch}' },
      expect: fieldsOf('GET', '/batches/{batch_id}', names),
    },
    {
      id: 'GET /stamps unknown',
      about: 'is not found',
      level: 'read',
      ask: { path: `/stamps/${NOTHING}` },
      expect: unknown,
    },
    {
      id: 'GET /stamps buckets unknown',
      about: 'is not found',
      level: 'read',
      ask: { path: `/stamps/${NOTHING}/buckets` },
      expect: unknown,
    },
    {
      id: 'GET /batches unknown',
      about: 'is not found',
      level: 'read',
      ask: { path: `/batches/${NOTHING}` },
      expect: { status: 404, message: 'batch not found' },
    },
    ...names.either<Question[]>(
      [
        {
          id: 'GET /stamps?all',
          about: 'expired batches are asked for',
          level: 'read',
          ask: { path: '/stamps?all=true' },
          expect: fieldsOf('GET', '/stamps', names),
        },
      ],
      [],
    ),
    {
      id: 'POST /stamps short',
      about: 'a batch lasts a day',
      level: 'money',
      ask: { method: 'POST', path: '/stamps/1/17' },
      expect: { status: 400, message: 'insufficient amount for 24h minimum validity' },
    },
    {
      id: 'POST /stamps dear',
      about: 'a batch must be affordable',
      level: 'money',
      ask: { method: 'POST', path: `/stamps/${'9'.repeat(30)}/17` },
      expect: { status: 400, message: 'out of funds' },
    },
    {
      id: 'PATCH /stamps/dilute unknown',
      about: 'a batch must be known',
      level: 'money',
      ask: { method: 'PATCH', path: `/stamps/dilute/${NOTHING}/20` },
      expect: { status: names.either(404, 500), message: 'cannot dilute batch' },
    },
    {
      id: 'PATCH /stamps/{batch_id}',
      about: 'a batch has another label, and its own again',
      steps: async (session) => {
        const id = await session.text('{batch}');
        const { text } = await session.ask({ path: '/stamps/{batch}' }, { status: 200 });
        const before = text('label');
        if (before === '') session.stays(`label of ${id}`, 'it had none, and an empty one is refused');
        else session.later(`label of ${id}`, label(id, JSON.stringify({ label: before })));
        await session.ask(label(id, '{"label":"conformance"}'), ACKNOWLEDGED);
        await session.ask({ path: '/stamps/{batch}' }, { status: 200, values: { label: 'conformance' } });
      },
    },
    {
      id: 'PATCH /stamps/{batch_id} no JSON',
      about: 'a body that is no JSON is refused',
      ask: label('{batch}', '{'),
      expect: { status: 400, message: 'invalid request body' },
    },
    {
      id: 'PATCH /stamps/{batch_id} empty',
      about: 'a label is needed',
      ask: label('{batch}', '{"label":""}'),
      expect: { status: 400, message: 'label is required' },
    },
    {
      id: 'PATCH /stamps/{batch_id} unknown',
      about: 'is not found',
      ask: label(NOTHING, '{"label":"x"}'),
      expect: unknown,
    },
  ];
}

const SEND: Ask = { method: 'POST', path: '/pss/send/conformance/ab', headers: BATCH, body: 'hello' };

/** Exactly this message came. */
function heard(wanted: Uint8Array): (transcript: Transcript) => string | undefined {
  return ({ received }) =>
    Buffer.compare(received[0] ?? new Uint8Array(0), wanted) === 0
      ? undefined
      : 'another message than the one that was sent';
}

const MESSAGES: readonly (Question | Steps)[] = [
  {
    id: 'POST /pss/send target',
    about: 'a target has at most three bytes, told before a missing batch',
    ask: { method: 'POST', path: '/pss/send/t/abababab', body: 'x' },
    expect: refusal('path', { target: 'want max:3' }),
  },
  {
    id: 'POST /pss/send unknown batch',
    about: 'a batch must be known',
    ask: { ...SEND, headers: { 'svc-postage-batch-id': NOTHING } },
    expect: { status: 400, message: 'batch not found' },
  },
  {
    id: 'POST /pss/send long',
    about: 'a body over 4096 bytes is too large',
    ask: { ...SEND, body: new Uint8Array(4097) },
    expect: { status: 413, message: 'Request Entity Too Large' },
  },
  {
    id: 'GET /pss/subscribe',
    about: 'a message reaches who has subscribed to its topic',
    limitMs: SIXTY_SECONDS,
    needs: 'second',
    steps: async (session) => {
      const { text } = await session.ask(
        { place: 'second', path: '/addresses' },
        { status: 200, json: '{overlay:hex32,pssPublicKey:hex33}' },
      );
      const topic = session.hex('pss topic', 8);
      const body = session.content('pss', 100);
      const path = `/pss/send/${topic}/${text('overlay').slice(0, 2)}?recipient=${text('pssPublicKey')}`;
      // Before the socket opens.
      await session.text('{batch}');
      const during = () => session.ask({ ...SEND, path, body }, { status: 201, message: 'Created' });
      const subscription = { place: 'second', path: `/pss/subscribe/${topic}`, expected: 1, during } as const;
      await session.converse(subscription, heard(body));
    },
  },
  {
    id: 'GET /gsoc/subscribe',
    about: 'an update of a chunk reaches who has subscribed to it, without its span',
    limitMs: SIXTY_SECONDS,
    needs: 'second',
    steps: async (session) => {
      const payload = session.content('gsoc', 100);
      const soc = signedChunk(signerOf(session, 'gsoc'), session.hex('gsoc id'), payload);
      await session.text('{batch}');
      const update: Ask = { ...SEND, path: `${soc.path}?sig=${soc.signature}`, body: soc.body };
      const during = () => session.ask(update, { status: 201, json: '{reference:hex32}' });
      const path = `/gsoc/subscribe/${soc.address}`;
      await session.converse({ place: 'second', path, expected: 1, during }, heard(payload));
    },
  },
  ...['/pss/subscribe/abc', `/gsoc/subscribe/${NOTHING}`].map(
    (path): Question => ({
      id: `GET ${path.slice(0, path.lastIndexOf('/'))} plain`,
      about: 'what is no upgrade is refused',
      level: 'read',
      ask: { path },
      expect: { status: 400, text: /upgrade failed/, headers: { 'sec-websocket-version': '13' } },
    }),
  ),
];

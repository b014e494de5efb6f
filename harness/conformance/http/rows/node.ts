/** The node itself: peers, messages, loggers, accounting, batches. */
import { type Level, NotApplicable, type Row } from '../../row.ts';
import type { Expectation } from '../expectation.ts';
import type { HttpRequest } from '../messages.ts';
import type { Names } from '../names.ts';
import { batchHeader, peerOf, signedChunk, signerOf } from '../prerequisites.ts';
import { ROUTES, responseOf } from '../routes.ts';
import { NOTHING } from '../samples.ts';
import { type HttpSubject, httpRow, type RowSession } from '../subject.ts';

const ACKNOWLEDGEMENT = '{code:int,message:text}';
/** A sample of the reserve with its proofs. */
const SAMPLE =
  '{hash:hex32,proofs:{proof1:Proof,proof2:Proof,proofLast:Proof},durationSeconds:number} with Proof={proofSegments:hex32[],proveSegment:hex32,proofSegments2:hex32[],proveSegment2:hex32,chunkSpan:uint,proofSegments3:hex32[],postageProof:{signature:hex65,postageId:hex32,index:text,timeStamp:text},socProof:any[]|null}';
const SIXTY_SECONDS = 60_000;

export function nodeRows(names: Names): Row<HttpSubject>[] {
  return [
    ...peerRows(names),
    ...welcomeRows(names),
    ...loggerRows(),
    ...moneyRows(names),
    ...batchRows(names),
    ...messageRows(),
  ];
}

/** A question with one answer. */
const rowIn =
  (group: string, level: Level) =>
  (
    id: string,
    about: string,
    ask: HttpRequest | ((session: RowSession) => Promise<HttpRequest>),
    expected: Expectation,
  ): Row<HttpSubject> =>
    httpRow({
      id,
      group,
      about,
      level,
      steps: async (session) => session.ask(typeof ask === 'function' ? await ask(session) : ask, expected),
    });

function shapeOf(method: string, path: string, names: Names): string {
  const route = ROUTES.find((one) => one.method === method && one.path === path);
  return (route && responseOf(route, names)) ?? 'any';
}

function peerRows(names: Names): Row<HttpSubject>[] {
  const read = rowIn('peers', 'read');
  const write = rowIn('peers', 'write');
  const unknown = { status: 404, message: 'peer not found' };
  const shape = (path: string) => ({ status: 200, json: shapeOf('GET', path, names) });
  return [
    write(
      'POST /pingpong',
      'a peer answers in a time',
      async (session) => ({ method: 'POST', path: `/pingpong/${await peerOf(session)}` }),
      {
        status: 200,
        json: '{rtt:duration}',
      },
    ),
    write(
      'POST /pingpong unknown',
      'a peer must be connected',
      { method: 'POST', path: `/pingpong/${NOTHING}` },
      unknown,
    ),
    write(
      'DELETE /peers unknown',
      'a peer must be connected',
      { method: 'DELETE', path: `/peers/${NOTHING}` },
      unknown,
    ),
    ...['/balances', '/consumed', '/settlements'].flatMap((path) => {
      const text = path === '/settlements' ? 'no settlements for peer' : 'No balance for peer';
      return [
        read(
          `GET ${path} unknown`,
          'nothing is known of a stranger',
          { path: `${path}/${NOTHING}` },
          { status: 404, message: text },
        ),
      ];
    }),
    ...['/balances/{address}', '/consumed/{address}'].map((path) =>
      write(
        `GET ${path}`,
        'all fields of one peer',
        async (session) => ({ path: path.replace('{address}', await tradingPeer(session)) }),
        shape(path),
      ),
    ),
    httpRow({
      id: 'GET /rchash',
      group: 'game',
      about: 'a sample of the reserve is made with its proofs',
      level: 'write',
      limitMs: SIXTY_SECONDS,
      steps: async (session) => {
        await session.enabled('/redistributionstate');
        const path = `/rchash/0/${NOTHING}/${NOTHING}`;
        const few = await session.once(
          'few chunks',
          async (setup) => (await setup.ask({ path }, { status: [200, 500] })).status,
        );
        if (few === 500) throw new NotApplicable('the reserve holds too little for a sample');
        await session.ask({ path }, { status: 200, json: SAMPLE });
      },
    }),
  ];
}

/** A peer that the node has an account with: content went there. */
async function tradingPeer(session: RowSession): Promise<string> {
  return session.once('trading peer', async (setup) => {
    const headers = { ...(await batchHeader(setup)), 'svc-deferred-upload': 'false' };
    await setup.ask(
      { method: 'POST', path: '/bytes', headers, body: setup.content('trade', 20_000) },
      { status: 201 },
    );
    const { text } = await setup.ask(
      { path: '/balances' },
      { status: 200, json: '{balances:{peer:hex32}[]}' },
    );
    return text('balances.0.peer');
  });
}

function welcomeRows(names: Names): Row<HttpSubject>[] {
  const write = rowIn('welcome message', 'write');
  const post = (body: string): HttpRequest => ({ method: 'POST', path: '/welcome-message', body });
  return [
    httpRow({
      id: 'POST /welcome-message',
      group: 'welcome message',
      about: 'is set and told',
      level: 'write',
      steps: async (session) => {
        const { text } = await session.ask(
          { path: '/welcome-message' },
          { status: 200, json: '{welcomeMessage:text}' },
        );
        const before = JSON.stringify({ welcomeMessage: text('welcomeMessage') });
        session.later('welcome message', post(before));
        await session.ask(post('{"welcomeMessage":"conformance"}'), {
          status: 200,
          json: shapeOf('POST', '/welcome-message', names),
          message: 'OK',
        });
        await session.ask(
          { path: '/welcome-message' },
          { status: 200, values: { welcomeMessage: 'conformance' } },
        );
      },
    }),
    write(
      'POST /welcome-message long',
      'has at most 140 bytes',
      post(JSON.stringify({ welcomeMessage: 'x'.repeat(141) })),
      {
        status: names.either(400, 500),
        message: 'handshake welcome message longer than maximum of 140 characters',
      },
    ),
    write(
      'POST /welcome-message too large',
      'its body has at most 512 bytes',
      post(JSON.stringify({ welcomeMessage: 'x'.repeat(600) })),
      {
        status: 413,
        message: 'Request Entity Too Large',
      },
    ),
    write('POST /welcome-message no JSON', 'a body that is no JSON is refused', post('{'), {
      status: 400,
      message: /./,
    }),
  ];
}

function loggerRows(): Row<HttpSubject>[] {
  const read = rowIn('loggers', 'read');
  const of = (expression: string) =>
    `/loggers/${Buffer.from(expression)
      .toString('base64url')
      .padEnd(4 * Math.ceil(Buffer.from(expression).length / 3), '=')}`;
  return [
    read(
      'GET /loggers/{exp} nothing',
      'nothing that matches is an empty list',
      { path: of('^nothing$') },
      {
        status: 200,
        json: '{tree:tree,loggers:any[]|null}',
      },
    ),
    read(
      'GET /loggers/{exp} all',
      'an expression picks loggers',
      { path: of('node.*') },
      {
        status: 200,
        json: '{tree:tree,loggers:{logger:text,verbosity:text,subsystem:text,id:base64}[]}',
      },
    ),
    read(
      'GET /loggers/{exp} no expression',
      'what is no expression is refused',
      { path: of('[') },
      {
        status: 400,
        message: 'invalid path params',
        reasons: [{ field: 'exp', error: /^error parsing regexp: / }],
      },
    ),
    httpRow({
      id: 'PUT /loggers/{exp}/{verbosity}',
      group: 'loggers',
      about: 'a logger is told to say more, and as much as before',
      level: 'write',
      steps: async (session) => {
        const listed = await session.ask({ path: '/loggers' }, { status: 200, json: '{loggers:any[]}' });
        const id = listed.text('loggers.0.id');
        const before = listed.text('loggers.0.verbosity');
        session.later('verbosity', { method: 'PUT', path: `/loggers/${id}/${before}` });
        const set = (word: string) =>
          session.ask(
            { method: 'PUT', path: `/loggers/${id}/${word}` },
            { status: 200, json: ACKNOWLEDGEMENT, message: 'OK' },
          );
        await set('error');
        await session.ask(
          { path: `/loggers/${id}` },
          { status: 200, values: { 'loggers.0.verbosity': 'error', 'loggers.0.id': id } },
        );
        await set(before);
      },
    }),
    httpRow({
      id: 'PUT /loggers/{exp}/{verbosity} nothing',
      group: 'loggers',
      about: 'is done when nothing matches',
      level: 'write',
      steps: (session) =>
        session.ask({ method: 'PUT', path: `${of('^nothing$')}/info` }, { status: 200, message: 'OK' }),
    }),
  ];
}

/** Questions about money, and requests that are refused: a node that accepts one spends. */
function moneyRows(names: Names): Row<HttpSubject>[] {
  const read = rowIn('money', 'read');
  const write = rowIn('money', 'write');
  const offer = rowIn('money', 'money');
  const noCheque: Expectation = { status: 404, message: 'no prior cheque' };
  const huge = '9'.repeat(40);
  const post = (path: string): HttpRequest => ({ method: 'POST', path });
  const unknownTx = { status: 404, message: 'unknown transaction' };
  return [
    read(
      'GET /chequebook/cheque unknown',
      names.either('a peer without cheques is not found', 'a peer without cheques has none'),
      { path: `/chequebook/cheque/${NOTHING}` },
      names.either<Expectation>(noCheque, {
        status: 200,
        values: { peer: NOTHING, lastreceived: null, lastsent: null },
      }),
    ),
    read(
      'GET /chequebook/cashout unknown',
      'there is no cashout without a cheque',
      { path: `/chequebook/cashout/${NOTHING}` },
      noCheque,
    ),
    offer(
      'POST /chequebook/cashout unknown',
      'there is nothing to cash without a cheque',
      post(`/chequebook/cashout/${NOTHING}`),
      names.either<Expectation>(noCheque, { status: 500, message: 'cannot cash cheque' }),
    ),
    offer(
      'POST /chequebook/deposit',
      'more than there is cannot be deposited',
      post(`/chequebook/deposit?amount=${huge}`),
      {
        status: 400,
        message: 'insufficient funds',
      },
    ),
    offer(
      'POST /chequebook/withdraw',
      'more than there is cannot be withdrawn',
      post(`/chequebook/withdraw?amount=${huge}`),
      {
        status: 400,
        message: 'insufficient funds',
      },
    ),
    offer(
      'POST /wallet/withdraw coin',
      'there are two coins',
      post(`/wallet/withdraw/gold?amount=1&address=${'ab'.repeat(20)}`),
      {
        status: 400,
        message: names.either(
          'only SVC or NativeToken options are accepted',
          'only BZZ or NativeToken options are accepted',
        ),
      },
    ),
    offer(
      'POST /wallet/withdraw address',
      'an address must be allowed',
      post(`/wallet/withdraw/nativetoken?amount=1&address=${'ab'.repeat(20)}`),
      {
        status: 400,
        message: 'provided address not whitelisted',
      },
    ),
    read('GET /transactions unknown', 'is not found', { path: `/transactions/0x${NOTHING}` }, unknownTx),
    write('POST /transactions unknown', 'is not found', post(`/transactions/0x${NOTHING}`), unknownTx),
    write(
      'DELETE /transactions unknown',
      'is not found',
      { method: 'DELETE', path: `/transactions/0x${NOTHING}` },
      unknownTx,
    ),
  ];
}

function batchRows(names: Names): Row<HttpSubject>[] {
  const read = rowIn('batches', 'read');
  const write = rowIn('batches', 'write');
  const offer = rowIn('batches', 'money');
  const own = async (session: RowSession) => (await batchHeader(session))['svc-postage-batch-id'] ?? '';
  const unknown = { status: 404, message: 'issuer does not exist' };
  const label = (id: string, body: string): HttpRequest => ({ method: 'PATCH', path: `/stamps/${id}`, body });
  return [
    write(
      'GET /stamps/{batch_id}',
      'all fields of one batch',
      async (session) => ({ path: `/stamps/${await own(session)}` }),
      {
        status: 200,
        json: shapeOf('GET', '/stamps/{batch_id}', names),
        values: { usable: true, exists: true },
      },
    ),
    write(
      'GET /stamps/{batch_id}/buckets',
      'there are 65536 buckets',
      async (session) => ({ path: `/stamps/${await own(session)}/buckets` }),
      {
        status: 200,
        json: shapeOf('GET', '/stamps/{batch_id}/buckets', names),
        values: { bucketDepth: 16, 'buckets.length': 65_536 },
      },
    ),
    write(
      'GET /batches/{batch_id}',
      'all fields of one batch of the network',
      async (session) => ({ path: `/batches/${await own(session)}` }),
      {
        status: 200,
        json: shapeOf('GET', '/batches/{batch_id}', names),
      },
    ),
    read('GET /stamps unknown', 'is not found', { path: `/stamps/${NOTHING}` }, unknown),
    read('GET /stamps buckets unknown', 'is not found', { path: `/stamps/${NOTHING}/buckets` }, unknown),
    read(
      'GET /batches unknown',
      'is not found',
      { path: `/batches/${NOTHING}` },
      { status: 404, message: 'batch not found' },
    ),
    ...(names.isSwarm
      ? []
      : [
          read(
            'GET /stamps?all',
            'expired batches are asked for',
            { path: '/stamps?all=true' },
            { status: 200, json: shapeOf('GET', '/stamps', names) },
          ),
        ]),
    offer(
      'POST /stamps short',
      'a batch lasts a day',
      { method: 'POST', path: '/stamps/1/17' },
      {
        status: 400,
        message: 'insufficient amount for 24h minimum validity',
      },
    ),
    offer(
      'POST /stamps dear',
      'a batch must be affordable',
      { method: 'POST', path: `/stamps/${'9'.repeat(30)}/17` },
      {
        status: 400,
        message: 'out of funds',
      },
    ),
    offer(
      'PATCH /stamps/dilute unknown',
      'a batch must be known',
      { method: 'PATCH', path: `/stamps/dilute/${NOTHING}/20` },
      {
        status: names.either(404, 500),
        message: 'cannot dilute batch',
      },
    ),
    httpRow({
      id: 'PATCH /stamps/{batch_id}',
      group: 'batches',
      about: 'a batch has another label, and its own again',
      level: 'write',
      steps: async (session) => {
        const id = await own(session);
        const { text } = await session.ask({ path: `/stamps/${id}` }, { status: 200 });
        const before = text('label');
        if (before === '') session.stays(`label of ${id}`, 'it had none, and an empty one is refused');
        else session.later(`label of ${id}`, label(id, JSON.stringify({ label: before })));
        await session.ask(label(id, '{"label":"conformance"}'), {
          status: 200,
          json: ACKNOWLEDGEMENT,
          message: 'OK',
        });
        await session.ask({ path: `/stamps/${id}` }, { status: 200, values: { label: 'conformance' } });
      },
    }),
    write(
      'PATCH /stamps/{batch_id} no JSON',
      'a body that is no JSON is refused',
      async (session) => label(await own(session), '{'),
      {
        status: 400,
        message: 'invalid request body',
      },
    ),
    write(
      'PATCH /stamps/{batch_id} empty',
      'a label is needed',
      async (session) => label(await own(session), '{"label":""}'),
      {
        status: 400,
        message: 'label is required',
      },
    ),
    write('PATCH /stamps/{batch_id} unknown', 'is not found', label(NOTHING, '{"label":"x"}'), unknown),
  ];
}

function messageRows(): Row<HttpSubject>[] {
  const write = rowIn('messages', 'write');
  const send =
    (request: Partial<HttpRequest>) =>
    async (session: RowSession): Promise<HttpRequest> => ({
      method: 'POST',
      path: '/pss/send/conformance/ab',
      headers: await batchHeader(session),
      body: 'hello',
      ...request,
    });
  const subscribed = (
    group: string,
    id: string,
    about: string,
    steps: (session: RowSession) => Promise<unknown>,
  ) => httpRow({ id, group, about, level: 'write', limitMs: SIXTY_SECONDS, steps });
  const sameAs =
    (wanted: Uint8Array) =>
    ({ received }: { received: readonly Uint8Array[] }) =>
      Buffer.compare(received[0] ?? new Uint8Array(0), wanted) === 0
        ? undefined
        : 'another message than the one that was sent';
  return [
    write(
      'POST /pss/send target',
      'a target has at most three bytes, told before a missing batch',
      { method: 'POST', path: '/pss/send/t/abababab', body: 'x' },
      {
        status: 400,
        message: 'invalid path params',
        reasons: [{ field: 'target', error: 'want max:3' }],
      },
    ),
    write(
      'POST /pss/send unknown batch',
      'a batch must be known',
      send({ headers: { 'svc-postage-batch-id': NOTHING } }),
      {
        status: 400,
        message: 'batch not found',
      },
    ),
    write(
      'POST /pss/send long',
      'a body over 4096 bytes is too large',
      send({ body: new Uint8Array(4097) }),
      {
        status: 413,
        message: 'Request Entity Too Large',
      },
    ),
    subscribed(
      'messages',
      'GET /pss/subscribe',
      'a message reaches who has subscribed to its topic',
      async (session) => {
        session.needs('second');
        const { text } = await session.ask(
          { place: 'second', path: '/addresses' },
          { status: 200, json: '{overlay:hex32,pssPublicKey:hex33}' },
        );
        const topic = session.hex('pss topic', 8);
        const payload = session.content('pss', 100);
        const headers = await batchHeader(session);
        const path = `/pss/send/${topic}/${text('overlay').slice(0, 2)}?recipient=${text('pssPublicKey')}`;
        await session.converse(
          {
            place: 'second',
            path: `/pss/subscribe/${topic}`,
            expected: 1,
            during: () =>
              session.ask(
                { method: 'POST', path, headers, body: payload },
                { status: 201, message: 'Created' },
              ),
          },
          sameAs(payload),
        );
      },
    ),
    subscribed(
      'messages',
      'GET /gsoc/subscribe',
      'an update of a chunk reaches who has subscribed to it, without its span',
      async (session) => {
        session.needs('second');
        const payload = session.content('gsoc', 100);
        const soc = signedChunk(signerOf(session, 'gsoc'), session.hex('gsoc id'), payload);
        const headers = await batchHeader(session);
        await session.converse(
          {
            place: 'second',
            path: `/gsoc/subscribe/${soc.address}`,
            expected: 1,
            during: () =>
              session.ask(
                { method: 'POST', path: `${soc.path}?sig=${soc.signature}`, headers, body: soc.body },
                { status: 201, json: '{reference:hex32}' },
              ),
          },
          sameAs(payload),
        );
      },
    ),
    ...['/pss/subscribe/abc', `/gsoc/subscribe/${NOTHING}`].map((path) =>
      httpRow({
        id: `GET ${path.slice(0, path.lastIndexOf('/'))} plain`,
        group: 'messages',
        about: 'what is no upgrade is refused',
        level: 'read',
        steps: (session) =>
          session.ask(
            { path },
            { status: 400, text: /upgrade failed/, headers: { 'sec-websocket-version': '13' } },
          ),
      }),
    ),
  ];
}

/** Operations as data: paths, parameters with types and defaults, statuses, shapes of bodies. */

import type { Method, Place } from './messages.ts';
import type { Names } from './names.ts';
import data from './routes.json' with { type: 'json' };

export interface RouteParam {
  readonly name: string;
  readonly type: string;
  readonly required?: boolean;
}

export interface RouteData {
  readonly method: Method;
  readonly path: string;
  readonly port: 'main' | 'debug' | 'both';
  readonly success: readonly number[];
  readonly params: Readonly<Record<string, string>>;
  readonly headers: readonly RouteParam[];
  readonly query: readonly RouteParam[];
  /** First success in `svc`: shape or body. */
  readonly response: string | null;
}

export const ROUTES = data as unknown as readonly RouteData[];

/** The requested operation in the dialect's names: `GET /bytes/{reference}`; else the path. */
export function routeAt(names: Names, method: string, path: string): string {
  const [place = ''] = path.split('?');
  const plain = place.replace(/^\/v1(?=\/)/, '');
  const parts = plain.split('/');
  const fits = (template: string) => {
    const wanted = template.split('/');
    const isOpen = wanted.at(-1) === '{path}' && parts.length > wanted.length;
    return (
      (parts.length === wanted.length || isOpen) &&
      wanted.every((part, i) => part === parts[i] || (/^\{.*\}$/.test(part) && parts[i] !== ''))
    );
  };
  const templates = ROUTES.filter((route) => route.method === method).map((route) => names.path(route.path));
  // A path of its own precedes one with a parameter.
  const found = templates.includes(plain) ? plain : templates.find(fits);
  return `${method} ${found ?? place}`;
}

/** Other shapes of the public network's node; http-api-completion 2 and 4.2. */
const SWARM_RESPONSES: Readonly<Record<string, string>> = {
  'GET /addresses':
    '{overlay:hex32,underlay:multiaddr[],ethereum:0xaddress,chain_address:0xaddress,publicKey:hex33,pssPublicKey:hex33}',
  'GET /health': '{status:text,version:text,apiVersion:text}',
  'GET /node': '{beeMode:text,chequebookEnabled:bool,swapEnabled:bool}',
  'GET /chainstate':
    '{chainTip:uint,block:uint,totalAmount:amount,currentPrice:amount,minimumValidityBlocks:uint}',
  'POST /welcome-message': '{message:text,code:int}',
  'GET /chequebook/address': '{chequebookAddress:checksummed}',
  'GET /wallet':
    '{bzzBalance:amount,nativeTokenBalance:amount,chainID:int,chequebookContractAddress:0xaddress,walletAddress:0xaddress}',
  'GET /pins/check': 'lines',
};

const SWARM_FIELDS: readonly (readonly [RegExp, string])[] = [
  [/,peer:hex32,proximity/, ',proximity'],
  [/svcMode/, 'beeMode'],
  [/requestFailed:/g, 'requestFailed?:'],
  [/(\{peer:hex32,balance:amount)\}/g, '$1,thresholdreceived:amount|null,thresholdgiven:amount|null}'],
  [/batchCommitment:uint,BatchCommitment:uint/, 'batchCommitment:uint'],
  [/^\{stamps:(\{overlay.*\}\[\]),snapshots:same\}/, '{snapshots:$1}'],
  [/,expired:bool/, ',utilizationRatio:number'],
  [/immutable:bool,immutableFlag:bool,storageRadius:uint/, 'immutable:bool'],
  [/lastSampleDuration:duration,/, ''],
  [/\{\/:tree,\+:text\}/, '{/?:tree,+?:text[]}'],
  [/^\{peerData:\{\[peer\].*\}\},balances/, '{balances'],
  [/(received|sent|totalReceived|totalSent):int/gi, '$1:amount'],
  [/issuer:address/, 'issuer:checksummed'],
  [/(beneficiary|chequebook):address/g, '$1:checksummed'],
  [/(recipient|to):address/g, '$1:0xaddress'],
];

export function responseOf(route: RouteData, names: Names): string | null {
  const { response } = route;
  if (response === null || !names.isSwarm) return response;
  const own = SWARM_RESPONSES[`${route.method} ${route.path}`];
  if (own !== undefined) return own;
  return SWARM_FIELDS.reduce((shape, [found, instead]) => shape.replace(found, instead), response);
}

export function placesOf({ port }: RouteData): readonly Place[] {
  return port === 'both' ? ['main', 'debug'] : [port];
}

/** First segment of optional paths → a request. */
const PROBES: Readonly<Record<string, string>> = {
  stamps: '/stamps',
  settlements: '/settlements',
  wallet: '/wallet',
  chequebook: '/chequebook/address',
  redistributionstate: '/redistributionstate',
  rchash: '/redistributionstate',
};

/** Shows whether a route's subject is on; undefined: always. */
export function probeOf({ path }: Pick<RouteData, 'path'>): string | undefined {
  return PROBES[path.split('/')[1] ?? ''];
}

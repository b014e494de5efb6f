/** What carries nodes' connections. `p2p-protocols.md` 1.6. */
import { createHash } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { fromBase58 } from '../../formats/crypto/base58.ts';
import type { CarrierName } from '../../node/p2p/address/underlay.ts';
import { type Authority, createAuthority } from '../base/machine/certificates.ts';
import { p256Identity } from './bee-keys.ts';
import type { NodePlan, PlannedFile } from './flavour.ts';

/** A domain reserved for tests (RFC 2606). */
const DOMAIN = 'nodes.test';
/** No one asks this authority: its name is part of a path. */
const NO_AUTHORITY = 'https://127.0.0.1:1/directory';
const FILES = {
  certificate: 'tls/certificate.pem',
  key: 'tls/key.pem',
  authority: 'tls/authority.pem',
} as const;
export const AUTHORITY_FILE = FILES.authority;

export function multiaddress(of: { host: string; port: number; peerId: string; suffix?: string }): string {
  return `/${isIPv4(of.host) ? 'ip4' : 'dns4'}/${of.host}/tcp/${of.port}${of.suffix ?? ''}/p2p/${of.peerId}`;
}

/** The same for all nodes of a seed, including later ones. */
export function authorityOf(seed: bigint): Authority {
  const secret = createHash('sha256').update(`certificate authority ${seed}`).digest();
  return createAuthority(`svcnet authority of seed ${seed}`, p256Identity(secret).pem);
}

type Planned = Pick<NodePlan, 'dataDir' | 'identity' | 'listen' | 'ports' | 'network' | 'advertised'>;

/** Follows the port in our node's underlay if it has one carrier; of several, TCP is first. */
export function ownSuffix(underlays: readonly CarrierName[], peerId: string, host: string): string {
  if (underlays.includes('tcp')) return '';
  if (underlays.includes('ws')) return '/ws';
  return `/tls/sni/${host.replace(/[.:]/g, '-')}.${domainOf(peerId)}/ws`;
}

function domainOf(peerId: string): string {
  return `${peerId.toLowerCase()}.${DOMAIN}`;
}

export function carrierOptions({
  dataDir,
  listen,
  ports,
  network,
  advertised,
}: Planned): Record<string, unknown> {
  const { underlays } = network;
  const file = (name: keyof typeof FILES) => `${dataDir}/${FILES[name]}`;
  const isAlone = underlays.length === 1;
  return {
    ...(underlays.includes('tcp') ? {} : { 'p2p-tcp-enable': false }),
    ...(underlays.includes('ws') ? { 'p2p-ws-enable': true } : {}),
    ...(underlays.includes('wss')
      ? {
          'p2p-wss-enable': true,
          // The node's only port if there is no other carrier.
          'p2p-wss-addr': `${listen}:${isAlone ? ports.p2p : 0}`,
          'nat-wss-addr': isAlone ? (advertised ?? '') : '',
          'p2p-wss-certificate': file('certificate'),
          'p2p-wss-key': file('key'),
          'p2p-wss-authority': file('authority'),
        }
      : {}),
  };
}

export function carrierFiles({ identity, network: { underlays, seed } }: Planned): PlannedFile[] {
  if (!underlays.includes('wss')) return [];
  const authority = authorityOf(seed);
  const issued = authority.issue([`*.${domainOf(identity.peerId)}`]);
  return [
    { path: FILES.certificate, content: issued.certificate },
    { path: FILES.key, content: issued.key },
    { path: FILES.authority, content: authority.certificate },
  ];
}

export function beeCarrierOptions({ listen, network: { underlays } }: Planned): Record<string, unknown> {
  return {
    ...(underlays.includes('ws') ? { 'p2p-ws-enable': true } : {}),
    ...(underlays.includes('wss')
      ? {
          'p2p-wss-enable': true,
          'p2p-wss-addr': `${listen}:0`,
          'autotls-domain': DOMAIN,
          'autotls-ca-endpoint': NO_AUTHORITY,
          'autotls-registration-endpoint': NO_AUTHORITY,
        }
      : {}),
  };
}

/** Where a Bee keeps the certificate it got, so that it asks for none. */
export function beeCarrierFiles({ identity, network: { underlays, seed } }: Planned): PlannedFile[] {
  if (!underlays.includes('wss')) return [];
  const authority = authorityOf(seed);
  const { peerId } = p256Identity(identity.keys.libp2p);
  const name = `${base36(peerId)}.${DOMAIN}`;
  const { certificate, key } = authority.issue([`*.${name}`]);
  const { host, pathname } = new URL(NO_AUTHORITY);
  const issuer = `${host}${pathname}`.replace(/[:/]/g, '-');
  const path = `autotls/${DOMAIN}/certificates/${issuer}/wildcard_.${name}/wildcard_.${name}`;
  return [
    { path: `${path}.crt`, content: certificate },
    { path: `${path}.key`, content: key },
    { path: `${path}.json`, content: JSON.stringify({ sans: [`*.${name}`], issuer_data: null }) },
    { path: FILES.authority, content: authority.certificate },
  ];
}

function base36(peerId: string): string {
  const cid = Buffer.concat([Buffer.of(0x01, 0x72), fromBase58(peerId)]);
  return `k${BigInt(`0x${cid.toString('hex')}`).toString(36)}`;
}

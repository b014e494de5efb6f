import { isIPv4 } from 'node:net';

/** @param of.host IPv4 address or name */
export function multiaddress(of: { host: string; port: number; peerId: string }): string {
  return `/${isIPv4(of.host) ? 'ip4' : 'dns4'}/${of.host}/tcp/${of.port}/p2p/${of.peerId}`;
}

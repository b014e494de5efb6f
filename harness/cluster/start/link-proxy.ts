import { writeJson } from '../../base/json-file.ts';
import { type Driver, LINK_PROXY } from '../../places/driver.ts';
import { proxyError } from '../../places/link-proxy.ts';
import type { ProxyOptions } from '../../places/links/proxy/proxy.ts';
import type { Route } from '../../places/links/proxy/routes.ts';
import { type ClusterRecord, clusterFolder, readRun, writeRun } from '../state/state.ts';
import type { Launched } from './part-watch.ts';
import type { StartContext } from './start-context.ts';

/** After ports are chosen and before nodes run. @throws HarnessError `PORT_IN_USE`, `PROCESS_FAILED`, `WAIT_TIMEOUT` */
export async function startLinkProxy(
  { stateDir, record, definition, driver, seed }: StartContext,
  routes: readonly Route[],
  launched: Launched,
): Promise<void> {
  const folder = clusterFolder(stateDir, record.name);
  const options: ProxyOptions = { listen: definition.listen, routes, seed: seed.toString() };
  writeJson(folder.linkProxyOptions(), options);
  const { handle } = await driver.start({
    kind: 'link-proxy',
    name: LINK_PROXY,
    options,
    optionsFile: folder.linkProxyOptions(),
    log: folder.log(LINK_PROXY),
  });
  launched.parts.push({ name: LINK_PROXY, handle });
  writeRun(stateDir, record.name, LINK_PROXY, { handle, state: 'running' });
}

interface Proxied {
  readonly stateDir: string;
  readonly record: Pick<ClusterRecord, 'name'>;
  readonly driver: Pick<Driver, 'routes'>;
}

/** Puts the proxy, if any, before these nodes. @throws HarnessError `PORT_IN_USE`, `PROCESS_FAILED` */
export async function route(proxied: Proxied, routes: readonly Route[]): Promise<void> {
  const refused = await proxyOf(proxied)?.route(routes);
  if (refused !== undefined) throw proxyError('the link proxy cannot listen', refused);
}

export async function unroute(proxied: Proxied, nodes: readonly string[]): Promise<void> {
  await proxyOf(proxied)?.unroute(nodes);
}

function proxyOf({ stateDir, record, driver }: Proxied) {
  return driver.routes?.(readRun(stateDir, record.name, LINK_PROXY)?.handle);
}

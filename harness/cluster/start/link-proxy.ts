/** Starts the link proxy, after ports are chosen and before nodes run. */
import { writeJson } from '../../base/json-file.ts';
import { LINK_PROXY } from '../../places/driver.ts';
import type { ProxyOptions, Route } from '../../places/links/proxy/proxy.ts';
import { clusterFolder, writeRun } from '../state/state.ts';
import type { Launched } from './launched.ts';
import type { StartContext } from './start-context.ts';

/** @throws HarnessError `PORT_IN_USE`, `PROCESS_FAILED`, `WAIT_TIMEOUT` */
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

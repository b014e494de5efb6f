/**
 * Writes the start files of containers, once per compose network; `compose-volumes.ts` lists the volumes. Volumes of the
 * same network stay: it continues. Others are emptied.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../formats/version.ts';
import { HarnessError } from '../base/errors.ts';
import { runProgram } from '../base/machine/processes.ts';
import { plainYaml } from '../cluster/plan/document/plain-yaml.ts';
import { parseSeed } from '../cluster/plan/seed.ts';
import { NODE_PORTS, VOLUMES_FOLDER } from '../flavours/inside-image.ts';
import { svcFlavour } from '../flavours/svc.ts';
import { dashboardFiles } from '../metrics/dashboards/files.ts';
import { CHAIN_FILE, CONFIG_FILE, DASHBOARDS, emptyVolume, volumesOf, writeIn } from './compose-volumes.ts';
import { type ContainerNetwork, containerNetwork } from './container-network.ts';
import { CHAIN, DASHBOARDS_FOLDER, PROMETHEUS_PORT } from './container-programs.ts';
import { DEFAULT_SEED, parseExported } from './export-request.ts';
import { networkFile } from './network-file.ts';
import { localDoors } from './published.ts';

const FORGET_TIMEOUT_MS = 60_000;
const SCRAPE_INTERVAL_MS = 2000;

/**
 * Reads SVCNET_DEFINITION (YAML), SVCNET_SEED and SVCNET_FOLDER.
 * @returns a sentence for people @throws HarnessError `DEFINITION_INVALID`, `USAGE`, `PROCESS_FAILED`
 */
export async function prepare(environment: NodeJS.ProcessEnv): Promise<string> {
  const definition = parseExported(
    (await plainYaml(environment['SVCNET_DEFINITION'] ?? '', { source: 'SVCNET_DEFINITION' })) as
      | object
      | null,
    'SVCNET_DEFINITION',
  );
  const seed = parseSeed(environment['SVCNET_SEED'] || DEFAULT_SEED.toString(), 'SVCNET_SEED');
  const folder = environment['SVCNET_FOLDER'] ?? VOLUMES_FOLDER;
  const network = containerNetwork({ definition, seed });
  const ofChain = join(folder, CHAIN);
  const summary = `${network.nodes.length} nodes in ${folder}, seed ${seed}`;
  // The chain's options hold accounts and batches, so also the seed.
  const described = [VERSION, network.chain, ...network.nodes.map(({ config }) => config)].join('\n');
  const preparedFile = join(ofChain, 'prepared');
  const known = existsSync(preparedFile) && readFileSync(preparedFile, 'utf8') === described;
  if (!known) for (const name of volumesOf(network.nodes)) emptyVolume(join(folder, name));
  // Every time: containers do not read published ports.
  writeIn(join(ofChain, 'network.yaml'), networkFile(network, localDoors(definition)).content);
  writeDashboards(folder, network);
  // The node of a removed volume begins anew, with its keys.
  const empty = network.nodes.filter(({ name }) => !existsSync(join(folder, name, CONFIG_FILE)));
  for (const { name, config, keys } of empty) {
    writeIn(join(folder, name, CONFIG_FILE), config);
    for (const { path, content } of keys) writeIn(join(folder, name, path), content);
  }
  if (known) {
    await forgetPeers(network.nodes.map(({ name }) => join(folder, name)));
    return `continues with ${summary}`;
  }
  writeIn(join(ofChain, CHAIN_FILE), network.chain);
  writeIn(join(ofChain, 'env'), envText(network));
  // Last: an interrupted preparation is redone.
  writeIn(preparedFile, described);
  return `prepared ${summary}`;
}

function writeDashboards(folder: string, { nodes }: ContainerNetwork): void {
  const files = dashboardFiles({
    nodes: nodes.map(({ name, mode }) => ({
      name,
      mode,
      flavour: svcFlavour.name,
      debug: `http://${name}:${NODE_PORTS.debug}`,
    })),
    intervalMs: SCRAPE_INTERVAL_MS,
    prometheus: `http://prometheus:${PROMETHEUS_PORT}`,
    folder: DASHBOARDS_FOLDER,
  });
  for (const { path, content } of files) writeIn(join(folder, DASHBOARDS, path), content, 0o644);
}

/** Recreated containers have new addresses. */
async function forgetPeers(dataDirs: readonly string[]): Promise<void> {
  const options = { compileCache: undefined, timeoutMs: FORGET_TIMEOUT_MS };
  if (await runProgram(svcFlavour.forgetPeers(dataDirs), options)) return;
  throw new HarnessError(
    'PROCESS_FAILED',
    `the addresses of peers could not be removed: ${dataDirs.join(', ')}`,
  );
}

function envText({ nodes }: ContainerNetwork): string {
  const lines = nodes.flatMap(({ batches, overlay }, index) => [
    `SVCNET_BATCH_${index}=${batches[0] ?? ''}`,
    `SVCNET_OVERLAY_${index}=${overlay}`,
  ]);
  return `${lines.join('\n')}\n`;
}

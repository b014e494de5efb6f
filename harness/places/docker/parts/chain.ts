import { HarnessError } from '../../../base/errors.ts';
import { pickFreePorts } from '../../../base/machine/ports.ts';
import {
  CHAIN_HEALTH_PATH,
  CHAIN_PORTS,
  chainOptions,
  DATA_FOLDER,
  probe,
} from '../../../flavours/inside-image.ts';
import type { ChainPart, ChainUrls, Driver } from '../../driver.ts';
import { controlAddress, reachedAt, urlAt } from '../addresses.ts';
import type { PartContainer } from '../container.ts';
import type { Engine } from '../engine/engine.ts';
import { type Owner, partName } from '../names.ts';

const CHAIN = 'chain';
const OPTIONS_FILE = `${CHAIN}/options.json`;

export async function chainContainer(given: ChainPart['options'], listen: string): Promise<PartContainer> {
  const [control = 0, free = 0] = await pickFreePorts(2);
  const at = controlAddress(listen);
  const options = {
    ...given,
    ...chainOptions([CHAIN, reachedAt(listen), reachedAt(at)], (given['allowedHosts'] ?? []) as string[]),
    stopOnStdinEnd: false,
    // A restarted container continues where it was: otherwise its nodes would miss blocks.
    stateFolder: `${DATA_FOLDER}/${CHAIN}/state`,
  };
  return {
    part: CHAIN,
    command: {
      entrypoint: ['node', 'chain/main.ts'],
      args: [`${DATA_FOLDER}/${OPTIONS_FILE}`],
      env: { TMPDIR: `${DATA_FOLDER}/${CHAIN}` },
      health: probe(CHAIN_PORTS.control, CHAIN_HEALTH_PATH),
    },
    ports: [
      { inside: CHAIN_PORTS.rpc, outside: given['port'] === 0 ? free : Number(given['port']) },
      { inside: CHAIN_PORTS.control, outside: control, at },
    ],
    files: [{ path: OPTIONS_FILE, content: JSON.stringify(options) }],
  };
}

/** @throws HarnessError `CHAIN_FAILED`: it has ended */
export async function placeChain(
  reported: ChainUrls,
  engine: Engine,
  owner: Owner,
): ReturnType<Driver['placeChain']> {
  const name = partName(owner, CHAIN);
  const { NetworkSettings } = await engine.ask((docker) => docker.container(name).inspect());
  const published = (inside: number) => {
    const binding = NetworkSettings.Ports[`${inside}/tcp`]?.[0];
    if (binding !== undefined) return urlAt(binding.HostIp, Number(binding.HostPort));
    throw new HarnessError('CHAIN_FAILED', `${name} has ended: its port ${inside} is not published`, {
      hint: `Its log: svcnet logs chain --name ${owner.name}`,
    });
  };
  const inside = (port: number) => `http://${CHAIN}:${port}`;
  return { here: chainUrls(reported, published), nodes: chainUrls(reported, inside) };
}

function chainUrls({ gate }: ChainUrls, urlOf: (port: number) => string): ChainUrls {
  const rpc = urlOf(CHAIN_PORTS.rpc);
  return { rpc, control: urlOf(CHAIN_PORTS.control), gate: gate === undefined ? undefined : rpc };
}

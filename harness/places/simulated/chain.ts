import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readyLine, startControl } from '../../../chain/control.ts';
import { startLocalChain } from '../../../chain/local-chain.ts';
import { parseOptions } from '../../../chain/options.ts';
import { makeFolder } from '../../base/own-folder.ts';
import type { ChainPart } from '../driver.ts';
import type { Simulation } from './simulation.ts';

export interface SimulatedChain {
  stop(): Promise<void>;
}

export async function startSimulatedChain(
  simulation: Simulation,
  { options, log: file }: ChainPart,
): Promise<SimulatedChain> {
  const { time, listen } = simulation;
  const hostName = simulation.hostName('chain');
  makeFolder(dirname(file), 0o700);
  const log = (line: string) => appendFileSync(file, `${line}\n`);
  const { chain: given, gate, steady, controlPort } = parseOptions(JSON.stringify(options));
  const at = {
    host: hostName,
    listen,
    clock: time.clock,
    work: <T>(ask: () => Promise<T>) => time.real(ask),
  };
  const chain = await time.during(
    startLocalChain({ ...given, ...at, engine: 'in-process', allowedHosts: [hostName], log }),
  );
  const offer = simulation.offerChain(chain.gate);
  const control = await startControl({ chain, gate, steady }, { host: hostName, port: controlPort, listen });
  log(readyLine({ chain, gate }, control));
  return {
    async stop() {
      offer[Symbol.dispose]();
      await control.close();
      await chain.stop();
    },
  };
}

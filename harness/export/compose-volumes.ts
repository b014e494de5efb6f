/**
 * A volume for each container: none sees another's keys. Each lies at `/data` of its container, and below `/volumes` of the
 * one that fills them all:
 *   chain/chain.json        options document of `chain/main.ts`
 *   chain/env               batch ids, ready to use in a shell
 *   chain/network.yaml      URLs of the network and the chain's token, for `svcnet attach`
 *   chain/prepared          what the volumes were filled for
 *   chain/chain             state of the chain, written by itself
 *   node-0/config.yaml      options of `node/main.ts`, with its key files beside it
 *   dashboards              what Prometheus and Grafana read
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HarnessError, messageOf } from '../base/errors.ts';
import { makeFolder } from '../base/own-folder.ts';
import { CHAIN } from './container-programs.ts';

export const CHAIN_FILE = 'chain.json';
export const CONFIG_FILE = 'config.yaml';
export const DASHBOARDS = 'dashboards';

/** @param nodes names */
export function volumesOf(nodes: readonly { readonly name: string }[]): string[] {
  return [CHAIN, DASHBOARDS, ...nodes.map(({ name }) => name)];
}

/** Makes a missing folder. @throws HarnessError `USAGE` */
export function emptyVolume(folder: string): void {
  try {
    makeFolder(folder);
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  } catch (error) {
    throw new HarnessError('USAGE', `cannot write to ${folder}: ${messageOf(error)}`, { cause: error });
  }
}

export function writeIn(path: string, content: string, mode = 0o600): void {
  makeFolder(dirname(path));
  writeFileSync(path, content, { mode });
}

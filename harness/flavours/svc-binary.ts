/** Another version of our node, or a changed one, in a process of its own, with those options that it lists. */
import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import type { Flavour } from './flavour.ts';
import { checkRunnable, expectOptions, optionsListed, programOutput, remembered } from './program.ts';
import { startArguments, svcFiles, svcFlavour } from './svc.ts';
import { interpreterOf, otherProgram } from './svc-program.ts';

const SVC_OPTIONS = ['full-node', 'swap-endpoint', 'postage-stamp-address', 'api-dialect', 'debug-api-addr'];

const known = new Map<string, Promise<ReadonlySet<string>>>();

export const svcBinaryFlavour: Flavour = {
  ...withoutOwnCode(svcFlavour),

  async check({ where, binary, options }) {
    const listed = await optionsOf(pathOf(binary), where);
    const unknown = Object.keys(options).find((name) => !listed.has(name));
    if (unknown === undefined) return;
    throw new HarnessError(
      'DEFINITION_INVALID',
      `${where}.options: ${binary} knows no option '${unknown}'${suggestion(unknown, [...listed])}`,
    );
  },

  async files(plan) {
    return svcFiles(plan, await optionsOf(pathOf(plan.binary)));
  },

  command: ({ dataDir, binary }) => otherProgram(pathOf(binary), ...startArguments(dataDir)),
};

/** Another program may have other options and records than this package's. */
function withoutOwnCode({
  embedded: _embedded,
  forgetPeers: _forgetPeers,
  compile: _compile,
  optionMistakes: _optionMistakes,
  ...flavour
}: typeof svcFlavour): Omit<typeof svcFlavour, 'embedded' | 'forgetPeers' | 'compile' | 'optionMistakes'> {
  return flavour;
}

function pathOf(binary: string | undefined): string {
  if (binary === undefined) throw new TypeError('another program of our node is planned with its path');
  return binary;
}

function optionsOf(binary: string, where = 'svc'): Promise<ReadonlySet<string>> {
  return remembered(known, { program: binary, where: `${where}.binary` }, async () => {
    const interpreter = interpreterOf(binary);
    checkRunnable(binary, interpreter.length > 0);
    const help = await programOutput(binary, ['--help'], { interpreter });
    return expectOptions(optionsListed(help), SVC_OPTIONS, {
      program: binary,
      kind: 'a node of svcnet',
      help: '--help',
    });
  });
}

/** A Bee exits on an unknown key, so its options are read from `start --help`. */
import { checkRunnable, expectOptions, optionsListed, programOutput, remembered } from './program.ts';

const BEE_OPTIONS = ['full-node', 'blockchain-rpc-endpoint', 'postage-stamp-address', 'staking-address'];

const START_HELP = ['start', '--help'];

const known = new Map<string, Promise<ReadonlySet<string>>>();

export function beeOptions(binary: string, where = 'bee'): Promise<ReadonlySet<string>> {
  return remembered(known, { program: binary, where: `${where}.binary` }, async () => {
    checkRunnable(binary);
    return optionsIn(await programOutput(binary, START_HELP), binary);
  });
}

/** @param run runs the image's program to its end @throws HarnessError `BINARY_INVALID` */
export function imageOptions(
  image: string,
  where: string,
  run: (image: string, args: readonly string[]) => Promise<string>,
): Promise<ReadonlySet<string>> {
  return remembered(known, { program: image, where: `${where}.image` }, async () =>
    optionsIn(await run(image, START_HELP), `image ${image}`),
  );
}

export function knownOptions(image: string): Promise<ReadonlySet<string>> {
  const asked = known.get(image);
  if (asked === undefined) throw new TypeError(`image ${image} is asked for its options before it is used`);
  return asked;
}

function optionsIn(help: string, program: string): ReadonlySet<string> {
  return expectOptions(optionsListed(help), BEE_OPTIONS, {
    program,
    kind: 'a Bee',
    help: START_HELP.join(' '),
  });
}

import { z } from 'zod';
import { HarnessError } from '../../base/errors.ts';
import { NAME_PATTERN } from '../../base/own-folder.ts';
import { FLAVOUR_NAME, flavourFile } from '../../flavours/declared/file.ts';
import { FLAVOUR_NAMES } from '../../flavours/flavour.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';

const nodeName = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/, { error: 'the name of a node' });
const text = z.string({ error: 'text' });

const url = text.refine((value) => value === '' || (/^https?:/.test(value) && URL.canParse(value)), {
  error: 'an HTTP address',
});
const flavour = z.string().regex(FLAVOUR_NAME, { error: 'the name of a flavour' });

const OWN: readonly string[] = FLAVOUR_NAMES;
const NO_PROGRAM = {
  path: ['flavour'],
  error: `one of ${OWN.join(', ')}, or the name in its flavour file`,
};
function hasProgram({
  flavour: name = 'svc',
  declared,
}: {
  readonly flavour?: string | undefined;
  readonly declared?: { readonly name: string } | undefined;
}): boolean {
  return OWN.includes(name) || declared?.name === name;
}

const node = z
  .looseObject(
    {
      name: nodeName,
      flavour,
      api: url,
      debug: url.optional(),
      dataDir: text,
      log: text,
      binary: text.optional(),
      declared: flavourFile.optional(),
    },
    { error: 'a node' },
  )
  .refine(hasProgram, NO_PROGRAM);

const drivers = Object.keys(DRIVER_FACTS);
const shape = z.looseObject({
  name: z.string({ error: 'text' }).regex(NAME_PATTERN, { error: 'the name of a cluster' }),
  token: z.string({ error: 'text' }).regex(/^[\w-]{1,64}$/, { error: 'letters, digits and hyphens' }),
  driver: z.enum(drivers, { error: `one of ${drivers.join(', ')}` }),
  phase: z.enum(['starting', 'running'], { error: 'starting or running' }).optional(),
  createdAt: z.number({ error: 'milliseconds' }).optional(),
  began: z.number({ error: 'milliseconds' }).optional(),
  owner: z.looseObject({ pid: z.int({ error: 'a process id' }), startedAt: text }, { error: 'a process' }),
  /** Holds only what its driver reads; attached networks have other nodes. */
  definition: z
    .looseObject(
      {
        nodes: z.array(
          z
            .looseObject({ flavour: flavour.optional(), declared: flavourFile.optional() })
            .refine(hasProgram, NO_PROGRAM),
          { error: 'a list of groups' },
        ),
      },
      { error: 'a definition' },
    )
    .optional(),
  nodes: z.array(node, { error: 'a list of nodes' }).max(1000, { error: 'at most 1000 nodes' }).optional(),
  batches: z.array(z.looseObject({ id: text, node: text }), { error: 'a list of batches' }).optional(),
});

/** @param name of its folder @throws HarnessError `STATE_INVALID` naming the key */
export function expectRecord(record: object, name: string, file: string): void {
  const parsed = shape.safeParse(record);
  const issue = parsed.error?.issues[0];
  if (issue !== undefined) throw invalid(file, `${issue.path.join('.')}: expected ${issue.message}`);
  if (parsed.data?.name !== name) {
    throw invalid(file, `name: got '${parsed.data?.name}', expected '${name}', the name of its folder`);
  }
}

function invalid(file: string, what: string): HarnessError {
  return new HarnessError('STATE_INVALID', `${file}: ${what}`);
}

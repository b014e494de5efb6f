import { z } from 'zod';
import { NAME_PATTERN } from '../../base/own-folder.ts';
import { seedIn } from './seed.ts';

export const whole = (min: number, max: number) => {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

export const text = (expected: string) => z.string({ error: expected }).min(1, { error: expected });

export const trueOrFalse = z.boolean({ error: 'true or false' });

export const oneOf = <const W extends readonly [string, ...string[]]>(words: W) =>
  z.enum(words, { error: `one of ${words.join(', ')}` });

/** @param expected instead of another value @param max most entries */
export const list = <T extends z.ZodType>(entry: T, expected: string, max: number) =>
  z.array(entry, { error: expected }).max(max, { error: `${expected}, at most ${max}` });

export const clusterName = z.string({ error: 'text' }).regex(NAME_PATTERN, {
  error: 'at most 40 lower-case letters, digits and hyphens, starting with a letter or digit',
});

const SEED_EXPECTED = 'a whole number from 0 to 2^64 - 1';
export const seed = z
  .union([z.bigint(), z.int(), z.string()], { error: SEED_EXPECTED })
  .refine((value) => seedIn(String(value)) !== undefined, { error: SEED_EXPECTED })
  .transform(BigInt);

const OPTION_VALUES_MAX = 1000;
const OPTION_EXPECTED = 'text, a number, true, false or a list of texts';
export const optionValue = z.union(
  [
    z.string(),
    z.number(),
    z.boolean(),
    list(z.string({ error: 'text' }), 'a list of texts', OPTION_VALUES_MAX),
  ],
  { error: OPTION_EXPECTED },
);

const AMOUNT_EXPECTED = 'a whole number of token units, as text when above 2^53';
export const amount = z
  .union(
    [
      z.bigint(),
      z.int({ error: AMOUNT_EXPECTED }),
      z.string().regex(/^\d{1,78}$/, { error: AMOUNT_EXPECTED }),
    ],
    {
      error: AMOUNT_EXPECTED,
    },
  )
  .transform(BigInt)
  .refine((value) => value >= 0n, { error: AMOUNT_EXPECTED });

const KEY_EXPECTED = 'a private key: 64 hex digits, 0x optional';
/** Order of secp256k1: private keys are below. */
const GROUP_ORDER = 0xffff_ffff_ffff_ffff_ffff_ffff_ffff_fffe_baae_dce6_af48_a03b_bfd2_5e8c_d036_4141n;
/** 64 lower-case hex digits. */
export const privateKey = z
  .string({ error: KEY_EXPECTED })
  .regex(/^(0x)?[0-9a-fA-F]{64}$/, { error: KEY_EXPECTED })
  .transform((text) => text.replace(/^0x/, '').toLowerCase())
  .refine((digits) => BigInt(`0x${digits}`) > 0n && BigInt(`0x${digits}`) < GROUP_ORDER, {
    error: 'a private key: above zero and below the order of the secp256k1 group',
  });

const PREFIX_BITS_MAX = 16;
const PREFIX_EXPECTED = `the first bits of an overlay as text, such as '0110', at most ${PREFIX_BITS_MAX}`;
export const prefix = z
  .string({ error: PREFIX_EXPECTED })
  .regex(new RegExp(`^[01]{1,${PREFIX_BITS_MAX}}$`), { error: PREFIX_EXPECTED });

const NODE_EXPECTED = 'the name of a node, such as node-0';
export const nodeName = z.string({ error: NODE_EXPECTED }).regex(/^node-\d{1,4}$/, { error: NODE_EXPECTED });

const IPV4_EXPECTED = 'an IPv4 address, such as 127.0.0.1 or 0.0.0.0';
export const ipv4 = z.ipv4({ error: IPV4_EXPECTED });
